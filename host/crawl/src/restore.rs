//! The stored state of a crawl: its frontier and its page log.

use std::sync::Arc;

use tokio::sync::mpsc;

use trawl_model::UrlRow;
use trawl_model::memory::MemoryLease;
use trawl_plan::crawl::CrawlPlan;
use trawl_store::{LogWriter, RowBytes, StoreError};

use super::frontier::Frontier;
use super::job::Job;
use super::parts::CrawlsParts;

/// Rows of a stored frontier that are read at once. Three such windows are in memory: one that is
/// taken, one that waits and one that is read.
const ROWS_AT_ONCE: u32 = 1_000;
const WINDOWS: usize = 3;

/// The stored frontier and `true`, or a new one that has the seeds. The rows are read under this
/// lease, which a stored crawl took before its turn.
pub(super) async fn frontier(
    parts: &CrawlsParts,
    job: &Job,
    plan: &Arc<CrawlPlan>,
    lease: Option<MemoryLease>,
) -> Result<(Frontier, bool), StoreError> {
    let Some(lease) = lease.filter(|_| job.in_background) else {
        return Ok((new(Arc::clone(plan)).await, false));
    };
    let first = window(parts, job, None).await?;
    if first.is_empty() {
        return Ok((new(Arc::clone(plan)).await, false));
    }
    let of_thread = Arc::clone(plan);
    let (windows, read) = mpsc::channel(1);
    let restoring = on_thread(move || Frontier::restore(of_thread, rows(read)));
    // Only the rows that are on their way are in memory twice: here and in the frontier.
    let (lease, mut frontier) =
        tokio::join!(send_windows(parts, job, (first, lease), windows), restoring);
    // What was read before a failure is not a complete frontier.
    let lease = lease?;
    if plan.fold.equal || plan.fold.canonical {
        add_pages(parts, job, &mut frontier).await?;
    }
    drop(lease);
    Ok((frontier, true))
}

/// Adds what later pages are compared with, in windows that need less memory than windows of rows.
async fn add_pages(
    parts: &CrawlsParts,
    job: &Job,
    frontier: &mut Frontier,
) -> Result<(), StoreError> {
    let mut after = 0;
    loop {
        let pages = parts.store.crawl_contents(&job.id, after, ROWS_AT_ONCE);
        let pages = pages.await?;
        let Some(last) = pages.last() else {
            return Ok(());
        };
        after = last.seq;
        for page in &pages {
            frontier.restore_page(page.n, page.is_failed, page.content);
        }
    }
}

/// A new frontier with the seeds, of which there may be a hundred thousand.
async fn new(plan: Arc<CrawlPlan>) -> Frontier {
    on_thread(move || {
        let mut frontier = Frontier::new(plan);
        frontier.add_seeds();
        frontier
    })
    .await
}

/// Runs work that may take long on a thread that may block.
async fn on_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))
}

/// The stored URLs after this number, as many as are read at once.
async fn window(
    parts: &CrawlsParts,
    job: &Job,
    after: Option<u32>,
) -> Result<Vec<UrlRow>, StoreError> {
    parts.store.crawl_urls(&job.id, after, ROWS_AT_ONCE).await
}

/// Reads windows of rows until the end and sends them, each when there is room for it. Returns
/// their lease.
async fn send_windows(
    parts: &CrawlsParts,
    job: &Job,
    (first, mut lease): (Vec<UrlRow>, MemoryLease),
    windows: mpsc::Sender<Vec<UrlRow>>,
) -> Result<MemoryLease, StoreError> {
    let mut next = first;
    while let Some(last) = next.last() {
        let after = last.n;
        // More only if the URLs are much longer than most.
        let most = WINDOWS * next.iter().map(UrlRow::bytes).sum::<usize>();
        lease.record_at_least(most);
        if windows.send(next).await.is_err() {
            break;
        }
        next = window(parts, job, Some(after)).await?;
    }
    Ok(lease)
}

/// The rows of all windows, on a thread that may block.
fn rows(mut windows: mpsc::Receiver<Vec<UrlRow>>) -> impl Iterator<Item = UrlRow> {
    std::iter::from_fn(move || windows.blocking_recv()).flatten()
}

/// The writer of the page log, positioned after the last entry that the store knows.
pub(super) async fn page_log(parts: &CrawlsParts, job: &Job) -> Result<LogWriter, StoreError> {
    let last = parts.store.last_crawl_page(&job.id).await?;
    parts
        .logs
        .writer(&job.id, last.map(|page| page.place))
        .await
}
