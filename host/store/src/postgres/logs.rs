//! Whether the page logs of the stored crawls are there: they are files in the data directory, and
//! another directory, or another machine, lacks them.

use std::path::Path;

use sqlx::postgres::PgConnection;

use super::row::failed_to;
use crate::{PageLog, StoreError};

/// Logs which crawls have entries in the database and not on the disk.
pub(super) async fn name_missing(
    connection: &mut PgConnection,
    data: &Path,
) -> Result<(), StoreError> {
    PageLog::name_incomplete(&incomplete(connection, data).await?);
    Ok(())
}

/// The crawls whose page log is shorter than the database says.
pub(super) async fn incomplete(
    connection: &mut PgConnection,
    data: &Path,
) -> Result<Vec<String>, StoreError> {
    let ends: Vec<(String, i64)> = sqlx::query_as(
        "SELECT id, page.place + page.length FROM crawls JOIN LATERAL
             (SELECT place, length, segment FROM crawl_pages WHERE crawl = number
              ORDER BY seq DESC LIMIT 1)
             AS page ON TRUE WHERE page.segment IS NULL ORDER BY number",
    )
    .fetch_all(connection)
    .await
    .map_err(failed_to("read the crawls"))?;
    let is_short = |id: &str, end: i64| {
        let bytes = PageLog::bytes(data, id);
        u64::try_from(end).is_ok_and(|end| bytes < end)
    };
    let ends = ends.into_iter();
    let short = ends.filter(|(id, end)| is_short(id, *end));
    Ok(short.map(|(id, _)| id).collect())
}
