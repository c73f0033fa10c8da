//! The lease of the process that writes to a database: a time that it moves forward while it runs.
//! Once it has passed, another process may end its connections and take over. The process itself
//! begins no work for a while before that, by a clock that counts the time of a suspended machine.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use sqlx::postgres::{PgConnection, PgExecutor, PgPool};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::MissedTickBehavior;

use trawl_model::secret::Secret;

use super::row::failed_to;
use crate::StoreError;
use crate::serving::{self, Serving};

/// How long a lease lasts from its renewal.
pub(super) const TIME: Duration = Duration::from_secs(10);
const RENEWAL_INTERVAL: Duration = Duration::from_secs(3);
/// How long a renewal may take.
const RENEWAL_MAX: Duration = Duration::from_secs(2);
/// How long before the end of its lease a process begins nothing more: what it has begun may end.
const MARGIN: Duration = Duration::from_secs(2);
const RENEWING: &str = "renew its lease";

/// What a process has in common with its connections.
pub(super) type Nonce = [u8; 16];

/// What a process knows of its lease.
#[derive(Debug)]
pub(super) struct Lease {
    /// Its end, in milliseconds of [`now`].
    until: AtomicU64,
    /// Whether another process has taken over.
    is_lost: AtomicBool,
    lost: Notify,
}

impl Lease {
    /// A lease that was asked for at this time.
    pub(super) fn since(asked: Duration) -> Self {
        let lease = Self {
            until: AtomicU64::new(0),
            is_lost: AtomicBool::new(false),
            lost: Notify::new(),
        };
        lease.extend(asked);
        lease
    }

    fn extend(&self, asked: Duration) {
        self.until
            .store(milliseconds(asked + TIME), Ordering::Relaxed);
    }

    /// Whether the process may begin work.
    pub(super) fn is_held(&self) -> bool {
        let until = self.until.load(Ordering::Relaxed);
        !self.is_lost.load(Ordering::Relaxed) && milliseconds(now() + MARGIN) < until
    }

    fn lose(&self) {
        self.is_lost.store(true, Ordering::Relaxed);
        self.lost.notify_waiters();
    }

    /// Resolves once another process has taken over.
    pub(super) async fn lost(&self) {
        loop {
            // Created before the look, so that no loss in between is missed.
            let lost = self.lost.notified();
            if self.is_lost.load(Ordering::Relaxed) {
                return;
            }
            lost.await;
        }
    }
}

/// Time since the machine was started, suspended or not.
pub(super) fn now() -> Duration {
    let time = clock_gettime(ClockId::Boottime);
    Duration::try_from(time).unwrap_or_default()
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// The task that renews a lease, on connections of its own, until it is dropped.
#[derive(Debug)]
pub(super) struct Renewal {
    pub(super) lease: Arc<Lease>,
    connections: PgPool,
    nonce: Nonce,
    task: JoinHandle<()>,
}

impl Renewal {
    pub(super) fn start(lease: Lease, connections: PgPool, nonce: Nonce) -> Self {
        let lease = Arc::new(lease);
        let task = tokio::spawn(renew(Arc::clone(&lease), connections.clone(), nonce));
        Self {
            lease,
            connections,
            nonce,
            task,
        }
    }

    /// Says where the others reach this process.
    pub(super) async fn announce(&self, address: &str) -> Result<(), StoreError> {
        sqlx::query("UPDATE claim SET address = $1 WHERE nonce = $2")
            .bind(address)
            .bind(&self.nonce[..])
            .execute(&self.connections)
            .await
            .map_err(failed_to("say where it is reached"))
            .map(drop)
    }

    /// The key of requests between this process and others.
    pub(super) fn key(&self) -> Secret {
        serving::key_of(&self.nonce)
    }

    /// Ends the lease, so that another process need not wait for its end.
    pub(super) async fn give_up(&self) {
        self.task.abort();
        let given_up = sqlx::query("UPDATE claim SET expires = '-infinity' WHERE nonce = $1")
            .bind(&self.nonce[..])
            .execute(&self.connections);
        if !matches!(tokio::time::timeout(RENEWAL_MAX, given_up).await, Ok(Ok(_))) {
            tracing::warn!("the lease of the database could not be given up: it ends by itself");
        }
        self.connections.close().await;
    }
}

impl Drop for Renewal {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn renew(lease: Arc<Lease>, connections: PgPool, nonce: Nonce) {
    let mut period = tokio::time::interval(RENEWAL_INTERVAL);
    period.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        period.tick().await;
        let asked = now();
        let extended = tokio::time::timeout(RENEWAL_MAX, extend(&connections, nonce)).await;
        match extended {
            Ok(Ok(true)) => lease.extend(asked),
            Ok(Ok(false)) => {
                tracing::error!("another process has taken over the database");
                lease.lose();
                return;
            }
            Ok(Err(error)) => {
                tracing::warn!(error = %error, "the lease of the database is not renewed");
            }
            Err(_) => tracing::warn!("the lease of the database is not renewed in time"),
        }
    }
}

/// Moves the end of the lease; `false` if another process has the claim.
async fn extend(connections: &PgPool, nonce: Nonce) -> Result<bool, StoreError> {
    let done = sqlx::query(
        "UPDATE claim SET expires = clock_timestamp() + make_interval(secs => $2) WHERE nonce = $1",
    )
    .bind(&nonce[..])
    .bind(TIME.as_secs_f64())
    .execute(connections)
    .await
    .map_err(failed_to(RENEWING))?;
    Ok(done.rows_affected() > 0)
}

/// Whether the lease of the last process has ended, and where that process is reached. On a standby
/// of PostgreSQL none has: it does not learn of renewals at once, and takes no other process.
pub(super) async fn of_last(
    executor: impl PgExecutor<'_>,
) -> Result<(bool, Option<Serving>), StoreError> {
    let (has_ended, address, nonce): (bool, Option<String>, Vec<u8>) = sqlx::query_as(
        "SELECT expires < clock_timestamp() AND NOT pg_is_in_recovery(), address, nonce FROM claim",
    )
    .fetch_one(executor)
    .await
    .map_err(failed_to("read the lease of another process"))?;
    Ok((has_ended, Serving::of(address, &nonce)))
}

/// Ends the connections of a process whose lease has ended. They hold the lock with this name in
/// shared mode; what they have not committed is rolled back.
pub(super) async fn end_connections(
    connection: &mut PgConnection,
    lock: (i32, i32),
) -> Result<(), StoreError> {
    let n_ended: i64 = sqlx::query_scalar(
        "SELECT COUNT(pg_terminate_backend(pid)) FROM pg_locks
         WHERE locktype = 'advisory' AND mode = 'ShareLock' AND pid <> pg_backend_pid()
         AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
         AND classid::BIGINT = $1 AND objid::BIGINT = $2 AND objsubid = 2
         AND (SELECT expires < clock_timestamp() FROM claim)",
    )
    .bind(i64::from(lock.0))
    .bind(i64::from(lock.1))
    .fetch_one(connection)
    .await
    .map_err(failed_to("end the connections of another process"))?;
    if n_ended > 0 {
        tracing::warn!(
            n_connections = n_ended,
            "the lease of the process that used the database has ended: its connections are closed"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_begins_only_well_before_the_end_of_a_lease() {
        let at = now();
        assert!(Lease::since(at).is_held());
        let asked = |ago: Duration| Lease::since(at.saturating_sub(ago)).is_held();
        // A machine that was started a moment ago has no such time.
        if at > TIME {
            assert!(!asked(TIME - MARGIN));
            assert!(!asked(TIME));
        }
        let lost = Lease::since(at);
        lost.lose();
        assert!(!lost.is_held());
    }

    #[tokio::test]
    async fn a_loss_wakes_who_waits_for_it_and_who_comes_later() {
        let lease = Arc::new(Lease::since(now()));
        let waiting = {
            let lease = Arc::clone(&lease);
            tokio::spawn(async move { lease.lost().await })
        };
        tokio::task::yield_now().await;
        lease.lose();
        waiting.await.expect("it ended");
        lease.lost().await;
    }
}
