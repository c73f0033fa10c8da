//! The price history.

use sqlx::sqlite::{SqliteConnection, SqlitePool};

use super::row::failed_to;
use crate::{PricesRow, StoreError, rows};

pub(super) async fn history(readers: &SqlitePool) -> Result<Vec<PricesRow>, StoreError> {
    let rows = sqlx::query("SELECT at, prices FROM price_history ORDER BY seq")
        .fetch_all(readers)
        .await
        .map_err(failed_to("read the prices"))?;
    rows.iter().map(rows::prices).collect()
}

pub(super) async fn append(
    connection: &mut SqliteConnection,
    row: &PricesRow,
) -> Result<(), StoreError> {
    sqlx::query("INSERT INTO price_history (at, prices) VALUES (?, ?)")
        .bind(row.at.0)
        .bind(row.prices.as_str())
        .execute(connection)
        .await
        .map_err(failed_to("write the prices"))
        .map(drop)
}
