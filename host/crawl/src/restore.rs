//! The stored state of a crawl: its frontier and its page log.

use std::sync::Arc;

use trawl_model::UrlRow;
use trawl_plan::crawl::CrawlPlan;
use trawl_store::{PageLog, StoreError};

use super::frontier::Frontier;
use super::job::Job;
use super::parts::CrawlsParts;

/// Rows of a stored frontier that are read at once.
const ROWS_AT_ONCE: u32 = 10_000;

/// The stored frontier and `true`, or a new one that has the seeds.
pub(super) async fn frontier(
    parts: &CrawlsParts,
    job: &Job,
    plan: &Arc<CrawlPlan>,
) -> Result<(Frontier, bool), StoreError> {
    let rows = if job.in_background {
        stored_urls(parts, &job.id).await?
    } else {
        Vec::new()
    };
    let is_stored = !rows.is_empty();
    let plan = Arc::clone(plan);
    let restore = move || {
        if is_stored {
            return Frontier::restore(plan, rows.into_iter());
        }
        let mut frontier = Frontier::new(plan);
        frontier.add_seeds();
        frontier
    };
    // There may be a hundred thousand seeds, so this is blocking work.
    let frontier = tokio::task::spawn_blocking(restore)
        .await
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()));
    Ok((frontier, is_stored))
}

async fn stored_urls(parts: &CrawlsParts, id: &str) -> Result<Vec<UrlRow>, StoreError> {
    let mut rows: Vec<UrlRow> = Vec::new();
    loop {
        let after = rows.last().map(|row| row.n);
        let more = parts.store.crawl_urls(id, after, ROWS_AT_ONCE).await?;
        if more.is_empty() {
            return Ok(rows);
        }
        rows.extend(more);
    }
}

/// The page log, positioned after the last entry that the store knows.
pub(super) async fn page_log(parts: &CrawlsParts, job: &Job) -> Result<PageLog, StoreError> {
    let last = parts.store.last_crawl_page(&job.id).await?;
    let last = last.map(|page| page.place);
    let (data, id) = (parts.data.clone(), job.id.clone());
    tokio::task::spawn_blocking(move || PageLog::continue_after(&data, &id, last.as_ref()))
        .await
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))
}
