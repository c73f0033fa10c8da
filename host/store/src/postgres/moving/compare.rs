//! Whether a copy has what its source has.

use std::collections::HashMap;

use futures_util::TryStreamExt as _;
use sqlx::AssertSqlSafe;
use sqlx::postgres::PgConnection;
use sqlx::sqlite::SqlitePool;

use super::tables::{READING, TABLES};
use crate::StoreError;
use crate::postgres::row::{failed_to, text};
use crate::postgres::verify::check_sums;
use crate::rows::{StoredRow, column};

/// Sums that the source has kept, and that the triggers of the target have added up anew. Both
/// databases read them in the order of bytes.
const SUMS: [&str; 2] = [
    "SELECT id, balance, held FROM accounts ORDER BY id",
    "SELECT prefix, month, month_spent FROM keys ORDER BY prefix",
];
const ACCOUNTS: &str = "SELECT id, created FROM accounts";
const LAST: &str = "SELECT COALESCE(MAX(seq), 0) FROM entries";
/// The ledger up to an entry.
const LEDGER: &str = "SELECT seq, id, account, kind, amount, held, hold, key, at FROM entries
    WHERE seq <= $1 ORDER BY seq";

/// The rows of [`SUMS`].
type Sums = Vec<(String, i64, i64)>;

/// Checks that a copy has as many rows, the same ledger and the same sums, and that these agree
/// with its rows.
pub(super) async fn check(
    source: &SqlitePool,
    target: &mut PgConnection,
) -> Result<(), StoreError> {
    let differs = |what: String| StoreError::CopyDiffers { what };
    let failed = failed_to(READING);
    for table in TABLES {
        let sql = format!("SELECT COUNT(*) FROM {}", table.name);
        let read = sqlx::query_scalar(AssertSqlSafe(sql.clone()));
        let expected: i64 = read.fetch_one(source).await.map_err(&failed)?;
        let read = sqlx::query_scalar(AssertSqlSafe(sql));
        let found: i64 = read.fetch_one(&mut *target).await.map_err(&failed)?;
        if found != expected {
            let name = table.name;
            let what = format!("{found} instead of {expected} rows of `{name}`");
            return Err(differs(what));
        }
    }
    if !has_ledger(source, target).await? {
        return Err(differs("the ledger has other entries".to_owned()));
    }
    for sql in SUMS {
        let expected: Sums = sqlx::query_as(sql)
            .fetch_all(source)
            .await
            .map_err(&failed)?;
        let found: Sums = sqlx::query_as(sql)
            .fetch_all(&mut *target)
            .await
            .map_err(&failed)?;
        if let Some((expected, found)) = expected.iter().zip(&found).find(|(a, b)| a != b) {
            return Err(differs(format!("{found:?} instead of {expected:?}")));
        }
    }
    let (_, lines) = check_sums(target).await?;
    match lines.is_empty() {
        true => Ok(()),
        false => Err(differs(lines.join("; "))),
    }
}

/// Whether a database was made of this source: it has its accounts, and its ledger begins with the
/// whole of the source's. Accounts are not deleted, and entries are final.
pub(super) async fn is_moved(
    source: &SqlitePool,
    target: &mut PgConnection,
) -> Result<bool, StoreError> {
    let failed = failed_to(READING);
    let expected: Vec<(String, i64)> = sqlx::query_as(ACCOUNTS)
        .fetch_all(source)
        .await
        .map_err(&failed)?;
    let found: Vec<(String, i64)> = sqlx::query_as(ACCOUNTS)
        .fetch_all(&mut *target)
        .await
        .map_err(&failed)?;
    let found: HashMap<String, i64> = found.into_iter().collect();
    let has = |(id, created): &(String, i64)| found.get(id) == Some(created);
    Ok(expected.iter().all(has) && has_ledger(source, target).await?)
}

/// Whether the ledger of the target begins with the whole of the source's.
async fn has_ledger(source: &SqlitePool, target: &mut PgConnection) -> Result<bool, StoreError> {
    let failed = failed_to(READING);
    let last: i64 = sqlx::query_scalar(LAST)
        .fetch_one(source)
        .await
        .map_err(&failed)?;
    let mut expected = blake3::Hasher::new();
    let mut rows = sqlx::query(LEDGER).bind(last).fetch(source);
    while let Some(row) = rows.try_next().await.map_err(&failed)? {
        add(&mut expected, &row)?;
    }
    let mut found = blake3::Hasher::new();
    let mut rows = sqlx::query(LEDGER).bind(last).fetch(target);
    while let Some(row) = rows.try_next().await.map_err(&failed)? {
        add(&mut found, &row)?;
    }
    Ok(found.finalize() == expected.finalize())
}

/// Adds an entry to the hash of a ledger.
fn add(ledger: &mut blake3::Hasher, entry: &impl StoredRow) -> Result<(), StoreError> {
    for name in ["seq", "amount", "held", "at"] {
        let number: i64 = column(entry, name)?;
        ledger.update(&number.to_le_bytes());
    }
    for name in ["id", "account", "kind", "hold", "key"] {
        let stored = text(column(entry, name)?);
        ledger.update(&(stored.len() as u64).to_le_bytes());
        ledger.update(stored.as_bytes());
    }
    Ok(())
}
