//! Segments of the page logs, and the crawls that have pages in them.

use std::collections::BTreeSet;

use sqlx::postgres::{PgConnection, PgPool};

use trawl_model::clock::Timestamp;

use super::PostgresStore;
use super::row::{failed_to, taken_or};
use crate::{PageRow, SegmentId, SegmentStore, StoreError, StoreFuture};

const WRITING: &str = "write the segments";

impl SegmentStore for PostgresStore {
    fn add_segment(&self, id: SegmentId, at: Timestamp) -> StoreFuture<'_, ()> {
        Box::pin(add(&self.writers, id, at))
    }

    fn unused_segments(
        &self,
        before: Timestamp,
        count_max: u32,
    ) -> StoreFuture<'_, Vec<SegmentId>> {
        Box::pin(unused(&self.readers, before, count_max))
    }

    fn remove_segments<'a>(&'a self, ids: &'a [SegmentId]) -> StoreFuture<'a, ()> {
        Box::pin(remove(&self.writers, ids))
    }
}

async fn add(writers: &PgPool, id: SegmentId, at: Timestamp) -> Result<(), StoreError> {
    sqlx::query("INSERT INTO segments (id, created) VALUES ($1, $2)")
        .bind(id.0)
        .bind(at.0)
        .execute(writers)
        .await
        .map_err(taken_or("this segment", WRITING))
        .map(drop)
}

async fn unused(
    readers: &PgPool,
    before: Timestamp,
    count_max: u32,
) -> Result<Vec<SegmentId>, StoreError> {
    let ids: Vec<i64> = sqlx::query_scalar(
        "SELECT id FROM segments WHERE created < $1
         AND NOT EXISTS (SELECT 1 FROM segment_crawls WHERE segment = segments.id)
         ORDER BY created LIMIT $2",
    )
    .bind(before.0)
    .bind(i64::from(count_max))
    .fetch_all(readers)
    .await
    .map_err(failed_to("read the segments"))?;
    Ok(ids.into_iter().map(SegmentId).collect())
}

async fn remove(writers: &PgPool, ids: &[SegmentId]) -> Result<(), StoreError> {
    let ids: Vec<i64> = ids.iter().map(|id| id.0).collect();
    sqlx::query("DELETE FROM segments WHERE id = ANY($1)")
        .bind(ids)
        .execute(writers)
        .await
        .map_err(failed_to(WRITING))
        .map(drop)
}

/// Notes which segments the pages of a crawl are in.
pub(super) async fn note_crawl(
    connection: &mut PgConnection,
    crawl: i64,
    rows: &[PageRow],
) -> Result<(), StoreError> {
    let segments = rows.iter().filter_map(|row| row.place.segment);
    let segments: BTreeSet<i64> = segments.map(|id| id.0).collect();
    if segments.is_empty() {
        return Ok(());
    }
    sqlx::query(
        "INSERT INTO segment_crawls (crawl, segment) SELECT $1, UNNEST($2::BIGINT[])
         ON CONFLICT DO NOTHING",
    )
    .bind(crawl)
    .bind(segments.into_iter().collect::<Vec<i64>>())
    .execute(connection)
    .await
    .map_err(failed_to("write a crawl"))
    .map(drop)
}
