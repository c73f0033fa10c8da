//! Starting several crawls at once, and again.

use trawl_billing::{AccountId, Payment};
use trawl_crawl::{CrawlError, CrawlsInUse, NewCrawl};
use trawl_model::Terms;
use trawl_model::clock::Timestamp;
use trawl_plan::router::RouterDefaults;
use trawl_plan::testing::FakeCatalog;
use trawl_plugins::Registry;
use trawl_store::{CrawlCounts, CrawlRecord, CrawlState, Floor};
use trawl_wire::{PlanContext, RequestDefaults, Verb, crawl_request};

use super::data::test_account;
use super::server::TestServer;
use crate::Service;

const REQUEST: &str =
    r#"{"url":"http://a.test/","return_format":"empty","run_in_background":true}"#;
const NAME: &str = "0a1b";

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
        plan: planned.plan,
        request: planned.request,
        needs_secrets: planned.needs_secrets,
        secrets: planned.secrets,
        verb: "crawl",
        terms: Terms::PayAsYouGo,
        slot: None,
        registry: Registry::empty(),
        payment,
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
    let server = TestServer::with_storage("10", 10_000, Floor::Bytes(0), 1).await;
    let account = test_account(&server);
    let (crawls, store) = (server.service.crawls(), server.service.store());
    let record = CrawlRecord {
        id: NAME.to_owned(),
        account: account.clone(),
        request: REQUEST.to_owned(),
        verb: "crawl".to_owned(),
        terms: Terms::PayAsYouGo,
        needs_secrets: false,
        in_background: true,
        state: CrawlState::Queued,
        stop: None,
        created: Timestamp(1),
        ended: None,
        counts: CrawlCounts::default(),
        left_out: None,
    };
    store.create_crawl(&record).await.expect("a row");
    let begun = crawls.begin(vec![new_crawl(&account, payment(true))]).await;
    let begun = begun.expect("it was started before");
    assert_eq!((begun.len(), begun[0].id.as_str()), (1, NAME));
    assert_eq!(crawls.in_use(&account), CrawlsInUse::default());
    assert_eq!(crawls.queued_bytes(&account).0, 0);
    let another = crawls.begin(vec![new_crawl(&account, None)]).await;
    assert!(matches!(another, Err(CrawlError::Storage(_))));
}
