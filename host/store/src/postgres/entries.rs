//! Ledger entries: written in groups, found by id, searched for open reserves.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::time::Duration;

use sqlx::postgres::{PgConnection, PgExecutor, PgPool, PgRow};

use trawl_model::Nanodollars;

use super::doubts::Doubts;
use super::recent::Recent;
use super::row::{ATTEMPTS_MAX, begin, failed_to, in_time, is_crossed, text};
use crate::rows::{open_reserve, posted, signed};
use crate::{LedgerEntry, OpenReserve, Posted, StoreError, Written};

const DOING: &str = "write the ledger";
const READING: &str = "read the ledger";
const SEARCHING: &str = "look for open reserves";
/// Longest time of a group, or of a search for an entry: billing writes one after the other. Longer
/// than any of their statements may take.
const TIME_MAX: Duration = Duration::from_secs(120);
/// First pause between two looks at the transactions that an entry may still come from: a commit
/// takes a few milliseconds. Each pause is twice as long as the one before.
const LOOK_PAUSE: Duration = Duration::from_millis(5);
/// Longest pause: a transaction whose connection broke may take a minute to end.
const LOOK_PAUSE_MAX: Duration = Duration::from_millis(320);
/// Ledger entries that one step of the search for open reserves reads.
const SEARCH_STEP: i64 = 10_000;
/// Prefix of the id of a run's allotment, which has many entries; any other reservation has one
/// reserve and one post or void.
const ALLOTMENT: &str = "p:";
/// Accounts are locked in the order of their ids, so that two groups never wait for each other.
const LOCK_ACCOUNTS: &str =
    "SELECT id, balance, held FROM accounts WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE";
/// The transactions that have written entries and have not ended, by their ids: those of virtual
/// transactions are given out again after a restart of the server. A lock of the table would wait
/// for them as well, but every charge would wait for the lock.
const WRITING: &str = "WITH locks AS MATERIALIZED (SELECT * FROM pg_locks WHERE granted)
    SELECT own.transactionid::TEXT FROM locks AS own
    WHERE own.locktype = 'transactionid' AND own.mode = 'ExclusiveLock'
    AND own.virtualtransaction IN (SELECT virtualtransaction FROM locks
        WHERE locktype = 'relation' AND mode = 'RowExclusiveLock'
        AND relation = 'entries'::regclass
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))";
/// The entries get their numbers in the order of the arrays. Sums follow by triggers.
const INSERT: &str = "INSERT INTO entries (id, account, kind, amount, held, hold, run, url,
        ai, compute, file, bytes_transferred, transform, vendor_billed, reason, at, n_bytes, cpu, key)
    SELECT id, account, kind, amount, held, hold, run, url,
        ai, compute, file, bytes_transferred, transform, vendor_billed, reason, at, n_bytes, cpu, key
    FROM UNNEST($1::TEXT[], $2::TEXT[], $3::TEXT[], $4::BIGINT[], $5::BIGINT[], $6::TEXT[], $7::TEXT[],
        $8::TEXT[], $9::BIGINT[], $10::BIGINT[], $11::BIGINT[], $12::BIGINT[], $13::BIGINT[],
        $14::BIGINT[], $15::TEXT[], $16::BIGINT[], $17::BIGINT[], $18::BIGINT[], $19::TEXT[])
        WITH ORDINALITY AS new (id, account, kind, amount, held, hold, run, url, ai, compute, file,
            bytes_transferred, transform, vendor_billed, reason, at, n_bytes, cpu, key, n)
    ORDER BY n ON CONFLICT (id) DO NOTHING";

/// Writes a group, after those that a promoted server may lack.
pub(super) async fn post_group(
    writers: &PgPool,
    recent: &Recent,
    doubts: &Doubts,
    entries: &[LedgerEntry],
) -> Result<Vec<Written>, StoreError> {
    let written = post_group_again(writers, recent, entries).await;
    if written.is_err() {
        doubts.note();
    }
    written
}

/// Tries again while other writers cross the group.
async fn post_group_again(
    writers: &PgPool,
    recent: &Recent,
    entries: &[LedgerEntry],
) -> Result<Vec<Written>, StoreError> {
    for _ in 1..ATTEMPTS_MAX {
        match in_time(TIME_MAX, DOING, try_post_group(writers, recent, entries)).await {
            Ok(None) => {}
            Ok(Some(written)) => return Ok(written),
            Err(error) if is_crossed(&error) => {}
            Err(error) => return Err(error),
        }
    }
    let last = in_time(TIME_MAX, DOING, try_post_group(writers, recent, entries)).await?;
    last.ok_or_else(too_many_crossed)
}

/// What is left to say when every attempt was crossed by a writer of the same ids.
pub(super) fn too_many_crossed() -> StoreError {
    let crossed = "other connections wrote entries with the same ids meanwhile";
    failed_to(DOING)(sqlx::Error::Protocol(crossed.to_owned()))
}

async fn try_post_group(
    writers: &PgPool,
    recent: &Recent,
    entries: &[LedgerEntry],
) -> Result<Option<Vec<Written>>, StoreError> {
    let mut transaction = begin(writers, DOING).await?;
    // Asked once there is a connection, which knows its timeline.
    let missing = recent.missing();
    let written = if missing.is_empty() {
        insert(&mut transaction, entries).await?
    } else {
        let all = [&missing[..], entries].concat();
        insert(&mut transaction, &all).await?
    };
    let Some(mut written) = written else {
        transaction.rollback().await.map_err(failed_to(DOING))?;
        return Ok(None);
    };
    transaction.commit().await.map_err(failed_to(DOING))?;
    let own = written.split_off(missing.len());
    if !missing.is_empty() {
        recent.note_complete(&written);
    }
    recent.keep(entries, &own);
    Ok(Some(own))
}

/// Writes entries within a transaction. `None` if another one has written one of the ids meanwhile,
/// for another account: the transaction must be rolled back, and may be repeated.
pub(super) async fn insert(
    connection: &mut PgConnection,
    entries: &[LedgerEntry],
) -> Result<Option<Vec<Written>>, StoreError> {
    let mut sums = lock_accounts(connection, entries).await?;
    let mut ids = existing(connection, entries).await?;
    let mut written = Vec::with_capacity(entries.len());
    let mut new = Vec::with_capacity(entries.len());
    for entry in entries {
        let id = text(&entry.id);
        let result = if ids.contains(&*id) {
            Written::AlreadyThere
        } else {
            apply(&mut sums, entry)
        };
        if result == Written::New {
            ids.insert(id.into_owned());
            new.push(entry);
        }
        written.push(result);
    }
    let is_complete = new.is_empty() || insert_new(connection, &new).await? == new.len() as u64;
    Ok(is_complete.then_some(written))
}

/// Balance and reserved money of an account.
struct Sums {
    balance: i64,
    held: i64,
}

async fn lock_accounts(
    connection: &mut PgConnection,
    entries: &[LedgerEntry],
) -> Result<HashMap<String, Sums>, StoreError> {
    let accounts: BTreeSet<&str> = entries.iter().map(|entry| entry.account.as_str()).collect();
    let accounts: Vec<&str> = accounts.into_iter().collect();
    let rows: Vec<(String, i64, i64)> = sqlx::query_as(LOCK_ACCOUNTS)
        .bind(accounts)
        .fetch_all(connection)
        .await
        .map_err(failed_to(DOING))?;
    let sums = rows
        .into_iter()
        .map(|(id, balance, held)| (id, Sums { balance, held }));
    Ok(sums.collect())
}

/// Which of the ids are in the ledger. Read after the accounts are locked: from then on no other
/// transaction adds entries of them.
async fn existing(
    connection: &mut PgConnection,
    entries: &[LedgerEntry],
) -> Result<HashSet<String>, StoreError> {
    let ids: Vec<Cow<'_, str>> = entries.iter().map(|entry| text(&entry.id)).collect();
    let found: Vec<String> = sqlx::query_scalar("SELECT id FROM entries WHERE id = ANY($1)")
        .bind(ids)
        .fetch_all(connection)
        .await
        .map_err(failed_to(DOING))?;
    Ok(found.into_iter().collect())
}

/// Changes the sums by an entry, unless that violates a rule of the table of accounts.
fn apply(sums: &mut HashMap<String, Sums>, entry: &LedgerEntry) -> Written {
    let refused = |rule: &str| Written::Refused {
        rule: rule.to_owned(),
    };
    let Some(sums) = sums.get_mut(entry.account.as_str()) else {
        return refused("the account does not exist");
    };
    let balance = sums.balance.checked_add(entry.amount.0);
    let held = sums.held.checked_add(entry.held.0);
    match balance.zip(held) {
        Some((balance, _)) if balance < 0 => refused("balance >= 0"),
        Some((balance, held)) if !(0..=balance).contains(&held) => {
            refused("held BETWEEN 0 AND balance")
        }
        Some((balance, held)) => {
            *sums = Sums { balance, held };
            Written::New
        }
        None => refused("sums have 64 bits"),
    }
}

/// Inserts entries with one statement. Returns how many there were not yet.
async fn insert_new(
    connection: &mut PgConnection,
    entries: &[&LedgerEntry],
) -> Result<u64, StoreError> {
    let numbers = |of: fn(&LedgerEntry) -> i64| -> Vec<i64> {
        entries.iter().map(|entry| of(entry)).collect()
    };
    let texts = |of: fn(&LedgerEntry) -> &str| -> Vec<String> {
        let texts = entries.iter().map(|entry| text(of(entry)).into_owned());
        texts.collect()
    };
    let done = sqlx::query(INSERT)
        .bind(texts(|entry| &entry.id))
        .bind(texts(|entry| entry.account.as_str()))
        .bind(texts(|entry| entry.kind.name()))
        .bind(numbers(|entry| entry.amount.0))
        .bind(numbers(|entry| entry.held.0))
        .bind(texts(|entry| &entry.reservation))
        .bind(texts(|entry| &entry.run))
        .bind(texts(|entry| &entry.url))
        .bind(numbers(|entry| entry.charge.ai.0))
        .bind(numbers(|entry| entry.charge.compute.0))
        .bind(numbers(|entry| entry.charge.file.0))
        .bind(numbers(|entry| entry.charge.bytes_transferred.0))
        .bind(numbers(|entry| entry.charge.transform.0))
        .bind(numbers(|entry| entry.charge.vendor_billed.0))
        .bind(texts(|entry| &entry.reason))
        .bind(numbers(|entry| entry.at.0))
        .bind(numbers(|entry| signed(entry.consumed.n_bytes)))
        .bind(numbers(|entry| {
            i64::try_from(entry.consumed.cpu.as_micros()).unwrap_or(i64::MAX)
        }))
        .bind(texts(|entry| entry.key.as_str()))
        .execute(connection)
        .await
        .map_err(failed_to(DOING))?;
    Ok(done.rows_affected())
}

/// The entry with this id. While it is in doubt whether a group was written, one that is not there
/// is searched again when every transaction that has written entries has ended: that of a broken
/// connection may still be committed.
pub(super) async fn entry(
    readers: &PgPool,
    writers: &PgPool,
    doubts: &Doubts,
    id: &str,
) -> Result<Option<Posted>, StoreError> {
    in_time(TIME_MAX, READING, search(readers, writers, doubts, id)).await
}

async fn search(
    readers: &PgPool,
    writers: &PgPool,
    doubts: &Doubts,
    id: &str,
) -> Result<Option<Posted>, StoreError> {
    // Asked before it is searched: another search may resolve the doubt in between, by when the
    // entry may be there.
    let doubt = doubts.last();
    let mut row = find(readers, id).await?;
    if row.is_none()
        && let Some(doubt) = doubt
    {
        writers_ended(writers).await?;
        doubts.resolve(doubt);
        row = find(writers, id).await?;
    }
    row.as_ref().map(posted).transpose()
}

/// Resolves when every transaction has ended that has written entries by now.
async fn writers_ended(writers: &PgPool) -> Result<(), StoreError> {
    let mut unfinished = writing(writers).await?;
    let mut pause = LOOK_PAUSE;
    while !unfinished.is_empty() {
        tokio::time::sleep(pause).await;
        pause = LOOK_PAUSE_MAX.min(pause * 2);
        let still = writing(writers).await?;
        unfinished.retain(|transaction| still.contains(transaction));
    }
    Ok(())
}

/// The transactions that have written entries and have not ended.
async fn writing(writers: &PgPool) -> Result<HashSet<String>, StoreError> {
    let found: Vec<String> = sqlx::query_scalar(WRITING)
        .fetch_all(writers)
        .await
        .map_err(failed_to(READING))?;
    Ok(found.into_iter().collect())
}

async fn find(executor: impl PgExecutor<'_>, id: &str) -> Result<Option<PgRow>, StoreError> {
    sqlx::query("SELECT * FROM entries WHERE id = $1")
        .bind(text(id))
        .fetch_optional(executor)
        .await
        .map_err(failed_to(READING))
}

/// Searches backwards from the newest entry until all reserved money is accounted for. The reserves
/// of a crashed process are near the end, so this does not read the whole ledger.
pub(super) async fn open_reserves(readers: &PgPool) -> Result<Vec<OpenReserve>, StoreError> {
    let failed = failed_to(SEARCHING);
    let (held, last): (i64, i64) = sqlx::query_as(
        "SELECT (SELECT COALESCE(SUM(held), 0)::BIGINT FROM accounts),
             (SELECT COALESCE(MAX(seq), 0) FROM entries)",
    )
    .fetch_one(readers)
    .await
    .map_err(&failed)?;
    let mut open = Vec::new();
    let mut allotments = HashSet::new();
    let (mut missing, mut before) = (held, last + 1);
    while missing != 0 && before > 1 {
        let rows = sqlx::query(
            "SELECT account, hold, held, run, url, key FROM entries AS reserve
             WHERE seq < $1 AND seq >= $2 AND kind = 'reserve'
             AND NOT EXISTS (SELECT 1 FROM entries WHERE id = 's:' || reserve.hold)
             ORDER BY seq DESC",
        )
        .bind(before)
        .bind(before - SEARCH_STEP)
        .fetch_all(readers)
        .await
        .map_err(&failed)?;
        for row in &rows {
            let reserve = open_reserve(row)?;
            if reserve.reservation.starts_with(ALLOTMENT)
                && !allotments.insert(reserve.reservation.clone())
            {
                continue;
            }
            let Some(reserve) = outstanding(readers, reserve).await? else {
                continue;
            };
            missing -= reserve.held.0;
            open.push(reserve);
        }
        before -= SEARCH_STEP;
    }
    Ok(open)
}

/// The outstanding part of a reserve. The allotment of a run has several reserves, reduced by each
/// charge: the first one found represents all, with the sum of all its entries.
async fn outstanding(
    readers: &PgPool,
    reserve: OpenReserve,
) -> Result<Option<OpenReserve>, StoreError> {
    if !reserve.reservation.starts_with(ALLOTMENT) {
        return Ok(Some(reserve));
    }
    // The bounds match the partial index `entries_of_allotment`.
    let held: i64 = sqlx::query_scalar(
        "SELECT COALESCE(SUM(held), 0)::BIGINT FROM entries
         WHERE hold = $1 AND hold >= 'p:' AND hold < 'p;'",
    )
    .bind(reserve.reservation.as_str())
    .fetch_one(readers)
    .await
    .map_err(failed_to(SEARCHING))?;
    let held = Nanodollars(held);
    Ok((held > Nanodollars::ZERO).then_some(OpenReserve { held, ..reserve }))
}
