//! Accounts, keys and balance notices.

use sqlx::sqlite::{SqliteConnection, SqlitePool};

use trawl_model::Nanodollars;
use trawl_model::clock::Timestamp;

use super::entries;
use super::row::{begin, failed_to};
use crate::rows::{account, key, signed};
use crate::{
    AccountId, AccountRecord, KeyRecord, KeyUse, LedgerEntry, Notice, NoticeState, StoreError,
    Threshold, Written,
};

pub(super) async fn all(readers: &SqlitePool) -> Result<Vec<AccountRecord>, StoreError> {
    let rows = sqlx::query("SELECT * FROM accounts")
        .fetch_all(readers)
        .await
        .map_err(failed_to("read the accounts"))?;
    rows.iter().map(account).collect()
}

pub(super) async fn keys(readers: &SqlitePool) -> Result<Vec<KeyRecord>, StoreError> {
    let rows = sqlx::query("SELECT * FROM keys WHERE revoked IS NULL OR budget IS NOT NULL")
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

/// An earlier time than the stored one changes nothing.
pub(super) async fn record_key_uses(
    connection: &mut SqliteConnection,
    uses: &[KeyUse],
) -> Result<(), StoreError> {
    let failed = failed_to("record the uses of keys");
    let mut transaction = begin(connection, "record the uses of keys").await?;
    for key_use in uses {
        sqlx::query(
            "UPDATE keys SET last_used = MAX(COALESCE(last_used, ?1), ?1) WHERE prefix = ?2",
        )
        .bind(key_use.at.0)
        .bind(key_use.prefix.as_str())
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
    opening: &[LedgerEntry],
) -> Result<(), StoreError> {
    let failed = failed_to("add an account");
    let mut transaction = begin(connection, "add an account").await?;
    // The balance starts at zero; the trigger on the opening entries updates it.
    sqlx::query("INSERT INTO accounts (id, name, created) VALUES (?, ?, ?)")
        .bind(account.id.as_str())
        .bind(account.name.as_str())
        .bind(account.created.0)
        .execute(&mut *transaction)
        .await
        .map_err(taken_or("an account of this name", &failed))?;
    insert_key(&mut transaction, key).await?;
    for entry in opening {
        match entries::insert_one(&mut transaction, entry).await? {
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
    sqlx::query(
        "INSERT INTO keys (prefix, account, hash, created, name, budget) VALUES (?, ?, ?, ?, ?, ?)",
    )
    .bind(key.prefix.as_str())
    .bind(key.account.as_str())
    .bind(&key.hash[..])
    .bind(key.created.0)
    .bind(key.name.as_str())
    .bind(key.spending.budget.map(|budget| budget.0))
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

pub(super) async fn set_key_budget(
    connection: &mut SqliteConnection,
    account: &AccountId,
    prefix: &str,
    budget: Option<Nanodollars>,
) -> Result<bool, StoreError> {
    let done = sqlx::query(
        "UPDATE keys SET budget = ? WHERE account = ? AND prefix = ? AND revoked IS NULL",
    )
    .bind(budget.map(|budget| budget.0))
    .bind(account.as_str())
    .bind(prefix)
    .execute(connection)
    .await
    .map_err(failed_to("set the budget of a key"))?;
    Ok(done.rows_affected() > 0)
}

pub(super) async fn save_notice(
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
    .bind(notice.low.is_sent)
    .bind(signed(notice.empty.count))
    .bind(notice.empty.is_sent)
    .bind(account.as_str())
    .execute(connection)
    .await
    .map_err(failed_to("write a balance notice"))
    .map(drop)
}

pub(super) async fn record_notice(
    connection: &mut SqliteConnection,
    account: &AccountId,
    threshold: Threshold,
    state: NoticeState,
) -> Result<(), StoreError> {
    let sql = match threshold {
        Threshold::Low => "UPDATE accounts SET low_count = ?, low_told = ? WHERE id = ?",
        Threshold::Empty => "UPDATE accounts SET empty_count = ?, empty_told = ? WHERE id = ?",
    };
    sqlx::query(sql)
        .bind(signed(state.count))
        .bind(state.is_sent)
        .bind(account.as_str())
        .execute(connection)
        .await
        .map_err(failed_to("record a balance notice"))
        .map(drop)
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
