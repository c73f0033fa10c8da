//! Request bodies and the plans they become.

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
    assert!(plan.ignored.is_empty(), "{:?}", plan.ignored);
}

#[test]
fn bodies_without_a_url_are_refused() {
    for body in [
        "{}",
        "[]",
        "[{}]",
        r#"{"url":""}"#,
        r#"{"url":" , "}"#,
        r#"{"url":null}"#,
        r#"[{"url":"a.com"},{}]"#,
    ] {
        let error = plan_of(body).expect_err(body);
        assert!(error.starts_with("url: "), "{error}");
    }
    let error = plan_of(r#"{"url":["https://a.com"]}"#).expect_err("a list");
    assert!(
        error.starts_with("Deserialization error: url: invalid type"),
        "{error}"
    );
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
fn one_bad_url_fails_alone() {
    let plan = plan_of(r#"{"url":"https://a.com,file:///etc/passwd"}"#).expect("a good request");
    assert!(plan.pages[0].is_ok());
    let refused = plan.pages[1].as_ref().expect_err("a refused scheme");
    assert_eq!(refused.failure.status, 526);
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
        assert_eq!(plan(fields.clone()).ignored, expected, "{fields}")
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
    assert_eq!(both.ignored, ["depth", "tld"]);
}

#[test]
fn wrong_types_name_the_field() {
    let check = |fields: Value, field: &str| {
        let error = refused(fields);
        assert!(
            error.starts_with(&format!("Deserialization error: {field}: ")),
            "{error}"
        );
    };
    check(
        json!({"max_credits_allowed": "many"}),
        "max_credits_allowed",
    );
    check(json!({"max_credits_per_page": -1}), "max_credits_per_page");
    check(json!({"limit": 1.5}), "limit");
    check(json!({"depth": 1e30}), "depth");
    check(json!({"metadata": "yes"}), "metadata");
    check(json!({"return_format": 3}), "return_format");
    check(json!({"return_format": [3]}), "return_format");
    check(json!({"request": {}}), "request");
    check(json!({"headers": []}), "headers");
    check(json!({"headers": {"a": []}}), "headers");
    check(json!({"cookies": 3}), "cookies");
    check(json!({"router": "first"}), "router");
    check(json!({"router": {"token": 3}}), "router");
    check(json!({"cache": "no"}), "cache");
    check(json!({"cache": {"max_age": "x"}}), "cache");
    check(json!({"budget": {"*": -1}}), "budget");
    check(json!({"wait_for": "x"}), "wait_for");
    check(json!({"external_domains": {}}), "external_domains");
    check(json!({"css_extraction_map": []}), "css_extraction_map");
    check(json!({"link_rewrite": "x"}), "link_rewrite");
    check(json!({"chunking_alg": 3}), "chunking_alg");
    check(json!({"blacklist": "x"}), "blacklist");
}

#[test]
fn values_that_are_not_allowed_name_the_field() {
    let check = |fields: Value, field: &str| {
        let error = refused(fields);
        assert!(error.starts_with(&format!("{field}: ")), "{error}");
    };
    check(json!({"request": "curl"}), "request");
    check(json!({"return_format": "pdf"}), "return_format");
    check(json!({"return_format": ""}), "return_format");
    check(json!({"root_selector": "!"}), "root_selector");
    check(json!({"exclude_selector": "!"}), "exclude_selector");
    check(json!({"chunking_alg": "pages"}), "chunking_alg");
    check(json!({"chunking_alg": {"value": 3}}), "chunking_alg");
    check(
        json!({"chunking_alg": {"type": "ByWords", "value": 0}}),
        "chunking_alg",
    );
    check(json!({"filters": {"nope": {}}}), "filters");
    check(json!({"extractors": {"nope": {}}}), "extractors");
    check(json!({"format_options": {"nope": {}}}), "format_options");
    check(json!({"headers": {"Host": "b.com"}}), "headers");
    check(json!({"cookies": "a"}), "cookies");
    check(
        json!({"cookies": [{"name": "a;b", "value": ""}]}),
        "cookies",
    );
    check(json!({"user_agent": "a\r\nb"}), "user_agent");
    check(json!({"locale": "a\nb"}), "locale");
    check(json!({"country_code": "germany"}), "country_code");
    check(json!({"router": {"mode": "first"}}), "router");
    check(
        json!({"router": {"mode": "first", "provider": "provider_1", "token": "  "}}),
        "router",
    );
    check(
        json!({"router": {"mode": "first", "provider": "provider_1", "credentials": {"PROVIDER1_API_KEY": "x"}}}),
        "router",
    );
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
fn secrets_are_not_in_debug_text_or_errors() {
    let canary = "canary-0123456789";
    let plan = plan(json!({
        "router": {"mode": "first", "provider": "provider_1", "token": canary, "credentials": {"PROVIDER1_API_KEY": canary}},
        "headers": {"Authorization": canary}, "cookies": format!("a={canary}"),
    }));
    assert_eq!(
        plan.pages[0].as_ref().expect("a good URL").router.mode,
        RouterMode::First
    );
    assert!(!format!("{plan:?}").contains("canary"));
    for fields in [
        json!({"router": canary}),
        json!({"router": {"token": [canary]}}),
        json!({"headers": canary}),
        json!({"headers": {"X-A": [canary]}}),
        json!({"headers": {"X-A": format!("{canary}\n")}, "cookies": format!("a=b\n{canary}")}),
        json!({"cookies": canary}),
    ] {
        assert!(!refused(fields.clone()).contains("canary"), "{fields}");
    }
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
    fn any_body_is_a_plan_or_an_error(body in "[\\[\\]{}\",:a-z0-9 .]{0,120}") {
        let _ = plan_of(&body);
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
        assert_eq!(plan.ignored, ignored, "{body}");
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
