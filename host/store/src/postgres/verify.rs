//! Whether the sums that a database keeps agree with its rows.

use sqlx::Connection as _;
use sqlx::postgres::PgConnection;

use trawl_model::Nanodollars;

use super::connections::{connect, options};
use super::row::failed_to;
use super::url::PostgresUrl;
use super::usage::{SNAPSHOT, audit_in};
use super::{schema, totals};
use crate::{Audit, StoreError};

const READING: &str = "compare its sums with its rows";

/// The result of comparing the sums of a database with its rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// The server and the database, without user and password.
    pub database: String,
    /// Number of accounts checked.
    pub n_accounts: u64,
    /// Number of ledger entries added up.
    pub n_entries: u64,
    /// A line for each sum that differs; empty if the database is consistent.
    pub disagreements: Vec<String>,
}

/// Compares the sums of a database with its rows, as of one moment. Changes nothing and waits for
/// no server.
///
/// # Errors
/// As of [`status`](super::status()), and [`StoreError::NoTables`].
pub async fn verify(url: &PostgresUrl) -> Result<Verified, StoreError> {
    let failed = failed_to(READING);
    let mut connection = connect(&options(url), url).await?;
    let database = url.shown().to_owned();
    if schema::check(&mut connection).await? == 0 {
        return Err(StoreError::NoTables { server: database });
    }
    let begun = connection.begin_with(SNAPSHOT).await;
    let mut snapshot = begun.map_err(&failed)?;
    let (audit, disagreements) = check(&mut snapshot).await?;
    snapshot.rollback().await.map_err(&failed)?;
    connection.close().await.map_err(&failed)?;
    Ok(Verified {
        database,
        n_accounts: audit.n_accounts,
        n_entries: audit.n_entries,
        disagreements,
    })
}

/// Compares all sums with their rows. Returns a line for each that differs.
async fn check(connection: &mut PgConnection) -> Result<(Audit, Vec<String>), StoreError> {
    let (audit, mut lines) = check_sums(connection).await?;
    lines.extend(reservations(connection).await?);
    lines.extend(seats(connection).await?);
    Ok((audit, lines))
}

/// Compares what triggers keep with its rows, in a transaction that is a snapshot, or that has
/// locked out all others. Returns a line for each sum that differs.
pub(super) async fn check_sums(
    connection: &mut PgConnection,
) -> Result<(Audit, Vec<String>), StoreError> {
    let audit = audit_in(connection).await?;
    let mut lines = audit.lines();
    lines.extend(totals::disagreements(connection).await?);
    lines.extend(channels(connection).await?);
    Ok((audit, lines))
}

/// Reservations that gave back more than they had reserved.
async fn reservations(connection: &mut PgConnection) -> Result<Vec<String>, StoreError> {
    let rows: Vec<(String, String, i64)> = sqlx::query_as(
        "SELECT account, hold, SUM(held)::BIGINT FROM entries WHERE held <> 0
         GROUP BY account, hold HAVING SUM(held) < 0 ORDER BY account, hold",
    )
    .fetch_all(connection)
    .await
    .map_err(failed_to(READING))?;
    let lines = rows.into_iter().map(|(account, hold, held)| {
        let more = Nanodollars(-held);
        format!("{account}: the reservation {hold} gave back {more} more than it had reserved")
    });
    Ok(lines.collect())
}

/// Subscriptions whose price is not what was paid for the seats of their period. The ids of these
/// entries begin with the period.
async fn seats(connection: &mut PgConnection) -> Result<Vec<String>, StoreError> {
    let rows: Vec<(String, i64, i64)> = sqlx::query_as(
        "SELECT account, price, paid.amount FROM subscriptions CROSS JOIN LATERAL
             (SELECT 'seats:' || account || ':' || period_from AS id) AS period
         CROSS JOIN LATERAL
             (SELECT COALESCE(-SUM(amount), 0)::BIGINT AS amount FROM entries
              WHERE entries.id = period.id
              OR (entries.id >= period.id || ':' AND entries.id < period.id || ';')) AS paid
         WHERE price <> paid.amount ORDER BY account",
    )
    .fetch_all(connection)
    .await
    .map_err(failed_to(READING))?;
    let lines = rows.into_iter().map(|(account, price, paid)| {
        let (price, paid) = (Nanodollars(price), Nanodollars(paid));
        format!("{account}: the seats of this period cost {price} but entries {paid}")
    });
    Ok(lines.collect())
}

/// Channels of webhook events that count other events than there are. Destinations are not shown:
/// a URL may have a secret.
async fn channels(connection: &mut PgConnection) -> Result<Vec<String>, StoreError> {
    let rows: Vec<(String, i64, i64)> = sqlx::query_as(
        "SELECT account, COALESCE(channel.n_events, 0), COALESCE(events.n_events, 0)
         FROM outbox_channels AS channel FULL JOIN
             (SELECT account, digest, COUNT(*) AS n_events FROM outbox GROUP BY account, digest)
             AS events USING (account, digest)
         WHERE channel.n_events IS DISTINCT FROM events.n_events ORDER BY account",
    )
    .fetch_all(connection)
    .await
    .map_err(failed_to(READING))?;
    let lines = rows.into_iter().map(|(account, kept, counted)| {
        format!("{account}: a destination of webhooks counts {kept} events but has {counted}")
    });
    Ok(lines.collect())
}
