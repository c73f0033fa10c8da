//! A directory with rows of every table, before and after it is moved.

use std::path::Path;
use std::sync::Arc;

use sqlx::Connection as _;
use sqlx::sqlite::SqliteConnection;

use trawl_model::clock::{Clock, Timestamp};
use trawl_model::memory::{MemoryBudget, MemoryKind};
use trawl_model::{ContentHash, Nanodollars, StopReason, UrlRow, UrlState};

use super::{Moved, move_data};
use crate::conformance::fixtures::{account, crawl, entry, first_page, with_accounts};
use crate::postgres::server::Server;
use crate::postgres::{PostgresStore, PostgresUrl, verify};
use crate::sqlite::SqliteStore;
use crate::{
    Answer, AnswerKey, BATCH_VERB, Channel, Contact, ContactStore as _, CrawlCounts, CrawlKinds,
    CrawlRecord, CrawlStore as _, DataDir, DeliveryFailure, EntryKind, KeyUse, LedgerEntry,
    LedgerStore as _, LogPosition, Notice, NoticeState, Objects, ObjectsUrl, OutboxRow,
    OutboxStore as _, PageLog, PageLogs, PageRange, PageRow, PricesRow, Progress, ReadEntry,
    SegmentStore as _, Store, StoreError, StoredAnswer, Subscription, SubscriptionState, Threshold,
    WebhookSecrets as _, Window, Written,
};

/// URLs of a crawl: more than are written at once.
const N_URLS: u32 = 2_500;
/// Two times in later months than that of [`entry`].
const MAY: Timestamp = Timestamp(1_683_000_000_000);
const JUNE: Timestamp = Timestamp(1_687_000_000_000);

fn data(directory: &Path) -> DataDir {
    DataDir::create(directory).expect("a data directory")
}

async fn sqlite(directory: &Path) -> SqliteStore {
    SqliteStore::open(data(directory)).await.expect("a store")
}

async fn postgres(directory: &Path, url: &PostgresUrl) -> PostgresStore {
    let store = PostgresStore::open(data(directory), url).await;
    store.expect("a store")
}

/// Moves a directory whose page logs stay.
async fn moved(directory: &Path, url: &PostgresUrl) -> Moved {
    let moved = move_data(data(directory), url, None).await;
    moved.expect("moved")
}

/// Why a directory is not moved, which it must not be, since `why`.
async fn refused(directory: &Path, url: &PostgresUrl, why: &str) -> StoreError {
    let moved = move_data(data(directory), url, None).await;
    moved.expect_err(why)
}

/// A directory with rows of every table.
async fn filled() -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let store = sqlite(directory.path()).await;
    with_accounts(&store).await;
    fill_ledger(&store).await;
    fill_accounts(&store).await;
    fill_crawls(&store).await;
    fill_outbox(&store).await;
    store.close().await;
    directory
}

async fn fill_ledger(store: &SqliteStore) {
    let at = |id: &str, amount: i64, at: Timestamp| LedgerEntry {
        at,
        ..entry(id, EntryKind::Post, amount, 0)
    };
    let group = [
        entry("t:1", EntryKind::TopUp, 1_000, 0),
        entry("r:1", EntryKind::Reserve, 0, 50),
        entry("s:1", EntryKind::Post, -30, -50),
        at("s:2", -7, MAY),
        at("s:3", -8, JUNE),
        // Counts in June, the month of the last charge.
        at("s:4", -9, MAY),
        entry("r:2", EntryKind::Reserve, 0, 20),
    ];
    let written = store.post_group(&group).await.expect("written");
    assert!(written.iter().all(|written| *written == Written::New));
    let seats = Subscription {
        account: account(1).id,
        seats: 2,
        next_seats: 1,
        begun: Timestamp(4),
        from: Timestamp(5),
        to: Timestamp(6),
        price: Nanodollars(60),
        state: SubscriptionState::Active,
    };
    let charge = entry("seats:acc_1:5", EntryKind::Seats, -60, 0);
    let saved = store.save_subscription(&seats, Some(&charge)).await;
    assert_eq!(saved.expect("written"), Written::New);
    for n in 1..3 {
        let prices = PricesRow {
            at: Timestamp(n),
            prices: format!("{{\"gigabyte\":{n}}}"),
        };
        store.add_prices(&prices).await.expect("written");
    }
}

async fn fill_accounts(store: &SqliteStore) {
    let owner = account(1).id;
    let notice = Notice {
        destination: Some("https://a.example/hook".to_owned()),
        below: Nanodollars(9),
        ..Notice::default()
    };
    store.save_notice(&owner, &notice).await.expect("saved");
    let sent = NoticeState {
        count: 3,
        is_sent: true,
    };
    let saved = store.record_notice(&owner, Threshold::Empty, sent).await;
    saved.expect("saved");
    let used = KeyUse {
        prefix: "tr_1".to_owned(),
        at: Timestamp(60_000),
    };
    store.record_key_uses(&[used]).await.expect("recorded");
    let budget = Some(Nanodollars(500));
    let set = store.set_key_budget(&owner, "tr_1", budget).await;
    assert!(set.expect("set"));
    let other = account(2).id;
    let revoked = store.revoke_key(&other, "tr_2", Timestamp(70));
    assert!(revoked.await.expect("revoked"));
    let answer = StoredAnswer {
        body_hash: [7; 32],
        has_ended: true,
        answer: Some(Answer {
            status: 200,
            content_type: "application/json".to_owned(),
            headers: vec![("x-crawl-id".to_owned(), "aa".to_owned())],
            body: vec![1, 255, 10].into(),
        }),
        at: Timestamp(80),
    };
    let stored = store
        .store_answer(&answer_key(), &answer, Timestamp(0))
        .await;
    stored.expect("stored");
    let contact = Contact {
        domain: "a.example".to_owned(),
        kind: "email".to_owned(),
        value: "x@a.example".to_owned(),
        details: "{\"name\":\"Ünal\"}".to_owned(),
        pages: vec!["https://a.example/".to_owned()],
        first_seen: Timestamp(1),
        last_seen: Timestamp(2),
    };
    let saved = store.save_contacts(&owner, &[contact]).await;
    assert_eq!(saved.expect("saved"), 0);
}

fn answer_key() -> AnswerKey {
    AnswerKey {
        account: account(1).id,
        key: "once".to_owned(),
    }
}

async fn fill_crawls(store: &SqliteStore) {
    let url = |n: u32| UrlRow {
        n,
        url: format!("https://a.example/{n}"),
        depth: 1,
        referrer: (n > 0).then_some(0),
        anchor: (n == 1).then(|| "one".to_owned()),
        target: None,
        state: if n < 2 {
            UrlState::Done
        } else {
            UrlState::Waiting
        },
    };
    let place = |offset: u64| LogPosition {
        segment: None,
        offset,
        length: 100,
    };
    let good = PageRow {
        at: Some(Timestamp(9)),
        cost: Nanodollars(3),
        content: Some(ContentHash::from_bytes([5; 16])),
        ..first_page(place(0))
    };
    let failed = PageRow {
        seq: 2,
        n: 1,
        status: 502,
        is_failed: true,
        cause: Some("dns".to_owned()),
        // A character that PostgreSQL does not store.
        error: Some("a\0b".to_owned()),
        ..first_page(place(100))
    };
    let progress = Progress {
        urls: (0..N_URLS).map(url).collect(),
        pages: vec![good, failed],
        counts: CrawlCounts {
            n_pages: 2,
            n_failed: 1,
            n_bytes: 7,
            spent: Nanodollars(3),
        },
    };
    let batch = CrawlRecord {
        verb: BATCH_VERB.to_owned(),
        in_background: false,
        created: Timestamp(2),
        ..crawl("bb")
    };
    store.create_crawl(&crawl("aa")).await.expect("a crawl");
    store.create_crawl(&batch).await.expect("a batch");
    let saved = store.save_crawl_progress("aa", &progress).await;
    saved.expect("saved");
    let left_out = store.set_crawl_left_out("aa", "{\"urls\":4}").await;
    left_out.expect("saved");
    let ended = store.end_crawl("bb", StopReason::Completed, Timestamp(90));
    ended.await.expect("ended");
}

async fn fill_outbox(store: &SqliteStore) {
    let event = |id: &str, destination: &str| OutboxRow {
        id: id.to_owned(),
        account: account(1).id,
        destination: destination.to_owned(),
        event: "on_find".to_owned(),
        body: "{}".to_owned(),
        created: Timestamp(10),
        due: Timestamp(10),
        n_attempts: 0,
        last_failure: None,
    };
    let events = [
        event("1", "https://b/"),
        event("2", "https://c/"),
        event("3", "https://b/"),
    ];
    store.outbox_push(&events).await.expect("stored");
    let channel = Channel {
        account: account(1).id,
        destination: "https://b/".to_owned(),
    };
    let failure = DeliveryFailure {
        reason: "the receiver responded with 500".to_owned(),
        at: Timestamp(20),
    };
    let tried = ["1".to_owned()];
    let times = (Timestamp(50), Timestamp(0));
    let postponed = store.outbox_postpone(&channel, &tried, &failure, times.0, times.1);
    postponed.await.expect("written");
    let owner = account(1).id;
    let secret = store.webhook_secret(&owner).await;
    secret.expect("a secret");
    let renewed = store.renew_webhook_secret(&owner, Timestamp(30)).await;
    renewed.expect("another one");
}

/// All that a store has, as a back end shows it.
async fn seen(store: &dyn Store) -> Vec<String> {
    let mut seen = vec![
        format!("{:?}", store.accounts().await.expect("read")),
        format!("{:?}", store.subscriptions().await.expect("read")),
        format!("{:?}", store.prices().await.expect("read")),
        format!("{:?}", store.open_reserves().await.expect("read")),
        format!(
            "{:?}",
            store.crawl_urls("aa", None, 9_999).await.expect("read")
        ),
        format!("{:?}", store.crawl_pages("aa", 0, 99).await.expect("read")),
        format!(
            "{:?}",
            store.crawl_contents("aa", 0, 99).await.expect("read")
        ),
    ];
    let memory = MemoryBudget::unlimited().share("a").page();
    let answer = store.answer(&answer_key(), Timestamp(0), &memory).await;
    seen.push(format!("{:?}", answer.expect("read")));
    let range = PageRange::offset(99, 0);
    for owner in [1, 2].map(|n| account(n).id) {
        let window = Window {
            from: Timestamp(0),
            to: Timestamp::MAX,
            after: 0,
            limit: 99,
        };
        let statement = store.statement(&owner, window).await.expect("read");
        seen.push(format!("{statement:?}"));
        seen.push(format!("{:?}", store.all_keys(&owner).await.expect("read")));
        let crawls = store.crawls(&owner, Timestamp::MAX, 99).await;
        seen.push(format!("{:?}", crawls.expect("read")));
        let crawls = store.crawl_rows(&owner, CrawlKinds::All, range).await;
        seen.push(format!("{:?}", crawls.expect("read")));
        let contacts = store.contacts(&owner, None, range).await;
        seen.push(format!("{:?}", contacts.expect("read")));
        seen.push(format!("{:?}", store.totals(&owner).await.expect("read")));
        let events = store.outbox_rows(&owner, range).await.expect("read").rows;
        seen.extend(events.into_iter().map(|event| {
            let (id, failure) = (&event.id, &event.last_failure);
            format!("{id} {} {failure:?} {event:?}", event.destination)
        }));
    }
    let secrets = store.signing_secrets(&account(1).id, Timestamp(0)).await;
    let secrets = secrets.expect("read");
    let previous = secrets.previous.expect("it was renewed");
    seen.push(format!(
        "{} {}",
        secrets.current.expose(),
        previous.expose()
    ));
    seen
}

#[tokio::test]
#[cfg_attr(no_postgres, ignore = "no PostgreSQL: install postgresql")]
async fn what_is_moved_is_seen_as_before() {
    let server = Server::shared();
    let url = server.database().await;
    let directory = filled().await;
    let store = sqlite(directory.path()).await;
    let before = seen(&store).await;
    store.close().await;
    drop(store);

    let moved = moved(directory.path(), &url).await;
    assert!(!moved.was_moved_before);
    let counts = [
        moved.n_accounts,
        moved.n_entries,
        moved.n_crawls,
        moved.n_pages,
    ];
    assert_eq!(counts, [2, 8, 2, 2]);
    let store = postgres(directory.path(), &url).await;
    let expected = before.iter().map(|text| text.replace("\\0", "\u{fffd}"));
    assert_eq!(seen(&store).await, expected.collect::<Vec<_>>());
    // The numbers of what is new follow those that were moved.
    let new = [entry("t:2", EntryKind::TopUp, 5, 0)];
    assert_eq!(
        store.post_group(&new).await.expect("written"),
        [Written::New]
    );
    let posted = store
        .entry("t:2")
        .await
        .expect("read")
        .expect("it is there");
    assert_eq!(posted.seq, 9);
    store.create_crawl(&crawl("cc")).await.expect("a crawl");
    store.close().await;
    let verified = verify(&url).await.expect("read");
    assert_eq!((verified.n_accounts, verified.n_entries), (2, 9));
    assert_eq!(verified.disagreements, [""; 0]);
}

/// A crawl with two entries in its file, and a page whose entry is lost.
async fn add_logged_crawl(directory: &Path, entries: &[&[u8]]) {
    let store = sqlite(directory).await;
    store.create_crawl(&crawl("dd")).await.expect("a crawl");
    let mut log = PageLog::open(directory, "dd").expect("a log");
    let mut places = log.append(entries).expect("appended");
    places.push(LogPosition {
        segment: None,
        offset: 1 << 20,
        length: 9,
    });
    let pages = places.into_iter().zip(1..);
    let pages = pages.map(|(place, seq)| PageRow {
        seq,
        ..first_page(place)
    });
    let progress = Progress {
        pages: pages.collect(),
        ..Progress::default()
    };
    let saved = store.save_crawl_progress("dd", &progress).await;
    saved.expect("saved");
    store.close().await;
}

#[tokio::test]
#[cfg_attr(no_postgres, ignore = "no PostgreSQL: install postgresql")]
async fn pages_are_moved_into_an_object_store() {
    let server = Server::shared();
    let url = server.database().await;
    let directory = filled().await;
    let large = "a page of text, again and again. ".repeat(500);
    let entries = [b"{}".as_slice(), large.as_bytes()];
    add_logged_crawl(directory.path(), &entries).await;
    let other = tempfile::tempdir().expect("a temporary directory");
    let objects = format!("file://{}/objects", other.path().display());
    let objects: ObjectsUrl = objects.parse().expect("a URL");
    let objects = Objects::open(&objects).expect("a store of objects");
    let moved = move_data(data(directory.path()), &url, Some(&objects)).await;
    assert_eq!(moved.expect("moved").n_pages, 5);

    // Another directory, as of another machine.
    let elsewhere = other.path().join("data");
    let store = Arc::new(postgres(&elsewhere, &url).await);
    let logs = PageLogs::in_segments(&elsewhere, objects, store.clone(), Clock::wall());
    let pages = store.crawl_pages("dd", 0, 9).await.expect("read");
    for (page, entry) in pages.iter().zip(entries) {
        let budget = MemoryBudget::unlimited();
        let mut lease = budget.share("a").page().lease_for(MemoryKind::Stored);
        lease.record(1 << 20);
        let read = logs.read("dd", page.place, lease).await.expect("read");
        let ReadEntry::Entry(read) = read else {
            panic!("the lease covers it");
        };
        assert_eq!(read.into_bytes(), entry);
    }
    assert_eq!((pages.len(), pages[2].place.segment), (3, None));
    let of_others = store.crawl_pages("aa", 0, 9).await.expect("read");
    assert!(of_others.iter().all(|page| page.place.segment.is_none()));
    let unused = store.unused_segments(Timestamp::MAX, 9).await;
    assert_eq!(unused.expect("read"), []);
    store.close().await;
}

#[tokio::test]
#[cfg_attr(no_postgres, ignore = "no PostgreSQL: install postgresql")]
async fn a_directory_is_moved_once() {
    let server = Server::shared();
    let url = server.database().await;
    let directory = filled().await;
    moved(directory.path(), &url).await;
    let opened = crate::open(data(directory.path()), None).await.map(drop);
    let refusal = opened.expect_err("the accounts are elsewhere");
    assert!(
        matches!(refusal, StoreError::InPostgres { .. }),
        "{refusal}"
    );

    // Also after the server has gone on there, or when the move was interrupted after its commit.
    let store = postgres(directory.path(), &url).await;
    let new = [entry("t:2", EntryKind::TopUp, 5, 0)];
    store.post_group(&new).await.expect("written");
    store.close().await;
    drop(store);
    let note = directory.path().join("store.postgres");
    std::fs::remove_file(&note).expect("removed");
    let again = moved(directory.path(), &url).await;
    assert!(again.was_moved_before && note.exists());
    let verified = verify(&url).await.expect("read");
    assert_eq!((verified.n_entries, verified.disagreements.len()), (9, 0));

    // Another database would get what was charged until the move, and not what followed.
    let other = server.database().await;
    let refusal = refused(directory.path(), &other, "it is in the first one").await;
    assert!(
        matches!(refusal, StoreError::InPostgres { .. }),
        "{refusal}"
    );
}

#[tokio::test]
#[cfg_attr(no_postgres, ignore = "no PostgreSQL: install postgresql")]
async fn a_directory_that_went_on_by_itself_is_not_moved_again() {
    let server = Server::shared();
    let url = server.database().await;
    let directory = filled().await;
    moved(directory.path(), &url).await;
    std::fs::remove_file(directory.path().join("store.postgres")).expect("removed");
    let store = sqlite(directory.path()).await;
    let new = [entry("t:2", EntryKind::TopUp, 5, 0)];
    store.post_group(&new).await.expect("written");
    store.close().await;
    drop(store);
    let refusal = refused(directory.path(), &url, "the ledgers differ").await;
    assert!(matches!(refusal, StoreError::NotEmpty { .. }), "{refusal}");
    let verified = verify(&url).await.expect("read");
    assert_eq!(verified.n_entries, 8, "nothing was added");
}

#[tokio::test]
#[cfg_attr(no_postgres, ignore = "no PostgreSQL: install postgresql")]
async fn what_cannot_be_moved_is_refused() {
    let server = Server::shared();
    let url = server.database().await;
    let empty = tempfile::tempdir().expect("a temporary directory");
    let refusal = refused(empty.path(), &url, "nothing is there").await;
    assert!(
        matches!(refusal, StoreError::NothingToMove { .. }),
        "{refusal}"
    );
    assert!(!empty.path().join("trawl.db").exists());

    let directory = filled().await;
    let store = sqlite(directory.path()).await;
    let refusal = DataDir::open(directory.path()).expect_err("in use");
    assert!(refusal.to_string().contains("in use"), "{refusal}");
    store.close().await;
    drop(store);

    // A server has begun there: its database has another account.
    let other = tempfile::tempdir().expect("a temporary directory");
    let used = postgres(other.path(), &url).await;
    let refusal = refused(directory.path(), &url, "a process uses the database").await;
    assert!(
        matches!(refusal, StoreError::DatabaseInUse { .. }),
        "{refusal}"
    );
    with_accounts(&used).await;
    used.close().await;
    let refusal = refused(directory.path(), &url, "it has accounts").await;
    assert!(matches!(refusal, StoreError::NotEmpty { .. }), "{refusal}");
    assert!(!directory.path().join("store.postgres").exists());
}

#[tokio::test]
#[cfg_attr(no_postgres, ignore = "no PostgreSQL: install postgresql")]
async fn tables_without_accounts_are_what_an_interrupted_move_leaves() {
    let server = Server::shared();
    let url = server.database().await;
    let other = tempfile::tempdir().expect("a temporary directory");
    postgres(other.path(), &url).await.close().await;
    let directory = filled().await;
    let opened = PostgresStore::open(data(directory.path()), &url).await;
    let refusal = opened
        .map(drop)
        .expect_err("its accounts are missing there");
    assert!(matches!(refusal, StoreError::NotMoved), "{refusal}");
    let moved = moved(directory.path(), &url).await;
    assert!(!moved.was_moved_before);
    let store = postgres(directory.path(), &url).await;
    assert_eq!(store.accounts().await.expect("read").len(), 2);
    store.close().await;
}

#[tokio::test]
#[cfg_attr(no_postgres, ignore = "no PostgreSQL: install postgresql")]
async fn a_directory_of_a_newer_version_is_refused() {
    let server = Server::shared();
    let url = server.database().await;
    let directory = filled().await;
    let file = format!("sqlite://{}/trawl.db", directory.path().display());
    let mut connection = SqliteConnection::connect(&file).await.expect("opened");
    let changed = sqlx::query("PRAGMA user_version = 99")
        .execute(&mut connection)
        .await;
    changed.expect("changed");
    connection.close().await.expect("closed");
    let refusal = refused(directory.path(), &url, "it is newer").await;
    let is_newer = matches!(refusal, StoreError::SchemaTooNew { found: 99, .. });
    assert!(is_newer, "{refusal}");
    let refusal = verify(&url).await.expect_err("no tables");
    assert!(matches!(refusal, StoreError::NoTables { .. }), "{refusal}");
}

#[tokio::test]
#[cfg_attr(no_postgres, ignore = "no PostgreSQL: install postgresql")]
async fn a_sum_that_differs_is_named() {
    let server = Server::shared();
    let url = server.database().await;
    let directory = filled().await;
    moved(directory.path(), &url).await;
    let database = url.options().get_database().expect("a name").to_owned();
    let mut connection = server.connect(&database).await;
    for sql in [
        "SET search_path = trawl",
        "UPDATE accounts SET balance = balance + 1 WHERE id = 'acc_1'",
        "UPDATE keys SET month_spent = 0 WHERE prefix = 'tr_1'",
        "UPDATE subscriptions SET price = 61",
        "UPDATE account_totals SET n_pages = 7 WHERE account = 'acc_1'",
        "UPDATE outbox_channels SET n_events = 9 WHERE destination = 'https://b/'",
        "INSERT INTO entries (id, account, kind, amount, held, hold, run, url, ai, compute, file,
             bytes_transferred, transform, vendor_billed, reason, at, n_bytes, cpu, key)
         VALUES ('v:9', 'acc_1', 'void', 0, -1, '9', '', '', 0, 0, 0, 0, 0, 0, '', 1, 0, 0, '')",
    ] {
        let changed = sqlx::query(sql).execute(&mut connection).await;
        changed.expect("changed");
    }
    let lines = verify(&url).await.expect("read").disagreements;
    let expected = [
        "acc_1: balance ",
        "acc_1: key tr_1 has spent ",
        "acc_1: the total of pages of crawls is 7 but there are 2",
        "acc_1: a destination of webhooks counts 9 events but has 2",
        "acc_1: the reservation 9 gave back ",
        "acc_1: the seats of this period cost ",
    ];
    assert_eq!(lines.len(), expected.len(), "{lines:?}");
    for (line, begin) in lines.iter().zip(expected) {
        assert!(line.starts_with(begin), "{line}");
    }
}
