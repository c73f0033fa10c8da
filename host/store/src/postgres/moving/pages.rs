//! The page logs of a data directory are copied into segments of an object store.

use std::path::Path;

use futures_util::TryStreamExt as _;
use sqlx::postgres::PgConnection;
use sqlx::sqlite::SqlitePool;

use super::tables::{MOVING, READING};
use crate::crawls::{LogPosition, SegmentId};
use crate::error::StoreError;
use crate::objects::Objects;
use crate::page_log::PageLog;
use crate::postgres::row::failed_to;
use crate::segments::SEGMENT_BYTES;

/// Where page logs are copied from and to.
pub(super) struct PageCopy<'a> {
    pub(super) data: &'a Path,
    pub(super) objects: &'a Objects,
    /// A connection that commits at once: the database knows a segment before it is written, also
    /// if the move is rolled back. One without crawls is deleted after a while.
    pub(super) notes: PgConnection,
}

/// Entries of a segment, and for each of them the crawl and the number of its page, and its place.
#[derive(Default)]
struct Segment {
    bytes: Vec<u8>,
    crawls: Vec<i64>,
    pages: Vec<i64>,
    places: Vec<i64>,
}

impl PageCopy<'_> {
    /// Copies the entries of all crawls, and says in the target where they are now. Those that the
    /// files lack stay where they are missing.
    pub(super) async fn run(
        mut self,
        source: &SqlitePool,
        target: &mut PgConnection,
    ) -> Result<(), StoreError> {
        let failed = failed_to(READING);
        let crawls: Vec<(i64, String)> =
            sqlx::query_as("SELECT number, id FROM crawls ORDER BY number")
                .fetch_all(source)
                .await
                .map_err(&failed)?;
        let mut segment = Segment::default();
        for (crawl, id) in crawls {
            // A file that is missing would be created.
            if PageLog::bytes(self.data, &id) == 0 {
                continue;
            }
            let log = PageLog::open(self.data, &id)?;
            let mut pages = sqlx::query_as::<_, (i64, i64, i64)>(
                "SELECT seq, place, length FROM crawl_pages WHERE crawl = ? ORDER BY seq",
            )
            .bind(crawl)
            .fetch(source);
            while let Some((seq, place, length)) = pages.try_next().await.map_err(&failed)? {
                let Some(record) = log.record(&position(place, length)?)? else {
                    continue;
                };
                segment.add((crawl, seq), &record);
                if segment.bytes.len() >= SEGMENT_BYTES {
                    self.write(std::mem::take(&mut segment), target).await?;
                }
            }
        }
        self.write(segment, target).await
    }

    async fn write(
        &mut self,
        segment: Segment,
        target: &mut PgConnection,
    ) -> Result<(), StoreError> {
        if segment.pages.is_empty() {
            return Ok(());
        }
        let failed = failed_to(MOVING);
        let id = SegmentId::random();
        sqlx::query(
            "INSERT INTO segments (id, created)
             VALUES ($1, (EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT)",
        )
        .bind(id.0)
        .execute(&mut self.notes)
        .await
        .map_err(&failed)?;
        self.objects.put(&id.object(), segment.bytes).await?;
        sqlx::query(
            "INSERT INTO segment_crawls (crawl, segment)
             SELECT DISTINCT crawl, $1::BIGINT FROM UNNEST($2::BIGINT[]) AS new (crawl)",
        )
        .bind(id.0)
        .bind(segment.crawls.clone())
        .execute(&mut *target)
        .await
        .map_err(&failed)?;
        let expected = segment.pages.len() as u64;
        let done = sqlx::query(
            "UPDATE crawl_pages AS page SET segment = $1, place = new.place
             FROM UNNEST($2::BIGINT[], $3::BIGINT[], $4::BIGINT[]) AS new (crawl, seq, place)
             WHERE page.crawl = new.crawl AND page.seq = new.seq",
        )
        .bind(id.0)
        .bind(segment.crawls)
        .bind(segment.pages)
        .bind(segment.places)
        .execute(target)
        .await
        .map_err(&failed)?;
        match done.rows_affected() == expected {
            true => Ok(()),
            false => {
                let what = "not every page has its entry".to_owned();
                Err(StoreError::CopyDiffers { what })
            }
        }
    }
}

impl Segment {
    fn add(&mut self, (crawl, page): (i64, i64), record: &[u8]) {
        self.crawls.push(crawl);
        self.pages.push(page);
        self.places.push(self.bytes.len() as i64);
        self.bytes.extend_from_slice(record);
    }
}

/// The position of an entry in the file of its crawl.
fn position(place: i64, length: i64) -> Result<LogPosition, StoreError> {
    let unreadable = |what: &'static str| StoreError::Unreadable { what };
    Ok(LogPosition {
        segment: None,
        offset: u64::try_from(place).map_err(|_| unreadable("place"))?,
        length: u32::try_from(length).map_err(|_| unreadable("length"))?,
    })
}
