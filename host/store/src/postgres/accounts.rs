//! Accounts, keys and balance notices.

use sqlx::postgres::{PgExecutor, PgPool};

use trawl_model::Nanodollars;
use trawl_model::clock::Timestamp;

use super::entries;
use super::row::{begin, failed_to, taken_or, text};
use crate::rows::{account, key, signed};
use crate::{
    AccountId, AccountRecord, KeyRecord, KeyUse, LedgerEntry, Notice, NoticeState, StoreError,
    Threshold, Written,
};

const ADDING: &str = "add an account";

pub(super) async fn all(readers: &PgPool) -> Result<Vec<AccountRecord>, StoreError> {
    let rows = sqlx::query("SELECT * FROM accounts ORDER BY id")
        .fetch_all(readers)
        .await
        .map_err(failed_to("read the accounts"))?;
    rows.iter().map(account).collect()
}

/// Whether there are any.
pub(super) async fn exist(executor: impl PgExecutor<'_>) -> Result<bool, StoreError> {
    sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM accounts)")
        .fetch_one(executor)
        .await
        .map_err(failed_to("read the accounts"))
}

pub(super) async fn keys(readers: &PgPool) -> Result<Vec<KeyRecord>, StoreError> {
    let rows = sqlx::query(
        "SELECT * FROM keys WHERE revoked IS NULL OR budget IS NOT NULL ORDER BY prefix",
    )
    .fetch_all(readers)
    .await
    .map_err(failed_to("read the keys"))?;
    rows.iter().map(key).collect()
}

pub(super) async fn keys_of(
    readers: &PgPool,
    account: &AccountId,
) -> Result<Vec<KeyRecord>, StoreError> {
    let rows = sqlx::query("SELECT * FROM keys WHERE account = $1 ORDER BY created, prefix")
        .bind(account.as_str())
        .fetch_all(readers)
        .await
        .map_err(failed_to("read the keys"))?;
    rows.iter().map(key).collect()
}

/// An earlier time than the stored one changes nothing. Keys are locked in the order of their
/// prefixes, as the ledger's trigger does.
pub(super) async fn record_key_uses(writers: &PgPool, uses: &[KeyUse]) -> Result<(), StoreError> {
    let prefixes: Vec<&str> = uses.iter().map(|key_use| key_use.prefix.as_str()).collect();
    let times: Vec<i64> = uses.iter().map(|key_use| key_use.at.0).collect();
    sqlx::query(
        "WITH uses AS (
             SELECT prefix, MAX(at) AS at FROM UNNEST($1::TEXT[], $2::BIGINT[]) AS use (prefix, at)
             GROUP BY prefix
         ), locked AS (
             SELECT prefix FROM keys WHERE prefix = ANY($1) ORDER BY prefix FOR NO KEY UPDATE
         )
         UPDATE keys SET last_used = GREATEST(last_used, uses.at)
         FROM uses JOIN locked ON locked.prefix = uses.prefix WHERE keys.prefix = uses.prefix",
    )
    .bind(prefixes)
    .bind(times)
    .execute(writers)
    .await
    .map_err(failed_to("record the uses of keys"))
    .map(drop)
}

pub(super) async fn create(
    writers: &PgPool,
    account: &AccountRecord,
    key: &KeyRecord,
    opening: &[LedgerEntry],
) -> Result<(), StoreError> {
    let mut transaction = begin(writers, ADDING).await?;
    // The balance starts at zero; the trigger on the opening entries updates it.
    sqlx::query("INSERT INTO accounts (id, name, created) VALUES ($1, $2, $3)")
        .bind(account.id.as_str())
        .bind(text(&account.name))
        .bind(account.created.0)
        .execute(&mut *transaction)
        .await
        .map_err(taken_or("an account of this name", ADDING))?;
    insert_key(&mut *transaction, key).await?;
    let written = entries::insert(&mut transaction, opening).await?;
    let is_new = |written: &Written| *written == Written::New;
    if !written.is_some_and(|written| written.iter().all(is_new)) {
        return Err(StoreError::Taken { what: "an entry" });
    }
    transaction.commit().await.map_err(failed_to(ADDING))
}

pub(super) async fn insert_key(
    writers: impl PgExecutor<'_>,
    key: &KeyRecord,
) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO keys (prefix, account, hash, created, name, budget)
         VALUES ($1, $2, $3, $4, $5, $6)",
    )
    .bind(key.prefix.as_str())
    .bind(key.account.as_str())
    .bind(&key.hash[..])
    .bind(key.created.0)
    .bind(text(&key.name))
    .bind(key.spending.budget.map(|budget| budget.0))
    .execute(writers)
    .await
    .map_err(taken_or("this key", "add a key"))
    .map(drop)
}

pub(super) async fn revoke_key(
    writers: &PgPool,
    account: &AccountId,
    prefix: &str,
    at: Timestamp,
) -> Result<bool, StoreError> {
    let done = sqlx::query(
        "UPDATE keys SET revoked = $1 WHERE account = $2 AND prefix = $3 AND revoked IS NULL",
    )
    .bind(at.0)
    .bind(account.as_str())
    .bind(text(prefix))
    .execute(writers)
    .await
    .map_err(failed_to("revoke a key"))?;
    Ok(done.rows_affected() > 0)
}

pub(super) async fn set_key_budget(
    writers: &PgPool,
    account: &AccountId,
    prefix: &str,
    budget: Option<Nanodollars>,
) -> Result<bool, StoreError> {
    let done = sqlx::query(
        "UPDATE keys SET budget = $1 WHERE account = $2 AND prefix = $3 AND revoked IS NULL",
    )
    .bind(budget.map(|budget| budget.0))
    .bind(account.as_str())
    .bind(text(prefix))
    .execute(writers)
    .await
    .map_err(failed_to("set the budget of a key"))?;
    Ok(done.rows_affected() > 0)
}

pub(super) async fn save_notice(
    writers: &PgPool,
    account: &AccountId,
    notice: &Notice,
) -> Result<(), StoreError> {
    sqlx::query(
        "UPDATE accounts SET notice_to = $1, notice_below = $2, low_count = $3, low_told = $4,
             empty_count = $5, empty_told = $6 WHERE id = $7",
    )
    .bind(notice.destination.as_deref())
    .bind(notice.below.0)
    .bind(signed(notice.low.count))
    .bind(notice.low.is_sent)
    .bind(signed(notice.empty.count))
    .bind(notice.empty.is_sent)
    .bind(account.as_str())
    .execute(writers)
    .await
    .map_err(failed_to("write a balance notice"))
    .map(drop)
}

pub(super) async fn record_notice(
    writers: &PgPool,
    account: &AccountId,
    threshold: Threshold,
    state: NoticeState,
) -> Result<(), StoreError> {
    let sql = match threshold {
        Threshold::Low => "UPDATE accounts SET low_count = $1, low_told = $2 WHERE id = $3",
        Threshold::Empty => "UPDATE accounts SET empty_count = $1, empty_told = $2 WHERE id = $3",
    };
    sqlx::query(sql)
        .bind(signed(state.count))
        .bind(state.is_sent)
        .bind(account.as_str())
        .execute(writers)
        .await
        .map_err(failed_to("record a balance notice"))
        .map(drop)
}
