//! Chromium as a judge: a script in a page that the server's own browser has rendered says what the
//! browser makes of it.

use serde_json::{Value, json};
use tokio::sync::{Mutex, MutexGuard};
use tokio::task::JoinSet;
use trawl_tests::{TestApp, WatchedBrowser};

use crate::draw::Draw;
use crate::site::Site;
use crate::trial::Trial;
use crate::world::world;

/// Pages at once in the browser.
pub(crate) const PAGES: usize = 6;

/// One round at a time over all judges that use the browser: a processor that is too busy makes
/// pages late, and late pages are not differences.
static TURN: Mutex<()> = Mutex::const_new(());

/// A server with a browser and without a cache, and a site.
pub(crate) struct Chromium {
    pub(crate) app: TestApp,
    pub(crate) site: Site,
    browser: WatchedBrowser,
}

/// A page with what it is asked in the browser: scripts whose value is JSON as a text.
pub(crate) struct Asked {
    pub(crate) url: String,
    pub(crate) scripts: Vec<String>,
}

/// Scripts for `n` things, so many each: `script` with the bounds instead of `__FROM__` and
/// `__TO__`. The result of one script is limited.
pub(crate) fn in_parts(script: &str, n: usize, at_once: usize) -> Vec<String> {
    let part = |from: usize| {
        let script = script.replace("__FROM__", &from.to_string());
        script.replace("__TO__", &(from + at_once).to_string())
    };
    (0..n).step_by(at_once).map(part).collect()
}

/// The turn at the browser.
pub(crate) async fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().await
}

impl Chromium {
    /// Starts server, browser and site.
    pub(crate) async fn start() -> Self {
        let mut world = world();
        world.keeps_pages = false;
        let browser = WatchedBrowser::put(&mut world);
        Self {
            app: TestApp::of(world).await,
            site: Site::start().await,
            browser,
        }
    }

    /// The choices of the next round, and the turn at the browser.
    pub(crate) async fn round(&self, trial: &mut Trial) -> Option<(Draw, MutexGuard<'static, ()>)> {
        let turn = turn().await;
        let draw = trial.round()?;
        self.site.clear();
        Some((draw, turn))
    }

    /// The values of all scripts of each page, in order.
    pub(crate) async fn ask(&self, asked: Vec<Asked>) -> Vec<Vec<Value>> {
        let bodies = asked.into_iter().map(|page| {
            let steps = page.scripts.iter();
            let steps: Vec<Value> = steps.map(|script| json!({"Evaluate": script})).collect();
            json!({
                "url": page.url, "request": "browser", "return_format": "empty",
                "automation_scripts": {"*": steps},
                // Many judges may be at work.
                "request_timeout": 120,
            })
        });
        let entries = self.entries(bodies.collect()).await;
        entries.iter().map(values).collect()
    }

    /// The entries of these requests, sent at once, each for one page.
    pub(crate) async fn entries(&self, bodies: Vec<Value>) -> Vec<Value> {
        let mut requests = JoinSet::new();
        for (at, body) in bodies.into_iter().enumerate() {
            let caller = (*self.app).clone();
            requests.spawn(async move { (at, caller.page(body).await) });
        }
        let mut entries = requests.join_all().await;
        entries.sort_by_key(|(at, _)| *at);
        entries.into_iter().map(|(_, entry)| entry).collect()
    }

    /// Ends the trial, and checks that no browser is left.
    pub(crate) async fn close(self, trial: Trial) {
        self.app.app.close().await;
        self.browser.assert_gone().await;
        trial.close();
    }
}

/// The values of a page's scripts.
fn values(entry: &Value) -> Vec<Value> {
    let reports = entry["metadata"]["automation_data"].as_array();
    let reports = reports.unwrap_or_else(|| panic!("the page was not asked: {entry}"));
    let value = |report: &Value| {
        let text = report["result"].as_str();
        let text = text.unwrap_or_else(|| panic!("a script failed: {entry}"));
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
    };
    reports.iter().map(value).collect()
}
