//! Lists of an account's records, in pages. A page starts after a key, so that it costs the same
//! anywhere in the list, and the number of all rows is a stored total. Only the columns that are
//! shown are read: a crawl's request and an event's body may have megabytes. A short request is
//! read for its URL.

use sqlx::AssertSqlSafe;
use sqlx::pool::PoolConnection;
use sqlx::sqlite::{Sqlite, SqliteRow};

use super::row::failed_to;
use super::{SqliteStore, totals};
use crate::rows::{self, column, signed};
use crate::{
    AccountId, AccountTotals, Contact, CrawlKinds, CrawlSummary, CrawledPage, EventSummary,
    LoggedPage, PageRange, PageStart, RowKey, Rows, StoreError,
};

const READING: &str = "read a list";
/// The key before the first row of a list in descending order.
const FIRST_DESCENDING: RowKey = RowKey([i64::MAX; 3]);
/// The same in ascending order.
const FIRST_ASCENDING: RowKey = RowKey([i64::MIN; 3]);

/// A list that is being read.
struct List {
    connection: PoolConnection<Sqlite>,
    totals: AccountTotals,
    limit: u32,
    after: [i64; 3],
    offset: i64,
}

impl List {
    async fn open(
        store: &SqliteStore,
        account: &AccountId,
        range: PageRange,
        first: RowKey,
    ) -> Result<Self, StoreError> {
        let mut connection = store.list_connection().await?;
        let totals = totals::of_account(&mut connection, account.as_str()).await?;
        let (after, offset) = match range.start {
            PageStart::Offset(offset) => (first, signed(offset)),
            PageStart::After(key) => (key, 0),
        };
        Ok(Self {
            connection,
            totals,
            limit: range.limit,
            after: after.0,
            offset,
        })
    }

    /// Rows to read: one more than the page has, which shows whether there is a next page.
    fn n_read(&self) -> i64 {
        i64::from(self.limit) + 1
    }

    /// The page of these rows.
    fn page<T>(
        &self,
        rows: Vec<SqliteRow>,
        count: u64,
        key: impl Fn(&SqliteRow) -> Result<RowKey, StoreError>,
        read: impl Fn(&SqliteRow) -> Result<T, StoreError>,
    ) -> Result<Rows<T>, StoreError> {
        Rows::of(rows, (self.limit, count), key, read)
    }
}

/// Crawls of these kinds of an account, newest first.
pub(super) async fn crawls(
    store: &SqliteStore,
    account: &AccountId,
    kinds: CrawlKinds,
    range: PageRange,
) -> Result<Rows<CrawlSummary>, StoreError> {
    let mut list = List::open(store, account, range, FIRST_DESCENDING).await?;
    // Written out, as in the partial indexes of schema version 14.
    let of_kinds = match kinds {
        CrawlKinds::All => "",
        CrawlKinds::Crawls => "AND verb <> 'batch'",
        CrawlKinds::Batches => "AND verb = 'batch'",
    };
    let sql = format!(
        "SELECT id, number, verb, in_background, state, stop, created, ended, n_pages, n_failed,
             n_bytes, spent,
             CASE WHEN octet_length(request) <= 4096 THEN request END AS short_request,
             (SELECT url FROM crawl_urls WHERE crawl = crawls.number AND n = 0) AS first_url
         FROM crawls WHERE account = ? {of_kinds} AND (created, number) < (?, ?)
         ORDER BY created DESC, number DESC LIMIT ? OFFSET ?"
    );
    let rows = sqlx::query(AssertSqlSafe(sql))
        .bind(account.as_str())
        .bind(list.after[0])
        .bind(list.after[1])
        .bind(list.n_read())
        .bind(list.offset)
        .fetch_all(&mut *list.connection)
        .await
        .map_err(failed_to(READING))?;
    let totals = &list.totals;
    let count = match kinds {
        CrawlKinds::All => totals.n_crawls,
        CrawlKinds::Crawls => totals.n_crawls.saturating_sub(totals.n_batches),
        CrawlKinds::Batches => totals.n_batches,
    };
    let key = |row: &SqliteRow| Ok(RowKey([column(row, "created")?, column(row, "number")?, 0]));
    list.page(rows, count, key, rows::listed_crawl)
}

/// Pages of crawls, newest crawl and page first: the rest of the crawl where the last page of the
/// list ended, then earlier crawls.
pub(super) async fn pages(
    store: &SqliteStore,
    account: &AccountId,
    in_background: bool,
    range: PageRange,
) -> Result<Rows<CrawledPage>, StoreError> {
    let mut list = List::open(store, account, range, FIRST_DESCENDING).await?;
    let [created, number, seq] = list.after;
    let mut rows = sqlx::query(
        "SELECT crawls.id AS id, created, number, seq, url, status, cause, error, cost, at
         FROM crawls JOIN crawl_pages AS page ON page.crawl = number
         JOIN crawl_urls AS address ON address.crawl = number AND address.n = page.n
         WHERE number = ? AND account = ? AND in_background >= ? AND seq < ? ORDER BY seq DESC LIMIT ?",
    )
    .bind(number)
    .bind(account.as_str())
    .bind(in_background)
    .bind(seq)
    .bind(list.n_read())
    .fetch_all(&mut *list.connection)
    .await
    .map_err(failed_to(READING))?;
    let earlier = sqlx::query(
        "SELECT crawls.id AS id, created, number, seq, url, status, cause, error, cost, at
         FROM crawls JOIN crawl_pages AS page ON page.crawl = number
         JOIN crawl_urls AS address ON address.crawl = number AND address.n = page.n
         WHERE account = ? AND in_background >= ? AND (created, number) < (?, ?)
         ORDER BY created DESC, number DESC, seq DESC LIMIT ? OFFSET ?",
    )
    .bind(account.as_str())
    .bind(in_background)
    .bind(created)
    .bind(number)
    .bind(list.n_read() - rows.len() as i64)
    .bind(list.offset)
    .fetch_all(&mut *list.connection)
    .await
    .map_err(failed_to(READING))?;
    rows.extend(earlier);
    let count = match in_background {
        true => list.totals.n_background_pages,
        false => list.totals.n_pages,
    };
    let key = |row: &SqliteRow| {
        let number = |name| column(row, name);
        Ok(RowKey([
            number("created")?,
            number("number")?,
            number("seq")?,
        ]))
    };
    list.page(rows, count, key, rows::crawled_page)
}

/// Pages of a crawl in order of completion, after `after`.
pub(super) async fn log(
    store: &SqliteStore,
    id: &str,
    after: u64,
    count_max: u32,
) -> Result<Vec<LoggedPage>, StoreError> {
    let mut connection = store.list_connection().await?;
    let rows = sqlx::query(
        "SELECT crawls.id AS id, seq, length, url, status, cause, error, cost, at
         FROM crawls JOIN crawl_pages AS page ON page.crawl = number
         JOIN crawl_urls AS address ON address.crawl = number AND address.n = page.n
         WHERE crawls.id = ? AND seq > ? ORDER BY seq LIMIT ?",
    )
    .bind(id)
    .bind(signed(after))
    .bind(count_max)
    .fetch_all(&mut *connection)
    .await
    .map_err(failed_to(READING))?;
    rows.iter().map(rows::logged_page).collect()
}

/// Undelivered events of an account, in order of arrival.
pub(super) async fn events(
    store: &SqliteStore,
    account: &AccountId,
    range: PageRange,
) -> Result<Rows<EventSummary>, StoreError> {
    let mut list = List::open(store, account, range, FIRST_ASCENDING).await?;
    let rows = sqlx::query(
        "SELECT seq, id, destination, event, created, n_attempts, channel.due AS channel_due,
             channel.last_error, channel.last_failed
         FROM outbox JOIN outbox_channels AS channel USING (account, destination)
         WHERE account = ? AND seq > ? ORDER BY seq LIMIT ? OFFSET ?",
    )
    .bind(account.as_str())
    .bind(list.after[0])
    .bind(list.n_read())
    .bind(list.offset)
    .fetch_all(&mut *list.connection)
    .await
    .map_err(failed_to(READING))?;
    let key = |row: &SqliteRow| Ok(RowKey([column(row, "seq")?, 0, 0]));
    list.page(rows, list.totals.n_events, key, rows::event_summary)
}

/// Contacts of an account, of one domain if given, most recently seen first.
pub(super) async fn contacts(
    store: &SqliteStore,
    account: &AccountId,
    domain: Option<&str>,
    range: PageRange,
) -> Result<Rows<Contact>, StoreError> {
    let mut list = List::open(store, account, range, FIRST_DESCENDING).await?;
    let sql = match domain {
        None => {
            "SELECT * FROM contacts WHERE account = ?1 AND ?2 IS NULL AND (last_seen, seq) < (?3, ?4)
             ORDER BY last_seen DESC, seq DESC LIMIT ?5 OFFSET ?6"
        }
        Some(_) => {
            "SELECT * FROM contacts WHERE account = ?1 AND domain = ?2 AND (last_seen, seq) < (?3, ?4)
             ORDER BY last_seen DESC, seq DESC LIMIT ?5 OFFSET ?6"
        }
    };
    let rows = sqlx::query(sql)
        .bind(account.as_str())
        .bind(domain)
        .bind(list.after[0])
        .bind(list.after[1])
        .bind(list.n_read())
        .bind(list.offset)
        .fetch_all(&mut *list.connection)
        .await
        .map_err(failed_to(READING))?;
    let count = match domain {
        None => list.totals.n_contacts,
        // One range of an index, so at most the contacts of one site are counted.
        Some(domain) => sqlx::query_scalar::<_, i64>(
            "SELECT COUNT(*) FROM contacts WHERE account = ? AND domain = ?",
        )
        .bind(account.as_str())
        .bind(domain)
        .fetch_one(&mut *list.connection)
        .await
        .map_err(failed_to(READING))?
        .unsigned_abs(),
    };
    let key = |row: &SqliteRow| Ok(RowKey([column(row, "last_seen")?, column(row, "seq")?, 0]));
    list.page(rows, count, key, rows::contact)
}
