//! Batches: their pages, and how they are stored and planned again.

use serde_json::{Value, json};

use trawl_plan::testing::FakeCatalog;
use trawl_plan::{BatchPage, PagePlan};

use crate::{
    Omitted, PlanContext, PlannedCrawl, RequestDefaults, batch_request, crawl_plan, shown_request,
    with_kept_secrets,
};

/// The batch of a body, and its parameters without effect.
fn batch(body: &Value) -> Result<(PlannedCrawl, Vec<String>), String> {
    let context = PlanContext {
        catalog: &FakeCatalog,
        defaults: RequestDefaults::default(),
    };
    let request = batch_request(body.to_string().as_bytes(), context);
    let mut request = request.map_err(|error| error.to_string())?;
    assert_eq!(request.crawls.len(), 1);
    Ok((request.crawls.remove(0), request.ignored.names().to_vec()))
}

fn pages(planned: &PlannedCrawl) -> &[BatchPage] {
    &planned.plan.batch.as_ref().expect("a batch").pages
}

fn page(page: &BatchPage) -> &PagePlan {
    page.plan.as_ref().expect("a good URL")
}

/// The pages that are fetched.
fn formats(pages: &[BatchPage]) -> Vec<(&str, u32, &[u32], &str)> {
    let fetched = (0..).zip(pages).filter(|(_, one)| one.original.is_none());
    fetched
        .map(|(index, one)| {
            let format = page(one).output.formats[0].name.as_str();
            (one.url(), index, one.duplicates.as_slice(), format)
        })
        .collect()
}

#[test]
fn objects_have_parameters_over_the_common_ones_and_each_page_is_fetched_once() {
    let body = json!({
        "urls": [
            "a.example", {"url": "https://b.example/", "return_format": "text"}, "https://a.example/",
            {"url": "https://a.example/"}, {"return_format": "text", "url": "a.example"},
            {"url": "https://b.example/", "return_format": "text", "metadata": null},
            "http://a.example/",
        ],
        "return_format": "markdown", "metadata": true, "limit": 9, "host_limit": 2, "depth": 3,
    });
    let (planned, ignored) = batch(&body).expect("a good request");
    let expected: [(&str, u32, &[u32], &str); 4] = [
        ("https://a.example/", 0, &[2, 3], "markdown"),
        ("https://b.example/", 1, &[5], "text"),
        ("https://a.example/", 4, &[], "text"),
        ("http://a.example/", 6, &[], "markdown"),
    ];
    assert_eq!(formats(pages(&planned)), expected);
    assert!(pages(&planned).iter().all(|one| page(one).output.metadata));
    let plan = &planned.plan;
    assert_eq!(
        (plan.limit, plan.host_limit, plan.depth),
        (Some(9), Some(2), 0)
    );
    assert_eq!(ignored, ["depth"], "a batch follows no links");
    // The caller names the pages, as those of `/scrape`.
    assert!(!plan.seed.fetch.respect_robots);
}

#[test]
fn an_array_is_a_batch_without_common_parameters() {
    let (planned, _) = batch(&json!(["a.example", {"url": "b.example", "return_format": "text"}]))
        .expect("a good request");
    let expected: [(&str, u32, &[u32], &str); 2] = [
        ("https://a.example/", 0, &[], "raw"),
        ("https://b.example/", 1, &[], "text"),
    ];
    assert_eq!(formats(pages(&planned)), expected);
}

#[test]
fn a_bad_item_refuses_the_request_with_its_index() {
    let one = |item: Value| batch(&json!({"urls": ["a.example", item]})).expect_err("refused");
    for (item, begin) in [
        (
            json!({"url": "b.example", "return_format": "none"}),
            "urls[1].return_format: ",
        ),
        (
            json!({"url": "b.example", "metadata": 3}),
            "Deserialization error: urls[1].metadata: ",
        ),
        (json!({"return_format": "text"}), "urls[1].url: is missing"),
        (json!(" "), "urls[1].url: is missing"),
        (json!(5), "Deserialization error: urls[1]: "),
        (
            json!({"url": "b.example", "limit": 3}),
            "urls[1].limit: is a parameter of the whole",
        ),
        (
            json!({"url": "b.example", "run_in_background": true}),
            "urls[1].run_in_background: is a parameter of the whole",
        ),
    ] {
        let error = one(item);
        assert!(error.starts_with(begin), "{error}");
    }
    let error = batch(&json!(["a.example", {"url": 3}])).expect_err("refused");
    assert!(
        error.starts_with("Deserialization error: [1].url: "),
        "{error}"
    );
    // Where there is no `urls`, it says how to send it.
    let error = batch(&json!([{"url": "a.example", "limit": 3}])).expect_err("refused");
    let how = "send the array as `urls` of an object";
    assert!(
        error.starts_with("[0].limit: ") && error.contains(how),
        "{error}"
    );
    // What is wrong with all of them is of none.
    let error =
        batch(&json!({"urls": [{"url": "a.example", "metadata": true}], "return_format": "none"}));
    let error = error.expect_err("refused");
    assert!(error.starts_with("return_format: "), "{error}");
}

#[test]
fn a_batch_without_pages_or_with_too_many_is_refused() {
    for body in [
        json!({}),
        json!({"urls": []}),
        json!({"urls": null}),
        json!([]),
    ] {
        let error = batch(&body).expect_err("refused");
        assert!(error.starts_with("urls: "), "{error}");
    }
    let body = json!({"urls": ["a.example"], "url": "https://u:canary@b.example"});
    let (planned, ignored) = batch(&body).expect("a good request");
    assert_eq!(
        (ignored, pages(&planned).len()),
        (vec!["url".to_owned()], 1)
    );
    assert!(
        !planned.request.contains("b.example"),
        "{}",
        planned.request
    );
    let many = |n: usize| {
        let urls: Vec<String> = (0..n).map(|n| format!("http://a.example/{n}")).collect();
        batch(&json!({"urls": urls}))
    };
    let (planned, _) = many(10_000).expect("as many as there may be");
    assert_eq!(pages(&planned).len(), 10_000);
    assert!(many(10_001).is_err());
}

#[test]
fn a_url_that_can_never_be_fetched_fails_alone() {
    let (planned, _) =
        batch(&json!({"urls": ["ftp://a.example/x", "b.example"]})).expect("a good request");
    let [refused, good] = pages(&planned) else {
        panic!("two pages")
    };
    let refused = refused.plan.as_ref().expect_err("not an HTTP URL");
    assert_eq!(refused.requested, "ftp://a.example/x");
    assert_eq!(good.url(), planned.plan.seed.url.as_str());
    let error = batch(&json!({"urls": ["ftp://a.example/x"]})).expect_err("no page");
    assert!(error.starts_with("urls: none of them"), "{error}");
}

#[test]
fn copies_of_the_common_parameters_are_bounded() {
    let script = "x".repeat(900_000);
    let urls = |n: usize| -> Vec<Value> {
        let urls = (0..n).map(|n| json!({"url": "a.example", "user_agent": n.to_string()}));
        urls.collect()
    };
    let body = |n| json!({"urls": urls(n), "evaluate_on_new_document": script});
    assert!(batch(&body(9)).is_ok());
    let error = batch(&body(10)).expect_err("nine megabytes");
    assert!(error.contains("the common parameters, copied"), "{error}");
}

#[test]
fn a_stored_batch_has_no_secrets_and_makes_the_same_plan_again() {
    let canary = "canary-0123456789";
    let mut body = json!({
        "urls": [
            format!("https://u:{canary}@a.example/"),
            {"url": "b.example", "cookies": format!("a={canary}"), "return_format": "text"},
        ],
        "headers": {"X-Custom": canary}, "webhooks": {"destination": "https://hook.example/x?t=canary"},
    });
    let (planned, _) = batch(&body).expect("a good request");
    assert!(!planned.request.contains("canary"), "{}", planned.request);
    body["run_in_background"] = true.into();
    let error = batch(&body).expect_err("a password");
    assert!(error.starts_with("urls[0].url: a password"), "{error}");
    body["urls"][0] = json!("https://a.example/");
    let error = batch(&body).expect_err("cookies");
    assert!(
        error.starts_with("urls[1].url: the secret `cookies`"),
        "{error}"
    );
    body["urls"][1] =
        json!({"return_format": "text", "url": "b.example", "headers": {"Accept": "x"}});
    let (planned, _) = batch(&body).expect("a good request");
    assert!(planned.needs_secrets && planned.secrets.is_some());
    let shown = shown_request(&planned.request, None, &Omitted::default());
    assert_eq!(shown.missing_secrets, ["headers.X-Custom"]);
    let shown: Value = serde_json::from_str(&shown.json).expect("JSON");
    assert_eq!(shown["urls"], "2 URLs");

    let defaults = RequestDefaults::default();
    let again = crawl_plan(&planned.request, "batch", &FakeCatalog, defaults).expect("a plan");
    let again = again.batch.expect("a batch").pages.clone();
    assert_eq!(formats(&again), formats(pages(&planned)));
}

#[test]
fn a_page_that_blanks_a_common_secret_does_not_get_it_when_it_is_planned_again() {
    let body = json!({
        "urls": ["a.example", {"url": "b.example", "cookies": " "}], "cookies": "a=b",
        "run_in_background": true,
    });
    let (planned, _) = batch(&body).expect("a good request");
    let cookies = |pages: &[BatchPage]| -> Vec<usize> {
        let pages = pages.iter().map(page);
        pages.map(|page| page.fetch.cookies.len()).collect()
    };
    assert_eq!(cookies(pages(&planned)), [1, 0]);
    let secrets = planned.secrets.as_ref().expect("the cookies");
    let whole = with_kept_secrets(&planned.request, secrets);
    let defaults = RequestDefaults::default();
    let again = crawl_plan(&whole, "batch", &FakeCatalog, defaults).expect("a plan");
    assert_eq!(cookies(&again.batch.expect("a batch").pages), [1, 0]);
}

#[test]
fn copies_of_common_parameters_count_as_memory() {
    let agent = "x".repeat(1_000);
    let planned = |urls: Vec<Value>| {
        let body = json!({"urls": urls, "user_agent": agent});
        let (planned, _) = batch(&body).expect("a good request");
        planned.plan.batch.clone().expect("a batch")
    };
    let plain = planned(vec!["a.example".into(), "b.example".into()]);
    assert_eq!(plain.copied_bytes, 0, "all pages share one");
    let item = |n: u32| json!({"url": "a.example", "request_timeout": n});
    let copied = planned((1..=20).map(item).collect());
    assert!(copied.copied_bytes > 20 * agent.len());
    assert!(copied.bytes() > copied.copied_bytes);
}
