//! A headless browser for JavaScript-rendered pages: a pool of processes, a fresh browser context
//! for each page, and all traffic through the proxy of that context. Returns the same kind of page
//! as `fetch`.

mod automation;
mod browser;
mod cdp;
mod input;
mod launch;
mod load_error;
mod page_setup;
mod pool;
mod screenshot;
mod tab;
mod tab_queue;
mod wait;
mod watch;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use serde_json::{Map, Value};
use url::Url;

use pool::Pool;
use trawl_model::failure::status;
use trawl_model::{FetchedPage, PageFailure};
use trawl_net::egress::{Egress, ProxyLimits};
use trawl_net::politeness::Permit;
use trawl_plan::{FetchPlan, RenderPlan};

/// Pages open at once, unless configured otherwise: about 100 MB each, and four keep two cores
/// busy.
pub const TABS_MAX: usize = 8;
/// Characters of one page's HTML, as for plain HTTP.
pub const HTML_CHARS_MAX: usize = 64 * 1024 * 1024;
/// Decoded bytes that a page may load with all of its resources: as many as plain HTTP allows for
/// one page, so that both reserve the same amount. Heavy pages without videos have some 30 MB.
pub const LOADED_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Settings of a [`Renderer`].
#[derive(Clone, Debug)]
pub struct RenderConfig {
    /// The browser's executable; `None` searches for one.
    pub program: Option<PathBuf>,
    /// The search path of executables: the value of `PATH`.
    pub search_path: OsString,
    /// The user account that the browser runs as when the server runs as root.
    pub user: String,
    /// Whether the browser runs without its sandbox, and as root if the server does.
    pub no_sandbox: bool,
    /// Pages open at once.
    pub tabs_max: usize,
    /// Pages after which a process is replaced.
    pub pages_per_process: u32,
    /// Age after which a process is replaced.
    pub process_age_max: Duration,
    /// Private memory of a browser's processes at which it is replaced; at one and a half times as
    /// much, its largest page is killed at once.
    pub process_bytes_max: u64,
    /// How long a page waits for a tab.
    pub tab_wait_max: Duration,
}

impl Default for RenderConfig {
    fn default() -> Self {
        Self {
            program: None,
            search_path: OsString::from("/usr/local/bin:/usr/bin:/bin"),
            user: "nobody".to_owned(),
            no_sandbox: false,
            tabs_max: TABS_MAX,
            pages_per_process: 200,
            process_age_max: Duration::from_secs(30 * 60),
            process_bytes_max: 2 * 1024 * 1024 * 1024,
            tab_wait_max: Duration::from_secs(30),
        }
    }
}

/// Why a page could not be rendered.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// No browser is installed.
    #[error(
        "no browser is installed; ask for `request: \"http\"`, or install Chromium and restart"
    )]
    Missing,
    /// The browser does not start.
    #[error("the browser cannot be started: {0}")]
    Launch(String),
    /// No tab became free in time.
    #[error("no browser tab became free within {} s; try again later", .0.as_secs())]
    Busy(Duration),
    /// The page or the browser crashed.
    #[error("the browser crashed while it rendered the page")]
    Crashed,
    /// The browser failed to execute a command.
    #[error("the browser failed: {0}")]
    Protocol(String),
    /// The page could not be loaded.
    #[error("{1}")]
    Load(u16, String),
    /// The page did not finish before its deadline.
    #[error("the page did not render within {} s", .0.as_secs())]
    TimedOut(Duration),
    /// The page loads more than it may.
    #[error("the page loads more than {0} bytes, the most that is loaded for one page")]
    TooLarge(u64),
}

impl RenderError {
    /// The failure of the page.
    pub fn failure(&self) -> PageFailure {
        let code = match self {
            Self::Load(code, _) => *code,
            Self::TimedOut(_) => status::TIMED_OUT,
            Self::Missing
            | Self::Launch(_)
            | Self::Busy(_)
            | Self::Crashed
            | Self::Protocol(_)
            | Self::TooLarge(_) => status::BROWSER_FAILED,
        };
        PageFailure::new(code, self.to_string())
    }
}

impl From<cdp::CallError> for RenderError {
    fn from(error: cdp::CallError) -> Self {
        match error {
            cdp::CallError::Gone => Self::Crashed,
            other => Self::Protocol(other.to_string()),
        }
    }
}

/// A rendered page and what rendering it used.
#[derive(Clone, Debug)]
pub struct Rendered {
    /// The page; its body is the final document, as UTF-8 HTML.
    pub page: FetchedPage,
    /// Decoded bytes of the main document and of all its resources.
    pub loaded_bytes: u64,
    /// The browser's CPU time for this page.
    pub cpu: Duration,
    /// A PNG screenshot, if requested.
    pub screenshot: Option<Bytes>,
    /// Metadata for the caller: `automation_data`.
    pub metadata: Map<String, Value>,
}

/// On whose behalf a page is rendered, and its limits.
#[derive(Clone, Copy, Debug)]
pub struct RenderJob<'a> {
    /// The account that pays: tabs are shared fairly among owners.
    pub owner: &'a str,
    /// Decoded bytes that the page may load, capped at [`LOADED_BYTES_MAX`].
    pub bytes_max: u64,
    /// When the page must be finished.
    pub deadline: Instant,
}

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

    /// Renders one page. `fetch.timeout` is ignored: the job's deadline bounds all of it.
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
        let deadline = job.deadline;
        let time = deadline.saturating_duration_since(Instant::now());
        let page = async {
            let slot = self.pool.acquire(job.owner, deadline).await?;
            let route = self
                .egress
                .route(fetch.pool.name(), fetch.country_code.as_deref());
            let channel = self.egress.open_proxy(route, ProxyLimits::default()).await;
            let channel = channel.map_err(|error| {
                RenderError::Protocol(format!("its proxy cannot be opened: {error}"))
            })?;
            let rendered = tab::render(&slot, &channel, url, fetch, plan, job).await;
            slot.finish(rendered.is_ok());
            rendered
        };
        tokio::time::timeout_at(deadline.into(), page)
            .await
            .unwrap_or(Err(RenderError::TimedOut(time)))
    }

    /// Stops the browser and waits until all of its processes have ended.
    pub async fn close(&self) {
        self.pool.close().await;
    }
}
