//! Fuzzing of a page's events: what they do to its state, and what is answered.

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
use trawl_plan::FetchPlan;

use super::*;

const SESSION: &str = "s";
const ORIGIN: &str = "https://a.example";
const PROXY_PASSWORD: &str = "canary-proxy";
const CALLERS_HEADER: &str = "canary-caller";
const BYTES_MAX: u64 = 10_000;
/// What may be sent because of an event.
const ANSWERS: [&str; 7] = [
    "Fetch.failRequest",
    "Fetch.continueRequest",
    "Fetch.continueWithAuth",
    "Page.handleJavaScriptDialog",
    "Storage.overrideQuotaForOrigin",
    "Network.getCookies",
    "Network.deleteCookies",
];
/// What sets up a worker whose session the input names.
const OF_WORKERS: [&str; 7] = [
    "Network.enable",
    "Network.setExtraHTTPHeaders",
    "Emulation.setUserAgentOverride",
    "Target.setAutoAttach",
    "Runtime.evaluate",
    "Fetch.enable",
    "Runtime.runIfWaitingForDebugger",
];

/// The input is what the browser writes; its events are those of session `s`.
#[test]
fn page_events() {
    trawl_fuzz::fuzz!("page_events", |written| {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.expect("a runtime").block_on(check(written));
    });
}

async fn check(written: &[u8]) {
    let (output, mut browser) = duplex(1 << 20);
    let (input, mut commands) = duplex(1 << 20);
    let connection = Connection::open(input, output);
    let events = connection.listen(SESSION);
    let watch = Watch::new("main".to_owned(), policy());
    // The reader may close the pipe before the end.
    let _ = browser.write_all(written).await;
    drop(browser);
    let error = watch.read(&connection, SESSION, events).await;
    assert!(!error.to_string().is_empty());
    check_state(&watch.state(), &error);
    drop(connection);
    let mut sent = Vec::new();
    commands.read_to_end(&mut sent).await.expect("memory");
    let text = String::from_utf8_lossy(written);
    for command in sent
        .split(|byte| *byte == 0)
        .filter(|command| !command.is_empty())
    {
        check_command(&serde_json::from_slice(command).expect("JSON"), &text);
    }
}

fn check_state(state: &PageState, error: &RenderError) {
    let filling = state.in_flight.values().filter(|request| request.fills);
    assert!(filling.count() as u64 <= state.n_requests);
    assert!(state.navigations <= NAVIGATIONS_MAX + 1);
    let is_too_large = matches!(error, RenderError::TooLarge(_));
    assert_eq!(state.loaded_bytes > BYTES_MAX, is_too_large);
    assert_eq!(state.idle_since.is_some(), state.in_flight.is_empty());
    for (name, value) in state
        .document()
        .into_iter()
        .flat_map(|document| document.headers)
    {
        assert_eq!(name, name.to_lowercase());
        assert!(!value.contains('\n'));
    }
}

/// A command is an answer to this session, and secrets are in it only where they belong.
fn check_command(command: &Value, written: &str) {
    let method = command["method"].as_str().expect("a method");
    if OF_WORKERS.contains(&method) {
        assert!(written.contains("Target.attachedToTarget"), "{method}");
    } else {
        assert!(ANSWERS.contains(&method), "{method}");
        // The script of a service worker is requested in its own session.
        let is_workers =
            method == "Fetch.continueRequest" && written.contains("Target.attachedToTarget");
        assert!(is_workers || command["sessionId"] == SESSION, "{command}");
    }
    let text = command.to_string();
    if text.contains(PROXY_PASSWORD) && !written.contains(PROXY_PASSWORD) {
        assert_eq!(method, "Fetch.continueWithAuth");
        assert!(written.contains("Fetch.authRequired"));
    }
    if text.contains(CALLERS_HEADER) && !written.contains(CALLERS_HEADER) {
        assert_eq!(method, "Fetch.continueRequest");
        let id = command["params"]["requestId"].as_str().expect("a request");
        assert!(
            is_of_origin(id, written),
            "the caller's header to another origin"
        );
    }
}

/// Whether one of the paused requests with this number goes to the page's origin.
fn is_of_origin(id: &str, written: &str) -> bool {
    let messages = written.split('\0');
    let mut params = messages.filter_map(|message| {
        let message: Value = serde_json::from_str(message).ok()?;
        Some(message.get("params")?.clone())
    });
    params.any(|params| {
        let url = params["request"]["url"]
            .as_str()
            .and_then(|url| Url::parse(url).ok());
        params["requestId"] == id && url.is_some_and(|url| url.origin() == self::url().origin())
    })
}

fn url() -> Url {
    ORIGIN.parse().expect("a URL")
}

fn policy() -> PagePolicy {
    let mut fetch = FetchPlan::bare(Duration::from_secs(1));
    let value = CALLERS_HEADER.parse().expect("a header value");
    let name = "x-key".parse().expect("a header name");
    fetch.headers.push((name, value));
    fetch.cookies = vec![("sid".to_owned(), "canary-cookie".to_owned())];
    PagePolicy {
        credentials: ("user".to_owned(), PROXY_PASSWORD.to_owned()),
        headers: CallerHeaders::new(&fetch, url()),
        url: url(),
        redirects: None,
        blocked: vec!["Image"],
        bytes_max: BYTES_MAX,
        wants_pictures: true,
        without_pictures: EnableParams::default(),
        agent: SetUserAgentOverrideParams::new("agent"),
    }
}
