//! Single-page applications with real packages: React with its router, Vue, Svelte and others,
//! built by `cargo xtask apps`.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Value, json};
use trawl_tests::FakeSite;

use super::{Stage, content};

/// A sentence that exists only after the scripts of a page have run.
#[derive(Deserialize)]
struct Expected {
    path: String,
    text: String,
    /// Whether it is in a shadow tree or a frame.
    inside: Option<String>,
    then: Option<Then>,
}

/// The actions of a visitor, and the text afterwards.
#[derive(Deserialize)]
struct Then {
    #[serde(default)]
    scroll: bool,
    #[serde(default)]
    fill: std::collections::BTreeMap<String, String>,
    click: Option<String>,
    text: String,
}

/// Adds the built applications to a site and returns what to expect of them.
fn add_apps(site: &FakeSite) -> Vec<Expected> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let pages = root.join("../target/apps");
    let mut folders = vec![pages.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder").flatten() {
            match entry.path() {
                path if path.is_dir() => folders.push(path),
                path => add_file(site, &pages, &path),
            }
        }
    }
    let expected = fs::read(root.join("apps/expected.json")).expect("the list");
    serde_json::from_slice(&expected).expect("the list")
}

fn add_file(site: &FakeSite, pages: &Path, path: &PathBuf) {
    let name = path.strip_prefix(pages).expect("below it").to_str();
    let name = format!("/{}", name.expect("a name"));
    let content_type = match path.extension().and_then(|extension| extension.to_str()) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript",
        Some("json") => "application/json",
        Some("css") => "text/css",
        _ => "application/octet-stream",
    };
    let body = fs::read(path).expect("a file");
    if let Some(folder) = name.strip_suffix("index.html") {
        site.put(folder, content_type, body.clone());
    }
    site.put(&name, content_type, body);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(
    any(no_browser, no_apps),
    ignore = "no Chromium or no applications: install chromium-headless-shell, run cargo xtask apps"
)]
async fn smart_mode_returns_their_text_and_plain_http_does_not() {
    let stage = Stage::new().await;
    let expected = add_apps(&stage.site);
    for page in expected {
        let url = stage.site.url(&page.path);
        let plain = json!({"url": url, "request": "http", "return_format": "text", "cache": false});
        let plain = stage.app.fine(plain).await;
        assert!(!content(&plain).contains(&page.text), "{}", page.path);
        let smart = json!({"url": url, "return_format": "text"});
        let smart = stage.app.fine(smart).await;
        let inside = page.inside.as_deref().unwrap_or("the page");
        let why = &smart["metadata"];
        assert!(
            content(&smart).contains(&page.text),
            "{} in {inside}: {why}: {}",
            page.path,
            content(&smart)
        );
        assert_eq!(smart["metadata"]["rendered_by"], "browser", "{}", page.path);
    }
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(
    any(no_browser, no_apps),
    ignore = "no Chromium or no applications: install chromium-headless-shell, run cargo xtask apps"
)]
async fn automation_steps_act_like_a_visitor() {
    let stage = Stage::new().await;
    let expected = add_apps(&stage.site);
    let mut n_run = 0;
    for page in expected {
        let Some(then) = page.then else { continue };
        let mut steps: Vec<Value> = Vec::new();
        for (selector, value) in &then.fill {
            steps.push(json!({"Fill": {"selector": selector, "value": value}}));
        }
        steps.extend(then.click.map(|selector| json!({"Click": selector})));
        if then.scroll {
            steps.push(json!({"InfiniteScroll": 10}));
        }
        let url = stage.site.url(&page.path);
        let entry = stage
            .rendered(&url, json!({"automation_scripts": {"*": steps}}))
            .await;
        assert!(
            content(&entry).contains(&then.text),
            "{}: {entry}",
            page.path
        );
        n_run += 1;
    }
    assert_eq!(n_run, 2);
    stage.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(
    any(no_browser, no_apps),
    ignore = "no Chromium or no applications: install chromium-headless-shell, run cargo xtask apps"
)]
async fn concurrent_pages_are_all_complete() {
    let stage = Stage::new().await;
    let expected = add_apps(&stage.site);
    let first = &expected[0];
    let urls = [stage.site.url(&first.path).as_str(); 16].join(",");
    let body =
        json!({"url": urls, "request": "browser", "return_format": "text", "request_timeout": 60});
    for entry in stage.app.scrape(body).await {
        assert!(content(&entry).contains(&first.text), "{entry}");
    }
    stage.close().await;
}
