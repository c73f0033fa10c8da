//! Waiting for a database that another process uses.

use std::time::Duration;

use sqlx::Connection as _;
use sqlx::postgres::PgConnectOptions;
use tokio::sync::watch;

use super::connections::{connect, options};
use super::url::PostgresUrl;
use super::{lease, schema};
use crate::{Serving, StoreError};

/// How often the lease of the other process is looked at.
const INTERVAL: Duration = Duration::from_millis(500);

/// Waits until no process has a lease of the database. `serving` gets where the one serves that
/// has it.
///
/// # Errors
/// The database is not reached the first time (`was_reached` is for a later one), or must not be
/// used by this program.
pub(super) async fn wait(
    url: &PostgresUrl,
    serving: &watch::Sender<Option<Serving>>,
    was_reached: bool,
) -> Result<(), StoreError> {
    let options = options(url);
    let mut is_waiting = was_reached;
    loop {
        match is_free(&options, url, serving).await {
            Ok(true) => return Ok(()),
            Ok(false) if !is_waiting => {
                let server = url.shown();
                tracing::info!(
                    server,
                    "another process uses the database: waiting for its end"
                );
                is_waiting = true;
            }
            Ok(false) => {}
            // It may be its restart that the other process does not survive.
            Err(error) if is_waiting && error.is_unreachable() => {
                tracing::warn!(error = %error, "the database cannot be reached");
            }
            Err(error) => return Err(error),
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

/// Whether no process has a lease. Each look has a connection of its own: a broken one is none.
async fn is_free(
    options: &PgConnectOptions,
    url: &PostgresUrl,
    serving: &watch::Sender<Option<Serving>>,
) -> Result<bool, StoreError> {
    let mut connection = connect(options, url).await?;
    let found = schema::check(&mut connection).await?;
    // A database without leases is locked by who uses it, which is waited for when it is opened.
    let (is_free, found) = match found < schema::LEASES_SINCE {
        true => (true, None),
        false => lease::of_last(&mut connection).await?,
    };
    let found = found.filter(|_| !is_free);
    serving.send_if_modified(|known| {
        let is_new = *known != found;
        *known = found;
        is_new
    });
    // A connection that does not close well is closed all the same.
    let _closed = connection.close().await;
    Ok(is_free)
}
