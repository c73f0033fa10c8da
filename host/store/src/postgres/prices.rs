//! The price history.

use sqlx::postgres::PgPool;

use super::row::failed_to;
use crate::{PricesRow, StoreError, rows};

pub(super) async fn history(readers: &PgPool) -> Result<Vec<PricesRow>, StoreError> {
    let rows = sqlx::query("SELECT at, prices FROM price_history ORDER BY seq")
        .fetch_all(readers)
        .await
        .map_err(failed_to("read the prices"))?;
    rows.iter().map(rows::prices).collect()
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
