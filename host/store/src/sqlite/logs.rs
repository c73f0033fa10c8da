//! Whether the page logs of the stored crawls are there: they are files next to the database, and a
//! copy of the database alone lacks them.

use std::path::Path;

use sqlx::sqlite::SqliteConnection;

use super::row::failed_to;
use crate::{PageLog, StoreError};

/// Logs which crawls have entries in the database and not on the disk.
pub(super) async fn name_missing(
    connection: &mut SqliteConnection,
    data: &Path,
) -> Result<(), StoreError> {
    PageLog::name_incomplete(&incomplete(connection, data).await?);
    Ok(())
}

/// The crawls whose page log is shorter than the database says.
async fn incomplete(
    connection: &mut SqliteConnection,
    data: &Path,
) -> Result<Vec<String>, StoreError> {
    let ends: Vec<(String, Option<i64>)> = sqlx::query_as(
        "SELECT id, (SELECT place + length FROM crawl_pages WHERE crawl = number
             ORDER BY seq DESC LIMIT 1) FROM crawls ORDER BY number",
    )
    .fetch_all(connection)
    .await
    .map_err(failed_to("read the crawls"))?;
    let is_short = |id: &str, end: i64| {
        let bytes = PageLog::bytes(data, id);
        u64::try_from(end).is_ok_and(|end| bytes < end)
    };
    let ends = ends.into_iter();
    let short = ends.filter(|(id, end)| end.is_some_and(|end| is_short(id, end)));
    Ok(short.map(|(id, _)| id).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::fixtures::{crawl, first_page, with_accounts};
    use crate::sqlite::SqliteStore;
    use crate::{CrawlCounts, CrawlStore as _, DataDir, Progress};

    #[tokio::test]
    async fn crawls_without_their_logs_are_named() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let data = DataDir::create(directory.path()).expect("a data directory");
        let store = SqliteStore::open(data).await.expect("a store");
        with_accounts(&store).await;
        for id in ["aa", "bb", "cc", "dd"] {
            store.create_crawl(&crawl(id)).await.expect("a new crawl");
            let mut log = PageLog::open(directory.path(), id).expect("a log");
            let places = log.append(&[b"{}"]).expect("appended");
            let progress = Progress {
                urls: Vec::new(),
                // The last one has no page yet.
                pages: places
                    .into_iter()
                    .filter(|_| id != "dd")
                    .map(first_page)
                    .collect(),
                counts: CrawlCounts::default(),
            };
            let saved = store.save_crawl_progress(id, &progress);
            saved.await.expect("saved");
        }
        let file = |id: &str| directory.path().join(format!("crawls/{id}.pages"));
        std::fs::remove_file(file("aa")).expect("removed");
        std::fs::write(file("cc"), "x").expect("shortened");
        std::fs::remove_file(file("dd")).expect("removed");
        let mut writer = store.writer().await.expect("the writer");
        let found = incomplete(writer.connection(), directory.path()).await;
        assert_eq!(found.expect("read"), ["aa", "cc"]);
    }
}
