//! A headless browser: pages made by JavaScript. A pool of processes, a fresh context for each page, and every byte through the
//! proxy of the context. Returns the same kind of page as `fetch`.

mod automation;
mod browser;
mod input;
mod launch;
mod pool;
mod rules;
mod settle;
mod tab;
mod turns;
mod watch;
mod wire;

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

/// Pages open at once, unless the configuration says otherwise: about 100 MB each, and two cores are busy with four.
pub const TABS_MAX: usize = 8;
/// Characters of one page's HTML, as for plain HTTP.
pub const HTML_CHARS_MAX: usize = 64 * 1024 * 1024;
/// Decoded bytes that a page may load with everything it consists of: as many as plain HTTP lets a page have, so that both set
/// the same money aside. Heavy pages without their films have some 30 MB.
pub const LOADED_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Settings of the room.
#[derive(Clone, Debug)]
pub struct RenderConfig {
    /// The browser's file; `None` looks for one on the search path.
    pub program: Option<PathBuf>,
    /// Where programs are looked for: the value of `PATH`.
    pub search_path: OsString,
    /// The account that the browser runs as when the server is root.
    pub user: String,
    /// Run without the browser's own sandbox, and as root when the server is.
    pub no_sandbox: bool,
    /// Pages open at once.
    pub tabs_max: usize,
    /// Pages after which a process is replaced.
    pub pages_per_process: u32,
    /// Age after which a process is replaced.
    pub process_age_max: Duration,
    /// Private memory of a process tree after which it is replaced; half as much again loses its largest page at once.
    pub process_bytes_max: u64,
    /// How long a page waits for a place.
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
    /// There is no browser.
    #[error(
        "no browser is installed; ask for `request: \"http\"`, or install Chromium and restart"
    )]
    Missing,
    /// It does not start.
    #[error("the browser cannot be started: {0}")]
    Launch(String),
    /// No place became free.
    #[error("no browser tab became free within {} s", .0.as_secs())]
    Busy(Duration),
    /// The page crashed, or took the browser with it.
    #[error("the page crashed the browser")]
    Crashed,
    /// The browser refused something it should do.
    #[error("the browser failed: {0}")]
    Protocol(String),
    /// The page could not be loaded.
    #[error("{1}")]
    Load(u16, String),
    /// The page takes too long.
    #[error("timed out after {} s", .0.as_secs())]
    TimedOut(Duration),
    /// The page loads more than a page may.
    #[error("the page loads more than {0} bytes")]
    TooLarge(u64),
}

impl RenderError {
    /// What the page becomes.
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

impl From<wire::CallError> for RenderError {
    fn from(error: wire::CallError) -> Self {
        match error {
            wire::CallError::Gone => Self::Crashed,
            other => Self::Protocol(other.to_string()),
        }
    }
}

/// A rendered page and what it took.
#[derive(Clone, Debug)]
pub struct Rendered {
    /// The page; its body is the document as it stood at the end, as UTF-8 HTML.
    pub page: FetchedPage,
    /// Decoded bytes of the main document and of everything it loaded.
    pub loaded_bytes: u64,
    /// The browser's CPU time for this page.
    pub cpu: Duration,
    /// A PNG picture, when asked for.
    pub screenshot: Option<Bytes>,
    /// What is told of the way: `automation_data`.
    pub told: Map<String, Value>,
}

/// For whom a page is rendered, and how much of everything it may take.
#[derive(Clone, Copy, Debug)]
pub struct RenderJob<'a> {
    /// Who pays: tabs are dealt out fairly among owners.
    pub owner: &'a str,
    /// Decoded bytes that the page may load; at most [`LOADED_BYTES_MAX`] counts.
    pub bytes_max: u64,
    /// When the page must be done.
    pub deadline: Instant,
}

/// Renders pages. One for the whole server; starts a browser when the first page needs one.
pub struct Renderer {
    pool: Arc<Pool>,
    egress: Arc<Egress>,
}

impl Renderer {
    /// A renderer whose pages reach the network only through proxy channels of `egress`.
    pub fn new(config: RenderConfig, egress: Arc<Egress>) -> Self {
        Self {
            pool: Pool::new(config),
            egress,
        }
    }

    /// Whether there is a browser at all.
    pub fn is_installed(&self) -> bool {
        self.pool.is_installed()
    }

    /// Renders one page. `fetch.timeout` is not looked at: the errand's deadline bounds all of it.
    ///
    /// # Errors
    /// [`RenderError`]; its [`failure`](RenderError::failure) is what the page becomes.
    pub async fn render(
        &self,
        _permit: &Permit,
        url: &Url,
        fetch: &FetchPlan,
        plan: &RenderPlan,
        errand: RenderJob<'_>,
    ) -> Result<Rendered, RenderError> {
        let deadline = errand.deadline;
        let time = deadline.saturating_duration_since(Instant::now());
        let page = async {
            let place = self.pool.place(errand.owner, deadline).await?;
            let route = self
                .egress
                .route(fetch.pool.name(), fetch.country_code.as_deref());
            let channel = self.egress.open_proxy(route, ProxyLimits::default()).await;
            let channel = channel.map_err(|error| {
                RenderError::Protocol(format!("cannot open a proxy channel: {error}"))
            })?;
            let rendered = tab::render(&place, &channel, url, fetch, plan, errand).await;
            place.done(rendered.is_ok());
            rendered
        };
        tokio::time::timeout_at(deadline.into(), page)
            .await
            .unwrap_or(Err(RenderError::TimedOut(time)))
    }

    /// Ends every browser and waits until all of their processes are gone.
    pub async fn close(&self) {
        self.pool.close().await;
    }
}
