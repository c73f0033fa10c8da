//! Connections to a database: one, or a pool of them.

use std::sync::Arc;
use std::time::Duration;

use sqlx::ConnectOptions as _;
use sqlx::postgres::{PgConnectOptions, PgConnection, PgPool, PgPoolOptions};

use super::lease::Nonce;
use super::recent::Recent;
use super::row::{LIST_TIME_MAX, failed_to};
use super::url::PostgresUrl;
use super::{claim, schema};
use crate::StoreError;

pub(super) const OPENING: &str = "open it";

/// Upper bounds of a pool of connections.
#[derive(Clone, Copy)]
pub(super) struct Bounds {
    pub(super) connections: u32,
    /// Wait for a connection.
    pub(super) wait: Duration,
    /// Time of a statement.
    pub(super) time: Duration,
}

/// Connections for ledger entries alone: a charge must not wait for rows of crawls, answers and
/// webhook events, of which one account may write very many.
pub(super) const LEDGER: Bounds = Bounds {
    connections: 2,
    wait: Duration::from_secs(10),
    time: Duration::from_secs(60),
};
/// Connections for everything else that is written.
pub(super) const WRITERS: Bounds = Bounds {
    connections: 4,
    wait: Duration::from_secs(10),
    time: Duration::from_secs(60),
};
/// Connections for the server's own reads. An audit of a large ledger takes a while.
pub(super) const READERS: Bounds = Bounds {
    connections: 4,
    wait: Duration::from_secs(10),
    time: Duration::from_secs(600),
};
/// Connections for lists and statements, so that the queries of many callers delay each other and
/// nothing else.
pub(super) const LISTS: Bounds = Bounds {
    connections: 2,
    wait: Duration::from_secs(5),
    time: LIST_TIME_MAX,
};

/// The connection that renews the lease. It is no writer: under another nonce it changes nothing.
pub(super) const RENEWAL: Bounds = Bounds {
    connections: 1,
    wait: Duration::from_secs(2),
    time: Duration::from_secs(2),
};

pub(super) async fn connect(
    options: &PgConnectOptions,
    url: &PostgresUrl,
) -> Result<PgConnection, StoreError> {
    let connected = options.connect().await;
    connected.map_err(|source| StoreError::Unreachable {
        server: url.shown().to_owned(),
        source,
    })
}

pub(super) fn options(url: &PostgresUrl) -> PgConnectOptions {
    let options = url.options().clone();
    options
        .application_name("trawl")
        .options([("search_path", schema::NAME)])
        .disable_statement_logging()
}

/// A pool that will open all its connections at once, and others only for those that broke.
pub(super) fn pool(
    options: &PgConnectOptions,
    bounds: Bounds,
) -> (PgPoolOptions, PgConnectOptions) {
    let options = options.clone().options([
        ("statement_timeout", bounds.time.as_millis().to_string()),
        // A connection whose process is gone must not keep its locks.
        ("idle_in_transaction_session_timeout", "60000".to_owned()),
        ("tcp_keepalives_idle", "10".to_owned()),
        ("tcp_keepalives_interval", "5".to_owned()),
        ("tcp_keepalives_count", "3".to_owned()),
        // Keepalives are not sent while an answer waits to be acknowledged.
        ("tcp_user_timeout", "25000".to_owned()),
    ]);
    let pool = PgPoolOptions::new()
        .max_connections(bounds.connections)
        .min_connections(bounds.connections)
        .idle_timeout(None)
        .max_lifetime(None)
        .acquire_timeout(bounds.wait);
    (pool, options)
}

/// The same, whose connections write for the process with this nonce.
pub(super) fn joined(
    (pool, options): (PgPoolOptions, PgConnectOptions),
    nonce: Nonce,
    recent: Arc<Recent>,
) -> (PgPoolOptions, PgConnectOptions) {
    let pool = pool.after_connect(move |connection, _| {
        let recent = Arc::clone(&recent);
        Box::pin(async move { claim::join(connection, nonce, &recent).await })
    });
    (pool, options)
}

pub(super) async fn opened(
    (pool, options): (PgPoolOptions, PgConnectOptions),
) -> Result<PgPool, StoreError> {
    pool.connect_with(options).await.map_err(failed_to(OPENING))
}
