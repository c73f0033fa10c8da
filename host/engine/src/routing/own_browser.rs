//! A headless browser of our own: where robots.txt allows it and at the host's pace, as plain HTTP is.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};
use url::Url;

use super::robots_gate::RobotsGate;
use trawl_model::PageFailure;
use trawl_model::failure::status;
use trawl_net::fetch::FetchError;
use trawl_net::politeness::Politeness;
use trawl_net::robots::Robots;
use trawl_plan::{FetchPlan, PagePlan};
use trawl_render::{RenderJob, Rendered, Renderer};

/// The least time that is left for a page to be rendered in: less has no chance.
const TIME_MIN: Duration = Duration::from_millis(500);

/// The route.
pub(super) struct OwnBrowser {
    renderer: Arc<Renderer>,
    politeness: Arc<Politeness>,
    robots: Arc<Robots>,
}

/// A page and how long it waited for its turn.
pub(super) struct BrowserFetch {
    pub(super) rendered: Rendered,
    pub(super) waited: Duration,
}

impl OwnBrowser {
    pub(super) fn new(
        renderer: Arc<Renderer>,
        politeness: Arc<Politeness>,
        robots: Arc<Robots>,
    ) -> Self {
        Self {
            renderer,
            politeness,
            robots,
        }
    }

    /// Whether there is a browser at all.
    pub(super) fn is_installed(&self) -> bool {
        self.renderer.is_installed()
    }

    /// Renders a page before `deadline`, which moves by the time that the page may wait for its turn (`plan.fetch.pace`).
    ///
    /// # Errors
    /// Why there is no page. Answers of the site are pages.
    pub(super) async fn fetch(
        &self,
        plan: &PagePlan,
        url: &Url,
        errand: RenderJob<'_>,
    ) -> Result<BrowserFetch, PageFailure> {
        let (mut fetch, begun) = (Arc::clone(&plan.fetch), Instant::now());
        let mut delay = fetch.pace.delay;
        if fetch.respect_robots {
            let verdict = self.robots.verdict(url).await;
            if let Some(refusal) = verdict.refusal(url) {
                return Err(refusal);
            }
            delay = delay.max(verdict.crawl_delay.unwrap_or_default());
            let gate = RobotsGate::new(Arc::clone(&self.robots), fetch.gate.clone());
            fetch = Arc::new(FetchPlan {
                gate: Some(Arc::new(gate)),
                ..(*fetch).clone()
            });
        }
        let host = url.host_str().unwrap_or_default();
        let patience = fetch.pace.patience;
        let own_end = Instant::from_std(errand.deadline);
        let timed_out = || FetchError::TimedOut(fetch.timeout).failure();
        let turn = self.politeness.permit_with(host, delay);
        let permit = timeout_at(own_end + patience, turn)
            .await
            .map_err(|_| timed_out())?;
        let waited = begun.elapsed().min(patience);
        let errand = RenderJob {
            deadline: errand.deadline + waited,
            ..errand
        };
        if Instant::now() + TIME_MIN > Instant::from_std(errand.deadline) {
            return Err(timed_out());
        }
        let rendered = self
            .renderer
            .render(&permit, url, &fetch, &plan.render, errand)
            .await;
        let rendered = rendered.map_err(|error| error.failure())?;
        self.tell_pace(host, &rendered);
        Ok(BrowserFetch { rendered, waited })
    }

    /// Tells the host's pace what it answered.
    fn tell_pace(&self, host: &str, rendered: &Rendered) {
        let page = &rendered.page;
        let answered = page.final_url.host_str().unwrap_or(host);
        match page.status {
            429 | 503 => {
                let mut headers = page.headers.iter();
                let retry_after = headers.find(|(name, _)| name == "retry-after");
                let retry_after = retry_after.map(|(_, value)| value.as_str());
                let _pause = self.politeness.backoff(answered, retry_after);
            }
            _ => self.politeness.succeeded(answered),
        }
    }
}

/// The failure of a page that needs a browser where there is none. Decision D57.
pub(super) fn not_installed() -> PageFailure {
    PageFailure::new(
        status::BROWSER_FAILED,
        "no browser is installed; ask for `request: \"http\"`, or install Chromium and restart",
    )
}
