//! Pages of a loopback site: what a page that failed says about the others of its run.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::json;
use url::Url;

use trawl_billing::{FundsError, Tariff};
use trawl_model::memory::MemoryBudget;
use trawl_model::{Cause, Nanodollars, Purpose, SkipReason};
use trawl_net::fetch::PoliteGet;
use trawl_net::fetch::loopback::{self, LoopbackSite, fetcher};
use trawl_net::politeness::{Politeness, PolitenessConfig};
use trawl_net::robots::Robots;
use trawl_plan::testing::page_plan;
use trawl_plan::{FetchPlan, OutputPlan, PagePlan};
use trawl_plugins::Registry;

use super::*;
use crate::extract::Workers;
use crate::in_flight::PagesInFlight;
use crate::page_budget::tests::payer;
use crate::routing::Routing;

mod spans;
mod streamed;
mod timing;

fn run_context() -> RunContext {
    run_context_with(PagesInFlight::default())
}

fn run_context_with(in_flight: PagesInFlight) -> RunContext {
    let politeness = Politeness::new(&PolitenessConfig::default());
    let get = PoliteGet::new(fetcher(), Arc::clone(&politeness));
    let robots = Arc::new(Robots::new(Arc::new(get), "Trawl"));
    let engine = PageEngine {
        routing: Routing::new(fetcher(), politeness, robots),
        workers: Workers::new(),
        ai: None,
        memory: MemoryBudget::unlimited(),
        costs: Arc::default(),
        in_flight,
    };
    let owner = "one".to_owned();
    RunContext::new(
        Arc::new(engine),
        Registry::empty(),
        owner,
        Tariff::default(),
    )
}

/// Refuses all redirects, and counts how often the page is requested.
#[derive(Default)]
struct Staying {
    n_sent: AtomicUsize,
}

impl PageRules for Staying {
    fn redirect<'a>(&'a self, _to: &'a Url) -> BoxFuture<'a, Result<(), SkipReason>> {
        std::future::ready(Err(SkipReason::Scope)).boxed()
    }

    fn sends(&self) {
        self.n_sent.fetch_add(1, Ordering::Relaxed);
    }
}

#[tokio::test]
async fn a_page_whose_redirect_its_run_skips_has_failed_by_that_rule() {
    let away = loopback::page(302, "location: /next\r\n", "");
    let site = LoopbackSite::start(&[
        ("/", vec![away]),
        ("/next", vec![loopback::page(200, "", "next")]),
    ])
    .await;
    let run = run_context();
    let page_budget = PageBudget::unbilled(Nanodollars::MAX);
    for (path, failed_by) in [
        ("/", Some(FailedBy::Rule(SkipReason::Scope))),
        ("/next", None),
        ("/unknown", Some(FailedBy::Other)),
    ] {
        let plan = page_plan(site.url(path).as_str());
        let rules = Arc::new(Staying::default());
        let admission = run.admission(&plan).under(Arc::clone(&rules) as _);
        let produced = produce(&run, &plan, &Arc::new(admission), &page_budget).await;
        assert_eq!(produced.failed_by, failed_by, "{path}");
        assert_eq!(rules.n_sent.load(Ordering::Relaxed), 1, "{path}");
        if let Some(FailedBy::Rule(_)) = failed_by {
            let failure = produced.outcome.error.expect("it has failed");
            assert_eq!(failure.cause, Cause::RedirectRefused);
            assert!(failure.message.ends_with("skips: scope"), "{failure}");
        }
    }
    assert_eq!(site.asked(), ["/", "/next", "/unknown"]);
}

#[tokio::test]
async fn a_page_that_is_not_billed_is_one_of_the_pages_in_flight() {
    let site = LoopbackSite::start(&[("/", vec![loopback::page(200, "", "free")])]).await;
    let run = run_context_with(PagesInFlight::new(1));
    let plan = page_plan(site.url("/").as_str());
    let impatient = PagePlan {
        fetch: Arc::new(FetchPlan {
            timeout: Duration::from_millis(50),
            ..(*plan.fetch).clone()
        }),
        ..plan.clone()
    };
    let admission = Arc::new(run.admission(&plan));
    let other = run
        .engine
        .in_flight
        .admit("other", plan.fetch.timeout)
        .await;
    let other = other.expect("the only one");
    let refused = produce_unbilled(&run, &impatient, &admission).await;
    let failure = refused.outcome.error.expect("there is no room for it");
    assert_eq!(failure.cause, Cause::Timeout, "{failure}");
    assert!(site.asked().is_empty());
    drop(other);
    let produced = produce_unbilled(&run, &plan, &admission).await;
    assert!(produced.outcome.error.is_none());
    assert_eq!(site.asked(), ["/"]);
}

#[tokio::test]
async fn a_page_that_costs_more_than_there_is_has_failed_by_its_funds() {
    let body = "x".repeat(200_000);
    let site = LoopbackSite::start(&[("/", vec![loopback::page(200, "", &body)])]).await;
    let (run, plan) = (run_context(), page_plan(site.url("/").as_str()));
    let (payer, _directory) = payer(10_000).await;
    let admission = Arc::new(run.admission(&plan));
    let paid_by = PaidBy::Account(&payer);
    let (page_budget, produced) = produce_paid(&run, paid_by, &plan, &admission, || true).await;
    let Some(FailedBy::Funds(unfunded)) = produced.failed_by else {
        panic!("not by its funds but {:?}", produced.failed_by)
    };
    assert!(
        matches!(unfunded.error, FundsError::Short(_)),
        "{unfunded:?}"
    );
    // It was requested with all that there was.
    assert!(unfunded.is_reserved && unfunded.was_underfunded);
    assert_eq!(site.asked(), ["/"]);
    page_budget.void("done");
}

/// A page with this purpose, whose statements are read.
fn page_for(url: &Url, purpose: Option<Purpose>) -> PagePlan {
    let plan = page_plan(url.as_str());
    PagePlan {
        fetch: Arc::new(FetchPlan {
            purpose,
            ..(*plan.fetch).clone()
        }),
        output: Arc::new(OutputPlan {
            rights: true,
            ..(*plan.output).clone()
        }),
        ..plan
    }
}

#[tokio::test]
async fn a_page_whose_use_is_refused_has_failed_by_that() {
    let html = "content-type: text/html\r\n";
    let robots = "User-agent: *\nContent-Signal: /signal ai-train=no\nDisallow: /meta\n";
    let said = "content-type: text/html\r\ncontent-usage: train-ai=n, search=y\r\n";
    let away = "location: /signal\r\n";
    let site = LoopbackSite::start(&[
        ("/robots.txt", vec![loopback::page(200, "", robots)]),
        ("/signal", vec![loopback::page(200, html, "signal")]),
        (
            "/meta",
            vec![loopback::page(
                200,
                html,
                "<meta name=robots content=noai>secret",
            )],
        ),
        ("/header", vec![loopback::page(200, said, "header")]),
        ("/away", vec![loopback::page(302, away, "")]),
        ("/open", vec![loopback::page(200, html, "open")]),
    ])
    .await;
    let run = run_context();
    let page_budget = PageBudget::unbilled(Nanodollars::MAX);
    for (path, source) in [
        ("/signal", Some("robots.txt content-signal")),
        ("/meta", Some("meta robots")),
        ("/header", Some("content-usage")),
        ("/away", Some("whose site refuses")),
        ("/open", None),
    ] {
        let plan = page_for(&site.url(path), Some(Purpose::AiTrain));
        let admission = Arc::new(run.admission(&plan));
        let produced = produce(&run, &plan, &admission, &page_budget).await;
        let failure = produced.outcome.error;
        assert_eq!(failure.is_some(), source.is_some(), "{path} {failure:?}");
        if let (Some(failure), Some(source)) = (failure, source) {
            assert_eq!(failure.cause, Cause::Rights, "{path}");
            assert!(failure.message.contains(source), "{path} {failure}");
        }
    }
    // A page that robots.txt refuses for it is not requested, and nothing else there is obeyed.
    assert_eq!(
        site.asked(),
        ["/robots.txt", "/meta", "/header", "/away", "/open"]
    );
    let search = page_for(&site.url("/header"), Some(Purpose::Search));
    let admission = Arc::new(run.admission(&search));
    let produced = produce(&run, &search, &admission, &page_budget).await;
    assert_eq!(produced.outcome.error, None);
    let metadata = produced.outcome.fields.metadata.expect("metadata");
    let expected = json!({
        "search": {"allowed": true, "sources": ["content-usage"]},
        "ai-train": {"allowed": false, "sources": ["content-usage"]},
    });
    assert_eq!(metadata["rights"], expected);
}

#[tokio::test]
async fn without_a_purpose_robots_txt_is_not_asked_about_the_use() {
    let html = "content-type: text/html\r\n";
    let body = "<meta name=robots content=noindex><link rel=license href=/l>text";
    let site = LoopbackSite::start(&[("/", vec![loopback::page(200, html, body)])]).await;
    let (run, page_budget) = (run_context(), PageBudget::unbilled(Nanodollars::MAX));
    let plan = page_for(&site.url("/"), None);
    let admission = Arc::new(run.admission(&plan));
    let produced = produce(&run, &plan, &admission, &page_budget).await;
    assert_eq!(produced.outcome.error, None);
    let metadata = produced.outcome.fields.metadata.expect("metadata");
    let expected = json!({
        "search": {"allowed": false, "sources": ["meta robots"]},
        "licenses": [site.url("/l").as_str()],
        "noindex": true,
    });
    assert_eq!(metadata["rights"], expected);
    assert_eq!(site.asked(), ["/"]);
}
