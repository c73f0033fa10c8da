//! What every back end must do: functions on any [`Store`], and the list of back ends they run on.

use std::sync::Arc;

use super::contact_conformance::contacts_are_merged_and_listed;
use super::crawl_conformance::{
    a_crawl_is_kept_from_first_to_last, every_state_of_an_address_comes_back,
    old_crawls_are_forgotten_whole, progress_is_whole_and_counts_once,
};
use super::records_conformance::{
    a_secret_is_renewed, keys_are_kept_with_their_past, lists_are_read_a_part_at_a_time,
    notices_come_back, prices_are_added_and_kept, usage_is_added_up_by_account,
};
use super::*;
use trawl_model::{Charge, Nanodollars};

pub(super) fn account(n: u8) -> AccountRecord {
    AccountRecord {
        id: AccountId::new(format!("acc_{n}")),
        name: format!("name {n}"),
        created: Timestamp(1),
        balance: Nanodollars::ZERO,
        held: Nanodollars::ZERO,
        notice: Notice::default(),
    }
}

pub(super) fn key(account: u8, n: u8) -> KeyRecord {
    KeyRecord {
        prefix: format!("tr_{n}"),
        account: AccountId::new(format!("acc_{account}")),
        hash: [n; 32],
        created: Timestamp(2),
        name: String::new(),
        last_used: None,
        revoked: None,
    }
}

pub(super) fn entry(id: &str, kind: EntryKind, amount: i64, held: i64) -> Entry {
    Entry {
        id: id.to_owned(),
        account: AccountId::new("acc_1"),
        kind,
        amount: Nanodollars(amount),
        held: Nanodollars(held),
        hold: id.get(2..).unwrap_or_default().to_owned(),
        run: "run".into(),
        url: "https://example.com/".into(),
        charge: Charge {
            bytes_transferred: Nanodollars(-amount.min(0)),
            ..Charge::default()
        },
        consumed: Consumed {
            n_bytes: 7,
            cpu: std::time::Duration::from_micros(5),
        },
        reason: "why".to_owned(),
        at: Timestamp(10),
    }
}

fn paid_in(amount: i64) -> Entry {
    entry("t:1", EntryKind::TopUp, amount, 0)
}

fn everything() -> Window {
    Window {
        from: Timestamp::MIN,
        to: Timestamp::MAX,
        after: 0,
        limit: 1000,
    }
}

pub(super) async fn with_account(store: &dyn Store, amount: i64) {
    let created = store
        .create_account(&account(1), &key(1, 1), &[paid_in(amount)])
        .await;
    created.expect("a new account");
}

async fn sums(store: &dyn Store) -> (i64, i64) {
    let statement = store
        .statement(&account(1).id, everything())
        .await
        .expect("a statement");
    let audit = store.audit().await.expect("an audit");
    assert_eq!(audit.disagreements, []);
    (statement.balance.0, statement.held.0)
}

async fn an_account_is_made_whole_or_not_at_all(store: &dyn Store) {
    with_account(store, 100).await;
    let same_name = AccountRecord {
        id: AccountId::new("acc_2"),
        ..account(1)
    };
    let taken = store.create_account(&same_name, &key(2, 2), &[]).await;
    assert!(matches!(taken, Err(StoreError::Taken { .. })));
    let same_key = store.create_account(&account(2), &key(2, 1), &[]).await;
    assert!(matches!(same_key, Err(StoreError::Taken { .. })));
    let same_entry = store
        .create_account(&account(2), &key(2, 2), &[paid_in(5)])
        .await;
    assert!(same_entry.is_err());
    let accounts = store.accounts().await.expect("accounts");
    assert_eq!(accounts.len(), 1);
    assert_eq!(accounts[0].balance, Nanodollars(100));
    assert_eq!(store.keys().await.expect("keys"), [key(1, 1)]);
}

async fn a_revoked_key_is_gone(store: &dyn Store) {
    with_account(store, 0).await;
    store.create_key(&key(1, 2)).await.expect("a second key");
    assert!(store.create_key(&key(1, 2)).await.is_err());
    let id = account(1).id;
    let stranger = store
        .revoke_key(&AccountId::new("acc_9"), "tr_2", Timestamp(3))
        .await;
    assert!(!stranger.expect("no such key"));
    assert!(
        store
            .revoke_key(&id, "tr_2", Timestamp(3))
            .await
            .expect("revoked")
    );
    assert!(
        !store
            .revoke_key(&id, "tr_2", Timestamp(4))
            .await
            .expect("gone")
    );
    assert_eq!(store.keys().await.expect("keys"), [key(1, 1)]);
}

async fn the_same_entry_twice_counts_once(store: &dyn Store) {
    with_account(store, 100).await;
    let group = [
        entry("r:1", EntryKind::Reserve, 0, 50),
        entry("s:1", EntryKind::Post, -30, -50),
    ];
    let first = store.post_group(&group).await.expect("written");
    assert_eq!(first, [Written::New, Written::New]);
    assert_eq!(sums(store).await, (70, 0));
    let mixed = [group[1].clone(), entry("r:2", EntryKind::Reserve, 0, 10)];
    let again = store.post_group(&mixed).await.expect("written");
    assert_eq!(again, [Written::AlreadyThere, Written::New]);
    let void = [entry("s:1", EntryKind::Void, 0, -50)];
    let void = store.post_group(&void).await.expect("written");
    assert_eq!(void, [Written::AlreadyThere], "a hold ends once");
    assert_eq!(sums(store).await, (70, 10));
}

async fn an_entry_that_overdraws_is_refused_alone(store: &dyn Store) {
    with_account(store, 100).await;
    let stranger = Entry {
        account: AccountId::new("acc_9"),
        ..entry("r:9", EntryKind::Reserve, 0, 1)
    };
    let group = [
        entry("r:1", EntryKind::Reserve, 0, 60),
        entry("r:2", EntryKind::Reserve, 0, 60),
        stranger,
        entry("s:3", EntryKind::Post, -101, 0),
        entry("s:1", EntryKind::Post, -60, -60),
    ];
    let written = store.post_group(&group).await.expect("written");
    let is_new: Vec<bool> = written.iter().map(|one| *one == Written::New).collect();
    assert_eq!(is_new, [true, false, false, false, true]);
    assert!(matches!(written[1], Written::Refused { .. }));
    assert_eq!(sums(store).await, (40, 0));
}

async fn open_reserves_are_found_wherever_they_are(store: &dyn Store) {
    with_account(store, 1_000_000).await;
    assert_eq!(store.open_reserves().await.expect("none"), []);
    let old = [entry("r:old", EntryKind::Reserve, 0, 7)];
    store.post_group(&old).await.expect("written");
    let settled: Vec<Entry> = (0..12_000)
        .flat_map(|n| {
            let reserve = entry(&format!("r:{n}"), EntryKind::Reserve, 0, 5);
            [reserve, entry(&format!("s:{n}"), EntryKind::Void, 0, -5)]
        })
        .collect();
    store.post_group(&settled).await.expect("written");
    let new = [entry("r:new", EntryKind::Reserve, 0, 9)];
    store.post_group(&new).await.expect("written");
    let open = store.open_reserves().await.expect("two");
    let found: Vec<_> = open
        .iter()
        .map(|one| (one.hold.as_str(), one.held.0))
        .collect();
    assert_eq!(found, [("new", 9), ("old", 7)]);
}

async fn what_is_left_of_a_slice_is_open(store: &dyn Store) {
    with_account(store, 1_000).await;
    let of_slice = |slice: &str, id: &str, kind, amount, held| Entry {
        hold: format!("p:{slice}"),
        ..entry(id, kind, amount, held)
    };
    let group = [
        of_slice("1", "r:p:1/1", EntryKind::Reserve, 0, 300),
        of_slice("1", "c:run:1", EntryKind::Post, -40, -40),
        of_slice("1", "v:p:1/2", EntryKind::Void, 0, 0),
        of_slice("1", "r:p:1/3", EntryKind::Reserve, 0, 100),
        of_slice("1", "c:run:2", EntryKind::Post, -50, -50),
        of_slice("2", "r:p:2/1", EntryKind::Reserve, 0, 200),
        of_slice("2", "v:p:2/2", EntryKind::Void, 0, -200),
    ];
    store.post_group(&group).await.expect("written");
    let open = store.open_reserves().await.expect("a search");
    let open: Vec<_> = open.iter().map(|open| (&*open.hold, open.held.0)).collect();
    assert_eq!(open, [("p:1", 310)]);
    assert_eq!(sums(store).await, (910, 310));
    let spent = |run: &'static str| async move { store.run_spent(run).await.expect("a sum").0 };
    assert_eq!((spent("run").await, spent("ru").await), (90, 0));
    let charge = store.run_charge("run").await.expect("sums");
    let bytes = Charge {
        bytes_transferred: Nanodollars(90),
        ..Charge::default()
    };
    assert_eq!(charge, bytes);
    let rest = of_slice("1", "s:p:1", EntryKind::Void, 0, -310);
    store.post_group(&[rest]).await.expect("written");
    assert_eq!(store.open_reserves().await.expect("a search"), []);
}

async fn a_statement_has_pages_and_a_window(store: &dyn Store) {
    with_account(store, 1000).await;
    let posts: Vec<Entry> = (0..10)
        .map(|n| Entry {
            at: Timestamp(100 + n),
            ..entry(&format!("s:{n}"), EntryKind::Post, -n, 0)
        })
        .collect();
    store.post_group(&posts).await.expect("written");
    let window = Window {
        from: Timestamp(102),
        to: Timestamp(108),
        after: 0,
        limit: 4,
    };
    let id = account(1).id;
    let first = store.statement(&id, window).await.expect("a page");
    assert_eq!(first.entries.len(), 4);
    let post = KindSum {
        kind: EntryKind::Post,
        n_entries: 6,
        amount: Nanodollars(-27),
    };
    assert_eq!(first.sums, [post]);
    let after = first.entries[3].seq;
    let window = Window { after, ..window };
    let second = store.statement(&id, window).await.expect("a page");
    let whole: Vec<Entry> = first
        .entries
        .into_iter()
        .chain(second.entries)
        .map(|one| one.entry)
        .collect();
    assert_eq!(
        whole,
        posts[2..8],
        "every field comes back as it was written"
    );
    let found = store
        .entry("s:3")
        .await
        .expect("an entry")
        .expect("it is there");
    assert_eq!(found.entry, posts[3]);
    assert_eq!(store.entry("s:99").await.expect("no entry"), None);
}

async fn answers_are_kept_for_their_time(store: &dyn Store) {
    with_account(store, 0).await;
    let key = |key: &str| AnswerKey {
        account: account(1).id,
        key: key.to_owned(),
    };
    let kept = |at: i64| KeptAnswer {
        body_hash: [7; 32],
        answer: Some(Answer {
            status: 200,
            content_type: "application/json".to_owned(),
            body: vec![0, 255, 10].into(),
        }),
        at: Timestamp(at),
    };
    let keep = |name: &'static str, answer: KeptAnswer, expired: i64| async move {
        let done = store
            .keep_answer(&key(name), &answer, Timestamp(expired))
            .await;
        done.expect("kept");
    };
    let found = |name: &'static str, since: i64| async move {
        let answer = store.answer(&key(name), Timestamp(since)).await;
        answer.expect("the store works")
    };
    keep("a", kept(100), 0).await;
    assert_eq!(found("a", 100).await, Some(kept(100)));
    assert_eq!(found("a", 101).await, None);
    assert_eq!(found("b", 0).await, None);
    let too_large = KeptAnswer {
        answer: None,
        ..kept(200)
    };
    keep("a", too_large.clone(), 0).await;
    assert_eq!(found("a", 0).await, Some(too_large));
    keep("b", kept(300), 250).await;
    assert_eq!(found("a", 0).await, None, "it was forgotten");
}

/// Runs each function on a fresh store of each back end.
async fn events_wait_until_they_are_received(store: &dyn Store) {
    with_account(store, 0).await;
    let row = |id: &str, destination: &str, due: i64| OutboxRow {
        id: id.to_owned(),
        account: AccountId::new("acc_1"),
        destination: destination.to_owned(),
        event: "on_find".to_owned(),
        body: "{}".to_owned(),
        created: Timestamp(due),
        due: Timestamp(due),
        n_attempts: 0,
    };
    let rows = [
        row("1", "a", 10),
        row("2", "b", 11),
        row("3", "a", 12),
        row("4", "a", 99),
    ];
    assert_eq!(store.outbox_push(&rows).await.expect("kept"), 4);
    assert_eq!(store.outbox_push(&rows[..2]).await.expect("kept"), 0);
    let due = async |now, busy: &[&str]| {
        let busy: Vec<String> = busy.iter().map(|&name| name.to_owned()).collect();
        let rows = store
            .outbox_due(Timestamp(now), &busy, 10)
            .await
            .expect("read");
        rows.into_iter().map(|row| row.id).collect::<Vec<_>>()
    };
    assert!(due(9, &[]).await.is_empty());
    assert_eq!(due(12, &[]).await, ["1", "3"]);
    assert_eq!(due(12, &["a"]).await, ["2"]);
    assert!(due(12, &["a", "b"]).await.is_empty());
    let next = store.outbox_next(&["a".to_owned()]).await.expect("read");
    assert_eq!(next, Some(Timestamp(11)));

    let ids = ["2".to_owned(), "gone".to_owned()];
    assert_eq!(store.outbox_done(&ids).await.expect("written"), 1);
    let tried = ["1".to_owned(), "3".to_owned()];
    let postponed = store.outbox_postpone("a", &tried, Timestamp(50), Timestamp(10));
    assert_eq!(postponed.await.expect("written"), 1);
    assert!(due(49, &[]).await.is_empty());
    let rows = store
        .outbox_due(Timestamp(99), &[], 10)
        .await
        .expect("read");
    let rows: Vec<_> = rows
        .iter()
        .map(|row| (row.id.as_str(), row.due.0, row.n_attempts))
        .collect();
    assert_eq!(rows, [("3", 50, 1), ("4", 99, 0)]);
    assert_eq!(store.outbox_count().await.expect("read"), 2);

    let account = AccountId::new("acc_1");
    let secret = store.webhook_secret(&account).await.expect("kept");
    assert_eq!(store.webhook_secret(&account).await.expect("kept"), secret);
}

async fn a_subscription_and_its_charge_are_one(store: &dyn Store) {
    with_account(store, 100).await;
    let row = Subscription {
        account: AccountId::new("acc_1"),
        seats: 8,
        next_seats: 3,
        begun: Timestamp(4),
        from: Timestamp(5),
        to: Timestamp(6),
        price: Nanodollars(60),
        state: SubscriptionState::Active,
    };
    let charge = |id: &str, amount| entry(id, EntryKind::Seats, amount, 0);
    let save = async |row: &Subscription, charge: Option<&Entry>| {
        let saved = store.save_subscription(row, charge).await;
        saved.expect("the store works")
    };
    assert_eq!(save(&row, Some(&charge("x:1", -60))).await, Written::New);
    let later = Subscription {
        from: Timestamp(6),
        to: Timestamp(7),
        state: SubscriptionState::Lapsed,
        ..row.clone()
    };
    let again = save(&later, Some(&charge("x:1", -60))).await;
    assert_eq!(again, Written::AlreadyThere);
    let too_much = save(&later, Some(&charge("x:2", -60))).await;
    assert!(matches!(too_much, Written::Refused { .. }));
    assert_eq!(store.subscriptions().await.expect("read"), [row]);
    assert_eq!(sums(store).await, (40, 0));
    assert_eq!(save(&later, None).await, Written::New);
    assert_eq!(store.subscriptions().await.expect("read"), [later]);
    assert_eq!(sums(store).await, (40, 0));
}

async fn contacts_have_accounts(store: &dyn Store) {
    for n in [1, 2] {
        let created = store.create_account(&account(n), &key(n, n), &[]).await;
        created.expect("an account");
    }
    contacts_are_merged_and_listed(store).await;
}

macro_rules! conformance {
    ($($case:ident,)*) => {
        mod sqlite_store {
            $(#[tokio::test]
            async fn $case() {
                let directory = tempfile::tempdir().expect("a temporary directory");
                let data = DataDir::create(directory.path()).expect("a data directory");
                let store = sqlite::SqliteStore::open(data).await.expect("a store");
                let store: Arc<dyn Store> = Arc::new(store);
                super::$case(store.as_ref()).await;
                store.close().await;
            })*

            use super::*;
        }
    };
}

conformance! {
    an_account_is_made_whole_or_not_at_all,
    a_revoked_key_is_gone,
    the_same_entry_twice_counts_once,
    an_entry_that_overdraws_is_refused_alone,
    open_reserves_are_found_wherever_they_are,
    a_statement_has_pages_and_a_window,
    answers_are_kept_for_their_time,
    what_is_left_of_a_slice_is_open,
    a_crawl_is_kept_from_first_to_last,
    progress_is_whole_and_counts_once,
    every_state_of_an_address_comes_back,
    old_crawls_are_forgotten_whole,
    events_wait_until_they_are_received,
    a_subscription_and_its_charge_are_one,
    keys_are_kept_with_their_past,
    notices_come_back,
    a_secret_is_renewed,
    prices_are_added_and_kept,
    usage_is_added_up_by_account,
    lists_are_read_a_part_at_a_time,
    contacts_have_accounts,
}
