//! Tests of the state of a page.

use super::*;

const URL: &str = "https://a.example/x?key=secret";

fn send(state: &mut PageState, id: &str, kind: &str, worker: Option<&str>) {
    let worker = worker.map(Arc::from);
    state.send(id.to_owned(), URL.to_owned(), kind, worker);
}

#[test]
fn the_script_of_a_worker_is_in_flight_until_it_has_arrived() {
    let mut state = PageState::new();
    // The page requests it under the name of the worker, whose session gets the event of its end.
    send(&mut state, "worker", "Script", None);
    state.worker_made("worker".to_owned(), "worker");
    assert!(state.idle_since.is_none() && state.is_loading());
    state.end("worker");
    state.update_idle_windows();
    assert!(state.idle_since.is_some() && !state.is_loading());
    // One that ended before has no end of its own.
    send(&mut state, "other", "Script", None);
    state.worker_ended("other");
    assert!(state.idle_since.is_some());
}

#[test]
fn a_body_that_is_all_there_is_not_waited_for() {
    let mut state = PageState::new();
    send(&mut state, "read", "Fetch", None);
    assert_eq!(state.asked_until, None);
    state.answer("read", Some(5));
    state.load("read", 3);
    state.update_idle_windows();
    assert!(state.is_loading() && state.asked_until.is_some());
    state.load("read", 2);
    state.update_idle_windows();
    assert!(!state.is_loading() && state.idle_since.is_none());
    // Without a length only its end says so.
    send(&mut state, "stream", "Fetch", None);
    state.answer("stream", None);
    state.load("stream", 2);
    state.update_idle_windows();
    assert!(state.is_loading());
    state.end("stream");
    state.update_idle_windows();
    assert!(!state.is_loading());
    state.commit(None);
    assert_eq!(state.asked_until, None);
}

#[test]
fn nobody_waits_for_the_script_of_a_shared_worker() {
    let mut state = PageState::new();
    send(&mut state, "shared", "Script", None);
    state.worker_made("shared".to_owned(), SHARED);
    assert!(state.idle_since.is_some() && state.unheard.contains("shared"));
    state.worker_ended("shared");
    assert!(state.unheard.is_empty());
}

#[test]
fn the_requests_of_a_worker_count_until_it_leaves() {
    let mut state = PageState::new();
    send(&mut state, "1", "Fetch", Some("session"));
    send(&mut state, "2", "Other", Some("session"));
    send(&mut state, "3", "Fetch", Some("another"));
    assert_eq!(state.n_requests, 3, "what a worker imports is a script");
    state.worker_left("session");
    let left: Vec<&String> = state.in_flight.keys().collect();
    assert_eq!(left, ["3"]);
    state.worker_left("another");
    assert!(state.quiet_since.is_some());
}

#[test]
fn the_sockets_and_streams_of_a_worker_end_with_it() {
    let mut state = PageState::new();
    for number in 0..1_000 {
        let session: Arc<str> = Arc::from("session");
        let id = format!("socket {number}");
        let opened = state.socket("Network.webSocketCreated", id, Some(session));
        opened.expect("one at once");
        let worker = Some(Arc::from("session"));
        state.streams.insert(format!("stream {number}"), worker);
        assert!(state.may_listen());
        state.worker_left("session");
        assert!(!state.may_listen());
    }
    let opened = state.socket("Network.webSocketCreated", "own".to_owned(), None);
    opened.expect("one");
    state.worker_left("session");
    assert!(state.may_listen(), "the page's own socket is open");
}

#[test]
fn sockets_of_the_document_before_end_no_other() {
    let mut state = PageState::new();
    let session = Some(Arc::from("session"));
    let opened = state.socket("Network.webSocketCreated", "workers".to_owned(), session);
    opened.expect("one");
    state.commit(None);
    let opened = state.socket("Network.webSocketCreated", "own".to_owned(), None);
    opened.expect("one");
    // The worker of that document ends late.
    state.worker_left("session");
    assert!(state.may_listen(), "the page's own socket is open");
}

#[test]
fn a_page_that_became_ready_is_not_incomplete() {
    let mut state = PageState::new();
    send(&mut state, "1", "Fetch", None);
    state.cut("the document");
    assert_eq!(state.incomplete(), ["the document", "https://a.example/x"]);
    state.ready(true);
    assert_eq!(state.incomplete(), ["https://a.example/x"]);
    state.ready(false);
    assert!(state.incomplete().is_empty());
    state.cut("the document");
    state.commit(None);
    assert!(state.incomplete().is_empty());
}

#[test]
fn the_bytes_of_pictures_are_counted_apart() {
    let mut state = PageState::new();
    for kind in ["Image", "Script"] {
        send(&mut state, kind, kind, None);
        state.load(kind, 10);
    }
    assert_eq!((state.loaded_bytes, state.other_bytes()), (20, 10));
    state.lacks_pictures = true;
    state.ready(false);
    assert_eq!(state.incomplete(), ["the page's pictures"]);
}

#[test]
fn only_pictures_and_frames_are_brought_into_view() {
    let mut state = PageState::new();
    send(&mut state, "before", "Image", None);
    state.bring_into_view();
    state.update_idle_windows();
    send(&mut state, "poll", "Fetch", None);
    assert!(state.brought_since.is_some());
    send(&mut state, "picture", "Image", None);
    send(&mut state, "frame", "Document", None);
    for id in ["picture", "frame"] {
        assert!(state.brought_since.is_none());
        state.end(id);
        state.update_idle_windows();
    }
    assert!(state.brought_since.is_some() && state.idle_since.is_none());
}
