//! What every back end must do with crawls: functions on any [`Store`], listed in `conformance`.

use super::*;
use trawl_model::{Nanodollars, SkipReason, StopReason, Terms, UrlRow, UrlState};

fn account(n: u8) -> AccountRecord {
    AccountRecord {
        id: AccountId::new(format!("acc_{n}")),
        name: format!("name {n}"),
        created: Timestamp(1),
        balance: Nanodollars::ZERO,
        held: Nanodollars::ZERO,
        notice: Notice::default(),
    }
}

fn crawl(id: &str, created: i64) -> CrawlRecord {
    CrawlRecord {
        id: id.to_owned(),
        account: account(1).id,
        request: r#"{"url":"https://example.com"}"#.to_owned(),
        verb: "links".to_owned(),
        terms: Terms::Unlimited,
        needs_secrets: true,
        in_background: true,
        state: CrawlState::Queued,
        stop: None,
        created: Timestamp(created),
        ended: None,
        counts: CrawlCounts::default(),
    }
}

fn url(n: u32, state: UrlState) -> UrlRow {
    UrlRow {
        n,
        url: format!("https://example.com/{n}"),
        depth: 3,
        state,
    }
}

fn page(seq: u64) -> PageRow {
    PageRow {
        seq,
        n: u32::try_from(seq).expect("a small number"),
        status: 404,
        is_failed: true,
        place: LogPosition {
            offset: seq << 33,
            length: u32::MAX,
        },
        at: Some(Timestamp(30)),
        cost: Nanodollars(4),
        error: Some("404".to_owned()),
    }
}

fn ids(crawls: &[CrawlRecord]) -> Vec<&str> {
    crawls.iter().map(|crawl| crawl.id.as_str()).collect()
}

async fn with_crawls(store: &dyn Store, crawls: &[CrawlRecord]) {
    let key = KeyRecord {
        prefix: "tr_1".to_owned(),
        account: account(1).id,
        hash: [1; 32],
        created: Timestamp(2),
        name: String::new(),
        last_used: None,
        revoked: None,
    };
    let created = store.create_account(&account(1), &key, &[]).await;
    created.expect("a new account");
    for crawl in crawls {
        store.create_crawl(crawl).await.expect("a new crawl");
    }
}

async fn found(store: &dyn Store, id: &str) -> Option<CrawlRecord> {
    let found = store.crawl(&account(1).id, id).await;
    found.expect("the store works")
}

pub(super) async fn a_crawl_is_kept_from_first_to_last(store: &dyn Store) {
    let (first, second) = (crawl("a", 10), crawl("b", 20));
    with_crawls(store, &[first.clone(), second.clone()]).await;
    assert!(store.create_crawl(&first).await.is_err(), "the id is taken");
    assert_eq!(found(store, "a").await, Some(first.clone()));
    assert_eq!(found(store, "c").await, None);
    let stranger = store.crawl(&account(2).id, "a").await;
    assert_eq!(stranger.expect("the store works"), None);

    let id = account(1).id;
    let all = store.crawls(&id, Timestamp::MAX, 9).await.expect("crawls");
    assert_eq!(all, [second.clone(), first.clone()], "newest first");
    let older = store.crawls(&id, Timestamp(20), 9).await.expect("crawls");
    assert_eq!(ids(&older), ["a"]);
    let newest = store.crawls(&id, Timestamp::MAX, 1).await.expect("crawls");
    assert_eq!(ids(&newest), ["b"]);

    let moved = store.set_crawl_state("a", CrawlState::Parked).await;
    moved.expect("moved");
    let ended = store.end_crawl("b", StopReason::Spend, Timestamp(30)).await;
    ended.expect("ended");
    let unfinished = store.unfinished_crawls().await.expect("crawls");
    let parked = CrawlRecord {
        state: CrawlState::Parked,
        ..first
    };
    assert_eq!(unfinished, [parked]);
    let over = CrawlRecord {
        state: CrawlState::Ended,
        stop: Some(StopReason::Spend),
        ended: Some(Timestamp(30)),
        ..second
    };
    assert_eq!(found(store, "b").await, Some(over));
}

pub(super) async fn progress_is_whole_and_counts_once(store: &dyn Store) {
    with_crawls(store, &[crawl("a", 10), crawl("b", 20)]).await;
    let counts = CrawlCounts {
        n_pages: 2,
        n_failed: 2,
        n_bytes: 1 << 40,
        spent: Nanodollars(7),
    };
    // More rows than one statement takes, and not a round number of them.
    let waiting: Vec<UrlRow> = (0..1_001).map(|n| url(n, UrlState::Waiting)).collect();
    let progress = Progress {
        urls: waiting.clone(),
        pages: (1..=301).map(page).collect(),
        counts,
    };
    for _ in 0..2 {
        let saved = store.save_crawl_progress("a", &progress).await;
        saved.expect("saved, and again");
    }
    assert!(store.save_crawl_progress("none", &progress).await.is_err());
    assert_eq!(
        found(store, "a").await.map(|crawl| crawl.counts),
        Some(counts)
    );
    let urls = store.crawl_urls("a", None, 9_999).await.expect("addresses");
    assert_eq!(urls, waiting);
    let urls = store.crawl_urls("a", Some(4), 2).await.expect("addresses");
    assert_eq!(urls, waiting[5..7]);
    assert_eq!(store.crawl_urls("b", None, 9).await.expect("none"), []);

    let pages = store.crawl_pages("a", 0, 9_999).await.expect("pages");
    assert_eq!(pages, progress.pages);
    let pages = store.crawl_pages("a", 300, 9).await.expect("pages");
    assert_eq!(pages, [page(301)]);
    let last = store.last_crawl_page("a").await.expect("the last");
    assert_eq!(last, Some(page(301)));
    assert_eq!(store.last_crawl_page("b").await.expect("none"), None);
}

pub(super) async fn every_state_of_an_address_comes_back(store: &dyn Store) {
    with_crawls(store, &[crawl("a", 10)]).await;
    let reasons = SkipReason::ALL.map(UrlState::Skipped);
    let states = [UrlState::Waiting, UrlState::Done]
        .into_iter()
        .chain(reasons);
    let rows: Vec<UrlRow> = (0..).zip(states).map(|(n, state)| url(n, state)).collect();
    let save = |urls: Vec<UrlRow>| async move {
        let progress = Progress {
            urls,
            ..Progress::default()
        };
        let saved = store.save_crawl_progress("a", &progress).await;
        saved.expect("saved");
    };
    let waiting = rows.iter().map(|row| url(row.n, UrlState::Waiting));
    save(waiting.collect()).await;
    save(rows.clone()).await;
    let urls = store.crawl_urls("a", None, 99).await.expect("addresses");
    assert_eq!(urls, rows);
    let skipped = store.crawl_skipped("a", None, 99).await.expect("addresses");
    assert_eq!(skipped, rows[2..]);
    let skipped = store.crawl_skipped("a", Some(4), 3).await;
    assert_eq!(skipped.expect("addresses"), rows[5..8]);
}

pub(super) async fn old_crawls_are_forgotten_whole(store: &dyn Store) {
    with_crawls(store, &["a", "b", "c"].map(|id| crawl(id, 10))).await;
    // More rows than one step of forgetting takes.
    let large = Progress {
        urls: (0..10_000).map(|n| url(n, UrlState::Done)).collect(),
        pages: (1..=5_000).map(page).collect(),
        counts: CrawlCounts::default(),
    };
    for id in ["a", "b", "c"] {
        let saved = store.save_crawl_progress(id, &large).await;
        saved.expect("saved");
    }
    for (id, at) in [("a", 100), ("b", 200)] {
        let ended = store
            .end_crawl(id, StopReason::Completed, Timestamp(at))
            .await;
        ended.expect("ended");
    }
    let expire = |before| store.expire_crawls(Timestamp(before));
    assert_eq!(expire(100).await.expect("none is old"), [""; 0]);
    assert_eq!(expire(200).await.expect("one is old"), ["a"]);
    assert_eq!(found(store, "a").await, None);
    let all = store.crawls(&account(1).id, Timestamp::MAX, 9).await;
    assert_eq!(all.expect("crawls").len(), 2);
    // A crawl that takes the place of a forgotten one has none of its rows.
    assert_eq!(expire(i64::MAX).await.expect("both that ended"), ["b"]);
    store.create_crawl(&crawl("a", 300)).await.expect("a crawl");
    assert_eq!(store.crawl_urls("a", None, 9).await.expect("none"), []);
    assert_eq!(store.crawl_pages("a", 0, 9).await.expect("none"), []);
    let kept = store.crawl_urls("c", None, 99_999).await;
    assert_eq!(kept.expect("addresses").len(), 10_000);
}
