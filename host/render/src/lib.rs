//! A headless browser for JavaScript-rendered pages: a pool of processes, a fresh browser context
//! for each page, and all traffic through the proxy of that context. Returns the same kind of page
//! as `fetch`.
//!
//! The browser speaks the DevTools protocol over two pipes: there is no debug port. Its only way to
//! the network is the channel of a page. A page's first document, and each one it navigates to, is
//! checked against robots.txt and the scope of the run before it is requested. A browser is
//! replaced after a number of pages, minutes or mebibytes, and its whole process group is killed.
//! Pages that lose their browser are rendered once more, each in a browser of its own.

mod agent;
mod automation;
mod before_load;
mod browser;
mod caller_cookies;
mod caller_headers;
mod calls;
mod cdp;
mod config;
mod content;
mod context;
mod counts;
mod error;
mod events;
mod exchanges;
mod fields;
mod frames;
mod input;
mod job;
mod launch;
mod load_error;
mod memory;
mod navigation;
mod page_setup;
mod page_state;
mod pool;
mod screenshot;
mod script;
mod tab;
mod wait;
mod watch;
mod wire;
mod workers;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use url::Url;

use trawl_net::egress::{Egress, ProxyLimits};
use trawl_net::politeness::Permit;
use trawl_plan::{FetchPlan, RenderPlan};

pub use config::{HTML_BYTES_MAX, LOADED_BYTES_MAX, PAGE_BYTES_MAX, RenderConfig, TABS_MAX};
pub use error::RenderError;
pub use exchanges::Unstorable;
pub use job::{IsChallenge, RenderJob, Rendered};

use job::Visit;
use pool::{Pool, TabSlot};

/// Least time left in which a page that lost its browser is rendered again.
const RETRY_TIME_MIN: Duration = Duration::from_secs(2);

/// Whether a page failed together with its whole browser.
struct IsBrowserLost(bool);

/// Renders pages. One for the whole server; it starts a browser when a page first needs one.
pub struct Renderer {
    pool: Arc<Pool>,
    egress: Arc<Egress>,
}

impl Renderer {
    /// Builds a renderer whose pages reach the network only through proxy channels of `egress`.
    pub fn new(config: RenderConfig, egress: Arc<Egress>) -> Self {
        Self {
            pool: Pool::new(config),
            egress,
        }
    }

    /// Whether a browser is installed.
    pub fn is_installed(&self) -> bool {
        self.pool.is_installed()
    }

    /// Why the browser did not start when it was last started; `None` when it did.
    pub fn failure(&self) -> Option<String> {
        self.pool.failure()
    }

    /// Number of tabs that an owner has.
    pub fn tabs_of(&self, owner: &str) -> usize {
        self.pool.tabs_of(owner)
    }

    /// Renders one page. `fetch.timeout` is ignored: the job's deadline bounds all of it.
    ///
    /// A page whose browser ends, perhaps because of another page, is rendered once more in a
    /// browser of its own, unless a script or a step of the caller has already begun: those may
    /// not be done twice. Decision D165.
    ///
    /// # Errors
    /// [`RenderError`]; [`failure`](RenderError::failure) turns it into the page's outcome.
    pub async fn render(
        &self,
        _permit: &Permit,
        url: &Url,
        fetch: &FetchPlan,
        plan: &RenderPlan,
        job: RenderJob<'_>,
    ) -> Result<Rendered, RenderError> {
        let visit = Visit {
            url,
            fetch,
            plan,
            job,
        };
        let deadline = job.deadline;
        let time = deadline.saturating_duration_since(Instant::now());
        let page = async {
            let slot = self.pool.acquire(job.owner, deadline).await?;
            let has_acted = AtomicBool::new(false);
            let first = self.attempt(slot, visit, &has_acted).await;
            let left = deadline.saturating_duration_since(Instant::now());
            match first {
                Err((error, IsBrowserLost(true)))
                    if !has_acted.load(Ordering::Relaxed) && left >= RETRY_TIME_MIN =>
                {
                    tracing::info!(%error, "a page lost its browser and is rendered again");
                    let slot = self.pool.acquire_alone(job.owner).await?;
                    self.attempt(slot, visit, &has_acted).await
                }
                first => first,
            }
            .map_err(|(error, _)| error)
        };
        tokio::time::timeout_at(deadline.into(), page)
            .await
            .unwrap_or(Err(RenderError::TimedOut(time)))
    }

    /// Renders one page in this tab. With an error comes whether the whole browser was lost.
    async fn attempt(
        &self,
        slot: TabSlot,
        visit: Visit<'_>,
        has_acted: &AtomicBool,
    ) -> Result<Rendered, (RenderError, IsBrowserLost)> {
        let fetch = visit.fetch;
        let route = self
            .egress
            .route(fetch.pool.name(), fetch.country_code.as_deref());
        let channel = self.egress.open_proxy(route, ProxyLimits::default()).await;
        let channel = channel.map_err(|error| {
            let reason = format!("its proxy cannot be opened: {error}");
            (RenderError::Protocol(reason), IsBrowserLost(false))
        })?;
        // The page's context holds it too, until the browser has disposed of that.
        let slot = Arc::new(slot);
        let rendered = tab::render(&slot, &channel, visit, has_acted).await;
        let is_lost = IsBrowserLost(slot.browser.connection().gone().is_cancelled());
        slot.note_crash(rendered.is_ok());
        rendered.map_err(|error| (error, is_lost))
    }

    /// What is open in the browser that opens pages: contexts and targets, in words. Nothing, while
    /// no page is open.
    ///
    /// # Errors
    /// [`RenderError`]: the browser does not answer.
    pub async fn contents(&self) -> Result<Vec<String>, RenderError> {
        self.pool.contents().await
    }

    /// Stops the browser and waits until all of its processes have ended.
    pub async fn close(&self) {
        self.pool.close().await;
    }
}
