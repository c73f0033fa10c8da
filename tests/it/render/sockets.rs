//! Pages that are filled by what a WebSocket brings.

use std::time::{Duration, Instant};

use serde_json::json;

use super::{Stage, content};

/// Less than any limit that such a page could run into; a page takes a second.
const AT_ONCE: Duration = Duration::from_secs(8);

/// The script of a page that opens this socket when it has loaded, and shows what that sends.
fn shows(socket: &str) -> String {
    format!(
        "<script>addEventListener('load', () => {{ new WebSocket('{socket}').onmessage = (event) => \
         {{ p.textContent = event.data; }}; }})</script>"
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn what_a_socket_brings_is_waited_for() {
    let stage = Stage::new().await;
    let script = shows("/feed/1200?there");
    let url = stage.page("/", &format!("<p id=p>Loading</p>{script}"));
    let entry = stage.rendered(&url, json!({})).await;
    assert!(content(&entry).contains("there"), "{entry}");
    assert_eq!(entry["metadata"].get("incomplete"), None, "{entry}");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn a_page_that_has_its_text_does_not_wait_for_its_socket() {
    let stage = Stage::new().await;
    let text = "The ferry to the islands leaves at noon from the northern pier.";
    let script = shows("/feed/60000?late");
    let url = stage.page("/", &format!("<p>{text}</p><p id=p></p>{script}"));
    let begun = Instant::now();
    let entry = stage.rendered(&url, json!({})).await;
    assert!(begun.elapsed() < AT_ONCE, "{:?}", begun.elapsed());
    assert!(content(&entry).contains("at noon"), "{entry}");
    assert_eq!(entry["metadata"].get("incomplete"), None, "{entry}");
    // It was open meanwhile.
    let heads = stage.site.requests().join("\n");
    assert!(heads.contains("GET /feed/60000?late "), "{heads}");
    stage.close().await;
}
