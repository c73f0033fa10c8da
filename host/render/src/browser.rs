//! One browser process: it gives every page its own context, and is replaced before it grows old.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use chromiumoxide::cdp::browser_protocol::browser::{BrowserContextId, GetVersionParams};
use chromiumoxide::cdp::browser_protocol::system_info::GetProcessInfoParams;
use chromiumoxide::cdp::browser_protocol::target::{
    CloseTargetParams, DisposeBrowserContextParams, GetBrowserContextsParams, GetTargetsParams,
    SetDiscoverTargetsParams, TargetId,
};
use chromiumoxide::types::Command;
use serde::Deserialize;
use tokio::sync::Semaphore;

use super::cdp::{Connection, Forwarder};
use super::config::RenderConfig;
use super::error::RenderError;
use super::events::Events;
use super::launch::{self, Running};
use super::memory::{Growth, MemoryAction};
use super::workers::{SHARED, auto_attach_shared};

/// How long a browser may take to respond for the first time: one second with warm caches, several
/// from a cold disk.
const START_TIME_MAX: Duration = Duration::from_secs(20);
/// How long a browser may take for a command that no page can delay; beyond it the whole browser is
/// considered hung.
const COMMAND_TIME_MAX: Duration = Duration::from_secs(10);

/// How long after its process was killed a page may learn of it.
const KILL_NOTICE_TIME_MAX: Duration = Duration::from_secs(2);

/// A running browser.
pub(super) struct Browser {
    running: Mutex<Option<Running>>,
    /// Held while it ends, so that a concurrent `end` waits until it has.
    ending: tokio::sync::Mutex<()>,
    connection: Connection,
    /// The browser's `User-Agent`, without the mark of headless mode.
    pub(super) user_agent: String,
    started: Instant,
    pages: AtomicU32,
    open: AtomicU32,
    is_retired: AtomicBool,
    shared_cpu: Mutex<SharedCpu>,
    growth: Mutex<Growth>,
    /// When a page's process was last killed for its memory.
    last_memory_kill: Mutex<Option<Instant>>,
    /// One screenshot at a time: the process that all pages share holds it several times over.
    pub(super) screenshots: Semaphore,
}

/// CPU time of the processes that serve all pages, distributed among the open ones.
#[derive(Default)]
struct SharedCpu {
    last: f64,
    /// The share of a page that was open all the time.
    per_page: f64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TargetInfo {
    target_id: TargetId,
    r#type: String,
    opener_id: Option<String>,
    browser_context_id: Option<String>,
}

/// The relevant fields of `Target.targetCreated` and `Target.targetDestroyed`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TargetChange {
    target_info: Option<TargetInfo>,
    target_id: Option<TargetId>,
}

impl Browser {
    /// Starts a browser and waits until it responds.
    ///
    /// # Errors
    /// [`RenderError::Launch`].
    pub(super) async fn start(
        program: &std::path::Path,
        config: &RenderConfig,
    ) -> Result<Self, RenderError> {
        let (mut running, connection) = launch::start(program, config)?;
        let top = connection.listen("");
        let version = connection.call(None, GetVersionParams::default());
        let version = match tokio::time::timeout(START_TIME_MAX, version).await {
            Ok(Ok(version)) => version,
            failed => {
                let reason = match failed {
                    Err(_) => format!("it did not respond within {} s", START_TIME_MAX.as_secs()),
                    Ok(_) => match running.error_output().await {
                        output if output.is_empty() => "it exited at once".to_owned(),
                        output => output,
                    },
                };
                running.end().await;
                return Err(RenderError::Launch(reason));
            }
        };
        running.drain_stderr();
        let browser = Self {
            running: Mutex::new(Some(running)),
            ending: tokio::sync::Mutex::default(),
            user_agent: version.user_agent.replace("HeadlessChrome", "Chrome"),
            connection,
            started: Instant::now(),
            pages: AtomicU32::new(0),
            open: AtomicU32::new(0),
            is_retired: AtomicBool::new(false),
            shared_cpu: Mutex::default(),
            growth: Mutex::default(),
            last_memory_kill: Mutex::default(),
            screenshots: Semaphore::new(1),
        };
        let discover = SetDiscoverTargetsParams::new(true);
        browser.command(discover).await?;
        browser.command(auto_attach_shared()).await?;
        tokio::spawn(watch_targets(top, browser.connection.forwarder()));
        metrics::counter!("trawl_browser_launches_total").increment(1);
        Ok(browser)
    }

    pub(super) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Sends a command to the browser itself. One that takes too long ends the browser, which is
    /// considered hung.
    pub(super) async fn command<T: Command>(&self, params: T) -> Result<T::Response, RenderError> {
        let answer = self.connection.call(None, params);
        match tokio::time::timeout(COMMAND_TIME_MAX, answer).await {
            Ok(answer) => Ok(answer?),
            Err(_) => {
                self.retire();
                self.connection.gone().cancel();
                Err(RenderError::Crashed)
            }
        }
    }

    /// The ids of all browser contexts and targets. Both are empty while no page is open.
    pub(super) async fn contents(&self) -> Result<Vec<String>, RenderError> {
        let contexts = self.command(GetBrowserContextsParams::default()).await?;
        let targets = self.command(GetTargetsParams::default()).await?;
        let contexts = contexts.browser_context_ids.into_iter();
        let contexts = contexts.map(|id| format!("context {}", id.inner()));
        let targets = targets.target_infos.into_iter();
        let targets = targets.map(|target| format!("{} {}", target.r#type, target.url));
        Ok(contexts.chain(targets).collect())
    }

    /// Disposes of a context with everything in it.
    pub(super) async fn dispose(&self, context: BrowserContextId) {
        // If it fails, the browser is gone or hung; either way it is not used again.
        if self
            .command(DisposeBrowserContextParams::new(context))
            .await
            .is_err()
        {
            self.retire();
        }
    }

    /// Whether another page may be opened here.
    pub(super) fn is_usable(&self, config: &RenderConfig) -> bool {
        !self.is_retired.load(Ordering::Relaxed)
            && !self.connection.gone().is_cancelled()
            && self.pages.load(Ordering::Relaxed) < config.pages_per_process
            && self.started.elapsed() < config.process_age_max
    }

    /// Opens no further page here.
    pub(super) fn retire(&self) {
        self.is_retired.store(true, Ordering::Relaxed);
    }

    pub(super) fn page_opened(&self) {
        self.pages.fetch_add(1, Ordering::Relaxed);
        self.open.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn page_closed(&self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }

    /// Number of open pages.
    pub(super) fn open_pages(&self) -> u32 {
        self.open.load(Ordering::Relaxed)
    }

    /// Checks the memory of the processes: above the limit no further page is opened here; far
    /// above it, the page that grew is ended, or the browser if that grew itself.
    pub(super) fn check_memory(&self, config: &RenderConfig) {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(running) = &*running else {
            return;
        };
        let memory = running.memory();
        let mut growth = self.growth.lock().unwrap_or_else(PoisonError::into_inner);
        match growth.judge(&memory, config) {
            MemoryAction::Fine => {}
            MemoryAction::Retire => self.retire(),
            MemoryAction::Kill(page) => {
                self.retire();
                tracing::warn!(
                    bytes = page.bytes,
                    "a page used too much memory and its process was killed"
                );
                *self.memory_kill() = Some(Instant::now());
                running.kill(page.process);
            }
            MemoryAction::Replace => {
                self.retire();
                tracing::warn!("a browser used too much memory and is replaced");
                // With one page it is that page's doing.
                if self.open_pages() <= 1 {
                    *self.memory_kill() = Some(Instant::now());
                }
                self.connection.gone().cancel();
            }
        }
    }

    /// Whether a page's process was killed for its memory a moment ago, which is then why a page
    /// crashed.
    pub(super) fn has_just_killed(&self) -> bool {
        self.memory_kill()
            .is_some_and(|at| at.elapsed() < KILL_NOTICE_TIME_MAX)
    }

    fn memory_kill(&self) -> MutexGuard<'_, Option<Instant>> {
        self.last_memory_kill
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Distributes the CPU time that the shared processes used since the last call among the open
    /// pages, and returns the accumulated share of one page, in seconds.
    pub(super) async fn shared_cpu(&self) -> Result<f64, RenderError> {
        let processes = self
            .command(GetProcessInfoParams::default())
            .await?
            .process_info;
        let shared = processes
            .iter()
            .filter(|process| process.r#type != "renderer");
        let total: f64 = shared.map(|process| process.cpu_time).sum();
        let mut cpu = self
            .shared_cpu
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let open = f64::from(self.open_pages().max(1));
        cpu.per_page += (total - cpu.last).max(0.0) / open;
        cpu.last = cpu.last.max(total);
        Ok(cpu.per_page)
    }

    /// Kills all of its processes and waits for their end, also when another call has begun it.
    pub(super) async fn end(&self) {
        self.retire();
        self.connection.gone().cancel();
        let _turn = self.ending.lock().await;
        let running = self
            .running
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(running) = running {
            running.end().await;
        }
    }
}

/// For as long as the browser runs, closes every window that a page opens, and tells each page
/// of the workers that it starts and ends, dedicated, shared and service workers alike. A browser
/// whose windows and workers come faster than they are watched is ended: they would not be closed
/// or counted any more.
async fn watch_targets(mut top: Events, forwarder: Forwarder) {
    let mut workers: HashMap<TargetId, String> = HashMap::new();
    while let Some(event) = top.recv().await {
        let Ok(change) = serde_json::from_str::<TargetChange>(event.params.get()) else {
            continue;
        };
        let context = match (event.method.as_str(), change) {
            (
                "Target.targetCreated",
                TargetChange {
                    target_info: Some(new),
                    ..
                },
            ) => {
                if new.opener_id.is_some() {
                    forwarder.post(&CloseTargetParams::new(new.target_id));
                    continue;
                }
                let context = new.browser_context_id;
                let context = context.filter(|_| new.r#type.ends_with("worker"));
                if let Some(context) = &context {
                    workers.insert(new.target_id, context.clone());
                }
                context
            }
            // Pages are attached to as well.
            (
                "Target.attachedToTarget",
                TargetChange {
                    target_info: Some(new),
                    ..
                },
            ) if new.r#type == SHARED => new.browser_context_id,
            (
                "Target.targetDestroyed",
                TargetChange {
                    target_id: Some(old),
                    ..
                },
            ) => workers.remove(&old),
            _ => None,
        };
        if let Some(context) = context {
            forwarder.forward(&context, event);
        }
    }
    if top.end().is_some() {
        tracing::warn!("a browser opened too many windows and workers at once and is ended");
        forwarder.gone().cancel();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::super::events::Listener;
    use super::*;

    #[tokio::test]
    async fn a_browser_whose_targets_cannot_be_watched_ends() {
        let (ours, _theirs) = tokio::io::duplex(4096);
        let (output, input) = tokio::io::split(ours);
        let connection = Connection::open(input, output);
        let (listener, top) = Listener::new();
        let event = || RawValue::from_string("{}".to_owned()).expect("JSON");
        while listener.deliver("Target.targetCreated".to_owned(), event()) {}
        watch_targets(top, connection.forwarder()).await;
        assert!(connection.gone().is_cancelled());
    }
}
