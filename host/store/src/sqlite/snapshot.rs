//! A copy of the database as it is at one moment, also while a server writes to it.

use std::path::Path;

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection};

use super::row::failed_to;
use super::{BUSY_TIMEOUT, mark, schema};
use crate::{DataDir, StoreError};

/// Copies the database of a data directory to a new file. Reads all of it, so a damaged one is an
/// error.
pub(crate) async fn snapshot(data: &Path, to: &str) -> Result<(), StoreError> {
    // Read first: the entry that it names is durable.
    let written = mark::noted(data);
    let mut connection = SqliteConnectOptions::new()
        .filename(DataDir::database_path(data))
        .read_only(true)
        .busy_timeout(BUSY_TIMEOUT)
        .disable_statement_logging()
        .connect()
        .await
        .map_err(failed_to("open the database"))?;
    if schema::check(&mut connection).await? {
        let what = "it has no tables".to_owned();
        return Err(StoreError::Damaged { what });
    }
    mark::require(written, &mut connection).await?;
    let failed = failed_to("copy itself");
    sqlx::query("VACUUM INTO ?")
        .bind(to)
        .execute(&mut connection)
        .await
        .map_err(&failed)?;
    connection.close().await.map_err(&failed)
}
