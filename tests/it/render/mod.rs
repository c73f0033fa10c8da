//! Pages rendered by a real browser: results, parameters, network isolation, recovery from faults.
//! Without a browser these tests are ignored: see `build.rs`.

mod apps;
mod bounds;
mod faults;
mod isolation;
mod leaks;
mod modes;
mod origins;
mod parameters;
mod reading;
mod ready;
mod sharing;
mod sockets;
mod steps;
mod xpath;

use serde_json::{Value, json};
use trawl_tests::{FakeSite, TestApp, WatchedBrowser, World};

/// A server with a browser, and a site.
struct Stage {
    app: TestApp,
    site: FakeSite,
    browser: WatchedBrowser,
}

impl Stage {
    async fn new() -> Self {
        Self::with(|_| ()).await
    }

    /// Starts them with other settings of the world.
    async fn with(change: impl FnOnce(&mut World)) -> Self {
        let mut world = World::new();
        let browser = WatchedBrowser::put(&mut world);
        // Most tests render a page anew.
        world.keeps_pages = false;
        change(&mut world);
        Self {
            app: TestApp::of(world).await,
            site: FakeSite::start().await,
            browser,
        }
    }

    /// Adds a page to the site and returns its URL.
    fn page(&self, path: &str, html: &str) -> String {
        self.site.put(path, "text/html; charset=utf-8", html)
    }

    /// The entry of a rendered page, as text.
    async fn rendered(&self, url: &str, more: Value) -> Value {
        self.app.fine(request(url, more)).await
    }

    /// Stops the server and checks that no browser process is left.
    async fn close(self) {
        self.app.app.close().await;
        self.browser.assert_gone().await;
    }
}

/// A request for a rendered page.
fn request(url: &str, more: Value) -> Value {
    let mut request = json!({"url": url, "request": "browser", "return_format": "text"});
    let fields = request.as_object_mut().expect("an object");
    fields.extend(more.as_object().expect("an object").clone());
    request
}

fn content(entry: &Value) -> &str {
    entry["content"].as_str().expect("a text")
}
