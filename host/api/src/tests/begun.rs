//! Starting several crawls at once, and again.

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use trawl_billing::{AccountId, Billing, Payment};
use trawl_crawl::{CrawlError, CrawlsInUse, NewCrawl};
use trawl_model::clock::Timestamp;
use trawl_model::{Charge, Nanodollars, Terms, UrlRow, UrlState};
use trawl_plan::router::RouterDefaults;
use trawl_plan::testing::FakeCatalog;
use trawl_plugins::Registry;
use trawl_store::{CrawlCounts, CrawlRecord, CrawlState, DiskThreshold, Progress};
use trawl_wire::{PlanContext, RequestDefaults, Verb, crawl_request};

use super::data::{running_crawl, test_account};
use super::server::TestServer;

const REQUEST: &str =
    r#"{"url":"http://a.test/","return_format":"empty","run_in_background":true}"#;
const NAME: &str = "0a1b";
/// Long enough for a slow machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A background crawl that is charged under this name.
fn new_crawl(account: &AccountId, payment: Option<Payment>) -> NewCrawl {
    let context = PlanContext {
        catalog: &FakeCatalog,
        defaults: RequestDefaults {
            pools: &[],
            router: RouterDefaults::default(),
            terms: Terms::PayAsYouGo,
            model: None,
        },
    };
    let request = crawl_request(REQUEST.as_bytes(), Verb::Scrape, context);
    let planned = request.expect("a valid request").crawls.pop();
    let planned = planned.expect("one crawl");
    NewCrawl {
        account: account.clone(),
        key: trawl_billing::KeyPrefix::default(),
        plan: planned.plan,
        request: planned.request,
        needs_secrets: planned.needs_secrets,
        secrets: planned.secrets,
        verb: "crawl",
        terms: Terms::PayAsYouGo,
        slot: None,
        registry: Registry::empty(),
        payment,
        trace: None,
    }
}

fn payment(is_repeated: bool) -> Option<Payment> {
    Some(Payment {
        name: NAME.into(),
        is_repeated,
    })
}

#[tokio::test]
async fn of_the_crawls_of_a_request_all_are_started_or_none() {
    let server = TestServer::new().await;
    let account = test_account(&server);
    let (crawls, store) = (server.service.crawls(), server.service.store());
    // The last one cannot be stored.
    let names = [None, payment(false), payment(false)];
    let new = names.map(|name| new_crawl(&account, name)).into();
    let begun = crawls.begin(new).await;
    assert!(matches!(begun, Err(CrawlError::Store(_))));
    let rows = store.crawls(&account, Timestamp::MAX, 9).await;
    assert_eq!(rows.expect("crawls"), []);
    assert_eq!(crawls.in_use(&account), CrawlsInUse::default());
    assert_eq!(crawls.queued_bytes(&account).0, 0);

    let new = [None, payment(false)].map(|name| new_crawl(&account, name));
    let begun = crawls.begin(new.into()).await.expect("started");
    let ids: Vec<&str> = begun.iter().map(|crawl| crawl.id.as_str()).collect();
    assert_eq!((ids.len(), ids[1]), (2, NAME));
    let rows = store.crawls(&account, Timestamp::MAX, 9).await;
    assert_eq!(rows.expect("crawls").len(), 2);
}

#[tokio::test]
async fn a_crawl_that_exists_takes_nothing_of_the_limits_again() {
    // The account may store nothing more.
    let server = TestServer::with_storage("10", 10_000, DiskThreshold::Bytes(0), 1).await;
    let account = test_account(&server);
    let (crawls, store) = (server.service.crawls(), server.service.store());
    let record = running_crawl(&account, NAME, REQUEST);
    store.create_crawl(&record).await.expect("a row");
    let begun = crawls.begin(vec![new_crawl(&account, payment(true))]).await;
    let begun = begun.expect("it was started before");
    assert_eq!((begun.len(), begun[0].id.as_str()), (1, NAME));
    assert_eq!(crawls.in_use(&account), CrawlsInUse::default());
    assert_eq!(crawls.queued_bytes(&account).0, 0);
    let another = crawls.begin(vec![new_crawl(&account, None)]).await;
    assert!(matches!(another, Err(CrawlError::Storage(_))));
}

const URL: &str = "http://a.test/";
const CREDIT: Nanodollars = Nanodollars(100_000);

/// The id of a page of a crawl.
fn page_id(url: &str) -> String {
    blake3::hash(url.as_bytes()).to_hex()[..32].to_owned()
}

/// Charges a page of a crawl, which is all that it may cost.
async fn charge(billing: &Billing, account: &AccountId, url: &str) {
    charge_as(billing, account, (url, &page_id(url))).await;
}

/// Charges a page of this URL and id.
async fn charge_as(billing: &Billing, account: &AccountId, (url, id): (&str, &str)) {
    let budget = billing.run_budget(account, NAME, CREDIT, Nanodollars::ZERO);
    let budget = budget.expect("a budget");
    let page = budget.reserve(CREDIT, url, id, Instant::now() + PATIENCE);
    let charge = Charge {
        bytes_transferred: CREDIT,
        ..Charge::default()
    };
    let page = page.await.expect("a reservation");
    page.post(&charge).await.expect("posted");
}

/// Stores a parked crawl with these URLs, whose delivered pages have cost so much.
async fn park(server: &TestServer, urls: &[(&str, UrlState)], spent: Nanodollars) {
    let store = server.service.store();
    let parked = CrawlRecord {
        state: CrawlState::Parked,
        ..running_crawl(&test_account(server), NAME, REQUEST)
    };
    store.create_crawl(&parked).await.expect("a row");
    let rows = urls.iter().zip(0..).map(|((url, state), n)| UrlRow {
        n,
        url: (*url).to_owned(),
        depth: 0,
        referrer: None,
        anchor: None,
        target: None,
        state: *state,
    });
    let progress = Progress {
        urls: rows.collect(),
        pages: Vec::new(),
        counts: CrawlCounts {
            spent,
            ..CrawlCounts::default()
        },
    };
    let saved = store.save_crawl_progress(NAME, &progress).await;
    saved.expect("rows");
}

#[tokio::test]
async fn a_page_that_was_charged_before_a_kill_is_refunded_when_its_crawl_ends_without_it() {
    let other = ("http://a.test/other", UrlState::Waiting);
    let stored: [&[(&str, UrlState)]; 3] = [
        &[other, (URL, UrlState::Waiting)],
        // Its URL was not stored before the kill.
        &[other],
        // The crawl has found it with the other scheme since.
        &[("https://a.test/", UrlState::Waiting)],
    ];
    for urls in stored {
        let server = TestServer::new().await;
        let account = test_account(&server);
        let (crawls, billing) = (server.service.crawls(), server.service.billing());
        let before = billing.funds(&account).balance;
        charge(billing, &account, URL).await;
        assert_eq!(billing.funds(&account).balance, before - CREDIT);
        park(&server, urls, Nanodollars::ZERO).await;
        for _ in 0..2 {
            let ended = crawls.cancel(&account, NAME).await.expect("a crawl");
            assert_eq!(ended.record.state, CrawlState::Ended);
            assert_eq!(billing.funds(&account).balance, before, "{urls:?}");
        }
        let spent = billing.spent_by_run(NAME).await;
        assert_eq!(spent.expect("the store works"), Nanodollars::ZERO);
    }
}

#[tokio::test]
async fn a_page_that_was_charged_and_is_delivered_with_the_other_scheme_is_not_refunded() {
    let server = TestServer::new().await;
    let account = test_account(&server);
    let (crawls, billing) = (server.service.crawls(), server.service.billing());
    let pages = ["1", "2", "3", "4"].map(|path| format!("{URL}{path}"));
    for page in &pages {
        charge(billing, &account, page).await;
    }
    let delivered = pages[..3]
        .iter()
        .map(|page| page.replace("http:", "https:"));
    let delivered: Vec<String> = delivered.collect();
    let urls: Vec<(&str, UrlState)> = delivered
        .iter()
        .map(|url| (url.as_str(), UrlState::Done))
        .collect();
    park(&server, &urls, Nanodollars(3 * CREDIT.0)).await;
    crawls.cancel(&account, NAME).await.expect("a crawl");
    for (page, expected) in pages
        .iter()
        .zip([CREDIT, CREDIT, CREDIT, Nanodollars::ZERO])
    {
        let charge = billing.charged(NAME, &page_id(page)).await;
        let charge = charge.expect("the store works").expect("it was charged");
        assert_eq!(charge.total(), expected, "{page}");
    }
}

/// Continues the stored crawl until it ends.
async fn until_recovered_ends(server: &TestServer) {
    let (crawls, account) = (server.service.crawls(), test_account(server));
    let last = crawls.interrupt().await.expect("the store works");
    crawls.recover(last).await;
    let until = Instant::now() + PATIENCE;
    loop {
        let crawl = crawls.show(&account, NAME).await.expect("a row");
        if crawl.record.state == CrawlState::Ended {
            return;
        }
        assert!(Instant::now() < until, "it does not end");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_page_of_a_batch_that_was_charged_before_a_kill_and_is_refused_after_it_is_refunded() {
    let server = TestServer::new().await;
    let account = test_account(&server);
    let billing = server.service.billing();
    // It was none that is refused when it was charged.
    let refused = "ftp://a.test/x";
    charge_as(
        billing,
        &account,
        (refused, &page_id(&format!("0 {refused}"))),
    )
    .await;
    let request = json!({"urls": [refused, URL], "return_format": "empty", "request": "http", "respect_robots": false});
    let record = CrawlRecord {
        verb: "batch".to_owned(),
        ..running_crawl(&account, NAME, &request.to_string())
    };
    let created = server.service.store().create_crawl(&record).await;
    created.expect("a row");
    let before = billing.funds(&account).balance;
    until_recovered_ends(&server).await;
    let pages = server.get(&format!("/batch/{NAME}/pages")).await.json();
    assert_eq!(pages.as_array().map(Vec::len), Some(2), "{pages}");
    for n in 0..2 {
        assert!(pages[n]["error"].is_string(), "{pages}");
        assert_eq!(pages[n]["costs"]["total_cost"], 0.0, "{pages}");
    }
    assert_eq!(billing.funds(&account).balance, before + CREDIT);
    let spent = billing.spent_by_run(NAME).await;
    assert_eq!(spent.expect("the store works"), Nanodollars::ZERO);
}

#[tokio::test]
async fn a_page_that_was_charged_before_a_kill_and_fails_after_it_is_refunded() {
    let server = TestServer::new().await;
    let account = test_account(&server);
    let (crawls, billing) = (server.service.crawls(), server.service.billing());
    // The charge is all that is stored of the page.
    charge(billing, &account, URL).await;
    let request = json!({
        "url": URL, "return_format": "empty", "request": "http", "respect_robots": false, "max_credits_allowed": 1,
    });
    let record = running_crawl(&account, NAME, &request.to_string());
    let created = server.service.store().create_crawl(&record).await;
    created.expect("a row");
    let before = billing.funds(&account).balance;
    until_recovered_ends(&server).await;
    let pages = server.get(&format!("/crawl/{NAME}/pages")).await.json();
    assert_eq!(pages[0]["url"], URL, "{pages}");
    assert!(pages[0]["error"].is_string(), "{pages}");
    assert_eq!(pages[0]["costs"]["total_cost"], 0.0, "{pages}");
    assert_eq!(billing.funds(&account).balance, before + CREDIT);
    let spent = billing.spent_by_run(NAME).await;
    assert_eq!(spent.expect("the store works"), Nanodollars::ZERO);
    let crawl = crawls.show(&account, NAME).await.expect("a row");
    assert_eq!(crawl.record.counts.spent, Nanodollars::ZERO);
}
