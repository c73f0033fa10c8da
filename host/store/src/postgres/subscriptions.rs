//! Subscriptions: one row per account, written in one transaction with its charge.

use sqlx::postgres::PgPool;

use super::entries;
use super::row::{ATTEMPTS_MAX, begin, failed_to, is_crossed};
use crate::rows::subscription;
use crate::{LedgerEntry, StoreError, Subscription, Written};

const DOING: &str = "write a subscription";

pub(super) async fn all(readers: &PgPool) -> Result<Vec<Subscription>, StoreError> {
    let rows = sqlx::query("SELECT * FROM subscriptions ORDER BY account")
        .fetch_all(readers)
        .await
        .map_err(failed_to("read the subscriptions"))?;
    rows.iter().map(subscription).collect()
}

/// Writes the row and its charge, or neither: if the charge exists or is refused, the row stays
/// unchanged.
pub(super) async fn save(
    writers: &PgPool,
    row: &Subscription,
    charge: Option<&LedgerEntry>,
) -> Result<Written, StoreError> {
    for _ in 1..ATTEMPTS_MAX {
        match try_save(writers, row, charge).await {
            Ok(None) => {}
            Ok(Some(written)) => return Ok(written),
            Err(error) if is_crossed(&error) => {}
            Err(error) => return Err(error),
        }
    }
    let last = try_save(writers, row, charge).await?;
    last.ok_or_else(entries::too_many_crossed)
}

/// `None` if another transaction has written the charge meanwhile.
async fn try_save(
    writers: &PgPool,
    row: &Subscription,
    charge: Option<&LedgerEntry>,
) -> Result<Option<Written>, StoreError> {
    let failed = failed_to(DOING);
    let mut transaction = begin(writers, DOING).await?;
    if let Some(charge) = charge {
        let written = entries::insert(&mut transaction, std::slice::from_ref(charge)).await?;
        let written = written.and_then(|mut written| written.pop());
        if written != Some(Written::New) {
            transaction.rollback().await.map_err(&failed)?;
            return Ok(written);
        }
    }
    sqlx::query(
        "INSERT INTO subscriptions (account, seats, next_seats, begun, period_from, period_to, price, state)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
         ON CONFLICT (account) DO UPDATE SET seats = excluded.seats, next_seats = excluded.next_seats,
         begun = excluded.begun, period_from = excluded.period_from, period_to = excluded.period_to,
         price = excluded.price, state = excluded.state",
    )
    .bind(row.account.as_str())
    .bind(i64::from(row.seats))
    .bind(i64::from(row.next_seats))
    .bind(row.begun.0)
    .bind(row.from.0)
    .bind(row.to.0)
    .bind(row.price.0)
    .bind(row.state.name())
    .execute(&mut *transaction)
    .await
    .map_err(&failed)?;
    transaction.commit().await.map_err(&failed)?;
    Ok(Some(Written::New))
}
