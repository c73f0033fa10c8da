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
mod content;
mod context;
mod counts;
mod events;
mod exchanges;
mod fields;
mod frames;
mod input;
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

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use serde_json::{Map, Value};
use url::Url;

pub use exchanges::Unstorable;
use pool::{Pool, TabSlot};
use trawl_model::{Cause, FetchedPage, PageFailure};
use trawl_net::egress::{Egress, ProxyLimits};
use trawl_net::politeness::Permit;
use trawl_plan::{FetchPlan, RenderPlan};

/// Pages open at once, unless configured otherwise: about 100 MB each, and four keep two cores
/// busy.
pub const TABS_MAX: usize = 8;
/// Bytes of one page's HTML as UTF-8, as for plain HTTP. With the default [`PAGE_BYTES_MAX`], the
/// memory of the page ends it first: the browser takes some hundred bytes for one of HTML.
pub const HTML_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Bytes of a file that is not HTML: it is read in one message, which has up to six times as many.
/// Plain HTTP reads larger ones.
const FILE_BYTES_MAX: u64 = 10_000_000;
/// Decoded bytes that a page may load with all of its resources: as many as plain HTTP allows for
/// one page, so that both reserve the same amount. Heavy pages without videos have some 30 MB.
pub const LOADED_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Memory of one page, unless configured otherwise: large applications use a third.
pub const PAGE_BYTES_MAX: u64 = 1024 * 1024 * 1024;
/// Least time left in which a page that lost its browser is rendered again.
const RETRY_TIME_MIN: Duration = Duration::from_secs(2);

/// Settings of a [`Renderer`].
#[derive(Clone, Debug)]
pub struct RenderConfig {
    /// The browser's executable; `None` searches for one.
    pub program: Option<PathBuf>,
    /// The search path of executables: the value of `PATH`.
    pub search_path: OsString,
    /// The user account that the browser runs as when the server runs as root.
    pub user: String,
    /// Whether the browser runs without its sandbox.
    pub no_sandbox: bool,
    /// Pages open at once.
    pub tabs_max: usize,
    /// Pages of one owner open at once.
    pub tabs_per_owner: usize,
    /// Pages after which a process is replaced.
    pub pages_per_process: u32,
    /// Age after which a process is replaced.
    pub process_age_max: Duration,
    /// Private memory of a browser's processes at which it is replaced; at one and a half times as
    /// much, the page that grew most in the last seconds is killed at once.
    pub process_bytes_max: u64,
    /// Private memory of a page's process at which it is killed.
    pub page_bytes_max: u64,
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
            tabs_per_owner: TABS_MAX,
            pages_per_process: 200,
            process_age_max: Duration::from_secs(30 * 60),
            process_bytes_max: 2 * 1024 * 1024 * 1024,
            page_bytes_max: PAGE_BYTES_MAX,
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
    /// The page's own process crashed, and the browser did not.
    #[error(
        "the page crashed its process, as pages do whose scripts fill their memory of {} MB",
        launch::SCRIPT_HEAP_MB
    )]
    PageCrashed,
    /// The browser failed to execute a command.
    #[error("the browser failed: {0}")]
    Protocol(String),
    /// The page could not be loaded.
    #[error("{1}")]
    Load(Cause, String),
    /// The page did not finish before its deadline.
    #[error("the page did not render within {} s", .0.as_secs_f64().round())]
    TimedOut(Duration),
    /// The page used more memory than it may.
    #[error(
        "the page used too much memory and was stopped; ask for `request: \"http\"`, or block what it does not need"
    )]
    Memory,
    /// The screenshot was not captured in time.
    #[error(
        "the browser did not capture the screenshot within {} s; ask for a smaller one or for none",
        .0.as_secs()
    )]
    Screenshot(Duration),
    /// The page has more of something than it may.
    #[error("the page has more than {1} {0} at once, the most that one page may have")]
    TooMany(&'static str, usize),
    /// The page made the browser report something too large to be read.
    #[error("the page made the browser send a message of {0} bytes, more than is read of one page")]
    Oversize(u64),
    /// The page's HTML is too large.
    #[error("the page's HTML is larger than {0} bytes, the most that is read of one page")]
    DocumentTooLarge(usize),
    /// The URL is a large file.
    #[error(
        "the URL is a file of more than {0} bytes, the most that the browser returns; use `request: \"http\"`"
    )]
    FileTooLarge(u64),
    /// The page loads more than it may.
    #[error("the page loads more than {0} bytes, the most that is loaded for one page")]
    TooLarge(u64),
}

impl RenderError {
    /// The failure of the page.
    pub fn failure(&self) -> PageFailure {
        let cause = match self {
            Self::Load(cause, _) => *cause,
            Self::TimedOut(_) => Cause::Timeout,
            Self::Missing => Cause::NoBrowser,
            Self::Busy(_) => Cause::BrowserBusy,
            Self::Launch(_) | Self::Crashed | Self::Protocol(_) => Cause::BrowserFailed,
            Self::Screenshot(_) => Cause::Screenshot,
            Self::Memory
            | Self::PageCrashed
            | Self::TooMany(..)
            | Self::Oversize(_)
            | Self::DocumentTooLarge(_)
            | Self::FileTooLarge(_)
            | Self::TooLarge(_) => Cause::PageLimit,
        };
        PageFailure::new(cause, self.to_string())
    }
}

impl From<cdp::CallError> for RenderError {
    fn from(error: cdp::CallError) -> Self {
        match error {
            cdp::CallError::Gone => Self::Crashed,
            cdp::CallError::Oversize(bytes) => Self::Oversize(bytes),
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
    /// Metadata for the caller: `automation_data`, and `incomplete` for a page that was read before
    /// it was ready.
    pub metadata: Map<String, Value>,
    /// Why no other caller may get this page; `None` if nothing that went into it speaks against
    /// it.
    pub unstorable: Option<Unstorable>,
}

/// Whether an answer is a bot wall's challenge, by status, headers and HTML.
pub type IsChallenge = fn(u16, &[(String, String)], &[u8]) -> bool;

/// On whose behalf a page is rendered, and its limits.
#[derive(Clone, Copy, Debug)]
pub struct RenderJob<'a> {
    /// The account that pays: tabs are shared fairly among owners.
    pub owner: &'a str,
    /// Decoded bytes that the page may load, capped at [`LOADED_BYTES_MAX`].
    pub bytes_max: u64,
    /// When the page must be finished.
    pub deadline: Instant,
    /// Tells a challenge, whose scripts get time to pass it.
    pub is_challenge: IsChallenge,
}

/// One page to render: its URL, its plans, and for whom.
#[derive(Clone, Copy)]
struct Visit<'a> {
    url: &'a Url,
    fetch: &'a FetchPlan,
    plan: &'a RenderPlan,
    job: RenderJob<'a>,
}

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
