//! What is looked up and noted beside the money.

use std::time::Duration;

use sqlx::Row;
use sqlx::sqlite::{SqliteConnection, SqlitePool, SqliteRow};

use super::{SqliteStore, accounts, column, crawls, failed_to, outbox};
use crate::outbox::new_webhook_secret;
use crate::{
    AccountId, AccountUsage, Consumed, CrawlRecord, CrawledPage, KeyRecord, KeyUse, Notice,
    OutboxRow, PageRange, PricesRow, Records, Rows, StoreError, StoreFuture, Threshold, Told,
};
use trawl_model::clock::Timestamp;
use trawl_model::secret::Secret;
use trawl_model::{Charge, Nanodollars};

const NOTING: &str = "note what was told of a balance";
const LISTING: &str = "read a list";

impl Records for SqliteStore {
    fn all_keys<'a>(&'a self, account: &'a AccountId) -> StoreFuture<'a, Vec<KeyRecord>> {
        Box::pin(accounts::keys_of(&self.readers, account))
    }

    fn note_key_uses<'a>(&'a self, uses: &'a [KeyUse]) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let mut writer = self.writer().await?;
            accounts::note_uses(writer.connection(), uses).await
        })
    }

    fn renew_webhook_secret<'a>(&'a self, account: &'a AccountId) -> StoreFuture<'a, Secret> {
        Box::pin(async move {
            let mut writer = self.writer().await?;
            outbox::renew_secret(writer.connection(), account, &new_webhook_secret()).await
        })
    }

    fn save_notice<'a>(
        &'a self,
        account: &'a AccountId,
        notice: &'a Notice,
    ) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let mut writer = self.writer().await?;
            save_notice(writer.connection(), account, notice).await
        })
    }

    fn note_told<'a>(
        &'a self,
        account: &'a AccountId,
        threshold: Threshold,
        told: Told,
    ) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let mut writer = self.writer().await?;
            note_told(writer.connection(), account, threshold, told).await
        })
    }

    fn prices(&self) -> StoreFuture<'_, Vec<PricesRow>> {
        Box::pin(prices(&self.readers))
    }

    fn add_prices<'a>(&'a self, row: &'a PricesRow) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let mut writer = self.writer().await?;
            add_prices(writer.connection(), row).await
        })
    }

    fn usage(&self, from: Timestamp, to: Timestamp) -> StoreFuture<'_, Vec<AccountUsage>> {
        Box::pin(usage(&self.readers, from, to))
    }

    fn crawl_rows<'a>(
        &'a self,
        account: &'a AccountId,
        cut: PageRange,
    ) -> StoreFuture<'a, Rows<CrawlRecord>> {
        Box::pin(crawl_rows(&self.readers, account, cut))
    }

    fn page_rows<'a>(
        &'a self,
        account: &'a AccountId,
        in_background: bool,
        cut: PageRange,
    ) -> StoreFuture<'a, Rows<CrawledPage>> {
        Box::pin(page_rows(&self.readers, account, in_background, cut))
    }

    fn outbox_rows<'a>(
        &'a self,
        account: &'a AccountId,
        cut: PageRange,
    ) -> StoreFuture<'a, Rows<OutboxRow>> {
        Box::pin(outbox_rows(&self.readers, account, cut))
    }
}

async fn save_notice(
    connection: &mut SqliteConnection,
    account: &AccountId,
    notice: &Notice,
) -> Result<(), StoreError> {
    sqlx::query(
        "UPDATE accounts SET notice_to = ?, notice_below = ?, low_count = ?, low_told = ?, empty_count = ?, empty_told = ?
         WHERE id = ?",
    )
    .bind(notice.destination.as_deref())
    .bind(notice.below.0)
    .bind(signed(notice.low.count))
    .bind(notice.low.is_told)
    .bind(signed(notice.empty.count))
    .bind(notice.empty.is_told)
    .bind(account.as_str())
    .execute(connection)
    .await
    .map_err(failed_to("write who is told of a balance"))
    .map(drop)
}

async fn note_told(
    connection: &mut SqliteConnection,
    account: &AccountId,
    threshold: Threshold,
    told: Told,
) -> Result<(), StoreError> {
    let sql = match threshold {
        Threshold::Low => "UPDATE accounts SET low_count = ?, low_told = ? WHERE id = ?",
        Threshold::Empty => "UPDATE accounts SET empty_count = ?, empty_told = ? WHERE id = ?",
    };
    sqlx::query(sql)
        .bind(signed(told.count))
        .bind(told.is_told)
        .bind(account.as_str())
        .execute(connection)
        .await
        .map_err(failed_to(NOTING))
        .map(drop)
}

async fn prices(readers: &SqlitePool) -> Result<Vec<PricesRow>, StoreError> {
    let rows = sqlx::query("SELECT at, prices FROM price_history ORDER BY seq")
        .fetch_all(readers)
        .await
        .map_err(failed_to("read the prices"))?;
    let row = |row: &SqliteRow| {
        Ok(PricesRow {
            at: Timestamp(column(row, "at")?),
            prices: column(row, "prices")?,
        })
    };
    rows.iter().map(row).collect()
}

async fn add_prices(connection: &mut SqliteConnection, row: &PricesRow) -> Result<(), StoreError> {
    sqlx::query("INSERT INTO price_history (at, prices) VALUES (?, ?)")
        .bind(row.at.0)
        .bind(row.prices.as_str())
        .execute(connection)
        .await
        .map_err(failed_to("write the prices"))
        .map(drop)
}

/// Every post is a page. A void is one unless it gives back what a run did not need: only those of runs have no address.
async fn usage(
    readers: &SqlitePool,
    from: Timestamp,
    to: Timestamp,
) -> Result<Vec<AccountUsage>, StoreError> {
    let rows = sqlx::query(
        "SELECT account,
             SUM(kind = 'post') AS n_pages,
             SUM(kind = 'void' AND (url <> '' OR hold NOT LIKE 'p:%')) AS n_failed,
             SUM(n_bytes) AS n_bytes, SUM(cpu) AS cpu,
             SUM(ai) AS ai, SUM(compute) AS compute, SUM(file) AS file, SUM(bytes_transferred) AS bytes_transferred,
             SUM(transform) AS transform, SUM(vendor_billed) AS vendor_billed,
             SUM(CASE kind WHEN 'top_up' THEN amount ELSE 0 END) AS top_ups,
             SUM(CASE kind WHEN 'bonus' THEN amount ELSE 0 END) AS bonuses,
             SUM(CASE kind WHEN 'seats' THEN -amount ELSE 0 END) AS seats
         FROM entries WHERE at >= ? AND at < ? GROUP BY account ORDER BY account",
    )
    .bind(from.0)
    .bind(to.0)
    .fetch_all(readers)
    .await
    .map_err(failed_to("add up the usage"))?;
    rows.iter().map(account_usage).collect()
}

fn account_usage(row: &SqliteRow) -> Result<AccountUsage, StoreError> {
    let amount = |name| column(row, name).map(Nanodollars);
    Ok(AccountUsage {
        account: AccountId::new(column::<&str>(row, "account")?),
        n_pages: counted(row, "n_pages")?,
        n_failed: counted(row, "n_failed")?,
        consumed: Consumed {
            n_bytes: counted(row, "n_bytes")?,
            cpu: Duration::from_micros(counted(row, "cpu")?),
        },
        charge: Charge {
            ai: amount("ai")?,
            compute: amount("compute")?,
            file: amount("file")?,
            bytes_transferred: amount("bytes_transferred")?,
            transform: amount("transform")?,
            vendor_billed: amount("vendor_billed")?,
        },
        top_ups: amount("top_ups")?,
        bonuses: amount("bonuses")?,
        seats: amount("seats")?,
    })
}

async fn crawl_rows(
    readers: &SqlitePool,
    account: &AccountId,
    cut: PageRange,
) -> Result<Rows<CrawlRecord>, StoreError> {
    let count = count(
        readers,
        "SELECT COUNT(*) FROM crawls WHERE account = ?",
        account,
    )
    .await?;
    let rows = sqlx::query(
        "SELECT * FROM crawls WHERE account = ? ORDER BY created DESC, number DESC LIMIT ? OFFSET ?",
    );
    let rows = rows
        .bind(account.as_str())
        .bind(cut.limit)
        .bind(signed(cut.offset))
        .fetch_all(readers)
        .await
        .map_err(failed_to(LISTING))?;
    let rows = rows.iter().map(crawls::record).collect::<Result<_, _>>()?;
    Ok(Rows { rows, count })
}

async fn page_rows(
    readers: &SqlitePool,
    account: &AccountId,
    in_background: bool,
    cut: PageRange,
) -> Result<Rows<CrawledPage>, StoreError> {
    let failed = failed_to(LISTING);
    let count: i64 = sqlx::query_scalar(
        "SELECT COUNT(*) FROM crawls JOIN crawl_pages ON crawl = number WHERE account = ? AND in_background >= ?",
    )
    .bind(account.as_str())
    .bind(in_background)
    .fetch_one(readers)
    .await
    .map_err(&failed)?;
    let rows = sqlx::query(
        "SELECT crawls.id AS id, seq, url, status, error, cost, at
         FROM crawls JOIN crawl_pages AS page ON page.crawl = number
         JOIN crawl_urls AS address ON address.crawl = number AND address.n = page.n
         WHERE account = ? AND in_background >= ? ORDER BY created DESC, number DESC, seq DESC LIMIT ? OFFSET ?",
    )
    .bind(account.as_str())
    .bind(in_background)
    .bind(cut.limit)
    .bind(signed(cut.offset))
    .fetch_all(readers)
    .await
    .map_err(&failed)?;
    let count = count.unsigned_abs();
    let rows = rows.iter().map(crawled_page).collect::<Result<_, _>>()?;
    Ok(Rows { rows, count })
}

fn crawled_page(row: &SqliteRow) -> Result<CrawledPage, StoreError> {
    Ok(CrawledPage {
        crawl: column(row, "id")?,
        seq: counted(row, "seq")?,
        url: column(row, "url")?,
        status: column(row, "status")?,
        error: column(row, "error")?,
        cost: Nanodollars(column(row, "cost")?),
        at: column::<Option<i64>>(row, "at")?.map(Timestamp),
    })
}

async fn outbox_rows(
    readers: &SqlitePool,
    account: &AccountId,
    cut: PageRange,
) -> Result<Rows<OutboxRow>, StoreError> {
    let count = count(
        readers,
        "SELECT COUNT(*) FROM outbox WHERE account = ?",
        account,
    )
    .await?;
    let rows = sqlx::query("SELECT * FROM outbox WHERE account = ? ORDER BY seq LIMIT ? OFFSET ?")
        .bind(account.as_str())
        .bind(cut.limit)
        .bind(signed(cut.offset))
        .fetch_all(readers)
        .await
        .map_err(failed_to(LISTING))?;
    let rows = rows.iter().map(outbox::event).collect::<Result<_, _>>()?;
    Ok(Rows { rows, count })
}

async fn count(
    readers: &SqlitePool,
    sql: &'static str,
    account: &AccountId,
) -> Result<u64, StoreError> {
    let row = sqlx::query(sql)
        .bind(account.as_str())
        .fetch_one(readers)
        .await;
    let count: i64 = row
        .and_then(|row| row.try_get(0))
        .map_err(failed_to(LISTING))?;
    Ok(count.unsigned_abs())
}

fn counted(row: &SqliteRow, name: &'static str) -> Result<u64, StoreError> {
    let value: i64 = column(row, name)?;
    u64::try_from(value).map_err(|_| StoreError::Unreadable { what: name })
}

/// Counts stay far below the largest signed number; what a caller may ask for need not.
fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
