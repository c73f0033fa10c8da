//! What every back end must do beside the money.

use std::time::Duration;

use super::conformance::{account, entry, key, with_account};
use super::*;
use trawl_model::{Charge, Nanodollars, Terms, UrlRow, UrlState};

pub(super) async fn keys_are_kept_with_their_past(store: &dyn Store) {
    with_account(store, 0).await;
    let named = KeyRecord {
        name: "ci".to_owned(),
        ..key(1, 2)
    };
    store.create_key(&named).await.expect("a second key");
    let (records, id) = (store.records(), account(1).id);
    let used = |prefix: &str, at| KeyUse {
        prefix: prefix.to_owned(),
        at: Timestamp(at),
    };
    let uses = [used("tr_2", 50), used("tr_2", 40), used("tr_9", 1)];
    records.note_key_uses(&uses).await.expect("noted");
    let ended = store.revoke_key(&id, "tr_1", Timestamp(60)).await;
    assert!(ended.expect("ended"));
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
    assert_eq!(records.all_keys(&id).await.expect("keys"), expected);
    assert_eq!(store.keys().await.expect("keys"), expected[1..]);
    let stranger = AccountId::new("acc_9");
    assert_eq!(records.all_keys(&stranger).await.expect("none"), []);
}

pub(super) async fn notices_come_back(store: &dyn Store) {
    with_account(store, 0).await;
    let (records, id) = (store.records(), account(1).id);
    let kept = async || store.accounts().await.expect("accounts")[0].notice.clone();
    assert_eq!(kept().await, Notice::default());
    let told = |count, is_told| Told { count, is_told };
    let notice = Notice {
        destination: Some("http://a.example/".to_owned()),
        below: Nanodollars(7),
        low: told(2, true),
        empty: told(1, false),
    };
    records.save_notice(&id, &notice).await.expect("saved");
    assert_eq!(kept().await, notice);
    let low = records.note_told(&id, Threshold::Low, told(2, false));
    low.await.expect("noted");
    let empty = records.note_told(&id, Threshold::Empty, told(2, true));
    empty.await.expect("noted");
    let expected = Notice {
        low: told(2, false),
        empty: told(2, true),
        ..notice
    };
    assert_eq!(kept().await, expected);
}

pub(super) async fn a_secret_is_renewed(store: &dyn Store) {
    with_account(store, 0).await;
    let (records, id) = (store.records(), account(1).id);
    let first = records.renew_webhook_secret(&id).await.expect("made");
    assert_eq!(store.webhook_secret(&id).await.expect("kept"), first);
    let second = records.renew_webhook_secret(&id).await.expect("made");
    assert_ne!(first, second);
    assert_eq!(store.webhook_secret(&id).await.expect("kept"), second);
}

pub(super) async fn prices_are_added_and_kept(store: &dyn Store) {
    let records = store.records();
    assert_eq!(records.prices().await.expect("none"), []);
    let row = |at, prices: &str| PricesRow {
        at: Timestamp(at),
        prices: prices.to_owned(),
    };
    // A clock that was set back does not change the order.
    let rows = [
        row(9, "{\"a\":1}"),
        row(5, "{\"a\":2}"),
        row(7, "{\"a\":1}"),
    ];
    for row in &rows {
        records.add_prices(row).await.expect("added");
    }
    assert_eq!(records.prices().await.expect("prices"), rows);
}

pub(super) async fn usage_is_added_up_by_account(store: &dyn Store) {
    with_account(store, 1_000).await;
    let other = entry("t:2", EntryKind::TopUp, 500, 0);
    let other = Entry {
        account: account(2).id,
        ..other
    };
    store
        .create_account(&account(2), &key(2, 2), &[other])
        .await
        .expect("a second account");
    let at = |entry: Entry, at| Entry {
        at: Timestamp(at),
        ..entry
    };
    let given_back = Entry {
        url: "".into(),
        hold: "p:1".to_owned(),
        ..entry("v:p:1/2", EntryKind::Void, 0, 0)
    };
    let group = [
        entry("b:1", EntryKind::Bonus, 60, 0),
        entry("r:1", EntryKind::Reserve, 0, 30),
        entry("s:1", EntryKind::Post, -20, -30),
        entry("s:2", EntryKind::Post, -5, 0),
        entry("s:3", EntryKind::Void, 0, 0),
        Entry {
            consumed: Consumed::default(),
            ..given_back
        },
        entry("x:1", EntryKind::Seats, -400, 0),
        at(entry("s:4", EntryKind::Post, -9, 0), 99),
    ];
    let written = store.post_group(&group).await.expect("written");
    assert!(written.iter().all(|written| *written == Written::New));
    let usage = store.records().usage(Timestamp(10), Timestamp(99)).await;
    let nothing = AccountUsage {
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
                // The builder writes every negative amount there, that of the seats too.
                bytes_transferred: Nanodollars(425),
                ..Charge::default()
            },
            top_ups: Nanodollars(1_000),
            bonuses: Nanodollars(60),
            seats: Nanodollars(400),
        },
        nothing,
    ];
    assert_eq!(usage.expect("sums"), expected);
    let later = store.records().usage(Timestamp(100), Timestamp::MAX).await;
    assert_eq!(later.expect("none"), []);
}

fn crawl(n: i64, in_background: bool) -> CrawlRecord {
    CrawlRecord {
        id: format!("c{n}"),
        account: account(1).id,
        request: "{}".to_owned(),
        verb: "crawl".to_owned(),
        terms: Terms::PayAsYouGo,
        needs_secrets: false,
        in_background,
        state: CrawlState::Running,
        stop: None,
        created: Timestamp(n),
        ended: None,
        counts: CrawlCounts::default(),
    }
}

fn page(seq: u64) -> PageRow {
    let is_failed = seq == 2;
    PageRow {
        seq,
        n: u32::try_from(seq).expect("a small number"),
        status: if is_failed { 404 } else { 200 },
        is_failed,
        place: LogPosition {
            offset: 0,
            length: 1,
        },
        at: Some(Timestamp(100)),
        cost: Nanodollars(3),
        error: is_failed.then(|| "not found".to_owned()),
    }
}

pub(super) async fn lists_are_read_a_part_at_a_time(store: &dyn Store) {
    with_account(store, 0).await;
    for (n, in_background) in [(1, true), (2, false)] {
        let record = crawl(n, in_background);
        store.create_crawl(&record).await.expect("a crawl");
        let progress = Progress {
            urls: (1..=3)
                .map(|page| UrlRow {
                    n: page,
                    url: format!("http://a.example/{n}/{page}"),
                    depth: 0,
                    state: UrlState::Done,
                })
                .collect(),
            pages: (1..=3).map(page).collect(),
            counts: CrawlCounts::default(),
        };
        let saved = store.save_crawl_progress(&record.id, &progress).await;
        saved.expect("pages");
    }
    let (records, id, nobody) = (store.records(), account(1).id, AccountId::new("acc_9"));
    let cut = |limit, offset| PageRange { limit, offset };
    let pages = async |in_background, cut| {
        let found = records.page_rows(&id, in_background, cut).await;
        let found = found.expect("pages");
        let urls: Vec<String> = found.rows.into_iter().map(|page| page.url).collect();
        (urls.join(" ").replace("http://a.example", ""), found.count)
    };
    assert_eq!(pages(false, cut(2, 0)).await, ("/2/3 /2/2".to_owned(), 6));
    assert_eq!(pages(false, cut(2, 2)).await, ("/2/1 /1/3".to_owned(), 6));
    assert_eq!(pages(false, cut(9, u64::MAX)).await, (String::new(), 6));
    assert_eq!(pages(true, cut(9, 1)).await, ("/1/2 /1/1".to_owned(), 3));
    let failed = records.page_rows(&id, true, cut(1, 1)).await.expect("one");
    let expected = CrawledPage {
        crawl: "c1".to_owned(),
        seq: 2,
        url: "http://a.example/1/2".to_owned(),
        status: 404,
        error: Some("not found".to_owned()),
        cost: Nanodollars(3),
        at: Some(Timestamp(100)),
    };
    assert_eq!(failed.rows, [expected]);

    let crawls = records.crawl_rows(&id, cut(1, 1)).await.expect("crawls");
    assert_eq!((crawls.rows[0].id.as_str(), crawls.count), ("c1", 2));
    let event = |n: i64| OutboxRow {
        id: n.to_string(),
        account: id.clone(),
        destination: "http://b.example/".to_owned(),
        event: "on_find".to_owned(),
        body: "{}".to_owned(),
        created: Timestamp(n),
        due: Timestamp(n),
        n_attempts: 0,
    };
    store
        .outbox_push(&[event(1), event(2), event(3)])
        .await
        .expect("kept");
    let events = records.outbox_rows(&id, cut(1, 1)).await.expect("events");
    assert_eq!((events.rows, events.count), (vec![event(2)], 3));
    let none = records.page_rows(&nobody, false, cut(9, 0)).await;
    assert_eq!(none.expect("none").count, 0);
    let none = records.crawl_rows(&nobody, cut(9, 0)).await;
    assert_eq!(none.expect("none").rows, []);
    let none = records.outbox_rows(&nobody, cut(9, 0)).await;
    assert_eq!(none.expect("none").rows, []);
}
