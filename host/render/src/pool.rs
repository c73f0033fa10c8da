//! The running browsers and their tabs. A browser starts when a page needs one, and is replaced
//! after a number of pages, at an age, or when it uses too much memory; pages beyond the limit wait
//! for a tab.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, Weak};
use std::time::{Duration, Instant};

use tokio::sync::Mutex;

use trawl_model::fair::{FairPermit, FairSemaphore};

use super::browser::Browser;
use super::config::RenderConfig;
use super::error::RenderError;
use super::launch;

/// How often the memory of a browser with open pages is checked: a page grows by about a gigabyte a
/// second at most.
const MEMORY_CHECK_INTERVAL: Duration = Duration::from_millis(500);
/// One check in so many while no page is open: what is left of pages does not grow.
const IDLE_CHECKS: u32 = 10;

pub(super) struct Pool {
    config: RenderConfig,
    program: Option<PathBuf>,
    tabs: Arc<FairSemaphore>,
    /// The browser that opens new pages. Earlier ones end with their last page.
    current: Mutex<Option<Arc<Browser>>>,
    /// All that were started and have not ended.
    started: std::sync::Mutex<Vec<Weak<Browser>>>,
    is_closed: AtomicBool,
    /// Why the last browser did not start.
    failure: std::sync::Mutex<Option<String>>,
    /// Whether the folders of earlier servers were removed.
    is_swept: AtomicBool,
}

/// The right to one open page in a browser; released on drop, after the page's context is gone.
pub(super) struct TabSlot {
    pub(super) browser: Arc<Browser>,
    permit: Option<FairPermit>,
    pool: Weak<Pool>,
}

impl Pool {
    pub(super) fn new(config: RenderConfig) -> Arc<Self> {
        Arc::new(Self {
            program: launch::find(config.program.as_deref(), &config.search_path),
            tabs: FairSemaphore::new(config.tabs_max.max(1), config.tabs_per_owner),
            current: Mutex::default(),
            started: std::sync::Mutex::default(),
            is_closed: AtomicBool::new(false),
            failure: std::sync::Mutex::default(),
            is_swept: AtomicBool::new(false),
            config,
        })
    }

    pub(super) fn is_installed(&self) -> bool {
        self.program.is_some()
    }

    /// Number of tabs that an owner has.
    pub(super) fn tabs_of(&self, owner: &str) -> usize {
        self.tabs.in_use(owner)
    }

    /// Waits for a tab, and starts a browser if none runs.
    ///
    /// # Errors
    /// [`RenderError`]: no browser is installed, it does not start, or no tab became free in time.
    pub(super) async fn acquire(
        self: &Arc<Self>,
        owner: &str,
        deadline: Instant,
    ) -> Result<TabSlot, RenderError> {
        let program = self.program.as_ref().ok_or(RenderError::Missing)?;
        let left = deadline.saturating_duration_since(Instant::now());
        let wait_max = self.config.tab_wait_max.min(left);
        let requested = Instant::now();
        let permit = tokio::time::timeout(wait_max, self.tabs.acquire(owner)).await;
        let Ok(permit) = permit else {
            return Err(RenderError::Busy(wait_max));
        };
        metrics::histogram!("trawl_browser_tab_wait_duration_seconds").record(requested.elapsed());
        let mut current = self.current.lock().await;
        let browser = match current
            .take()
            .filter(|browser| browser.is_usable(&self.config))
        {
            Some(browser) => browser,
            None => self.start(program).await?,
        };
        let slot = self.slot(Arc::clone(&browser), permit).await?;
        *current = Some(browser);
        Ok(slot)
    }

    /// Waits for a tab and starts a browser for it alone: for a page that lost its browser, perhaps
    /// by its own fault.
    ///
    /// # Errors
    /// As [`Pool::acquire`].
    pub(super) async fn acquire_alone(
        self: &Arc<Self>,
        owner: &str,
    ) -> Result<TabSlot, RenderError> {
        let program = self.program.as_ref().ok_or(RenderError::Missing)?;
        let permit = self.tabs.acquire(owner).await;
        let browser = self.start(program).await?;
        browser.retire();
        self.slot(browser, permit).await
    }

    /// A tab in this browser, unless the pool was closed meanwhile.
    async fn slot(
        self: &Arc<Self>,
        browser: Arc<Browser>,
        permit: FairPermit,
    ) -> Result<TabSlot, RenderError> {
        if self.is_closed.load(Ordering::Relaxed) {
            browser.end().await;
            return Err(RenderError::Crashed);
        }
        browser.page_opened();
        metrics::gauge!("trawl_browser_tabs").increment(1.0);
        Ok(TabSlot {
            browser,
            permit: Some(permit),
            pool: Arc::downgrade(self),
        })
    }

    /// Why the last browser did not start; `None` when it did.
    pub(super) fn failure(&self) -> Option<String> {
        self.failure
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    async fn start(
        self: &Arc<Self>,
        program: &std::path::Path,
    ) -> Result<Arc<Browser>, RenderError> {
        if !self.is_swept.swap(true, Ordering::Relaxed) {
            let _panicked =
                tokio::task::spawn_blocking(|| launch::sweep(&std::env::temp_dir())).await;
        }
        let started = Browser::start(program, &self.config).await;
        let failure = started.as_ref().err().map(ToString::to_string);
        *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = failure;
        let browser = Arc::new(started?);
        let mut all = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|browser| browser.strong_count() > 0);
        all.push(Arc::downgrade(&browser));
        drop(all);
        tokio::spawn(watch_memory(Arc::downgrade(self), Arc::downgrade(&browser)));
        Ok(browser)
    }

    /// Ends this browser if no page is open in it; `false` if there is one.
    async fn end_idle(&self, browser: &Arc<Browser>) -> bool {
        // Under the lock, so that no page is opened in it meanwhile.
        let mut current = self.current.lock().await;
        if browser.open_pages() > 0 {
            return false;
        }
        drop(current.take_if(|current| Arc::ptr_eq(current, browser)));
        drop(current);
        metrics::counter!("trawl_browser_recycles_total").increment(1);
        browser.end().await;
        true
    }

    /// [`Browser::contents`] of the browser that opens pages; nothing if there is none.
    pub(super) async fn contents(&self) -> Result<Vec<String>, RenderError> {
        let current = self.current.lock().await.clone();
        match current {
            Some(browser) => browser.contents().await,
            None => Ok(Vec::new()),
        }
    }

    /// Stops all browsers, also those that were about to end, and opens no further page.
    pub(super) async fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
        let current = self.current.lock().await.take();
        let started = {
            let mut started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *started)
        };
        for browser in started.iter().filter_map(Weak::upgrade) {
            browser.end().await;
        }
        drop(current);
    }
}

/// Watches the memory of a browser until it ends. One that retires while no page is open has no
/// last page to end with, and ends here.
async fn watch_memory(pool: Weak<Pool>, browser: Weak<Browser>) {
    for n_checks in 0_u32.. {
        tokio::time::sleep(MEMORY_CHECK_INTERVAL).await;
        let (Some(pool), Some(browser)) = (pool.upgrade(), browser.upgrade()) else {
            return;
        };
        if browser.connection().gone().is_cancelled() {
            // One that crashed while no page was open; else its last page ends it.
            pool.end_idle(&browser).await;
            return;
        }
        if browser.open_pages() == 0 && !n_checks.is_multiple_of(IDLE_CHECKS) {
            continue;
        }
        let (checked, config) = (Arc::clone(&browser), pool.config.clone());
        let check = tokio::task::spawn_blocking(move || checked.check_memory(&config));
        let _panicked = check.await;
        if !browser.is_usable(&pool.config) && pool.end_idle(&browser).await {
            return;
        }
    }
}

impl TabSlot {
    /// Counts a crash if the browser ended during a page that failed.
    pub(super) fn note_crash(&self, is_good: bool) {
        if !is_good && self.browser.connection().gone().is_cancelled() {
            metrics::counter!("trawl_browser_crashes_total").increment(1);
        }
    }
}

impl Drop for TabSlot {
    fn drop(&mut self) {
        self.browser.page_closed();
        metrics::gauge!("trawl_browser_tabs").decrement(1.0);
        drop(self.permit.take());
        let Some(pool) = self.pool.upgrade() else {
            return;
        };
        if !self.browser.is_usable(&pool.config) && self.browser.open_pages() == 0 {
            let browser = Arc::clone(&self.browser);
            browser.retire();
            metrics::counter!("trawl_browser_recycles_total").increment(1);
            if let Ok(runtime) = tokio::runtime::Handle::try_current() {
                runtime.spawn(async move { browser.end().await });
            }
        }
    }
}
