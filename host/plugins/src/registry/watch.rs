//! Watching the manifest and the plugins' folders, so that a changed file is in effect without being asked for.

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

/// Quiet after which a change is taken for finished: editors write, rename and touch in quick succession.
const QUIET: Duration = Duration::from_millis(40);
/// Longest wait for quiet, so that a folder that is never quiet is looked at too.
const QUIET_WAIT_MAX: Duration = Duration::from_millis(400);
/// How often the files are looked at without an event: network folders, symbolic links and full event queues send none.
const LOOK_EVERY: Duration = Duration::from_secs(2);

impl Plugins {
    /// Reloads whenever a file changes, until `cancel`. Failures are logged and told by [`Plugins::status`].
    pub async fn watch(self: Arc<Self>, cancel: CancellationToken) {
        let (sender, mut events) = mpsc::channel(1);
        let mut folders = Folders::new(sender);
        loop {
            folders.follow(&self);
            tokio::select! {
                () = cancel.cancelled() => return,
                _ = events.recv() => settle(&mut events).await,
                () = sleep(LOOK_EVERY) => {}
            }
            let plugins = Arc::clone(&self);
            let look = tokio::task::spawn_blocking(move || plugins.reload_if_changed());
            if let Err(error) = look.await {
                tracing::error!("a reload of the plugins broke down: {error}");
            }
        }
    }
}

/// Waits until no event has come for a moment.
async fn settle(events: &mut mpsc::Receiver<()>) {
    let deadline = Instant::now() + QUIET_WAIT_MAX;
    while Instant::now() < deadline && matches!(timeout(QUIET, events.recv()).await, Ok(Some(()))) {
    }
}

/// The folders under watch. Folders rather than files: a rename over a file ends a watch on the file.
struct Folders {
    watcher: Option<RecommendedWatcher>,
    watched: BTreeSet<PathBuf>,
}

impl Folders {
    fn new(sender: mpsc::Sender<()>) -> Self {
        let on_event = move |event: notify::Result<Event>| {
            if event.is_ok_and(|event| is_change(event.kind)) {
                // A full queue already says that something changed.
                let _ = sender.try_send(());
            }
        };
        let watcher = notify::recommended_watcher(on_event)
            .inspect_err(|error| {
                tracing::warn!(
                    "plugin files are looked at every {} s only, the system gives no events: {error}",
                    LOOK_EVERY.as_secs()
                );
            })
            .ok();
        Self {
            watcher,
            watched: BTreeSet::new(),
        }
    }

    /// Watches exactly the folders that the plugins are in now.
    fn follow(&mut self, plugins: &Plugins) {
        let Some(watcher) = &mut self.watcher else {
            return;
        };
        let wanted: BTreeSet<_> = plugins.folders().into_iter().collect();
        for gone in self.watched.difference(&wanted) {
            // A folder that was deleted is unwatched already.
            let _ = watcher.unwatch(gone);
        }
        self.watched.retain(|folder| wanted.contains(folder));
        for folder in wanted {
            // A folder that is not there yet is tried again at the next look.
            if !self.watched.contains(&folder)
                && watcher.watch(&folder, RecursiveMode::NonRecursive).is_ok()
            {
                self.watched.insert(folder);
            }
        }
    }
}

/// Whether an event can mean a change; reading a file, as a reload does, is none.
fn is_change(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(access) => access == AccessKind::Close(AccessMode::Write),
        _ => true,
    }
}
