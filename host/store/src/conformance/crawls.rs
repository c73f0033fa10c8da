//! The suite of [`CrawlStore`], on a store with the accounts `acc_1` and `acc_2`.

use trawl_model::clock::Timestamp;
use trawl_model::memory::{MemoryBudget, MemoryKind};
use trawl_model::{ContentHash, Nanodollars, SkipReason, StopReason, Terms, UrlRow, UrlState};

use super::fixtures::{self, account};
use crate::{
    AccountId, BATCH_VERB, CrawlCounts, CrawlKinds, CrawlRecord, CrawlState, CrawlStore,
    CrawledPage, CrawlsLeft, LogPosition, LoggedPage, PageContent, PageRange, PageRow, Progress,
};

fn crawl(id: &str, created: i64) -> CrawlRecord {
    CrawlRecord {
        request: r#"{"url":"https://example.com"}"#.to_owned(),
        verb: "links".to_owned(),
        terms: Terms::Unlimited,
        needs_secrets: true,
        state: CrawlState::Queued,
        created: Timestamp(created),
        ..fixtures::crawl(id)
    }
}

fn url(n: u32, state: UrlState) -> UrlRow {
    UrlRow {
        n,
        url: format!("https://example.com/{n}"),
        depth: 3,
        referrer: Some(1),
        anchor: Some("a link".to_owned()),
        target: Some("https://example.com/there".to_owned()),
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
            segment: None,
            offset: seq << 33,
            length: u32::MAX,
        },
        at: Some(Timestamp(30)),
        cost: Nanodollars(4),
        cause: Some("http_status".to_owned()),
        error: Some("404".to_owned()),
        content: None,
    }
}

fn ids(crawls: &[CrawlRecord]) -> Vec<&str> {
    crawls.iter().map(|crawl| crawl.id.as_str()).collect()
}

async fn with_crawls(store: &dyn CrawlStore, crawls: &[CrawlRecord]) {
    for crawl in crawls {
        store.create_crawl(crawl).await.expect("a new crawl");
    }
}

/// The crawl with its request, which is read apart.
async fn found(store: &dyn CrawlStore, id: &str) -> Option<CrawlRecord> {
    let found = store.crawl(&account(1).id, id).await;
    let found = found.expect("the store works")?;
    let budget = MemoryBudget::unlimited();
    let lease = budget.share("acc_1").page().lease_for(MemoryKind::Stored);
    let request = store.crawl_request(id, lease).await;
    let request = request.expect("the store works").expect("its request");
    let (request, _lease) = request.into_parts();
    assert_eq!(found.record.request, "");
    assert_eq!(found.request_bytes, request.len() as u64);
    Some(CrawlRecord {
        request,
        ..found.record
    })
}

fn without_request(record: CrawlRecord) -> CrawlRecord {
    CrawlRecord {
        request: String::new(),
        ..record
    }
}

pub(crate) async fn a_crawl_is_read_back_in_every_state(store: &dyn CrawlStore) {
    let (first, second) = (crawl("a", 10), crawl("b", 20));
    with_crawls(store, &[first.clone(), second.clone()]).await;
    assert!(store.create_crawl(&first).await.is_err(), "the id is taken");
    let both = [crawl("c", 10), first.clone()];
    let created = store.create_crawls(&both).await;
    assert!(created.is_err(), "one of the ids is taken");
    assert_eq!(found(store, "a").await, Some(first.clone()));
    assert_eq!(found(store, "c").await, None);
    let stranger = store.crawl(&account(2).id, "a").await;
    assert_eq!(stranger.expect("the store works"), None);
    assert_eq!(
        store.crawl(&account(1).id, "a\0").await.expect("none"),
        None
    );

    let id = account(1).id;
    let all = store.crawls(&id, Timestamp::MAX, 9).await.expect("crawls");
    let newest_first = [second.clone(), first.clone()].map(without_request);
    assert_eq!(all, newest_first, "newest first");
    let older = store.crawls(&id, Timestamp(20), 9).await.expect("crawls");
    assert_eq!(ids(&older), ["a"]);
    let newest = store.crawls(&id, Timestamp::MAX, 1).await.expect("crawls");
    assert_eq!(ids(&newest), ["b"]);

    let parked = store.set_crawl_state("a", CrawlState::Parked).await;
    parked.expect("parked");
    let ended = store.end_crawl("b", StopReason::Spend, Timestamp(30)).await;
    ended.expect("ended");
    let parked = CrawlRecord {
        state: CrawlState::Parked,
        ..first
    };
    assert_eq!(found(store, "a").await, Some(parked));
    let state = async |id| store.crawl_state(id).await.expect("the store works");
    assert_eq!(state("a").await, Some(CrawlState::Parked));
    assert_eq!(state("b").await, Some(CrawlState::Ended));
    assert_eq!(state("c").await, None);
    let ended = CrawlRecord {
        state: CrawlState::Ended,
        stop: Some(StopReason::Spend),
        ended: Some(Timestamp(30)),
        ..second
    };
    assert_eq!(found(store, "b").await, Some(ended));
}

pub(crate) async fn only_a_parked_crawl_is_queued_again(store: &dyn CrawlStore) {
    with_crawls(store, &[crawl("a", 10)]).await;
    let set = async |state| {
        let set = store.set_crawl_state("a", state).await;
        assert!(set.expect("the store works"));
    };
    let unpark = async |id| store.unpark_crawl(id).await.expect("the store works");
    let state = async || found(store, "a").await.map(|crawl| crawl.state);
    for other in [CrawlState::Queued, CrawlState::Running] {
        set(other).await;
        assert!(!unpark("a").await, "{other:?}");
        assert_eq!(state().await, Some(other));
    }
    set(CrawlState::Parked).await;
    assert!(unpark("a").await);
    assert!(!unpark("a").await, "only once");
    assert_eq!(state().await, Some(CrawlState::Queued));
    let ended = store
        .end_crawl("a", StopReason::Cancelled, Timestamp(30))
        .await;
    ended.expect("ended");
    assert!(!unpark("a").await);
    assert!(!unpark("none").await);
    let set = store.set_crawl_state("a", CrawlState::Running).await;
    assert!(!set.expect("the store works"), "an ended crawl stays ended");
    assert_eq!(state().await, Some(CrawlState::Ended));
}

pub(crate) async fn what_a_crawl_left_out_is_counted_with_its_bytes(store: &dyn CrawlStore) {
    let with = |id: &str, created: i64, left_out: &str| CrawlRecord {
        left_out: Some(left_out.to_owned()),
        ..crawl(id, created)
    };
    let (urls, pages) = (r#"{"urls":4}"#, r#"{"pages":2,"reasons":["größer"]}"#);
    with_crawls(store, &[with("a", 10, urls), crawl("b", 20)]).await;
    let stored = async || {
        let progress = Progress::default();
        let stored = store.save_crawl_progress("a", &progress).await;
        stored.expect("the store works")
    };
    let before = stored().await;
    for (id, n_more) in [("a", pages.len() - urls.len()), ("b", pages.len())] {
        let earlier = stored().await;
        // A crash may repeat it.
        for _ in 0..2 {
            let set = store.set_crawl_left_out(id, pages).await;
            set.expect("the store works");
        }
        assert_eq!(stored().await - earlier, n_more as u64, "{id}");
    }
    assert!(stored().await > before);
    assert_eq!(found(store, "a").await, Some(with("a", 10, pages)));
    assert_eq!(found(store, "b").await, Some(with("b", 20, pages)));
}

pub(crate) async fn the_first_end_of_a_crawl_stays(store: &dyn CrawlStore) {
    with_crawls(store, &[crawl("a", 10)]).await;
    for (stop, at) in [(StopReason::Cancelled, 30), (StopReason::Completed, 40)] {
        let ended = store.end_crawl("a", stop, Timestamp(at)).await;
        ended.expect("the store works");
    }
    let running = store.set_crawl_state("a", CrawlState::Running).await;
    running.expect("the store works");
    let expected = CrawlRecord {
        state: CrawlState::Ended,
        stop: Some(StopReason::Cancelled),
        ended: Some(Timestamp(30)),
        ..crawl("a", 10)
    };
    assert_eq!(found(store, "a").await, Some(expected));
}

pub(crate) async fn progress_is_atomic_and_idempotent(store: &dyn CrawlStore) {
    with_crawls(store, &[crawl("a", 10), crawl("b", 20)]).await;
    let counts = CrawlCounts {
        n_pages: 2,
        n_failed: 2,
        n_bytes: 1 << 40,
        spent: Nanodollars(7),
    };
    // More rows than the largest batch, and not a multiple of it.
    let waiting: Vec<UrlRow> = (0..1_001).map(|n| url(n, UrlState::Waiting)).collect();
    let progress = Progress {
        urls: waiting.clone(),
        pages: (1..=301).map(page).collect(),
        counts,
    };
    for _ in 0..2 {
        let saved = store.save_crawl_progress("a", &progress).await;
        saved.expect("saved twice");
    }
    assert!(store.save_crawl_progress("none", &progress).await.is_err());
    assert_eq!(
        found(store, "a").await.map(|crawl| crawl.counts),
        Some(counts)
    );
    let urls = store.crawl_urls("a", None, 9_999).await.expect("URLs");
    assert_eq!(urls, waiting);
    let urls = store.crawl_urls("a", Some(4), 2).await.expect("URLs");
    assert_eq!(urls, waiting[5..7]);
    assert_eq!(store.crawl_urls("b", None, 9).await.expect("none"), []);
    let twice = Progress {
        urls: vec![url(4, UrlState::Waiting), url(4, UrlState::Done)],
        pages: Vec::new(),
        counts,
    };
    let saved = store.save_crawl_progress("a", &twice).await;
    saved.expect("the later row of a URL holds");
    let urls = store.crawl_urls("a", Some(3), 2).await.expect("URLs");
    assert_eq!(urls, [url(4, UrlState::Done), waiting[5].clone()]);

    let pages = store.crawl_pages("a", 0, 9_999).await.expect("pages");
    assert_eq!(pages, progress.pages);
    let pages = store.crawl_pages("a", 300, 9).await.expect("pages");
    assert_eq!(pages, [page(301)]);
    let last = store.last_crawl_page("a").await.expect("the last");
    assert_eq!(last, Some(page(301)));
    assert_eq!(store.last_crawl_page("b").await.expect("none"), None);
}

pub(crate) async fn contents_are_read_back_with_the_pages_that_failed(store: &dyn CrawlStore) {
    with_crawls(store, &[crawl("a", 10), crawl("b", 20)]).await;
    let content = |seq: u64| ContentHash::of_body(&seq.to_be_bytes());
    // Of five pages, the second failed and the fourth is not compared.
    let rows = (1..=5).map(|seq| PageRow {
        content: (![2, 4].contains(&seq)).then(|| content(seq)),
        ..listed_page(seq)
    });
    let progress = Progress {
        pages: rows.collect(),
        ..Progress::default()
    };
    let saved = store.save_crawl_progress("a", &progress).await;
    saved.expect("saved");
    let pages = store.crawl_pages("a", 0, 9).await.expect("pages");
    assert_eq!(pages, progress.pages);
    let expected = [1, 2, 3, 5].map(|seq| PageContent {
        seq,
        n: u32::try_from(seq).expect("a small number"),
        is_failed: seq == 2,
        content: (seq != 2).then(|| content(seq)),
    });
    let found = store.crawl_contents("a", 0, 9).await.expect("contents");
    assert_eq!(found, expected);
    let found = store.crawl_contents("a", 1, 2).await.expect("contents");
    assert_eq!(found, expected[1..3]);
    let other = store.crawl_contents("b", 0, 9).await.expect("none");
    assert_eq!(other, []);
}

pub(crate) async fn every_url_state_is_read_back(store: &dyn CrawlStore) {
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
    let urls = store.crawl_urls("a", None, 99).await.expect("URLs");
    assert_eq!(urls, rows);
    let skipped = store.crawl_skipped("a", None, 99).await.expect("URLs");
    assert_eq!(skipped, rows[2..]);
    let skipped = store.crawl_skipped("a", Some(4), 3).await;
    assert_eq!(skipped.expect("URLs"), rows[5..8]);
}

pub(crate) async fn expired_crawls_are_deleted_completely(store: &dyn CrawlStore) {
    with_crawls(store, &["a", "b", "c"].map(|id| crawl(id, 10))).await;
    // More rows than one step of an expiry deletes.
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
    // A crawl with the id of a deleted one has none of its rows.
    assert_eq!(expire(i64::MAX).await.expect("both that ended"), ["b"]);
    store.create_crawl(&crawl("a", 300)).await.expect("a crawl");
    assert_eq!(store.crawl_urls("a", None, 9).await.expect("none"), []);
    assert_eq!(store.crawl_pages("a", 0, 9).await.expect("none"), []);
    let other = store.crawl_urls("c", None, 99_999).await;
    assert_eq!(other.expect("URLs").len(), 10_000);
}

/// A page that fails if it is the second.
fn listed_page(seq: u64) -> PageRow {
    let is_failed = seq == 2;
    PageRow {
        seq,
        n: u32::try_from(seq).expect("a small number"),
        status: if is_failed { 404 } else { 200 },
        is_failed,
        place: LogPosition {
            segment: None,
            offset: 0,
            length: 1,
        },
        at: Some(Timestamp(100)),
        cost: Nanodollars(3),
        cause: is_failed.then(|| "http_status".to_owned()),
        error: is_failed.then(|| "not found".to_owned()),
        content: None,
    }
}

pub(crate) async fn lists_are_paged(store: &dyn CrawlStore) {
    for (n, in_background) in [(1, true), (2, false)] {
        let record = CrawlRecord {
            in_background,
            ..crawl(&format!("c{n}"), n)
        };
        store.create_crawl(&record).await.expect("a crawl");
        let progress = Progress {
            urls: (1..=3)
                .map(|page| UrlRow {
                    n: page,
                    url: format!("http://a.example/{n}/{page}"),
                    depth: 0,
                    referrer: None,
                    anchor: None,
                    target: None,
                    state: UrlState::Done,
                })
                .collect(),
            pages: (1..=3).map(listed_page).collect(),
            counts: CrawlCounts {
                n_pages: 3,
                ..CrawlCounts::default()
            },
        };
        let saved = store.save_crawl_progress(&record.id, &progress).await;
        saved.expect("pages");
    }
    let (id, other) = (account(1).id, AccountId::new("acc_9"));
    let range = PageRange::offset;
    let pages = async |in_background, range| {
        let found = store.page_rows(&id, in_background, range).await;
        let found = found.expect("pages");
        let urls: Vec<String> = found.rows.into_iter().map(|page| page.url).collect();
        (urls.join(" ").replace("http://a.example", ""), found.count)
    };
    assert_eq!(pages(false, range(2, 0)).await, ("/2/3 /2/2".to_owned(), 6));
    assert_eq!(pages(false, range(2, 2)).await, ("/2/1 /1/3".to_owned(), 6));
    assert_eq!(pages(false, range(9, u64::MAX)).await, (String::new(), 6));
    assert_eq!(pages(true, range(9, 1)).await, ("/1/2 /1/1".to_owned(), 3));
    // After a key, every page of the list comes once, whatever its size.
    for limit in 1..=7 {
        let (mut urls, mut next) = (Vec::new(), range(limit, 0));
        for _ in 0..7 {
            let found = store.page_rows(&id, false, next).await.expect("pages");
            urls.extend(found.rows.into_iter().map(|page| page.url));
            let Some(key) = found.next else { break };
            next = PageRange::after(limit, key);
        }
        let urls = urls.join(" ").replace("http://a.example", "");
        assert_eq!(urls, "/2/3 /2/2 /2/1 /1/3 /1/2 /1/1", "{limit}");
    }
    let failed = store.page_rows(&id, true, range(1, 1)).await.expect("one");
    let expected = CrawledPage {
        crawl: "c1".to_owned(),
        seq: 2,
        url: "http://a.example/1/2".to_owned(),
        status: 404,
        cause: Some("http_status".to_owned()),
        error: Some("not found".to_owned()),
        cost: Nanodollars(3),
        at: Some(Timestamp(100)),
    };
    assert_eq!(failed.rows, std::slice::from_ref(&expected));
    let log = store.crawl_log("c1", 1, 1).await.expect("one");
    let logged = LoggedPage {
        page: expected,
        entry_bytes: 1,
    };
    assert_eq!(log, [logged]);
    let log = store.crawl_log("c2", 0, 9).await.expect("pages");
    let seqs: Vec<u64> = log.iter().map(|logged| logged.page.seq).collect();
    assert_eq!(seqs, [1, 2, 3]);
    assert_eq!(store.crawl_log("none", 0, 9).await.expect("none"), []);

    let crawls = store
        .crawl_rows(&id, CrawlKinds::All, range(1, 1))
        .await
        .expect("crawls");
    assert_eq!((crawls.rows[0].id.as_str(), crawls.count), ("c1", 2));
    assert_eq!(crawls.next, None);
    let crawls = store
        .crawl_rows(&id, CrawlKinds::All, range(1, 0))
        .await
        .expect("crawls");
    let next = PageRange::after(9, crawls.next.expect("there are more"));
    let crawls = store
        .crawl_rows(&id, CrawlKinds::All, next)
        .await
        .expect("crawls");
    assert_eq!((crawls.rows[0].id.as_str(), crawls.rows.len()), ("c1", 1));
    let none = store.page_rows(&other, false, range(9, 0)).await;
    assert_eq!(none.expect("none").count, 0);
    let none = store.crawl_rows(&other, CrawlKinds::All, range(9, 0)).await;
    assert_eq!(none.expect("none").rows, []);
}

pub(crate) async fn batches_are_listed_apart(store: &dyn CrawlStore) {
    let records: Vec<CrawlRecord> = (0..6)
        .map(|n| CrawlRecord {
            verb: match n % 3 {
                0 => BATCH_VERB,
                1 => "crawl",
                _ => "label",
            }
            .to_owned(),
            ..crawl(&format!("c{n}"), 10 + n)
        })
        .collect();
    store.create_crawls(&records).await.expect("crawls");
    let owner = account(1).id;
    for (kinds, expected) in [
        (CrawlKinds::All, "c5 c4 c3 c2 c1 c0"),
        (CrawlKinds::Crawls, "c5 c4 c2 c1"),
        (CrawlKinds::Batches, "c3 c0"),
    ] {
        let mut ids = Vec::new();
        let mut next = PageRange::offset(1, 0);
        loop {
            let found = store.crawl_rows(&owner, kinds, next).await.expect("rows");
            assert!(found.rows.iter().all(|row| kinds.have(&row.verb)));
            ids.extend(found.rows.into_iter().map(|row| row.id));
            assert_eq!(found.count, expected.split(' ').count() as u64, "{kinds:?}");
            let Some(key) = found.next else { break };
            next = PageRange::after(1, key);
        }
        assert_eq!(ids.join(" "), expected, "{kinds:?}");
    }
    let ended = store.end_crawl("c0", StopReason::Completed, Timestamp(20));
    ended.await.expect("ended");
    store.expire_crawls(Timestamp(30)).await.expect("expired");
    let range = PageRange::offset(9, 0);
    let left = store.crawl_rows(&owner, CrawlKinds::Batches, range).await;
    assert_eq!(left.expect("rows").count, 1);
}

pub(crate) async fn the_crawls_of_the_last_process_are_ended_parked_or_left(
    store: &dyn CrawlStore,
) {
    let of = |id: &str, in_background, needs_secrets, state| CrawlRecord {
        in_background,
        needs_secrets,
        state,
        terms: Terms::PayAsYouGo,
        ..crawl(id, 10)
    };
    let unlimited = |record: CrawlRecord| CrawlRecord {
        terms: Terms::Unlimited,
        ..record
    };
    let other = |record: CrawlRecord| CrawlRecord {
        account: account(2).id,
        request: "12".to_owned(),
        ..record
    };
    let crawls = [
        of("stream", false, true, CrawlState::Running),
        of("secret", true, true, CrawlState::Running),
        of("parked", true, true, CrawlState::Parked),
        unlimited(of("a", true, false, CrawlState::Running)),
        of("b", true, false, CrawlState::Queued),
        other(of("c", true, false, CrawlState::Queued)),
        CrawlRecord {
            stop: Some(StopReason::PlanEnded),
            ..unlimited(of("no plan", true, true, CrawlState::Parked))
        },
    ];
    with_crawls(store, &crawls).await;
    let ended = store
        .end_crawl("b", StopReason::Cancelled, Timestamp(5))
        .await;
    ended.expect("ended");
    store
        .create_crawl(&of("d", true, false, CrawlState::Queued))
        .await
        .expect("new");

    let interrupted = store.interrupt_crawls(Timestamp(30)).await;
    let interrupted = interrupted.expect("the store works");
    let (mut left, last) = (interrupted.accounts, interrupted.last);
    left.sort_by_key(|left| left.account.to_string());
    let request = crawls[0].request.len() as u64;
    let expected = |n, n_crawls, n_unlimited, request_bytes| CrawlsLeft {
        account: account(n).id,
        n_crawls,
        n_unlimited,
        request_bytes,
    };
    assert_eq!(left, [expected(1, 2, 1, 2 * request), expected(2, 1, 0, 2)]);
    let stream = found(store, "stream").await.expect("stored");
    assert_eq!(
        (stream.state, stream.stop, stream.ended),
        (
            CrawlState::Ended,
            Some(StopReason::ServerStopped),
            Some(Timestamp(30))
        )
    );
    for id in ["secret", "parked"] {
        let state = store.crawl_state(id).await.expect("the store works");
        assert_eq!(state, Some(CrawlState::Parked), "{id}");
    }
    let waits = found(store, "no plan").await;
    assert_eq!(waits.as_ref(), crawls.last(), "it waits for its account");
    let new = of("new", true, false, CrawlState::Queued);
    store
        .create_crawl(&new)
        .await
        .expect("a crawl of this process");
    let mut after = 0;
    let mut seen = Vec::new();
    loop {
        let next = store.crawls_left(after, last, 2).await.expect("crawls");
        let Some(last) = next.last() else { break };
        after = last.number;
        seen.extend(next);
    }
    let ids: Vec<&str> = seen.iter().map(|left| left.record.id.as_str()).collect();
    assert_eq!(ids, ["a", "c", "d"]);
    assert_eq!(
        seen[0].record,
        CrawlRecord {
            request: String::new(),
            ..crawls[3].clone()
        }
    );
    assert_eq!(seen[1].request_bytes, 2);
    let again = store.interrupt_crawls(Timestamp(40)).await.expect("left");
    assert_eq!(again.accounts[0].n_crawls, 3, "they are continued later");
    assert!(again.last > last);
    let stream = found(store, "stream").await.expect("stored");
    assert_eq!(stream.ended, Some(Timestamp(30)), "ended once");
}

pub(crate) async fn an_ended_crawl_is_reopened_with_another_request(store: &dyn CrawlStore) {
    let record = crawl("a", 1);
    store.create_crawl(&record).await.expect("a crawl");
    let bytes = async || {
        let saved = store.save_crawl_progress("a", &Progress::default()).await;
        saved.expect("saved")
    };
    let before = bytes().await;
    let wider = r#"{"url":"https://example.com","limit":400}"#;
    // One that has not ended keeps its state.
    store
        .park_crawl("a", Some(StopReason::PlanEnded))
        .await
        .expect("parked");
    assert!(store.reopen_crawl("a", wider).await.expect("changed"));
    let parked = CrawlRecord {
        request: wider.to_owned(),
        state: CrawlState::Parked,
        stop: Some(StopReason::PlanEnded),
        ..record.clone()
    };
    assert_eq!(found(store, "a").await, Some(parked));
    assert_eq!(
        bytes().await,
        before + (wider.len() - record.request.len()) as u64
    );

    let ended = store.end_crawl("a", StopReason::Limit, Timestamp(9)).await;
    ended.expect("ended");
    assert!(
        store
            .reopen_crawl("a", &record.request)
            .await
            .expect("changed")
    );
    assert_eq!(found(store, "a").await, Some(record));
    assert_eq!(bytes().await, before);
    assert!(!store.reopen_crawl("b", wider).await.expect("none"));
}

pub(crate) async fn crawls_are_listed_with_their_url(store: &dyn CrawlStore) {
    let long = format!(r#"{{"url":"https://example.com/{}"}}"#, "x".repeat(5_000));
    for (id, created, request) in [
        (
            "several",
            4,
            r#"{"url":"https://example.com,http://a.example/"}"#,
        ),
        ("text", 3, r#"{"text":"see https://example.com"}"#),
        ("long", 2, long.as_str()),
        ("other", 1, "not JSON"),
    ] {
        let record = CrawlRecord {
            request: request.to_owned(),
            ..crawl(id, created)
        };
        store.create_crawl(&record).await.expect("a crawl");
    }
    let owner = account(1).id;
    let listed = async || {
        let rows = store
            .crawl_rows(&owner, CrawlKinds::All, PageRange::offset(9, 0))
            .await;
        let rows = rows.expect("crawls").rows;
        rows.into_iter().map(|row| row.url).collect::<Vec<_>>()
    };
    let several = Some("https://example.com,http://a.example/".to_owned());
    assert_eq!(listed().await, [several.clone(), None, None, None]);
    assert_eq!(store.n_crawl_urls("long").await.expect("a number"), 0);
    let progress = Progress {
        urls: [0, 1].map(|n| url(n, UrlState::Waiting)).into(),
        ..Progress::default()
    };
    for id in ["several", "long"] {
        let saved = store.save_crawl_progress(id, &progress).await;
        saved.expect("URLs");
    }
    let first = Some("https://example.com/0".to_owned());
    assert_eq!(listed().await, [several, None, first, None]);
    assert_eq!(store.n_crawl_urls("long").await.expect("a number"), 2);
}
