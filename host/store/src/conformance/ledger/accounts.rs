//! Accounts, keys, notices, subscriptions, answers, prices.

use std::sync::atomic::{AtomicU64, Ordering};

use trawl_model::Nanodollars;
use trawl_model::clock::Timestamp;
use trawl_model::memory::MemoryBudget;

use super::super::fixtures::{account, key};
use super::{entry, sums, top_up, with_account};
use crate::{
    AccountId, AccountRecord, Answer, AnswerKey, EntryKind, KeyPrefix, KeyRecord, KeySpending,
    KeyUse, LedgerEntry, LedgerStore, Notice, NoticeState, PricesRow, StoreError, StoredAnswer,
    Subscription, SubscriptionState, Threshold, Written,
};

pub(crate) async fn an_account_is_created_atomically(store: &dyn LedgerStore) {
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
        .create_account(&account(2), &key(2, 2), &[top_up(5)])
        .await;
    assert!(same_entry.is_err());
    let accounts = store.accounts().await.expect("accounts");
    assert_eq!(accounts.len(), 1);
    assert_eq!(accounts[0].balance, Nanodollars(100));
    let id = account(1).id;
    let unknown = store.revoke_key(&id, "tr_1\0", Timestamp(4)).await;
    assert!(!unknown.expect("no such key"));
    let unknown = store.set_key_budget(&id, "tr_1\0", None).await;
    assert!(!unknown.expect("no such key"));
    assert_eq!(store.keys().await.expect("keys"), [key(1, 1)]);
}

pub(crate) async fn a_revoked_key_is_gone(store: &dyn LedgerStore) {
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
            .expect("already revoked")
    );
    assert_eq!(store.keys().await.expect("keys"), [key(1, 1)]);
}

pub(crate) async fn answers_are_stored_until_they_expire(store: &dyn LedgerStore) {
    with_account(store, 0).await;
    let key = |key: &str| AnswerKey {
        account: account(1).id,
        key: key.to_owned(),
    };
    let stored = |at: i64| StoredAnswer {
        body_hash: [7; 32],
        has_ended: true,
        answer: Some(Answer {
            status: 200,
            content_type: "application/json".to_owned(),
            headers: vec![
                ("x-crawl-id".to_owned(), "c1".to_owned()),
                ("x-left-out".to_owned(), "urls=\"4\"".to_owned()),
            ],
            body: vec![0, 255, 10].into(),
        }),
        at: Timestamp(at),
    };
    let store_answer = |name: &'static str, answer: StoredAnswer, expired: i64| async move {
        let done = store
            .store_answer(&key(name), &answer, Timestamp(expired))
            .await;
        done.expect("stored");
    };
    let find = |name: &'static str, since: i64| async move {
        let memory = MemoryBudget::unlimited().share("a").page();
        let answer = store.answer(&key(name), Timestamp(since), &memory).await;
        answer.expect("the store works")
    };
    store_answer("a", stored(100), 0).await;
    assert_eq!(find("a", 100).await, Some(stored(100)));
    assert_eq!(find("a", 101).await, None);
    assert_eq!(find("b", 0).await, None);
    let too_large = StoredAnswer {
        answer: None,
        ..stored(200)
    };
    store_answer("a", too_large.clone(), 0).await;
    assert_eq!(find("a", 0).await, Some(too_large));
    store_answer("b", stored(300), 250).await;
    assert_eq!(find("a", 0).await, None, "it was deleted");
    let begun = StoredAnswer {
        has_ended: false,
        answer: None,
        ..stored(400)
    };
    store_answer("c", begun.clone(), 0).await;
    assert_eq!(find("c", 400).await, Some(begun));
    store_answer("c", stored(500), 0).await;
    assert_eq!(find("c", 0).await, Some(stored(500)));
    for _ in 0..2 {
        store.forget_answer(&key("c")).await.expect("deleted");
        assert_eq!(find("c", 0).await, None);
    }
    assert_eq!(find("b", 0).await, Some(stored(300)));
}

pub(crate) async fn a_subscription_and_its_charge_are_written_together(store: &dyn LedgerStore) {
    with_account(store, 100).await;
    let row = Subscription {
        account: account(1).id,
        seats: 8,
        next_seats: 3,
        begun: Timestamp(4),
        from: Timestamp(5),
        to: Timestamp(6),
        price: Nanodollars(60),
        state: SubscriptionState::Active,
    };
    let charge = |id: &str, amount| entry(id, EntryKind::Seats, amount, 0);
    let save = async |row: &Subscription, charge: Option<&LedgerEntry>| {
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
    let repeated = save(&later, Some(&charge("x:1", -60))).await;
    assert_eq!(repeated, Written::AlreadyThere);
    let overdraft = save(&later, Some(&charge("x:2", -60))).await;
    assert!(matches!(overdraft, Written::Refused { .. }));
    assert_eq!(store.subscriptions().await.expect("read"), [row]);
    assert_eq!(sums(store).await, (40, 0));
    assert_eq!(save(&later, None).await, Written::New);
    assert_eq!(store.subscriptions().await.expect("read"), [later]);
    assert_eq!(sums(store).await, (40, 0));
}

pub(crate) async fn keys_are_listed_with_uses_and_revocation(store: &dyn LedgerStore) {
    with_account(store, 0).await;
    let named = KeyRecord {
        name: "ci".to_owned(),
        ..key(1, 2)
    };
    store.create_key(&named).await.expect("a second key");
    let id = account(1).id;
    let used = |prefix: &str, at| KeyUse {
        prefix: prefix.to_owned(),
        at: Timestamp(at),
    };
    let uses = [used("tr_2", 50), used("tr_2", 40), used("tr_9", 1)];
    store.record_key_uses(&uses).await.expect("recorded");
    let revoked = store.revoke_key(&id, "tr_1", Timestamp(60)).await;
    assert!(revoked.expect("revoked"));
    let expected = [
        KeyRecord {
            revoked: Some(Timestamp(60)),
            ..key(1, 1)
        },
        KeyRecord {
            last_used: Some(Timestamp(50)),
            ..named
        },
    ];
    assert_eq!(store.all_keys(&id).await.expect("keys"), expected);
    assert_eq!(store.keys().await.expect("keys"), expected[1..]);
    let stranger = AccountId::new("acc_9");
    assert_eq!(store.all_keys(&stranger).await.expect("none"), []);
}

pub(crate) async fn the_budget_of_a_key_is_set_and_removed(store: &dyn LedgerStore) {
    with_account(store, 0).await;
    let with = |budget: Option<i64>| KeySpending {
        budget: budget.map(Nanodollars),
        ..KeySpending::default()
    };
    let limited = KeyRecord {
        spending: with(Some(7)),
        ..key(1, 2)
    };
    store.create_key(&limited).await.expect("a second key");
    let id = account(1).id;
    let budgets = async || {
        let keys = store.all_keys(&id).await.expect("keys").into_iter();
        keys.map(|key| key.spending).collect::<Vec<_>>()
    };
    assert_eq!(budgets().await, [with(None), with(Some(7))]);
    let set = async |account: &AccountId, prefix: &str, budget: Option<i64>| {
        let budget = budget.map(Nanodollars);
        let set = store.set_key_budget(account, prefix, budget).await;
        set.expect("written")
    };
    assert!(set(&id, "tr_1", Some(0)).await && set(&id, "tr_2", Some(9)).await);
    let stranger = AccountId::new("acc_9");
    assert!(!set(&stranger, "tr_1", Some(5)).await && !set(&id, "tr_3", Some(5)).await);
    assert_eq!(budgets().await, [with(Some(0)), with(Some(9))]);
    for prefix in ["tr_1", "tr_2"] {
        let revoked = store.revoke_key(&id, prefix, Timestamp(60)).await;
        assert!(revoked.expect("revoked"));
        assert!(!set(&id, prefix, None).await, "it is revoked");
    }
    let still = store.keys().await.expect("keys");
    let still = still.iter().map(|key| (key.prefix.as_str(), key.revoked));
    let expected = [("tr_1", Some(Timestamp(60))), ("tr_2", Some(Timestamp(60)))];
    assert_eq!(still.collect::<Vec<_>>(), expected);
}

pub(crate) async fn charges_of_a_key_are_added_up_by_month(store: &dyn LedgerStore) {
    with_account(store, 1_000).await;
    store.create_key(&key(1, 2)).await.expect("a second key");
    let time = |text: &str| Timestamp::parse(text).expect("a time");
    let n_written = AtomicU64::new(0);
    let post = async |key: &str, kind, amount, at: &str| {
        let n = n_written.fetch_add(1, Ordering::Relaxed);
        let entry = LedgerEntry {
            key: KeyPrefix::new(key),
            at: time(at),
            ..entry(&format!("s:{n}"), kind, amount, 0)
        };
        store.post_group(&[entry]).await.expect("written")
    };
    let spent = async || {
        let keys = store.keys().await.expect("keys").into_iter();
        let spent = keys.map(|key| (key.spending.month.to_string(), key.spending.spent.0));
        spent.collect::<Vec<_>>()
    };
    let row = |month: &str, spent| (time(month).to_string(), spent);
    post("tr_2", EntryKind::Post, -5, "2026-01-31T23:59:59.999Z").await;
    post("tr_2", EntryKind::Void, 0, "2026-01-31").await;
    post("tr_2", EntryKind::Seats, -70, "2026-01-31").await;
    post("", EntryKind::Post, -80, "2026-01-31").await;
    post("tr_2", EntryKind::Post, -7, "2026-01-01").await;
    assert_eq!(spent().await, [row("1970-01-01", 0), row("2026-01-01", 12)]);
    post("tr_2", EntryKind::Post, -3, "2026-02-01").await;
    post("tr_1", EntryKind::Post, -4, "2026-12-31").await;
    assert_eq!(spent().await, [row("2026-12-01", 4), row("2026-02-01", 3)]);
    // The clock was set back: what is charged counts, in the latest month.
    post("tr_2", EntryKind::Post, -2, "2026-01-31").await;
    assert_eq!(spent().await, [row("2026-12-01", 4), row("2026-02-01", 5)]);
    let audit = store.audit().await.expect("an audit");
    assert_eq!(audit.key_disagreements, []);
    let repeated = LedgerEntry {
        at: time("2026-02-02"),
        ..entry("s:0", EntryKind::Post, -100, 0)
    };
    let repeated = store.post_group(&[repeated]).await.expect("written");
    assert_eq!(repeated, [Written::AlreadyThere]);
    let refused = post("tr_2", EntryKind::Post, -9_999, "2026-02-02").await;
    assert!(matches!(refused[..], [Written::Refused { .. }]));
    assert_eq!(spent().await, [row("2026-12-01", 4), row("2026-02-01", 5)]);
    // A refund counts in the month in which it is made, whatever month it is of.
    post("tr_2", EntryKind::Post, 5, "2026-03-01").await;
    assert_eq!(spent().await, [row("2026-12-01", 4), row("2026-03-01", -5)]);
    post("tr_2", EntryKind::Post, -7, "2026-03-02").await;
    assert_eq!(spent().await, [row("2026-12-01", 4), row("2026-03-01", 2)]);
    let audit = store.audit().await.expect("an audit");
    assert_eq!(audit.key_disagreements, []);
}

pub(crate) async fn notices_are_read_back(store: &dyn LedgerStore) {
    with_account(store, 0).await;
    let id = account(1).id;
    let stored = async || store.accounts().await.expect("accounts")[0].notice.clone();
    assert_eq!(stored().await, Notice::default());
    let state = |count, is_sent| NoticeState { count, is_sent };
    let notice = Notice {
        destination: Some("http://a.example/".to_owned()),
        below: Nanodollars(7),
        low: state(2, true),
        empty: state(1, false),
    };
    store.save_notice(&id, &notice).await.expect("saved");
    assert_eq!(stored().await, notice);
    let low = store.record_notice(&id, Threshold::Low, state(2, false));
    low.await.expect("recorded");
    let empty = store.record_notice(&id, Threshold::Empty, state(2, true));
    empty.await.expect("recorded");
    let expected = Notice {
        low: state(2, false),
        empty: state(2, true),
        ..notice
    };
    assert_eq!(stored().await, expected);
}

pub(crate) async fn prices_are_appended(store: &dyn LedgerStore) {
    assert_eq!(store.prices().await.expect("none"), []);
    let row = |at, prices: &str| PricesRow {
        at: Timestamp(at),
        prices: prices.to_owned(),
    };
    // The order is the order of writing, even if the clock was set back.
    let rows = [
        row(9, "{\"a\":1}"),
        row(5, "{\"a\":2}"),
        row(7, "{\"a\":1}"),
    ];
    for row in &rows {
        store.add_prices(row).await.expect("added");
    }
    assert_eq!(store.prices().await.expect("prices"), rows);
}
