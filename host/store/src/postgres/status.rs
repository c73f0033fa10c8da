//! What a database says of the servers that use it.

use sqlx::Connection as _;
use sqlx::postgres::PgConnection;

use super::connections::{connect, options};
use super::row::failed_to;
use super::schema;
use super::url::PostgresUrl;
use crate::StoreError;

const READING: &str = "read its status";

/// The state of a database.
#[derive(Clone, Debug, PartialEq)]
pub struct DatabaseStatus {
    /// The server and the database, without user and password.
    pub database: String,
    /// Version of the schema; 0 if there are no tables.
    pub schema: i64,
    /// The lease of the process that writes to it; `None` if none has one.
    pub lease: Option<DatabaseLease>,
    /// Standbys of PostgreSQL that are connected.
    pub n_standbys: i64,
    /// Whether PostgreSQL confirms a commit once a standby has it.
    pub is_synchronous: bool,
}

/// The lease of the process that writes to a database.
#[derive(Clone, Debug, PartialEq)]
pub struct DatabaseLease {
    /// Seconds until it ends, unless it is renewed.
    pub seconds: f64,
    /// Where the process serves, as it has announced it.
    pub address: Option<String>,
}

/// Reads the state of a database. Changes nothing and waits for nothing.
///
/// # Errors
/// [`StoreError::Unreachable`] if there is no connection, [`StoreError::ServerTooOld`],
/// [`StoreError::NotUtf8`] or [`StoreError::SchemaTooNew`] for a database that this program cannot
/// use.
pub async fn status(url: &PostgresUrl) -> Result<DatabaseStatus, StoreError> {
    let mut connection = connect(&options(url), url).await?;
    let schema = schema::check(&mut connection).await?;
    let lease = match schema >= schema::LEASES_SINCE {
        true => lease(&mut connection).await?,
        false => None,
    };
    let (n_standbys, is_synchronous): (i64, bool) = sqlx::query_as(
        "SELECT (SELECT COUNT(*) FROM pg_stat_replication),
             current_setting('synchronous_standby_names') <> ''
             AND current_setting('synchronous_commit') NOT IN ('off', 'local')",
    )
    .fetch_one(&mut connection)
    .await
    .map_err(failed_to(READING))?;
    connection.close().await.map_err(failed_to(READING))?;
    Ok(DatabaseStatus {
        database: url.shown().to_owned(),
        schema,
        lease,
        n_standbys,
        is_synchronous,
    })
}

async fn lease(connection: &mut PgConnection) -> Result<Option<DatabaseLease>, StoreError> {
    let found: (Option<f64>, Option<String>) = sqlx::query_as(
        "SELECT CASE WHEN expires > clock_timestamp()
             THEN EXTRACT(EPOCH FROM expires - clock_timestamp())::FLOAT8 END, address FROM claim",
    )
    .fetch_one(connection)
    .await
    .map_err(failed_to(READING))?;
    let (seconds, address) = found;
    Ok(seconds.map(|seconds| DatabaseLease { seconds, address }))
}
