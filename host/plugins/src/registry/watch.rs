//! Watches the manifest and the plugins' folders, and reloads when a file changes.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use notify::event::{AccessKind, AccessMode};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::reload::Plugins;

/// Quiet time after which a change is complete: editors write, rename and touch in quick
/// succession.
const QUIET: Duration = Duration::from_millis(40);
/// Longest wait for a quiet time, for folders that never have one.
const QUIET_WAIT_MAX: Duration = Duration::from_millis(400);
/// How often files are polled: network folders, symbolic links and full event queues send no
/// events.
const POLL_EVERY: Duration = Duration::from_secs(2);

impl Plugins {
    /// Reloads whenever a file changes, until `cancel`. Failures are logged and reported by
    /// [`Plugins::status`].
    pub async fn watch(self: Arc<Self>, cancel: CancellationToken) {
        let (sender, mut events) = mpsc::channel(1);
        let mut folders = Folders::new(sender);
        loop {
            folders.follow(&self);
            tokio::select! {
                () = cancel.cancelled() => return,
                _ = events.recv() => settle(&mut events).await,
                () = sleep(POLL_EVERY) => {}
            }
            let plugins = Arc::clone(&self);
            let reload = tokio::task::spawn_blocking(move || plugins.reload_if_changed());
            if let Err(_panic) = reload.await {
                tracing::error!("a reload of the plugins panicked");
            }
        }
    }
}

/// Waits for a quiet time.
async fn settle(events: &mut mpsc::Receiver<()>) {
    let deadline = Instant::now() + QUIET_WAIT_MAX;
    while Instant::now() < deadline && matches!(timeout(QUIET, events.recv()).await, Ok(Some(()))) {
    }
}

/// The watched folders. Not files: a rename over a file ends the watch on it.
struct Folders {
    watcher: Option<RecommendedWatcher>,
    watched: BTreeSet<PathBuf>,
}

impl Folders {
    fn new(sender: mpsc::Sender<()>) -> Self {
        let on_event = move |event: notify::Result<Event>| {
            if event.is_ok_and(|event| is_change(event.kind)) {
                // An event in the full queue triggers the same reload.
                let _ = sender.try_send(());
            }
        };
        let watcher = notify::recommended_watcher(on_event)
            .inspect_err(|error| {
                tracing::warn!(
                    "plugin files are polled every {} s, the system sends no events: {error}",
                    POLL_EVERY.as_secs()
                );
            })
            .ok();
        Self {
            watcher,
            watched: BTreeSet::new(),
        }
    }

    /// Watches exactly the folders that plugins are loaded from.
    fn follow(&mut self, plugins: &Plugins) {
        let Some(watcher) = &mut self.watcher else {
            return;
        };
        let wanted: BTreeSet<_> = plugins.folders().into_iter().collect();
        for unused in self.watched.difference(&wanted) {
            // The watch on a deleted folder is gone already.
            let _ = watcher.unwatch(unused);
        }
        self.watched.retain(|folder| wanted.contains(folder));
        for folder in wanted {
            // A folder that does not exist yet is tried again at the next poll.
            if !self.watched.contains(&folder)
                && watcher.watch(&folder, RecursiveMode::NonRecursive).is_ok()
            {
                self.watched.insert(folder);
            }
        }
    }
}

/// Whether an event can mean a change; reading a file, as a reload does, does not.
fn is_change(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(access) => access == AccessKind::Close(AccessMode::Write),
        _ => true,
    }
}
