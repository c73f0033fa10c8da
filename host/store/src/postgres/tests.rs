//! What the conformance suite does not know of: other connections, and other processes.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, watch};

use trawl_model::clock::Timestamp;
use trawl_model::{Nanodollars, StopReason};

use super::connections::{LISTS, WRITERS};
use super::row::list_failed_to;
use super::server::Server;
use super::{PostgresStore, PostgresUrl, entries, logs};
use crate::conformance::fixtures::{account, crawl, entry, first_page, with_accounts};
use crate::{
    Contact, ContactStore as _, CrawlStore as _, DataDir, EntryKind, LedgerEntry, LedgerStore as _,
    LogPosition, PageLog, PageRange, Progress, SegmentId, SegmentStore as _, Store as _,
    StoreError, Written,
};

/// Long enough for a slow machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A store, and the data directory that it has locked.
struct Opened {
    store: Arc<PostgresStore>,
    directory: tempfile::TempDir,
}

async fn try_open(url: &PostgresUrl) -> Result<Opened, StoreError> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let data = DataDir::create(directory.path()).expect("a data directory");
    let store = PostgresStore::open(data, url).await?;
    Ok(Opened {
        store: Arc::new(store),
        directory,
    })
}

async fn open(url: &PostgresUrl) -> Opened {
    try_open(url).await.expect("a store")
}

fn of_account(n: u8, entry: LedgerEntry) -> LedgerEntry {
    LedgerEntry {
        account: account(n).id,
        ..entry
    }
}

#[tokio::test]
#[cfg_attr(no_postgres, ignore = "no PostgreSQL: install postgresql")]
async fn groups_that_are_posted_at_once_never_overdraw() {
    const GROUPS: usize = 12;
    const ENTRIES: usize = 20;
    const MONEY: i64 = 100;
    let server = Server::shared();
    let url = server.database().await;
    let opened = open(&url).await;
    let store = &opened.store;
    with_accounts(&**store).await;
    let top_ups =
        [1, 2].map(|n| of_account(n, entry(&format!("t:{n}"), EntryKind::TopUp, MONEY, 0)));
    store.post_group(&top_ups).await.expect("money");
    let groups = (0..GROUPS).map(|group| {
        let store = Arc::clone(store);
        tokio::spawn(async move {
            let mut entries: Vec<_> = (0..ENTRIES)
                .map(|n| {
                    let id = format!("s:{group}/{n}");
                    of_account(1 + (n % 2) as u8, entry(&id, EntryKind::Post, -1, 0))
                })
                .collect();
            // Every other group has the accounts in the other order.
            if group % 2 == 1 {
                entries.reverse();
            }
            store.post_group(&entries).await.expect("written")
        })
    });
    let mut n_new = 0;
    for group in groups.collect::<Vec<_>>() {
        let written = group.await.expect("it ended");
        n_new += written
            .iter()
            .filter(|written| **written == Written::New)
            .count();
        let is_decided = |written: &Written| *written != Written::AlreadyThere;
        assert!(written.iter().all(is_decided), "{written:?}");
    }
    assert_eq!(n_new, 2 * MONEY as usize, "all money is spent, and no more");
    let accounts = store.accounts().await.expect("accounts");
    let balances = accounts.iter().map(|account| account.balance);
    assert_eq!(balances.collect::<Vec<_>>(), [Nanodollars::ZERO; 2]);
    let audit = store.audit().await.expect("an audit");
    assert_eq!(audit.disagreements, []);
    assert_eq!(audit.key_disagreements, []);
    store.close().await;
}

#[tokio::test]
#[cfg_attr(no_postgres, ignore = "no PostgreSQL: install postgresql")]
async fn the_same_group_posted_at_once_is_written_once() {
    let server = Server::shared();
    let url = server.database().await;
    let opened = open(&url).await;
    let store = &opened.store;
    with_accounts(&**store).await;
    let group = [
        entry("t:1", EntryKind::TopUp, 50, 0),
        entry("s:1", EntryKind::Post, -20, 0),
    ];
    let posts = (0..8).map(|_| {
        let (store, group) = (Arc::clone(store), group.clone());
        tokio::spawn(async move { store.post_group(&group).await.expect("written") })
    });
    let mut n_new = 0;
    for post in posts.collect::<Vec<_>>() {
        let written = post.await.expect("it ended");
        n_new += written
            .iter()
            .filter(|written| **written == Written::New)
            .count();
    }
    assert_eq!(n_new, group.len());
    let accounts = store.accounts().await.expect("accounts");
    assert_eq!(accounts[0].balance, Nanodollars(30));
    store.close().await;
}

#[tokio::test]
#[cfg_attr(no_postgres, ignore = "no PostgreSQL: install postgresql")]
async fn charges_do_not_wait_for_other_writers() {
    let server = Server::shared();
    let url = server.database().await;
    let opened = open(&url).await;
    let store = &opened.store;
    with_accounts(&**store).await;
    let mut busy = Vec::new();
    for _ in 0..WRITERS.connections {
        busy.push(store.writers.begin().await.expect("a connection"));
    }
    let top_up = [entry("t:1", EntryKind::TopUp, 5, 0)];
    let written = tokio::time::timeout(WRITERS.wait / 2, store.post_group(&top_up)).await;
    let written = written.expect("it does not wait");
    assert_eq!(written.expect("written"), [Written::New]);
    drop(busy);
    store.close().await;
}

#[tokio::test]
#[cfg_attr(no_postgres, ignore = "no PostgreSQL: install postgresql")]
async fn an_entry_that_may_still_be_committed_is_waited_for() {
    let server = Server::shared();
    let url = server.database().await;
    let opened = open(&url).await;
    let store = &opened.store;
    with_accounts(&**store).await;
    // As of a connection that broke during its commit.
    let mut unfinished = store.writers.begin().await.expect("a transaction");
    let group = [entry("t:1", EntryKind::TopUp, 5, 0)];
    let written = entries::insert(&mut unfinished, &group).await;
    assert_eq!(written.expect("written"), Some(vec![Written::New]));
    // Nothing has failed: what is being written is not waited for.
    assert_eq!(store.entry("t:1").await.expect("a search"), None);
    store.doubts.note();
    let search = Arc::clone(store);
    let search = tokio::spawn(async move { search.entry("t:1").await.expect("a search") });
    // A search that does not wait has ended by then.
    tokio::time::sleep(Duration::from_millis(500)).await;
    let other = [of_account(2, entry("t:3", EntryKind::TopUp, 5, 0))];
    let written = tokio::time::timeout(PATIENCE / 2, store.post_group(&other)).await;
    let written = written.expect("charges do not wait for the search");
    assert_eq!(written.expect("written"), [Written::New]);
    assert!(!search.is_finished());
    unfinished.commit().await.expect("committed");
    assert!(search.await.expect("it ended").is_some());
    assert_eq!(store.doubts.last(), None);
    assert_eq!(store.entry("t:2").await.expect("a search"), None);
    store.close().await;
}

#[tokio::test]
#[cfg_attr(no_postgres, ignore = "no PostgreSQL: install postgresql")]
async fn contacts_that_are_saved_at_once_are_merged_and_counted_once() {
    let server = Server::shared();
    let url = server.database().await;
    let opened = open(&url).await;
    let store = &opened.store;
    with_accounts(&**store).await;
    let contact = |n: usize, page: usize| Contact {
        domain: "a.example".to_owned(),
        kind: "email".to_owned(),
        // Longer than a row of an index may be.
        value: format!("{n}{}", "x".repeat(5_000)),
        details: "{}".to_owned(),
        pages: vec![format!("https://a.example/{page}")],
        first_seen: Timestamp(1),
        last_seen: Timestamp(1),
    };
    let saves = (0..6).map(|page| {
        let contacts = [contact(page % 2, page), contact(2, page)];
        let store = Arc::clone(store);
        tokio::spawn(async move {
            let saved = store.save_contacts(&account(1).id, &contacts).await;
            assert_eq!(saved.expect("saved"), 0);
        })
    });
    for save in saves.collect::<Vec<_>>() {
        save.await.expect("it ended");
    }
    let owner = account(1).id;
    let listed = store.contacts(&owner, None, PageRange::offset(9, 0));
    let listed = listed.await.expect("a list");
    let mut n_pages: Vec<usize> = listed.rows.iter().map(|row| row.pages.len()).collect();
    n_pages.sort_unstable();
    assert_eq!((listed.count, n_pages), (3, vec![3, 3, 6]));
    store.close().await;
}

#[tokio::test]
#[cfg_attr(no_postgres, ignore = "no PostgreSQL: install postgresql")]
async fn an_audit_finds_keys_that_have_spent_something_else() {
    let server = Server::shared();
    let url = server.database().await;
    let opened = open(&url).await;
    let store = &opened.store;
    with_accounts(&**store).await;
    let group = [
        entry("t:1", EntryKind::TopUp, 1_000, 0),
        entry("s:1", EntryKind::Post, -30, 0),
        entry("s:2", EntryKind::Post, -12, 0),
    ];
    store.post_group(&group).await.expect("written");
    let audit = async || store.audit().await.expect("an audit");
    assert_eq!(audit().await.key_disagreements, []);
    for sql in [
        "UPDATE keys SET month_spent = month_spent + 7 WHERE prefix = 'tr_1'",
        "UPDATE accounts SET balance = balance + 1 WHERE id = 'acc_1'",
    ] {
        let changed = sqlx::query(sql).execute(&store.writers).await;
        changed.expect("changed");
    }
    let audit = audit().await;
    let wrong = audit.key_disagreements.iter();
    let wrong = wrong.map(|wrong| (wrong.month_spent.0, wrong.entries_spent.0));
    assert_eq!(wrong.collect::<Vec<_>>(), [(49, 42)]);
    let wrong = audit.disagreements.iter();
    let wrong = wrong.map(|wrong| (wrong.balance.0, wrong.entries_balance.0));
    assert_eq!(wrong.collect::<Vec<_>>(), [(959, 958)]);
    store.close().await;
}

#[tokio::test]
#[cfg_attr(no_postgres, ignore = "no PostgreSQL: install postgresql")]
async fn a_list_has_a_bounded_wait_and_a_bounded_time() {
    let server = Server::shared();
    let url = server.database().await;
    let opened = open(&url).await;
    let store = &opened.store;
    let mut lists = Vec::new();
    for _ in 0..LISTS.connections {
        lists.push(store.list_connection().await.expect("a connection"));
    }
    let refused = store.list_connection().await.map(drop);
    let is_too_slow = matches!(refused, Err(StoreError::TooSlow(wait)) if wait == LISTS.wait);
    assert!(is_too_slow, "{refused:?}");
    let slow = sqlx::query("SELECT pg_sleep(60)").execute(&mut *lists[0]);
    let slow = slow.await.map_err(list_failed_to("read a list"));
    let is_too_slow = matches!(slow, Err(StoreError::TooSlow(time)) if time == LISTS.time);
    assert!(is_too_slow, "{slow:?}");
    drop(lists);
    store.close().await;
}

#[tokio::test]
#[cfg_attr(no_postgres, ignore = "no PostgreSQL: install postgresql")]
async fn a_machine_that_is_gone_is_noticed_in_half_a_minute() {
    let server = Server::shared();
    let url = server.database().await;
    let opened = open(&url).await;
    // Not `setting`, which is zero behind a socket of this machine.
    let bounds: Vec<(String, String)> = sqlx::query_as(
        "SELECT name, reset_val FROM pg_settings
         WHERE name IN ('tcp_keepalives_idle', 'tcp_user_timeout') ORDER BY name",
    )
    .fetch_all(&opened.store.writers)
    .await
    .expect("settings");
    let bounds: Vec<(&str, &str)> = bounds
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    let expected = [("tcp_keepalives_idle", "10"), ("tcp_user_timeout", "25000")];
    assert_eq!(bounds, expected);
    opened.store.close().await;
}

#[tokio::test]
#[cfg_attr(no_postgres, ignore = "no PostgreSQL: install postgresql")]
async fn one_process_uses_a_database() {
    let server = Server::shared();
    let url = server.database().await;
    let first = open(&url).await;
    with_accounts(&*first.store).await;
    let refusal = try_open(&url).await.map(drop).expect_err("in use");
    assert!(
        matches!(refusal, StoreError::DatabaseInUse { .. }),
        "{refusal}"
    );
    first.store.close().await;
    let second = open(&url).await;
    let accounts = second.store.accounts().await.expect("accounts");
    assert_eq!(accounts.len(), 2);
    second.store.close().await;
}

#[tokio::test]
#[cfg_attr(no_postgres, ignore = "no PostgreSQL: install postgresql")]
async fn a_process_that_was_cut_off_writes_nothing_after_another_one_has_begun() {
    let server = Server::shared();
    let url = server.database().await;
    let first = open(&url).await;
    with_accounts(&*first.store).await;
    let top_up = |id: &str| [entry(id, EntryKind::TopUp, 5, 0)];
    first
        .store
        .post_group(&top_up("t:1"))
        .await
        .expect("written");

    let database = url.options().get_database().expect("a name").to_owned();
    let mut other = server.connect(&database).await;
    // Until none is left: connections that the first process opens meanwhile are cut as well.
    let second = loop {
        sqlx::query(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
             WHERE datname = current_database() AND pid <> pg_backend_pid()
             AND application_name = 'trawl'",
        )
        .execute(&mut other)
        .await
        .expect("cut");
        if let Ok(second) = try_open(&url).await {
            break second;
        }
    };
    let late = first.store.post_group(&top_up("t:2")).await;
    assert!(late.is_err(), "{late:?}");
    assert!(first.store.doubts.last().is_some());
    let written = second.store.post_group(&top_up("t:3")).await;
    assert_eq!(written.expect("written"), [Written::New]);
    assert_eq!(second.store.entry("t:2").await.expect("a search"), None);
    second.store.close().await;
}

#[tokio::test]
#[cfg_attr(no_postgres, ignore = "no PostgreSQL: install postgresql")]
async fn a_process_whose_lease_has_ended_is_taken_over() {
    let server = Server::shared();
    let url = server.database().await;
    let first = open(&url).await;
    with_accounts(&*first.store).await;
    assert!(first.store.may_begin());
    assert!(matches!(
        try_open(&url).await.map(drop),
        Err(StoreError::DatabaseInUse { .. })
    ));

    let database = url.options().get_database().expect("a name").to_owned();
    let mut other = server.connect(&database).await;
    // It is renewed every few seconds: again, should that come in between.
    let second = loop {
        sqlx::query("UPDATE trawl.claim SET expires = '-infinity'")
            .execute(&mut other)
            .await
            .expect("ended");
        if let Ok(second) = try_open(&url).await {
            break second;
        }
    };
    tokio::time::timeout(PATIENCE, first.store.taken_over())
        .await
        .expect("it learns of it");
    assert!(!first.store.may_begin());
    let top_up = |id: &str| [entry(id, EntryKind::TopUp, 5, 0)];
    let late = first.store.post_group(&top_up("t:1")).await;
    assert!(late.is_err(), "{late:?}");
    assert!(first.store.doubts.last().is_some());
    let written = second.store.post_group(&top_up("t:2")).await;
    assert_eq!(written.expect("written"), [Written::New]);
    assert!(second.store.may_begin());
    second.store.close().await;
}

#[tokio::test]
#[cfg_attr(no_postgres, ignore = "no PostgreSQL: install postgresql")]
async fn a_standby_waits_for_the_end_of_the_other() {
    let server = Server::shared();
    let url = server.database().await;
    let first = open(&url).await;
    let directory = tempfile::tempdir().expect("a temporary directory");
    let data = DataDir::create(directory.path()).expect("a data directory");
    let (serving, mut known) = watch::channel(None);
    let standby = tokio::spawn(async move {
        let opened = PostgresStore::open_when_free(data, &url, &serving).await;
        drop(serving);
        opened
    });
    first.store.announce("127.0.0.1:8700").await.expect("said");
    let learned = tokio::time::timeout(PATIENCE, known.wait_for(Option::is_some)).await;
    let learned = learned.expect("in time").expect("it waits").clone();
    let (address, key) = learned.map(|it| (it.address, it.key)).expect("some");
    assert_eq!(address, "127.0.0.1:8700");
    // Both know the key of requests between them.
    assert_eq!(first.store.cluster_key(), Some(key));
    assert!(!standby.is_finished());
    first.store.close().await;
    // Sooner than the lease would have ended: it is given up.
    let opened = tokio::time::timeout(Duration::from_secs(8), standby).await;
    let second = opened.expect("in time").expect("it ended");
    let second = second.expect("a store");
    assert!(second.may_begin());
    second.close().await;
}

#[tokio::test]
#[cfg_attr(no_postgres, ignore = "no PostgreSQL: install postgresql")]
async fn of_several_standbys_one_takes_over_and_the_others_go_on_waiting() {
    const STANDBYS: usize = 2;
    let server = Server::shared();
    let url = server.database().await;
    let first = open(&url).await;
    let (opened, mut next) = mpsc::channel(STANDBYS);
    for _ in 0..STANDBYS {
        let (url, opened) = (url.clone(), opened.clone());
        tokio::spawn(async move {
            let directory = tempfile::tempdir().expect("a temporary directory");
            let data = DataDir::create(directory.path()).expect("a data directory");
            let serving = watch::Sender::new(None);
            let store = PostgresStore::open_when_free(data, &url, &serving).await;
            let sent = opened.send((store.expect("a store"), directory)).await;
            sent.map_err(drop).expect("a receiver");
        });
    }
    first.store.close().await;
    for n in 0..STANDBYS {
        let taken = tokio::time::timeout(PATIENCE, next.recv()).await;
        let (store, _directory) = taken.expect("in time").expect("a store");
        assert!(store.may_begin());
        let top_up = [entry("t:1", EntryKind::TopUp, 5, 0)];
        if n == 0 {
            with_accounts(&store).await;
        }
        store.post_group(&top_up).await.expect("written");
        // Longer than another one waits for its turn at the lock.
        tokio::time::sleep(Duration::from_secs(6)).await;
        assert!(next.try_recv().is_err(), "two have the database");
        store.close().await;
    }
}

#[tokio::test]
#[cfg_attr(no_postgres, ignore = "no PostgreSQL: install postgresql")]
async fn what_a_promoted_standby_lacks_is_written_again() {
    let programs = Path::new(env!("TRAWL_TEST_POSTGRES"));
    let mut server = trawl_test_postgres::Server::start(programs);
    let url: PostgresUrl = server.url("postgres").parse().expect("a URL");
    let opened = open(&url).await;
    let store = &opened.store;
    with_accounts(&**store).await;
    let money = [entry("t:1", EntryKind::TopUp, 50, 0)];
    store.post_group(&money).await.expect("money");
    server.copy("standby");
    let charge = [entry("s:1", EntryKind::Post, -20, 0)];
    let written = store.post_group(&charge).await;
    assert_eq!(written.expect("confirmed"), [Written::New]);
    server.promote("standby");

    // The connections are broken, and opened again one after the other.
    let deadline = Instant::now() + PATIENCE;
    let next = [entry("s:2", EntryKind::Post, -5, 0)];
    let written = loop {
        match store.post_group(&next).await {
            Ok(written) => break written,
            Err(error) => assert!(Instant::now() < deadline, "{error}"),
        }
    };
    assert_eq!(written, [Written::New]);
    let found = store.entry("s:1").await.expect("a search");
    assert_eq!(found.expect("written again").entry.amount, Nanodollars(-20));
    let accounts = store.accounts().await.expect("accounts");
    assert_eq!(accounts[0].balance, Nanodollars(25));
    assert_eq!(store.audit().await.expect("an audit").disagreements, []);
    store.close().await;
}

#[tokio::test]
#[cfg_attr(no_postgres, ignore = "no PostgreSQL: install postgresql")]
async fn ledger_entries_are_final() {
    let server = Server::shared();
    let url = server.database().await;
    let opened = open(&url).await;
    with_accounts(&*opened.store).await;
    let top_up = [entry("t:1", EntryKind::TopUp, 5, 0)];
    opened.store.post_group(&top_up).await.expect("written");
    for sql in [
        "UPDATE entries SET amount = 9",
        "DELETE FROM entries",
        "TRUNCATE entries",
    ] {
        let refusal = sqlx::query(sql).execute(&opened.store.writers).await;
        let refusal = refusal.expect_err("final").to_string();
        assert!(refusal.contains("ledger entries are final"), "{refusal}");
    }
    opened.store.close().await;
}

#[tokio::test]
#[cfg_attr(no_postgres, ignore = "no PostgreSQL: install postgresql")]
async fn a_database_of_a_newer_version_is_refused() {
    let server = Server::shared();
    let url = server.database().await;
    let opened = open(&url).await;
    sqlx::query(
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
         VALUES (99, 'later', TRUE, '', 0)",
    )
    .execute(&opened.store.writers)
    .await
    .expect("written");
    opened.store.close().await;
    let refusal = try_open(&url).await.map(drop).expect_err("refused");
    let is_newer = matches!(refusal, StoreError::SchemaTooNew { found: 99, .. });
    assert!(is_newer, "{refusal}");
}

#[tokio::test]
#[cfg_attr(no_postgres, ignore = "no PostgreSQL: install postgresql")]
async fn a_data_directory_with_accounts_is_not_used_with_an_empty_database() {
    let server = Server::shared();
    let url = server.database().await;
    let directory = tempfile::tempdir().expect("a temporary directory");
    std::fs::write(directory.path().join("trawl.db"), "accounts").expect("a file");
    let data = DataDir::create(directory.path()).expect("a data directory");
    let refusal = PostgresStore::open(data, &url).await.expect_err("refused");
    assert!(matches!(refusal, StoreError::NotMoved), "{refusal}");
}

#[tokio::test]
#[cfg_attr(no_postgres, ignore = "no PostgreSQL: install postgresql")]
async fn crawls_without_their_logs_are_found() {
    let server = Server::shared();
    let url = server.database().await;
    let opened = open(&url).await;
    let store = &opened.store;
    with_accounts(&**store).await;
    let data = opened.directory.path();
    for id in ["aa", "bb", "cc"] {
        store.create_crawl(&crawl(id)).await.expect("a new crawl");
        let mut log = PageLog::open(data, id).expect("a log");
        let places = log.append(&[b"{}"]).expect("appended");
        let progress = Progress {
            // The last one has no page yet.
            pages: places
                .into_iter()
                .filter(|_| id != "cc")
                .map(first_page)
                .collect(),
            ..Progress::default()
        };
        let saved = store.save_crawl_progress(id, &progress).await;
        saved.expect("saved");
    }
    for id in ["aa", "cc"] {
        std::fs::remove_file(data.join(format!("crawls/{id}.pages"))).expect("removed");
    }
    let mut connection = store.writers.acquire().await.expect("a connection");
    let found = logs::incomplete(&mut connection, data).await;
    assert_eq!(found.expect("read"), ["aa"]);
    drop(connection);
    store.close().await;
}

#[tokio::test]
#[cfg_attr(no_postgres, ignore = "no PostgreSQL: install postgresql")]
async fn a_segment_is_unused_once_its_crawls_are_deleted() {
    let server = Server::shared();
    let url = server.database().await;
    let opened = open(&url).await;
    let store = &opened.store;
    with_accounts(&**store).await;
    let (used, unused) = (SegmentId(7), SegmentId(i64::MAX));
    for (id, at) in [(used, 10), (unused, 20)] {
        store
            .add_segment(id, Timestamp(at))
            .await
            .expect("a new one");
    }
    let again = store.add_segment(used, Timestamp(30)).await;
    assert!(matches!(again, Err(StoreError::Taken { .. })), "{again:?}");
    store.create_crawl(&crawl("aa")).await.expect("a new crawl");
    let place = LogPosition {
        segment: Some(used),
        offset: 5,
        length: 9,
    };
    let progress = Progress {
        pages: vec![first_page(place)],
        ..Progress::default()
    };
    for _ in 0..2 {
        // A batch may be repeated.
        let saved = store.save_crawl_progress("aa", &progress).await;
        saved.expect("saved");
    }
    let last = store.last_crawl_page("aa").await.expect("read");
    assert_eq!(last.expect("a page").place, place);
    let found = async |before| {
        let found = store.unused_segments(Timestamp(before), 9).await;
        found.expect("read")
    };
    assert_eq!(found(20).await, []);
    assert_eq!(found(21).await, [unused]);
    store.remove_segments(&[unused]).await.expect("removed");
    assert_eq!(found(21).await, []);
    let ended = store.end_crawl("aa", StopReason::Completed, Timestamp(40));
    ended.await.expect("ended");
    let expired = store.expire_crawls(Timestamp(41)).await;
    assert_eq!(expired.expect("deleted"), ["aa"]);
    assert_eq!(found(21).await, [used]);
    store.close().await;
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named() {
    let nowhere = tempfile::tempdir().expect("a temporary directory");
    let folder = nowhere.path().display().to_string();
    let url: PostgresUrl = folder.parse().expect("a path");
    let refusal = try_open(&url).await.map(drop).expect_err("no server");
    let text = refusal.to_string();
    assert!(matches!(refusal, StoreError::Unreachable { .. }), "{text}");
    assert!(text.contains(&folder), "{text}");
}
