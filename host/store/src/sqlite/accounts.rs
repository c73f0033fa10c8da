//! Accounts and keys.

use sqlx::Connection;
use sqlx::sqlite::{SqliteConnection, SqlitePool, SqliteRow};

use super::{bytes_column, column, failed_to, ledger};
use crate::{
    AccountId, AccountRecord, Entry, KeyRecord, KeyUse, Notice, StoreError, Told, Written,
};
use trawl_model::Nanodollars;
use trawl_model::clock::Timestamp;

pub(super) async fn all(readers: &SqlitePool) -> Result<Vec<AccountRecord>, StoreError> {
    let rows = sqlx::query("SELECT * FROM accounts")
        .fetch_all(readers)
        .await
        .map_err(failed_to("read the accounts"))?;
    rows.iter().map(account).collect()
}

pub(super) async fn keys(readers: &SqlitePool) -> Result<Vec<KeyRecord>, StoreError> {
    let rows = sqlx::query("SELECT * FROM keys WHERE revoked IS NULL")
        .fetch_all(readers)
        .await
        .map_err(failed_to("read the keys"))?;
    rows.iter().map(key).collect()
}

pub(super) async fn keys_of(
    readers: &SqlitePool,
    account: &AccountId,
) -> Result<Vec<KeyRecord>, StoreError> {
    let rows = sqlx::query("SELECT * FROM keys WHERE account = ? ORDER BY created, prefix")
        .bind(account.as_str())
        .fetch_all(readers)
        .await
        .map_err(failed_to("read the keys"))?;
    rows.iter().map(key).collect()
}

/// A time that is earlier than the one that is noted changes nothing.
pub(super) async fn note_uses(
    connection: &mut SqliteConnection,
    uses: &[KeyUse],
) -> Result<(), StoreError> {
    let failed = failed_to("note when keys were used");
    let mut transaction = connection
        .begin_with("BEGIN IMMEDIATE")
        .await
        .map_err(&failed)?;
    for used in uses {
        sqlx::query(
            "UPDATE keys SET last_used = MAX(COALESCE(last_used, ?1), ?1) WHERE prefix = ?2",
        )
        .bind(used.at.0)
        .bind(used.prefix.as_str())
        .execute(&mut *transaction)
        .await
        .map_err(&failed)?;
    }
    transaction.commit().await.map_err(&failed)
}

pub(super) async fn create(
    connection: &mut SqliteConnection,
    account: &AccountRecord,
    key: &KeyRecord,
    opening: &[Entry],
) -> Result<(), StoreError> {
    let failed = failed_to("add an account");
    let mut transaction = connection
        .begin_with("BEGIN IMMEDIATE")
        .await
        .map_err(&failed)?;
    // The sums begin at zero; the opening entries move them.
    sqlx::query("INSERT INTO accounts (id, name, created) VALUES (?, ?, ?)")
        .bind(account.id.as_str())
        .bind(account.name.as_str())
        .bind(account.created.0)
        .execute(&mut *transaction)
        .await
        .map_err(taken_or("an account of this name", &failed))?;
    insert_key(&mut transaction, key).await?;
    for entry in opening {
        match ledger::insert_one(&mut transaction, entry).await? {
            Written::New => {}
            _ => return Err(StoreError::Taken { what: "an entry" }),
        }
    }
    transaction.commit().await.map_err(&failed)
}

pub(super) async fn insert_key(
    connection: &mut SqliteConnection,
    key: &KeyRecord,
) -> Result<(), StoreError> {
    sqlx::query("INSERT INTO keys (prefix, account, hash, created, name) VALUES (?, ?, ?, ?, ?)")
        .bind(key.prefix.as_str())
        .bind(key.account.as_str())
        .bind(&key.hash[..])
        .bind(key.created.0)
        .bind(key.name.as_str())
        .execute(connection)
        .await
        .map_err(taken_or("this key", &failed_to("add a key")))?;
    Ok(())
}

pub(super) async fn revoke_key(
    connection: &mut SqliteConnection,
    account: &AccountId,
    prefix: &str,
    at: Timestamp,
) -> Result<bool, StoreError> {
    let done = sqlx::query(
        "UPDATE keys SET revoked = ? WHERE account = ? AND prefix = ? AND revoked IS NULL",
    )
    .bind(at.0)
    .bind(account.as_str())
    .bind(prefix)
    .execute(connection)
    .await
    .map_err(failed_to("revoke a key"))?;
    Ok(done.rows_affected() > 0)
}

fn taken_or(
    what: &'static str,
    failed: &impl Fn(sqlx::Error) -> StoreError,
) -> impl FnOnce(sqlx::Error) -> StoreError {
    move |error| match error.as_database_error() {
        Some(database) if database.is_unique_violation() => StoreError::Taken { what },
        _ => failed(error),
    }
}

fn account(row: &SqliteRow) -> Result<AccountRecord, StoreError> {
    Ok(AccountRecord {
        id: AccountId::new(column::<&str>(row, "id")?),
        name: column(row, "name")?,
        created: Timestamp(column(row, "created")?),
        balance: Nanodollars(column(row, "balance")?),
        held: Nanodollars(column(row, "held")?),
        notice: Notice {
            destination: column(row, "notice_to")?,
            below: Nanodollars(column(row, "notice_below")?),
            low: told(row, "low_count", "low_told")?,
            empty: told(row, "empty_count", "empty_told")?,
        },
    })
}

fn told(row: &SqliteRow, count: &'static str, is_told: &'static str) -> Result<Told, StoreError> {
    Ok(Told {
        count: column::<i64>(row, count)?.unsigned_abs(),
        is_told: column(row, is_told)?,
    })
}

fn key(row: &SqliteRow) -> Result<KeyRecord, StoreError> {
    Ok(KeyRecord {
        prefix: column(row, "prefix")?,
        account: AccountId::new(column::<&str>(row, "account")?),
        hash: bytes_column(row, "hash")?,
        created: Timestamp(column(row, "created")?),
        name: column(row, "name")?,
        last_used: column::<Option<i64>>(row, "last_used")?.map(Timestamp),
        revoked: column::<Option<i64>>(row, "revoked")?.map(Timestamp),
    })
}
