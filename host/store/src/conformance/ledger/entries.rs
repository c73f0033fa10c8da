//! Entries, statements, usage.

use std::time::Duration;

use trawl_model::clock::Timestamp;
use trawl_model::{Charge, Nanodollars};

use super::super::fixtures::{account, key};
use super::{entry, sums, with_account};
use crate::{
    AccountId, AccountUsage, Consumed, EntryKind, KeyPrefix, KindSum, LedgerEntry, LedgerStore,
    Window, Written,
};

pub(crate) async fn a_repeated_entry_is_skipped(store: &dyn LedgerStore) {
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
    assert_eq!(void, [Written::AlreadyThere], "a reservation ends once");
    assert_eq!(sums(store).await, (70, 10));

    // The id of a payment is any text.
    let payment = [entry("t:\0", EntryKind::TopUp, 5, 0)];
    for expected in [Written::New, Written::AlreadyThere] {
        let written = store.post_group(&payment).await.expect("written");
        assert_eq!(written, [expected]);
    }
    let found = store.entry("t:\0").await.expect("a search");
    assert_eq!(found.map(|found| found.entry.amount), Some(Nanodollars(5)));
    assert_eq!(sums(store).await, (75, 10));
}

pub(crate) async fn only_the_entry_that_overdraws_is_refused(store: &dyn LedgerStore) {
    with_account(store, 100).await;
    let stranger = LedgerEntry {
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
    let is_new: Vec<bool> = written
        .iter()
        .map(|written| *written == Written::New)
        .collect();
    assert_eq!(is_new, [true, false, false, false, true]);
    assert!(matches!(written[1], Written::Refused { .. }));
    assert_eq!(sums(store).await, (40, 0));
}

pub(crate) async fn open_reserves_are_found_anywhere_in_the_ledger(store: &dyn LedgerStore) {
    with_account(store, 1_000_000).await;
    assert_eq!(store.open_reserves().await.expect("none"), []);
    let old = [entry("r:old", EntryKind::Reserve, 0, 7)];
    store.post_group(&old).await.expect("written");
    let settled: Vec<LedgerEntry> = (0..12_000)
        .flat_map(|n| {
            let reserve = entry(&format!("r:{n}"), EntryKind::Reserve, 0, 5);
            [reserve, entry(&format!("s:{n}"), EntryKind::Void, 0, -5)]
        })
        .collect();
    store.post_group(&settled).await.expect("written");
    let recent = [entry("r:recent", EntryKind::Reserve, 0, 9)];
    store.post_group(&recent).await.expect("written");
    let open = store.open_reserves().await.expect("two");
    let found: Vec<_> = open
        .iter()
        .map(|reserve| (reserve.reservation.as_str(), reserve.held.0))
        .collect();
    assert_eq!(found, [("recent", 9), ("old", 7)]);
    assert_eq!(open[0].key, KeyPrefix::new("tr_1"));
}

pub(crate) async fn the_outstanding_allotment_of_a_run_is_open(store: &dyn LedgerStore) {
    with_account(store, 1_000).await;
    let of_allotment = |allotment: &str, id: &str, kind, amount, held| LedgerEntry {
        reservation: format!("p:{allotment}"),
        ..entry(id, kind, amount, held)
    };
    let group = [
        of_allotment("1", "r:p:1/1", EntryKind::Reserve, 0, 300),
        of_allotment("1", "c:run:1", EntryKind::Post, -40, -40),
        of_allotment("1", "v:p:1/2", EntryKind::Void, 0, 0),
        of_allotment("1", "r:p:1/3", EntryKind::Reserve, 0, 100),
        of_allotment("1", "c:run:2", EntryKind::Post, -50, -50),
        of_allotment("2", "r:p:2/1", EntryKind::Reserve, 0, 200),
        of_allotment("2", "v:p:2/2", EntryKind::Void, 0, -200),
    ];
    store.post_group(&group).await.expect("written");
    let open = store.open_reserves().await.expect("a search");
    let open: Vec<_> = open
        .iter()
        .map(|open| (&*open.reservation, open.held.0))
        .collect();
    assert_eq!(open, [("p:1", 310)]);
    assert_eq!(sums(store).await, (910, 310));
    let spent = |run: &'static str| async move { store.run_spent(run).await.expect("a sum").0 };
    assert_eq!((spent("run").await, spent("ru").await), (90, 0));
    for (run, is_charged) in [("run", true), ("ru", false), ("run:", false)] {
        let found = store.has_run_posts(run).await.expect("a search");
        assert_eq!(found, is_charged, "{run}");
    }
    let charge = store.run_charge("run").await.expect("sums");
    let bytes = Charge {
        bytes_transferred: Nanodollars(90),
        ..Charge::default()
    };
    assert_eq!(charge, bytes);
    let last = of_allotment("1", "s:p:1", EntryKind::Void, 0, -310);
    store.post_group(&[last]).await.expect("written");
    assert_eq!(store.open_reserves().await.expect("a search"), []);
}

pub(crate) async fn the_charges_of_a_run_are_listed_by_id(store: &dyn LedgerStore) {
    with_account(store, 1_000).await;
    let group = [
        entry("c:run:b", EntryKind::Post, -20, 0),
        entry("c:run:a", EntryKind::Post, -10, 0),
        entry("c:run:a/refund", EntryKind::Post, 10, 0),
        entry("c:run:c", EntryKind::Post, 0, 0),
        entry("c:run:d", EntryKind::Post, -40, 0),
        entry("c:run2:a", EntryKind::Post, -50, 0),
        entry("s:run", EntryKind::Post, -60, 0),
    ];
    store.post_group(&group).await.expect("written");
    let listed = async |run: &str, after: Option<&str>, count_max: u32| {
        let posts = store.run_posts(run, after, count_max).await;
        let posts = posts.expect("a list").into_iter();
        posts.map(|post| post.id).collect::<Vec<_>>()
    };
    assert_eq!(listed("run", None, 2).await, ["c:run:a", "c:run:b"]);
    assert_eq!(listed("run", Some("c:run:b"), 2).await, ["c:run:d"]);
    assert!(listed("run", Some("c:run:d"), 2).await.is_empty());
    assert!(listed("ru", None, 2).await.is_empty());
}

pub(crate) async fn a_statement_is_paged_within_its_window(store: &dyn LedgerStore) {
    with_account(store, 1000).await;
    let posts: Vec<LedgerEntry> = (0..10)
        .map(|n| LedgerEntry {
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
    let newest = store.entry("s:9").await.expect("an entry");
    assert_eq!(Some(first.last), newest.map(|posted| posted.seq));
    let after = first.entries[3].seq;
    let window = Window { after, ..window };
    let second = store.statement(&id, window).await.expect("a page");
    let whole: Vec<LedgerEntry> = first
        .entries
        .into_iter()
        .chain(second.entries)
        .map(|posted| posted.entry)
        .collect();
    assert_eq!(whole, posts[2..8], "every field is read back");
    let found = store
        .entry("s:3")
        .await
        .expect("an entry")
        .expect("it exists");
    assert_eq!(found.entry, posts[3]);
    assert_eq!(store.entry("s:99").await.expect("no entry"), None);
}

pub(crate) async fn usage_is_summed_by_account(store: &dyn LedgerStore) {
    with_account(store, 1_000).await;
    let other = entry("t:2", EntryKind::TopUp, 500, 0);
    let other = LedgerEntry {
        account: account(2).id,
        ..other
    };
    store
        .create_account(&account(2), &key(2, 2), &[other])
        .await
        .expect("a second account");
    let at = |entry: LedgerEntry, at| LedgerEntry {
        at: Timestamp(at),
        ..entry
    };
    let unused_allotment = LedgerEntry {
        url: "".into(),
        reservation: "p:1".to_owned(),
        ..entry("v:p:1/2", EntryKind::Void, 0, 0)
    };
    let group = [
        entry("b:1", EntryKind::Bonus, 60, 0),
        entry("r:1", EntryKind::Reserve, 0, 30),
        entry("s:1", EntryKind::Post, -20, -30),
        entry("s:2", EntryKind::Post, -5, 0),
        entry("s:3", EntryKind::Void, 0, 0),
        LedgerEntry {
            consumed: Consumed::default(),
            ..unused_allotment
        },
        entry("x:1", EntryKind::Seats, -400, 0),
        at(entry("s:4", EntryKind::Post, -9, 0), 99),
    ];
    let written = store.post_group(&group).await.expect("written");
    assert!(written.iter().all(|written| *written == Written::New));
    let usage = store.usage(Timestamp(10), Timestamp(99)).await;
    let without_pages = AccountUsage {
        account: account(2).id,
        n_pages: 0,
        n_failed: 0,
        consumed: Consumed {
            n_bytes: 7,
            cpu: Duration::from_micros(5),
        },
        charge: Charge::default(),
        top_ups: Nanodollars(500),
        bonuses: Nanodollars::ZERO,
        seats: Nanodollars::ZERO,
    };
    let expected = [
        AccountUsage {
            account: account(1).id,
            n_pages: 2,
            n_failed: 1,
            consumed: Consumed {
                n_bytes: 7 * 7,
                cpu: Duration::from_micros(7 * 5),
            },
            charge: Charge {
                // `entry` puts every negative amount there, also the one for seats.
                bytes_transferred: Nanodollars(425),
                ..Charge::default()
            },
            top_ups: Nanodollars(1_000),
            bonuses: Nanodollars(60),
            seats: Nanodollars(400),
        },
        without_pages,
    ];
    assert_eq!(usage.expect("sums"), expected);
    let later = store.usage(Timestamp(100), Timestamp::MAX).await;
    assert_eq!(later.expect("none"), []);
}

/// Milliseconds of a day.
const DAY: i64 = 24 * 60 * 60 * 1000;

pub(crate) async fn usage_is_summed_by_day(store: &dyn LedgerStore) {
    with_account(store, 1_000).await;
    let at = |id: &str, amount, at| LedgerEntry {
        at: Timestamp(at),
        ..entry(id, EntryKind::Post, amount, 0)
    };
    let group = [
        at("s:1", -20, DAY),
        at("s:2", -5, 2 * DAY - 1),
        at("s:3", -7, 2 * DAY),
        at("s:4", -9, 9 * DAY),
    ];
    store.post_group(&group).await.expect("written");
    let id = account(1).id;
    let days = async |from, to| {
        let days = store
            .usage_by_day(&id, Timestamp(from), Timestamp(to))
            .await;
        let days = days.expect("sums").into_iter();
        let days = days.map(|(day, usage)| {
            let spent = usage.charge.total().0;
            (day.0 / DAY, usage.n_pages, spent, usage.top_ups.0)
        });
        days.collect::<Vec<_>>()
    };
    let all = [(0, 0, 0, 1_000), (1, 2, 25, 0), (2, 1, 7, 0), (9, 1, 9, 0)];
    assert_eq!(days(0, i64::MAX).await, all);
    assert_eq!(days(DAY + 1, 9 * DAY).await, [(1, 1, 5, 0), (2, 1, 7, 0)]);
    let stranger = account(2).id;
    let other = store.usage_by_day(&stranger, Timestamp::MIN, Timestamp::MAX);
    assert_eq!(other.await.expect("none"), []);
}

pub(crate) async fn usage_is_summed_by_key(store: &dyn LedgerStore) {
    with_account(store, 1_000).await;
    let of = |key: &str, entry: LedgerEntry| LedgerEntry {
        key: KeyPrefix::new(key),
        ..entry
    };
    let unused_allotment = LedgerEntry {
        url: "".into(),
        reservation: "p:1".to_owned(),
        ..entry("v:p:1/2", EntryKind::Void, 0, 0)
    };
    let group = [
        of("tr_2", entry("s:1", EntryKind::Post, -20, 0)),
        of("tr_1", entry("s:2", EntryKind::Post, -5, 0)),
        of("tr_2", entry("s:3", EntryKind::Void, 0, 0)),
        of("tr_2", entry("s:4", EntryKind::Post, -7, 0)),
        of("", entry("s:5", EntryKind::Post, -1, 0)),
        of("tr_3", unused_allotment),
        of("", entry("b:1", EntryKind::Bonus, 60, 0)),
        LedgerEntry {
            charge: Charge {
                bytes_transferred: Nanodollars(-7),
                ..Charge::default()
            },
            ..of("tr_2", entry("s:4/refund", EntryKind::Post, 7, 0))
        },
        LedgerEntry {
            at: Timestamp(99),
            ..of("tr_1", entry("s:6", EntryKind::Post, -9, 0))
        },
    ];
    store.post_group(&group).await.expect("written");
    let id = account(1).id;
    let keys = async |from, to| {
        let keys = store
            .usage_by_key(&id, Timestamp(from), Timestamp(to))
            .await;
        let keys = keys.expect("sums").into_iter();
        let keys = keys.map(|(key, usage)| {
            let spent = usage.charge.total().0;
            (key.to_string(), usage.n_pages, usage.n_failed, spent)
        });
        keys.collect::<Vec<_>>()
    };
    let row = |key: &str, n_pages, n_failed, spent| (key.to_owned(), n_pages, n_failed, spent);
    let all = [
        row("", 1, 0, 1),
        row("tr_1", 2, 0, 14),
        row("tr_2", 2, 2, 20),
    ];
    assert_eq!(keys(0, i64::MAX).await, all);
    assert_eq!(keys(11, 100).await, [row("tr_1", 1, 0, 9)]);
    let stranger = account(2).id;
    let other = store.usage_by_key(&stranger, Timestamp::MIN, Timestamp::MAX);
    assert_eq!(other.await.expect("none"), []);
}
