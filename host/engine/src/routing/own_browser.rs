//! The headless browser: where robots.txt allows it and at the host's pace, as plain HTTP is.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use trawl_model::PageFailure;
use trawl_model::failure::status;
use trawl_net::fetch::FetchError;
use trawl_net::politeness::Politeness;
use trawl_plan::PagePlan;
use trawl_render::{RenderJob, Rendered, Renderer};

use super::admission::Admission;

/// Least time left in which a page is still rendered: with less it has no chance.
const TIME_MIN: Duration = Duration::from_millis(500);

/// The route.
pub(super) struct OwnBrowser {
    renderer: Arc<Renderer>,
    politeness: Arc<Politeness>,
    admission: Admission,
}

/// A rendered page and how long it waited for its host's rate limit.
pub(super) struct BrowserFetch {
    pub(super) rendered: Rendered,
    pub(super) waited: Duration,
}

impl OwnBrowser {
    pub(super) fn new(
        renderer: Arc<Renderer>,
        politeness: Arc<Politeness>,
        admission: Admission,
    ) -> Self {
        Self {
            renderer,
            politeness,
            admission,
        }
    }

    /// Whether a browser is installed at all.
    pub(super) fn is_installed(&self) -> bool {
        self.renderer.is_installed()
    }

    /// Renders a page before the job's deadline, which moves by the time that the page may wait for
    /// its host's rate limit (`plan.fetch.pace`).
    ///
    /// # Errors
    /// Why there is no page. Error answers of the site are pages.
    pub(super) async fn fetch(
        &self,
        plan: &PagePlan,
        job: RenderJob<'_>,
    ) -> Result<BrowserFetch, PageFailure> {
        let (url, begun) = (&plan.url, Instant::now());
        let fetch = self.admission.admit(&plan.fetch, url).await?;
        let host = url.host_str().unwrap_or_default();
        let patience = fetch.pace.patience;
        let own_end = Instant::from_std(job.deadline);
        let timed_out = || FetchError::TimedOut(fetch.timeout).failure();
        let permit = self.politeness.permit_with(host, fetch.pace.delay);
        let permit = timeout_at(own_end + patience, permit)
            .await
            .map_err(|_| timed_out())?;
        let waited = begun.elapsed().min(patience);
        let job = RenderJob {
            deadline: job.deadline + waited,
            ..job
        };
        if Instant::now() + TIME_MIN > Instant::from_std(job.deadline) {
            return Err(timed_out());
        }
        let rendered = self
            .renderer
            .render(&permit, url, &fetch, &plan.render, job)
            .await;
        let rendered = rendered.map_err(|error| error.failure())?;
        self.report_pace(host, &rendered);
        Ok(BrowserFetch { rendered, waited })
    }

    /// Reports the host's answer to its rate limiter.
    fn report_pace(&self, host: &str, rendered: &Rendered) {
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

/// The failure of a page that needs a browser where none is installed. Decision D57.
pub(super) fn not_installed() -> PageFailure {
    PageFailure::new(
        status::BROWSER_FAILED,
        "no browser is installed; ask for `request: \"http\"`, or install Chromium and restart",
    )
}
