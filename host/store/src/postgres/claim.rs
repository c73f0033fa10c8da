//! One process writes to a database. Every connection of a process holds a shared lock of the
//! database and has seen the nonce of that process; a process gets a nonce only while it holds the
//! lock alone. So none writes after another one has begun: not even one that was suspended, or cut
//! off, and connects again.

use std::time::{Duration, Instant};

use sqlx::postgres::PgConnection;

use super::lease::{self, Lease, Nonce};
use super::recent::{self, Recent};
use super::row::failed_to;
use crate::StoreError;

const CLAIMING: &str = "claim it for this process";
/// The lock: `trwl` in ASCII, and a number of it.
const LOCK: (i32, i32) = (0x7472_776c, 1);
/// How long the connections of a process that ended just now may take to be closed.
const WAIT_MAX: Duration = Duration::from_secs(5);
const RETRY_DELAY: Duration = Duration::from_millis(50);

/// Waits until no other process uses the database, and locks it. The connections of a process whose
/// lease has ended are ended; a database without leases (`has_leases`) has no such process.
pub(super) async fn lock(
    connection: &mut PgConnection,
    server: &str,
    has_leases: bool,
) -> Result<(), StoreError> {
    let deadline = Instant::now() + WAIT_MAX;
    loop {
        let is_locked: bool = sqlx::query_scalar("SELECT pg_try_advisory_lock($1, $2)")
            .bind(LOCK.0)
            .bind(LOCK.1)
            .fetch_one(&mut *connection)
            .await
            .map_err(failed_to(CLAIMING))?;
        if is_locked {
            return Ok(());
        }
        if Instant::now() >= deadline {
            let server = server.to_owned();
            return Err(StoreError::DatabaseInUse { server });
        }
        if has_leases {
            lease::end_connections(connection, LOCK).await?;
        }
        tokio::time::sleep(RETRY_DELAY).await;
    }
}

/// Makes this process the one that writes, with a lease, and releases the lock for its connections.
pub(super) async fn take(connection: &mut PgConnection) -> Result<(Nonce, Lease), StoreError> {
    let mut nonce = Nonce::default();
    getrandom::fill(&mut nonce).expect("the operating system provides random numbers");
    let asked = lease::now();
    sqlx::query(
        "UPDATE claim SET nonce = $1, expires = clock_timestamp() + make_interval(secs => $2),
             address = NULL",
    )
    .bind(&nonce[..])
    .bind(lease::TIME.as_secs_f64())
    .execute(&mut *connection)
    .await
    .map_err(failed_to(CLAIMING))?;
    sqlx::query("SELECT pg_advisory_unlock($1, $2)")
        .bind(LOCK.0)
        .bind(LOCK.1)
        .execute(&mut *connection)
        .await
        .map_err(failed_to(CLAIMING))?;
    Ok((nonce, Lease::since(asked)))
}

/// Ends the claim of the last process, for one that has locked the database and serves nothing:
/// even if the last one connects again, it writes nothing.
pub(super) async fn end(connection: &mut PgConnection) -> Result<(), StoreError> {
    sqlx::query("UPDATE claim SET nonce = ''")
        .execute(connection)
        .await
        .map_err(failed_to(CLAIMING))
        .map(drop)
}

/// Lets a new connection of the process with this nonce write, durably.
///
/// # Errors
/// Another process has claimed the database, or the database failed.
pub(super) async fn join(
    connection: &mut PgConnection,
    nonce: Nonce,
    recent: &Recent,
) -> Result<(), sqlx::Error> {
    let is_locked: bool = sqlx::query_scalar("SELECT pg_try_advisory_lock_shared($1, $2)")
        .bind(LOCK.0)
        .bind(LOCK.1)
        .fetch_one(&mut *connection)
        .await?;
    // Read once the lock is held: while it is, nothing changes the nonce.
    let is_ours = is_locked && {
        let found: Vec<u8> = sqlx::query_scalar("SELECT nonce FROM claim")
            .fetch_one(&mut *connection)
            .await?;
        found == nonce
    };
    if !is_ours {
        tracing::error!("another process uses the database: this one cannot write any more");
        let taken = "another process uses the database";
        return Err(sqlx::Error::Protocol(taken.to_owned()));
    }
    recent.see(&recent::timeline(connection).await?);
    commit_durably(connection).await
}

/// Makes the commits of a connection durable before they are confirmed, whatever the database's
/// default is: a charge is written before its page is delivered.
pub(super) async fn commit_durably(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    sqlx::query(
        "SELECT set_config('synchronous_commit', 'on', FALSE)
         WHERE current_setting('synchronous_commit') = 'off'",
    )
    .execute(connection)
    .await
    .map(drop)
}
