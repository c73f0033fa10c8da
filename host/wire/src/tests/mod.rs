//! Request bodies and the plans they become.

mod batches;
mod crawls;
mod effects;
mod refusals;

use std::time::Duration;

use serde_json::{Value, json};

use trawl_model::{Nanodollars, Terms};
use trawl_plan::testing::FakeCatalog;
use trawl_plan::{ConfiguredPool, Engine, Format, PagePlan, Pool, RouterMode, ScrapePlan};

use super::*;

/// The plan of a body where only ISP proxies in Germany are configured.
fn plan_for(body: &str, verb: Verb) -> Result<ScrapePlan, RequestError> {
    let isp = ConfiguredPool {
        pool: Pool::Isp,
        countries: vec!["DE".to_owned()],
    };
    let context = PlanContext {
        catalog: &FakeCatalog,
        defaults: RequestDefaults {
            pools: &[isp],
            ..RequestDefaults::default()
        },
    };
    scrape_plan(body.as_bytes(), verb, context)
}

fn plan_of(body: &str) -> Result<ScrapePlan, String> {
    plan_for(body, Verb::Scrape).map_err(|error| error.to_string())
}

/// The plan of a body with these fields and a `url`.
fn plan(fields: Value) -> ScrapePlan {
    let mut body = fields;
    body["url"] = json!("https://a.com/");
    plan_of(&body.to_string()).expect("a good request")
}

fn page(fields: Value) -> PagePlan {
    plan(fields).pages.remove(0).expect("a good URL")
}

fn refused(fields: Value) -> String {
    let mut body = fields;
    body["url"] = json!("https://a.com/");
    plan_of(&body.to_string()).expect_err("a bad request")
}

#[test]
fn a_bare_url_has_the_defaults() {
    let page = page(json!({}));
    assert_eq!(page.requested, "https://a.com/");
    assert_eq!(page.url.as_str(), "https://a.com/");
    assert_eq!(page.engine, Engine::Smart);
    assert_eq!(page.ceiling, Nanodollars::MAX);
    assert_eq!(page.router.mode, RouterMode::Off);
    assert_eq!(page.fetch.timeout, Duration::from_secs(30));
    assert_eq!(page.fetch.pool, Pool::Standard);
    assert!(!page.fetch.respect_robots);
    assert!(page.fetch.cache.enabled && !page.fetch.cache.allow_stale);
    assert_eq!(page.fetch.cache.max_age, Duration::from_secs(172_800));
    assert_eq!(page.output.formats[0].name, "raw");
    assert_eq!(
        page.output.formats[0].format,
        Format::Plugin("html".to_owned())
    );
    assert!(
        page.output.single_format
            && page.output.filters.is_empty()
            && page.output.chunking.is_none()
    );
}

#[test]
fn null_means_not_set() {
    let all_null = [
        "request",
        "return_format",
        "metadata",
        "headers",
        "cookies",
        "router",
        "cache",
        "limit",
        "budget",
        "wait_for",
        "chunking_alg",
        "filters",
        "max_size",
        "webhook",
        "webhooks",
        "unknown_thing",
        "readability",
    ];
    let mut body = json!({});
    for name in all_null {
        body[name] = Value::Null;
    }
    let plan = plan(body);
    assert_eq!(plan.pages.len(), 1);
    assert!(plan.ignored.names().is_empty(), "{:?}", plan.ignored);
}

#[test]
fn several_urls_and_objects_are_one_flat_list() {
    let body =
        r#"[{"url":"a.com,http://b.com/x,y","metadata":true},{"url":"c.com","request":"http"}]"#;
    let plan = plan_of(body).expect("a good request");
    let pages: Vec<_> = plan.pages.into_iter().flatten().collect();
    let urls: Vec<_> = pages.iter().map(|page| page.requested.as_str()).collect();
    assert_eq!(urls, ["a.com", "http://b.com/x,y", "c.com"]);
    let metadata: Vec<_> = pages.iter().map(|page| page.output.metadata).collect();
    assert_eq!(metadata, [true, true, false]);
    assert_eq!(pages[2].engine, Engine::Http);
}

#[test]
fn readability_is_on_or_has_a_choice_of_roles() {
    let options = |readability: Value| {
        let plan = plan(json!({"return_format": "text", "readability": readability}));
        let page = plan.pages[0].as_ref().expect("a good URL");
        page.output.readability.clone()
    };
    assert_eq!(options(json!(null)), None);
    assert_eq!(options(json!(false)), None);
    assert_eq!(options(json!(true)), Some(json!({})));
    assert_eq!(options(json!({"include": null})), Some(json!({})));
    let roles = json!({"include": ["Byline", " date"], "exclude": [], "only": "Body"});
    let expected = json!({"include": ["byline", "date"], "exclude": [], "only": "body"});
    assert_eq!(options(roles), Some(expected));
}

#[test]
fn one_bad_url_fails_alone() {
    let plan = plan_of(r#"{"url":"https://a.com,file:///etc/passwd"}"#).expect("a good request");
    assert!(plan.pages[0].is_ok());
    let refused = plan.pages[1].as_ref().expect_err("a refused scheme");
    assert_eq!(refused.failure.status(), 526);
    assert_eq!(refused.requested, "file:///etc/passwd");
}

#[test]
fn the_number_of_pages_is_bounded() {
    let many = vec!["a.com"; 10_001].join(",");
    assert!(plan_of(&json!({ "url": many }).to_string()).is_err());
    let most = vec!["a.com"; 10_000].join(",");
    assert_eq!(
        plan_of(&json!({ "url": most }).to_string())
            .expect("most")
            .pages
            .len(),
        10_000
    );
    let objects = vec![json!({"url": "a.com,b.com"}); 5_001];
    assert!(plan_of(&Value::from(objects).to_string()).is_err());
}

#[test]
fn parameters_without_effect_are_listed() {
    let check = |fields: Value, expected: &[&str]| {
        assert_eq!(plan(fields.clone()).ignored.names(), expected, "{fields}")
    };
    check(
        json!({"limit": 5, "return_json_data": true, "return_hidden_text": true}),
        &["limit", "return_hidden_text"],
    );
    check(
        json!({"return_hidden_text": false, "subdomains": false}),
        &[],
    );
    check(
        json!({"readability": true, "clean_html": true, "return_format": "markdown"}),
        &["clean_html"],
    );
    check(json!({"clean_html": true}), &[]);
    check(json!({"wait_for": 100, "request": "http"}), &["wait_for"]);
    check(
        json!({"scroll": 10, "evaluate_on_new_document": "1", "request": "http"}),
        &["evaluate_on_new_document", "scroll"],
    );
    check(json!({"cron": "x", "session": {}}), &["cron", "session"]);
    check(json!({"proxy": "residential"}), &["proxy"]);
    check(json!({"proxy": "ISP"}), &[]);
    check(json!({"proxy": "isp", "country_code": "de"}), &[]);
    check(
        json!({"proxy": "residential", "country_code": "de"}),
        &["proxy"],
    );
    check(
        json!({"proxy": "isp", "country_code": "us"}),
        &["country_code"],
    );
    check(json!({"country_code": "de"}), &["country_code"]);
    check(json!({"css_extraction_map": {"/": []}}), &[]);
    let both = plan_of(r#"[{"url":"a.com","depth":1},{"url":"a.com","depth":1,"tld":true}]"#)
        .expect("a good request");
    assert_eq!(both.ignored.names(), ["depth", "tld"]);
}

#[test]
fn one_format_is_the_content_several_are_an_object() {
    let names = |page: &PagePlan| -> Vec<String> {
        page.output.formats.iter().map(|f| f.name.clone()).collect()
    };
    let one = page(json!({"return_format": "Markdown"}));
    assert_eq!(
        (names(&one), one.output.single_format),
        (vec!["markdown".to_owned()], true)
    );
    let two = page(json!({"return_format": ["raw", "text"]}));
    assert_eq!(
        (names(&two), two.output.single_format),
        (vec!["raw".to_owned(), "text".to_owned()], false)
    );
    let none = page(json!({"return_format": []}));
    assert_eq!(
        (names(&none), none.output.single_format),
        (vec!["raw".to_owned()], true)
    );
}

#[test]
fn fetch_parameters_reach_the_plan() {
    let page = page(json!({
        "headers": {"X-A": "1", "X-N": 3, "X-Null": null},
        "cookies": ["a=b; c=d", {"name": "e", "value": "f", "path": "/"}],
        "user_agent": "Mine/1.0", "locale": "de-DE", "country_code": "de", "respect_robots": true,
        "cache": {"max_age": 0, "allow_stale": true}, "request_timeout": 7, "max_credits_per_page": 3,
    }));
    let headers: Vec<_> = page
        .fetch
        .headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_bytes()))
        .collect();
    assert_eq!(headers, [("x-a", &b"1"[..]), ("x-n", b"3")]);
    let cookies: Vec<_> = page
        .fetch
        .cookies
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    assert_eq!(cookies, [("a", "b"), ("c", "d"), ("e", "f")]);
    assert_eq!(page.fetch.user_agent.as_deref(), Some("Mine/1.0"));
    assert_eq!(page.fetch.country_code.as_deref(), Some("DE"));
    assert!(page.fetch.respect_robots && page.fetch.cache.enabled && page.fetch.cache.allow_stale);
    assert_eq!(page.fetch.cache.max_age, Duration::ZERO);
    assert_eq!(page.fetch.timeout, Duration::from_secs(7));
    assert_eq!(page.ceiling, Nanodollars(300_000));
}

#[test]
fn providers_have_time_of_their_own_unless_the_request_bounds_the_page() {
    let check = |fields: Value, expected: u64| {
        let page = page(fields);
        assert_eq!(page.router.time, Duration::from_secs(expected), "{page:?}");
        assert_eq!(page.time_max(), page.fetch.timeout + page.router.time);
    };
    check(json!({}), 0);
    check(json!({"router": {}}), 240);
    check(json!({"router": {}, "request_timeout": null}), 240);
    check(json!({"router": {}, "request_timeout": 60}), 0);
    check(json!({"router": {"mode": "off"}}), 0);
}

#[test]
fn links_has_links_and_no_content() {
    let body = r#"{"url":"a.com","return_format":"markdown","chunking_alg":"words"}"#;
    let plan = plan_for(body, Verb::Links).expect("a good request");
    let output = &plan.pages[0].as_ref().expect("a good URL").output;
    assert_eq!(output.formats[0].format, Format::Empty);
    assert!(output.links && output.single_format && output.chunking.is_none());
}

proptest::proptest! {
    #[test]
    fn any_body_is_a_plan_with_pages_or_a_bad_request(body in "[\\[\\]{}\",:a-z0-9 .]{0,120}") {
        match plan_of(&body) {
            Ok(plan) => proptest::prop_assert!(!plan.pages.is_empty(), "{}", body),
            Err(message) => proptest::prop_assert!(!message.is_empty(), "{}", body),
        }
        let is_json = serde_json::from_str::<Value>(&body).is_ok();
        proptest::prop_assert!(is_json || plan_of(&body).is_err(), "{}", body);
    }

    /// One URL among unknown parameters of any form is still one page, and each of them is named.
    #[test]
    fn unknown_parameters_never_change_a_plan(name in "x_[a-z]{1,12}", value in "[a-z0-9 ]{0,20}", number in proptest::prelude::any::<i64>()) {
        for sent in [json!(value), json!(number), json!([value]), json!({ "a": number })] {
            let plan = plan(json!({ (name.as_str()): sent }));
            proptest::prop_assert_eq!(plan.pages.len(), 1);
            proptest::prop_assert_eq!(plan.ignored.names(), std::slice::from_ref(&name));
        }
    }
}

#[test]
fn the_unlimited_plan_has_a_pool_of_its_own() {
    let check = |configured: &[Pool], body: &str, expected: Pool, ignored: &[&str]| {
        let pools: Vec<_> = configured
            .iter()
            .map(|&pool| ConfiguredPool {
                pool,
                countries: Vec::new(),
            })
            .collect();
        let context = PlanContext {
            catalog: &FakeCatalog,
            defaults: RequestDefaults {
                pools: &pools,
                terms: Terms::Unlimited,
                ..RequestDefaults::default()
            },
        };
        let plan = scrape_plan(body.as_bytes(), Verb::Scrape, context).expect("a good request");
        assert_eq!(
            plan.pages[0].as_ref().expect("a good URL").fetch.pool,
            expected,
            "{body}"
        );
        assert_eq!(plan.ignored.names(), ignored, "{body}");
    };
    let both = [Pool::Isp, Pool::Unlimited];
    check(&both, r#"{"url":"a"}"#, Pool::Unlimited, &[]);
    // Its pages are free, so no caller can choose a pool that costs more.
    check(
        &both,
        r#"{"url":"a","proxy":"isp"}"#,
        Pool::Unlimited,
        &["proxy"],
    );
    check(&[Pool::Isp], r#"{"url":"a"}"#, Pool::Standard, &[]);
    check(
        &[],
        r#"{"url":"a","proxy":"isp"}"#,
        Pool::Standard,
        &["proxy"],
    );
}
