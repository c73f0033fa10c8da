//! The price history.

use sqlx::postgres::{PgPool, PgRow};

use trawl_model::clock::Timestamp;

use super::row::{column, failed_to};
use crate::{PricesRow, StoreError};

pub(super) async fn history(readers: &PgPool) -> Result<Vec<PricesRow>, StoreError> {
    let rows = sqlx::query("SELECT at, prices FROM price_history ORDER BY seq")
        .fetch_all(readers)
        .await
        .map_err(failed_to("read the prices"))?;
    let row = |row: &PgRow| {
        Ok(PricesRow {
            at: Timestamp(column(row, "at")?),
            prices: column(row, "prices")?,
        })
    };
    rows.iter().map(row).collect()
}

pub(super) async fn append(writers: &PgPool, row: &PricesRow) -> Result<(), StoreError> {
    sqlx::query("INSERT INTO price_history (at, prices) VALUES ($1, $2)")
        .bind(row.at.0)
        .bind(row.prices.as_str())
        .execute(writers)
        .await
        .map_err(failed_to("write the prices"))
        .map(drop)
}
