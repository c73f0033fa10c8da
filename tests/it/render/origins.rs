//! Decision D166: the caller's headers and cookies stay with the page's own origin.

use serde_json::{Value, json};
use trawl_tests::FakeSite;

use super::{Stage, content};

/// A site, and strangers on another IP address.
async fn stages() -> (Stage, FakeSite) {
    let stage = Stage::with(|world| world.allow_private = &["127.0.0.0/8"]).await;
    (stage, FakeSite::start_at("127.0.0.2").await)
}

fn secrets() -> Value {
    json!({"headers": {"Authorization": "canary-header", "X-Token": "canary-token"},
        "cookies": "sid=canary-cookie", "wait_for": 700})
}

/// Whether the requests of this site for a path carried headers, and cookies; they must agree.
fn carried(site: &FakeSite, path: &str) -> [bool; 2] {
    let line = format!("GET {path} ");
    let requests = site.requests();
    let mut heads = requests.iter().filter(|head| head.starts_with(&line));
    let head = heads
        .next()
        .unwrap_or_else(|| panic!("no request for {path}"));
    let tokens = ["canary-header", "canary-token"].map(|token| head.contains(token));
    assert_eq!(tokens[0], tokens[1], "{head}");
    [tokens[0], head.contains("canary-cookie")]
}

const BOTH: [bool; 2] = [true, true];
const NEITHER: [bool; 2] = [false, false];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn strangers_on_the_page_cause_no_request_with_headers() {
    let (stage, stranger) = stages().await;
    let ours = stage.site.url("");
    let asks = format!(
        "<p>stranger</p><img src='{ours}/from-frame'><script>fetch('{ours}/from-script', \
         {{mode: 'no-cors', credentials: 'include'}})</script>"
    );
    let frame = stranger.put("/frame", "text/html", asks.as_str());
    let back = stranger.url(&format!("/to?{ours}/over-stranger"));
    let html = format!(
        "<p>home</p><img src=/own><img src='/to?/own-redirect'><img src='/to?{back}'>\
         <iframe src='{frame}'></iframe><iframe src=/own-frame></iframe>"
    );
    stage.page("/own-frame", "<p>own frame");
    let url = stage.page("/", &html);
    let entry = stage.rendered(&url, secrets()).await;
    assert!(content(&entry).contains("home"), "{entry}");
    for path in ["/", "/own", "/own-redirect"] {
        assert_eq!(carried(&stage.site, path), BOTH, "{path}");
    }
    for path in ["/from-frame", "/from-script"] {
        assert_eq!(carried(&stage.site, path), NEITHER, "{path}");
    }
    // Cookies are the browser's own to send to their site; headers are ours.
    for path in ["/over-stranger", "/own-frame"] {
        assert!(!carried(&stage.site, path)[0], "{path}");
    }
    let heard = stranger.requests().join("\n");
    assert!(
        heard.contains("/frame") && !heard.contains("canary"),
        "{heard}"
    );
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn nothing_is_sent_after_the_page_has_left_its_origin() {
    let (stage, stranger) = stages().await;
    let ours = stage.site.url("");
    for (name, leave) in [
        ("redirect", "/to?{}"),
        ("script", "<script>location.href = '{}'</script>"),
    ] {
        let asks = format!(
            "<p>stranger</p><img src='{ours}/image-{name}'><script>fetch('{ours}/fetch-{name}', \
             {{mode: 'no-cors', credentials: 'include'}}); \
             setTimeout(() => location.href = '{ours}/back-{name}', 400)</script>"
        );
        let to = stranger.put(&format!("/{name}"), "text/html", asks.as_str());
        stage.page(
            &format!("/back-{name}"),
            &format!("<p>back</p><img src=/after-{name}>"),
        );
        let leave = leave.replace("{}", &to);
        let url = match leave.starts_with('/') {
            true => stage.site.url(&leave),
            false => stage.page("/leaving", &leave),
        };
        let mut more = secrets();
        more["wait_for"] = json!(2_000);
        let entry = stage.rendered(&url, more).await;
        assert!(content(&entry).contains("back"), "{name}: {entry}");
        for path in ["image", "fetch", "back"] {
            let path = format!("/{path}-{name}");
            assert_eq!(carried(&stage.site, &path), NEITHER, "{path}");
        }
        assert!(
            !carried(&stage.site, &format!("/after-{name}"))[0],
            "{name}"
        );
    }
    let heard = stranger.requests().join("\n");
    assert!(!heard.contains("canary"), "{heard}");
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn a_redirect_that_comes_back_has_lost_them() {
    let (stage, stranger) = stages().await;
    let home = stage.page("/home", "<p>home</p><img src=/later>");
    let over = stranger.url(&format!("/to?{home}"));
    let url = stage.site.url(&format!("/to?{over}"));
    let entry = stage.rendered(&url, secrets()).await;
    assert!(content(&entry).contains("home"), "{entry}");
    for path in ["/home", "/later"] {
        assert!(!carried(&stage.site, path)[0], "{path}");
    }
    stage.close().await;
}
