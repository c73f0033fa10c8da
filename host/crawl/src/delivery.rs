//! The delivery of a page: to the recorder, and to the caller of a streaming crawl.

use std::sync::Arc;

use bytes::Bytes;

use trawl_model::ContentHash;
use trawl_model::memory::MemoryLease;
use trawl_model::outcome::PageOutcome;

use super::batch::Recorded;
use super::lock;
use super::run::CrawlRun;
use super::webhooks::Event;

/// Most bytes of a failed page's error in lists; its entry has the whole error.
const ERROR_BYTES_MAX: usize = 512;

/// A page that is completed and not delivered yet. Dropping it fetches the pages that were folded
/// into it, even when the task is aborted, and no other page folds into it then.
pub(super) struct Undelivered {
    run: Arc<CrawlRun>,
    n: u32,
    is_open: bool,
}

impl Undelivered {
    pub(super) fn new(run: &Arc<CrawlRun>, n: u32) -> Self {
        Self {
            run: Arc::clone(run),
            n,
            is_open: true,
        }
    }

    /// The recorder has it, which notes that it is delivered once it stores it.
    fn sent(mut self) {
        self.is_open = false;
    }
}

impl Drop for Undelivered {
    fn drop(&mut self) {
        if self.is_open {
            lock(&self.run.frontier).has_failed(self.n);
            self.run.frontier_changed.notify_one();
        }
    }
}

/// An error, truncated for lists.
fn truncated(error: &str) -> String {
    error[..error.floor_char_boundary(ERROR_BYTES_MAX)].to_owned()
}

/// The entry of a page with the memory lease of its outcome, which is released once the entry is
/// stored and sent. Its events, of `event_bytes` bytes, are stored at the same time.
fn held(memory: Option<Arc<MemoryLease>>, entry: Vec<u8>, event_bytes: usize) -> Bytes {
    match memory.and_then(Arc::into_inner) {
        Some(mut lease) => {
            lease.record(entry.capacity() + event_bytes);
            lease.attach(entry)
        }
        None => entry.into(),
    }
}

/// Notes where a page was found or is named, and whether it has failed, perhaps only because it
/// could not be paid.
fn note_end(undelivered: &Undelivered, outcome: &mut PageOutcome) {
    let (run, n) = (&undelivered.run, undelivered.n);
    let mut frontier = lock(&run.frontier);
    outcome.batch = run.pages.place(n);
    if outcome.batch.is_none() {
        outcome.place = Some(frontier.place(n));
    }
    if outcome.error.is_some() {
        frontier.has_failed(n);
        drop(frontier);
        run.frontier_changed.notify_one();
    }
}

/// The headers of a page for its events. Those that only the webhook requires are not part of the
/// entry.
fn event_headers(
    run: &CrawlRun,
    n: u32,
    outcome: &mut PageOutcome,
) -> Option<Vec<(String, String)>> {
    if run.pages.shows_headers(n) {
        outcome.headers.clone()
    } else {
        outcome.headers.take()
    }
}

/// Passes a page on to the recorder and to the caller of a streaming crawl, with its decoded bytes
/// and the content that later pages are compared with.
pub(super) async fn deliver(
    undelivered: Undelivered,
    (n_bytes, content): (u64, Option<ContentHash>),
    mut outcome: PageOutcome,
) {
    let (run, n) = (Arc::clone(&undelivered.run), undelivered.n);
    let headers = event_headers(&run, n, &mut outcome);
    let is_failed = outcome.error.is_some();
    note_end(&undelivered, &mut outcome);
    let mut entry = Vec::new();
    trawl_wire::write_entry(&outcome, &mut entry);
    let events = run.receivers.events.as_ref().map(|events| {
        let headers = headers.as_deref().unwrap_or_default();
        events.page(n, &outcome, headers, &entry)
    });
    let events = events.unwrap_or_default();
    let event_bytes = events.iter().map(Event::bytes).sum();
    let entry = held(outcome.memory.take(), entry, event_bytes);
    let charge = outcome.charge.total();
    run.job.update(|progress| {
        progress.n_pages += 1;
        progress.n_failed += u64::from(is_failed);
        progress.n_bytes += n_bytes;
        progress.spent += charge;
    });
    let recorded = Recorded {
        n,
        status: outcome.status,
        is_failed,
        n_bytes,
        charge,
        at: run.clock.now(),
        cause: outcome.error.as_ref().map(|failure| failure.cause),
        error: outcome
            .error
            .as_ref()
            .map(|failure| truncated(&failure.message)),
        content: content.filter(|_| !is_failed),
        entry: entry.clone(),
        events,
    };
    // Only the entry waits for the recorder and for the caller.
    drop(outcome);
    // The recorder is gone only after the store failed repeatedly; the caller still gets the pages
    // that were charged.
    let _gone = run.receivers.recorder.send(recorded).await;
    undelivered.sent();
    if let Some(listener) = &run.receivers.listener {
        // The loop notices when the caller hangs up.
        let _gone = listener.send(entry).await;
    }
}
