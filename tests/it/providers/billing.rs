//! Who pays for a provider's page, and how much. Spec S20, Decision D79.

use std::time::{Duration, Instant};

use serde_json::json;
use trawl_tests::caller::nanodollars;
use trawl_tests::vendors::{Answered, GOOD_KEY};

use super::{Stage, first, pooled, served_by, vendor};

/// Price of a credit of provider_2 in nanodollars, as in `plugins.toml`.
const CREDIT: i64 = 196_000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_with_the_callers_key_costs_the_markup_and_our_compute() {
    let stage = Stage::without_credentials().await;
    let before = stage.app.balance();
    let entry = stage.shop("/page", first("provider_2", GOOD_KEY)).await;
    assert_eq!(vendor(&entry, "vendor_cost"), CREDIT);
    // A tenth would be less than the minimum.
    assert_eq!(vendor(&entry, "billed_cost"), 100_000);
    let costs = &entry["costs"];
    assert_eq!(nanodollars(&costs["bytes_transferred_cost"]), 0);
    let parts = ["compute_cost", "transform_cost"].map(|part| nanodollars(&costs[part]));
    assert_eq!(
        nanodollars(&costs["total_cost"]),
        100_000 + parts[0] + parts[1]
    );
    assert_eq!(
        before - stage.app.balance(),
        nanodollars(&costs["total_cost"])
    );
    // With JavaScript and residential IP addresses a page is 25 credits, and a tenth of that is
    // more than the minimum.
    let body = json!({"url": "http://shop.example/page", "request": "browser", "proxy": "residential",
        "router": first("provider_1", GOOD_KEY)});
    let entry = stage.app.page(body).await;
    assert_eq!(served_by(&entry).0, "provider_1");
    assert_eq!(vendor(&entry, "vendor_cost"), 1_010_000);
    assert_eq!(vendor(&entry, "billed_cost"), 101_000);
    stage.assert_used(&["provider_2", "provider_1"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_with_pooled_credentials_costs_its_price_plus_20_percent() {
    let stage = Stage::with(&[pooled(2)]).await;
    let entry = stage.page("http://127.0.0.1:1/page", json!({})).await;
    assert_eq!(vendor(&entry, "vendor_cost"), CREDIT);
    assert_eq!(vendor(&entry, "billed_cost"), CREDIT * 12 / 10);
    stage.assert_used(&["provider_2"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_of_the_unlimited_plan_never_use_pooled_credentials() {
    let stage = Stage::with(&[pooled(2)]).await;
    let billing = stage.app.app.billing();
    billing.set_seats(&stage.app.account, 1).await.unwrap();
    let before = stage.app.balance();
    let of_plan = async |router: serde_json::Value| {
        let body = json!({"url": "http://127.0.0.1:1/page", "request": "http", "router": router});
        let answer = stage.app.post("/unlimited/scrape", &[], &body).await;
        assert_eq!(answer.status, 200);
        answer.json()[0].clone()
    };
    for router in [
        json!({}),
        json!({"funding": "any"}),
        json!({"provider": "provider_2"}),
    ] {
        let entry = of_plan(router).await;
        assert_eq!(entry["status"], 521, "{entry}");
        assert!(entry["costs"]["vendor"].is_null(), "{entry}");
    }
    // With the caller's own key it may use the provider, and the plan charges nothing for it.
    let entry = of_plan(json!({"provider": "provider_2", "token": GOOD_KEY})).await;
    assert_eq!(served_by(&entry).0, "provider_2");
    assert_eq!(entry["costs"]["vendor"]["byok"], true);
    assert_eq!(vendor(&entry, "billed_cost"), 0);
    assert_eq!(nanodollars(&entry["costs"]["total_cost"]), 0);
    assert_eq!(stage.app.balance(), before);
    stage.assert_used(&["provider_2"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_page_is_free_whatever_the_vendor_charged() {
    let stage = Stage::with(&[pooled(2)]).await;
    let before = stage.app.balance();
    let entry = stage.page("http://127.0.0.1:1/missing", json!({})).await;
    assert_eq!(entry["status"], 404);
    assert_eq!(vendor(&entry, "vendor_cost"), CREDIT);
    assert_eq!(vendor(&entry, "billed_cost"), 0);
    assert_eq!(nanodollars(&entry["costs"]["total_cost"]), 0);
    // No provider can serve it: those that were asked are listed in the metadata only.
    let entry = stage.page("http://127.0.0.1:1/breaks", json!({})).await;
    assert!(entry["costs"]["vendor"].is_null(), "{entry}");
    let asked = &entry["metadata"]["provider_attempts"];
    assert_eq!(asked[0]["provider"], "provider_2", "{entry}");
    assert_eq!(entry["status"], 521);
    let error = entry["error"].as_str().unwrap();
    assert!(
        error.contains("refused") && error.contains("provider_2"),
        "{error}"
    );
    assert_eq!(stage.app.balance(), before);
    stage.app.assert_settled().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_provider_that_could_exceed_the_ceiling_is_skipped() {
    let stage = Stage::with(&[pooled(2), pooled(7)]).await;
    // 20 credits are $0.002: enough for provider_7 at $0.0018, but not for the most expensive page
    // of provider_2.
    let body = json!({"url": "http://127.0.0.1:1/page", "request": "http", "router": {}, "max_credits_per_page": 20});
    let entry = stage.app.page(body).await;
    assert_eq!(served_by(&entry), ("provider_7".to_owned(), 2));
    let body = json!({"url": "http://127.0.0.1:1/page", "request": "http", "router": {}, "max_credits_per_page": 1});
    assert_eq!(stage.app.page(body).await["status"], 521);
    stage.app.assert_settled().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_ends_at_its_timeout_and_its_job_is_cancelled() {
    let stage = Stage::without_credentials().await;
    let run = json!({"data": {"id": "run1", "status": "RUNNING", "defaultDatasetId": "set1", "usageTotalUsd": null}});
    stage
        .vendors
        .always("provider_8", Answered::json(201, &run));
    stage.vendors.slow_down(Duration::from_millis(1_500));
    let started = Instant::now();
    let body = json!({"url": "http://127.0.0.1:1/page", "request": "http", "request_timeout": 5,
        "router": first("provider_8", GOOD_KEY)});
    let entry = stage.app.page(body).await;
    let elapsed = started.elapsed();
    // The job never ends by itself.
    assert!(elapsed < Duration::from_secs(20), "{elapsed:?}");
    assert!(!entry["error"].is_null(), "{entry}");
    assert!(entry["costs"]["vendor"].is_null(), "{entry}");
    // The job of an abandoned conversation costs money until it is stopped.
    let aborted = || {
        let asked = stage.vendors.asked("provider_8");
        asked
            .iter()
            .any(|asked| asked.method == "POST" && asked.path.ends_with("/run1/abort"))
    };
    for _ in 0..400 {
        if aborted() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(aborted());
    stage.app.assert_settled().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_provider_is_used_without_sufficient_balance() {
    let stage = Stage::with(&[pooled(2)]).await;
    let (poor, caller) = stage
        .app
        .another("poor", trawl_model::Nanodollars(10_000))
        .await;
    let body = json!({"url": "http://127.0.0.1:1/page", "request": "http", "router": {}});
    let entry = caller.page(body).await;
    assert_eq!(entry["status"], 521, "{entry}");
    assert_eq!(stage.app.app.billing().balance(&poor).0, 10_000);
    stage.assert_used(&[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_without_a_reported_cost_is_not_free() {
    let stage = Stage::with(&[pooled(2)]).await;
    let silent =
        Answered::new(200, "text/html", "<p>cod</p>").header("Spb-initial-status-code", 200);
    stage.vendors.always("provider_2", silent);
    let entry = stage.page("http://127.0.0.1:1/page", json!({})).await;
    assert_eq!(vendor(&entry, "vendor_cost"), CREDIT);
    assert_eq!(vendor(&entry, "billed_cost"), CREDIT * 12 / 10);
    stage.assert_used(&["provider_2"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_pages_that_the_operator_paid_are_kept_for_others() {
    let stage = Stage::keeping_pages(true, &[pooled(2)]).await;
    let url = "http://127.0.0.1:1/page";
    // The fake's own page sets a cookie, and such pages are never kept.
    let page = Answered::new(200, "text/html", "<p>cod and chips</p>");
    stage
        .vendors
        .always("provider_2", page.header("Spb-initial-status-code", 200));
    // The caller's key pays: the page is not kept.
    let own = json!({"credentials": {"PROVIDER2_API_KEY": GOOD_KEY}});
    for _ in 0..2 {
        let entry = stage.page(url, own.clone()).await;
        assert_eq!(served_by(&entry), ("provider_2".to_owned(), 1));
        assert_eq!(entry["costs"]["vendor"]["byok"], true);
    }
    let first = stage.page(url, json!({})).await;
    assert_eq!(served_by(&first), ("provider_2".to_owned(), 1));
    let again = stage.page(url, json!({})).await;
    assert_eq!(served_by(&again), (String::new(), 0), "{again}");
    assert_eq!(again["content"], first["content"]);
    assert_eq!(again["metadata"]["cache"]["status"], "hit");
    stage.assert_used(&["provider_2"; 3]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_of_the_cache_says_of_its_provider_what_it_said_at_first() {
    let stage = Stage::keeping_pages(true, &[pooled(9)]).await;
    // This provider uses a browser where it has to, also for a page without scripts.
    let page = json!({"ok": true, "statusCode": 200, "content": "<p>cod and chips</p>",
        "headers": {"content-type": "text/html"}, "strategy": "stealth"});
    stage
        .vendors
        .always("provider_9", Answered::json(200, &page));
    // `cache.allow_stale` has no effect on a page that a provider made.
    let body = json!({"url": "http://127.0.0.1:1/page", "return_format": "raw", "router": {},
        "cache": {"allow_stale": true}});
    let first = stage.app.page(body.clone()).await;
    let again = stage.app.page(body).await;
    assert_eq!(served_by(&first), ("provider_9".to_owned(), 1));
    assert_eq!(again["metadata"]["cache"]["status"], "hit", "{again}");
    assert_eq!(first["metadata"]["rendered_by"], "provider", "{first}");
    let reason = "provider: it ran the page's JavaScript";
    assert_eq!(first["metadata"]["render_reason"], reason, "{first}");
    for name in ["rendered_by", "render_reason", "ignored"] {
        let (said, says) = (&first["metadata"][name], &again["metadata"][name]);
        assert_eq!(said, says, "{name}: {first} and {again}");
    }
    stage.assert_used(&["provider_9"]).await;
}

/// The runs that were started at provider_8.
fn runs(stage: &Stage) -> usize {
    let asked = stage.vendors.asked("provider_8");
    let starts = asked.iter();
    starts
        .filter(|asked| asked.method == "POST" && asked.path.ends_with("/runs"))
        .count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_poll_starts_no_second_run() {
    let stage = Stage::without_credentials().await;
    let router = first("provider_8", GOOD_KEY);
    let oops = || Answered::new(500, "text/html", "<h1>Oops</h1>");
    // The second request is the first poll.
    for failure in [Some(oops()), None] {
        stage.vendors.once("provider_8", 1, failure);
        let before = runs(&stage);
        let entry = stage.shop("/page", router.clone()).await;
        assert_eq!(served_by(&entry).0, "provider_8");
        assert_eq!(runs(&stage) - before, 1);
    }
    // A lost response to the start may belong to a run.
    stage.vendors.once("provider_8", 0, None);
    let before = runs(&stage);
    let entry = stage.shop("/page", router.clone()).await;
    let attempt = &entry["metadata"]["provider_attempts"][0];
    assert_eq!(attempt["outcome"], "provider_error", "{entry}");
    assert_eq!(runs(&stage) - before, 1);
    // Nor do polls that all fail: the run is stopped, and our own stack answers.
    for n_before in 1..=8 {
        stage.vendors.once("provider_8", n_before, Some(oops()));
    }
    let before = runs(&stage);
    // The adapter asks again for some seconds.
    let body = json!({"url": "http://shop.example/page", "request": "http", "request_timeout": 120, "router": router});
    let entry = stage.app.page(body).await;
    let attempt = &entry["metadata"]["provider_attempts"][0];
    assert_eq!(attempt["outcome"], "provider_error", "{entry}");
    assert_eq!(runs(&stage) - before, 1);
    stage.app.assert_settled().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cost_that_no_provider_reported_is_marked() {
    let stage = Stage::with(&[pooled(2)]).await;
    let source = |entry: &serde_json::Value| entry["metadata"]["vendor_cost_source"].clone();
    let entry = stage.shop("/page", first("provider_2", GOOD_KEY)).await;
    assert_eq!(source(&entry), json!(null), "{entry}");
    let entry = stage.shop("/page", first("provider_1", GOOD_KEY)).await;
    assert_eq!(source(&entry), "listed", "{entry}");
    let silent =
        Answered::new(200, "text/html", "<p>cod</p>").header("Spb-initial-status-code", 200);
    stage.vendors.always("provider_2", silent);
    let entry = stage.page("http://127.0.0.1:1/page", json!({})).await;
    assert_eq!(source(&entry), "assumed", "{entry}");
    stage.app.assert_settled().await;
}
