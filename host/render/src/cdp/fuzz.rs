//! Fuzzing of the messages that a browser writes.

use chromiumoxide::cdp::browser_protocol::browser::GetVersionParams;
use tokio::io::duplex;

use super::*;

/// Sessions that are listened to; the empty name is the browser itself.
const SESSIONS: [&str; 3] = ["one", "two", ""];
/// Number of the first command of a connection.
const FIRST_CALL: u64 = 1;
/// Bytes that the pipe holds, so that messages arrive in pieces.
const PIPES: [usize; 3] = [1, 100, 1 << 20];

/// Complete messages reach their receivers, in whatever pieces they arrive; others are dropped.
#[test]
fn frames() {
    trawl_fuzz::fuzz!("frames", |written| {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let runtime = runtime.expect("a runtime");
        let pipes = if written.len() > 10_000 {
            &PIPES[1..]
        } else {
            &PIPES
        };
        for pipe in pipes {
            runtime.block_on(check(written, *pipe));
        }
    });
}

async fn check(written: &[u8], pipe: usize) {
    let (output, mut browser) = duplex(pipe);
    let (input, _commands) = duplex(1 << 16);
    let connection = Connection::open(input, output);
    let listeners = SESSIONS.map(|session| connection.listen(session));
    let call = connection.call(None, GetVersionParams::default());
    let write = async {
        // The reader may close the pipe before the end.
        let _ = browser.write_all(written).await;
        drop(browser);
    };
    let (answer, ()) = tokio::join!(call, write);
    let end = written.iter().rposition(|byte| *byte == 0).unwrap_or(0);
    let messages: Vec<Message<'_>> = written[..end]
        .split(|byte| *byte == 0)
        .filter_map(|message| serde_json::from_slice(message).ok())
        .collect();

    let own = messages
        .iter()
        .find(|message| message.id == Some(FIRST_CALL));
    match own.map(|own| (own.result.is_some(), &own.error)) {
        None => assert!(matches!(answer, Err(CallError::Gone)), "{answer:?}"),
        Some((true, None)) => assert!(matches!(answer, Ok(_) | Err(CallError::Invalid(_)))),
        Some((_, Some(refusal))) => {
            assert_eq!(
                answer.err().map(|error| error.to_string()),
                Some(refusal.message.clone())
            );
        }
        Some((false, None)) => assert!(matches!(answer, Err(CallError::Refused(_)))),
    }

    connection.gone().cancelled().await;
    for (session, mut events) in SESSIONS.into_iter().zip(listeners) {
        let sent = messages.iter().filter(|message| message.id.is_none());
        let sent = sent.filter(|message| message.session.as_deref().unwrap_or("") == session);
        for message in sent {
            let (Some(method), Some(params)) = (&message.method, &message.params) else {
                continue;
            };
            let event = events.recv().await.expect("an event of the session");
            assert_eq!(
                (&*event.method, event.params.get()),
                (&**method, params.get())
            );
        }
        assert!(
            events.recv().await.is_none(),
            "more events of `{session}` than were sent"
        );
    }
}
