//! Subscriptions: one row per account, written in one transaction with its charge.

use sqlx::sqlite::{SqliteConnection, SqlitePool};

use super::entries;
use super::row::{begin, failed_to};
use crate::rows::subscription;
use crate::{LedgerEntry, StoreError, Subscription, Written};

const DOING: &str = "write a subscription";

pub(super) async fn all(readers: &SqlitePool) -> Result<Vec<Subscription>, StoreError> {
    let rows = sqlx::query("SELECT * FROM subscriptions ORDER BY account")
        .fetch_all(readers)
        .await
        .map_err(failed_to("read the subscriptions"))?;
    rows.iter().map(subscription).collect()
}

/// Writes the row and its charge, or neither: if the charge exists or is refused, the row stays
/// unchanged.
pub(super) async fn save(
    connection: &mut SqliteConnection,
    row: &Subscription,
    charge: Option<&LedgerEntry>,
) -> Result<Written, StoreError> {
    let failed = failed_to(DOING);
    let mut transaction = begin(connection, DOING).await?;
    if let Some(charge) = charge {
        match entries::insert_one(&mut transaction, charge).await? {
            Written::New => {}
            unchanged => {
                transaction.rollback().await.map_err(&failed)?;
                return Ok(unchanged);
            }
        }
    }
    sqlx::query(
        "INSERT INTO subscriptions (account, seats, next_seats, begun, period_from, period_to, price, state)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT (account) DO UPDATE SET seats = excluded.seats, next_seats = excluded.next_seats,
         begun = excluded.begun, period_from = excluded.period_from, period_to = excluded.period_to,
         price = excluded.price, state = excluded.state",
    )
    .bind(row.account.as_str())
    .bind(row.seats)
    .bind(row.next_seats)
    .bind(row.begun.0)
    .bind(row.from.0)
    .bind(row.to.0)
    .bind(row.price.0)
    .bind(row.state.name())
    .execute(&mut *transaction)
    .await
    .map_err(&failed)?;
    transaction.commit().await.map_err(&failed)?;
    Ok(Written::New)
}
