//! The stored entries of a crawl.

use std::path::Path;

use bytes::Bytes;

use trawl_store::{CrawlStore, PageLog, StoreError};

/// Entries by number, from 1 in the order of finishing: those after `after`, at most `count_max`.
///
/// # Errors
/// The store failed.
pub(crate) async fn read(
    store: &dyn CrawlStore,
    data: &Path,
    crawl_id: &str,
    after: u64,
    count_max: u32,
) -> Result<Vec<(u64, Bytes)>, StoreError> {
    let rows = store.crawl_pages(crawl_id, after, count_max).await?;
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let (data, crawl_id) = (data.to_owned(), crawl_id.to_owned());
    let read = tokio::task::spawn_blocking(move || {
        let log = PageLog::open(&data, &crawl_id)?;
        rows.iter()
            .map(|row| Ok((row.seq, Bytes::from(log.read(&row.place)?))))
            .collect()
    });
    read.await
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))
}
