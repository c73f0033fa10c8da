//! Tests of the connection to a browser.

use chromiumoxide::cdp::browser_protocol::browser::GetVersionParams;
use tokio::io::duplex;

use super::super::events::EVENT_BYTES_MAX;
use super::*;

#[tokio::test]
async fn calls_fail_when_the_browser_exits() {
    let (ours, theirs) = duplex(1024);
    let (output, input) = tokio::io::split(ours);
    let connection = Connection::open(input, output);
    let call = connection.call(None, GetVersionParams::default());
    let end = async {
        tokio::task::yield_now().await;
        drop(theirs);
    };
    let (response, ()) = tokio::join!(call, end);
    assert!(matches!(response, Err(CallError::Gone)), "{response:?}");
    let later = connection.call(None, GetVersionParams::default()).await;
    assert!(matches!(later, Err(CallError::Gone)), "{later:?}");
}

#[tokio::test]
async fn an_oversize_message_ends_only_what_caused_it() {
    let (ours, mut theirs) = duplex(1 << 20);
    let (output, input) = tokio::io::split(ours);
    let connection = Connection::open(input, output);
    let (mut one, mut two) = (connection.listen("one"), connection.listen("two"));
    let large = "x".repeat(MESSAGE_BYTES_MAX);
    let writing = async {
        let mut read = [0; 256];
        let _command = tokio::io::AsyncReadExt::read(&mut theirs, &mut read).await;
        for message in [
            format!(r#"{{"method":"A.b","params":{{"x":"{large}"}},"sessionId":"one"}}"#),
            r#"{"method":"A.c","params":{},"sessionId":"two"}"#.to_owned(),
            format!(r#"{{"id":1,"result":{{"x":"{large}"}}}}"#),
            r#"{"method":"A.d","params":{},"sessionId":"two"}"#.to_owned(),
        ] {
            theirs.write_all(message.as_bytes()).await.expect("read");
            theirs.write_all(&[0]).await.expect("read");
        }
        theirs
    };
    let call = connection.call(None, GetVersionParams::default());
    let (response, _theirs) = tokio::join!(call, writing);
    assert!(
        matches!(response, Err(CallError::Oversize(bytes)) if bytes > large.len() as u64),
        "{response:?}"
    );
    assert!(one.recv().await.is_none());
    assert!(matches!(one.end(), Some(SessionEnd::Oversize(_))));
    for method in ["A.c", "A.d"] {
        let event = two.recv().await.map(|event| event.method);
        assert_eq!(event.as_deref(), Some(method));
    }
    assert_eq!(two.end(), None);
    assert!(!connection.gone().is_cancelled());
}

#[tokio::test]
async fn queued_events_are_bounded_in_bytes() {
    let (ours, mut theirs) = duplex(1 << 20);
    let (output, input) = tokio::io::split(ours);
    let connection = Connection::open(input, output);
    let mut one = connection.listen_as(&["one", "its other name"]);
    let large = "x".repeat(MESSAGE_BYTES_MAX / 2);
    let message = format!(r#"{{"method":"A.b","params":"{large}","sessionId":"one"}}"#);
    for _ in 0..=EVENT_BYTES_MAX / large.len() {
        theirs.write_all(message.as_bytes()).await.expect("read");
        theirs.write_all(&[0]).await.expect("read");
    }
    let mut n_events = 0;
    while one.recv().await.is_some() {
        n_events += 1;
    }
    assert!(n_events <= 4, "{n_events}");
    assert_eq!(one.end(), Some(SessionEnd::Flood));
}

#[tokio::test]
async fn sessions_that_were_added_end_with_the_first() {
    let (ours, _theirs) = duplex(1024);
    let (output, input) = tokio::io::split(ours);
    let connection = Connection::open(input, output);
    let mut page = connection.listen_as(&["page", "context"]);
    let _other = connection.listen("other page");
    connection.listen_too("page", "worker");
    connection.listen_too("page", "other page");
    connection.listen_too("nobody", "nothing");
    for (name, is_page) in [("worker", true), ("other page", false), ("context", true)] {
        let params = RawValue::from_string("{}".to_owned()).expect("JSON");
        connection.shared.deliver(name, "A.b".to_owned(), params);
        if is_page {
            let event = page.recv().await.expect("an event");
            assert_eq!(&*event.session, name);
        }
    }
    connection.forget("worker");
    assert_eq!(locked(&connection.shared.sessions).len(), 3);
    connection.listen_too("page", "worker");
    connection.forget_all("page");
    let left: Vec<String> = locked(&connection.shared.sessions)
        .keys()
        .cloned()
        .collect();
    assert_eq!(left, ["other page"]);
}

#[tokio::test]
async fn a_cancelled_call_leaves_nothing_behind() {
    let (ours, _theirs) = duplex(1 << 20);
    let (output, input) = tokio::io::split(ours);
    let connection = Connection::open(input, output);
    let call = connection.call(None, GetVersionParams::default());
    let cancelled = tokio::time::timeout(std::time::Duration::from_millis(10), call).await;
    assert!(cancelled.is_err(), "nobody answers");
    assert!(locked(&connection.shared.waiting).is_empty());
}

#[test]
fn a_page_cannot_imitate_the_ends_of_a_message() {
    let cause = |head: &str, tail: &str| oversize_cause(head.as_bytes(), tail.as_bytes());
    let session = |name: &str| Some(Cause::Session(name.to_owned()));
    let event = r#"{"method":"A.b","params":{"id":7"#;
    assert_eq!(cause(event, r#"xx"},"sessionId":"AB12"}"#), session("AB12"));
    assert_eq!(cause(event, r#"\"sessionId\":\"AB12\"}"}}"#), None);
    assert_eq!(cause(event, r#"{"url":"xxx"}}"#), None);
    assert_eq!(cause(r#"{"id":7,"result""#, ""), Some(Cause::Call(7)));
    assert_eq!(cause("", ""), None);
}

#[tokio::test]
async fn events_reach_their_session_only() {
    let (ours, mut theirs) = duplex(4096);
    let (output, input) = tokio::io::split(ours);
    let connection = Connection::open(input, output);
    let (mut one, mut all) = (connection.listen("one"), connection.listen(""));
    for message in [
        r#"{"method":"A.b","params":{},"sessionId":"one"}"#,
        r#"{"method":"A.c","params":{"x":1}}"#,
        "not a message",
        r#"{"method":"A.d","params":{},"sessionId":"two"}"#,
        r#"{"method":"A.e","params":{},"sessionId":"one"}"#,
    ] {
        let sent = theirs.write_all(format!("{message}\0").as_bytes()).await;
        sent.expect("the other end reads");
    }
    assert_eq!(
        one.recv().await.map(|event| event.method),
        Some("A.b".to_owned())
    );
    assert_eq!(
        one.recv().await.map(|event| event.method),
        Some("A.e".to_owned())
    );
    assert_eq!(
        all.recv().await.map(|event| event.method),
        Some("A.c".to_owned())
    );
}
