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

/// Removes the page logs of deleted crawls. One that cannot be removed is logged.
pub(crate) fn remove(data: &Path, ids: &[String]) {
    for id in ids {
        if let Err(error) = PageLog::remove(data, id) {
            tracing::error!(crawl = id, error = %error, "could not remove the page log of an expired crawl");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_a_page_log_that_stays_the_others_are_removed() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |id: &str| folder.path().join("crawls").join(format!("{id}.pages"));
        // Not a file, so it cannot be removed like one.
        std::fs::create_dir_all(path("aa")).expect("a folder");
        drop(PageLog::open(folder.path(), "bb").expect("a log"));
        assert!(path("bb").exists());
        remove(folder.path(), &["aa".to_owned(), "bb".to_owned()]);
        assert!(path("aa").exists() && !path("bb").exists());
    }
}
