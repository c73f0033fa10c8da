//! Request bodies and the plans they become.

use std::time::Duration;

use serde_json::{Value, json};

use trawl_model::{Nanodollars, Terms};
use trawl_plan::crawl::CrawlPlan;
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
fn bodies_without_a_url_are_refused() {
    for (body, path) in [
        ("{}", "url: "),
        ("[]", "url: "),
        (" [{}]", "[0].url: "),
        (r#"{"url":""}"#, "url: "),
        (r#"{"url":" , "}"#, "url: "),
        (r#"{"url":null}"#, "url: "),
        (r#"[{"url":"a.com"},{}]"#, "[1].url: "),
    ] {
        let error = plan_of(body).expect_err(body);
        assert!(error.starts_with(path), "{error}");
    }
    let error = plan_of(r#"{"urls":"a.com"}"#).expect_err("another name");
    let expected = "url: is missing or empty, send the URL of a page; `urls` is not a parameter, did \
                    you mean `url`?";
    assert_eq!(error, expected);
    let error = plan_of(r#"{"url":["https://a.com"]}"#).expect_err("a list");
    assert_eq!(
        error,
        "Deserialization error: url: invalid type: list, expected a string: one URL, or several \
         separated by commas; for different parameters send an array of request objects"
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
fn an_error_in_an_array_names_the_object() {
    let check = |second: Value, expected: &str| {
        let body = json!([{"url": "a.com"}, second]).to_string();
        let error = plan_of(&body).expect_err("a bad request");
        assert!(error.starts_with(expected), "{error}");
    };
    check(
        json!({"url": "a.com", "limit": "x"}),
        "Deserialization error: [1].limit: invalid type",
    );
    check(
        json!({"url": "a.com", "return_format": ["raw", 3]}),
        "Deserialization error: [1].return_format[1]: ",
    );
    check(json!({"url": "a.com", "request": "curl"}), "[1].request: ");
    check(json!(3), "[1]: ");
    let steps = json!({"/login": [{"Wait": 1}, [{"Click": "#a"}]]});
    check(
        json!({"url": "a.com", "automation_scripts": steps}),
        "[1].automation_scripts./login[1]: is neither an object nor a name",
    );
    let error = refused(json!({"cookies": ["a=b", {"name": "a", "value": "b;"}]}));
    assert!(error.starts_with("cookies[1]: "), "{error}");
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
    check(json!({"return_format": [3]}), "return_format[0]");
    check(json!({"request": {}}), "request");
    check(json!({"headers": []}), "headers");
    check(json!({"headers": {"a": []}}), "headers.a");
    check(json!({"cookies": 3}), "cookies");
    check(json!({"router": "first"}), "router");
    check(json!({"router": {"token": 3}}), "router.token");
    check(json!({"cache": "no"}), "cache");
    check(json!({"cache": {"max_age": "x"}}), "cache.max_age");
    check(json!({"budget": {"*": -1}}), "budget.*");
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
        "cookies[0]",
    );
    check(
        json!({"cookies": [{"nam": "a", "value": "b"}]}),
        "cookies[0]",
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
    let body = json!({
        "url": format!("https://u:{canary}@a.example/x, ftp://u:{canary}@a.example"),
        "evaluate_on_new_document": canary, "execution_scripts": {"*": canary},
        "automation_scripts": {"*": [{"Fill": {"selector": "#p", "value": canary}}, {"Type": canary}, {"Evaluate": canary}]},
    });
    let plan = plan_of(&body.to_string()).expect("a good request");
    assert!(!format!("{plan:?}").contains("canary"));
    let urls = plan.pages.iter().map(|page| match page {
        Ok(page) => (page.requested.as_str(), page.fetch.headers.len()),
        Err(refused) => (refused.requested.as_str(), 0),
    });
    let urls: Vec<_> = urls.collect();
    assert_eq!(urls, [("https://a.example/x", 1), ("ftp://a.example/", 0)]);
    for fields in [
        json!({"automation_scripts": {"*": canary}}),
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

/// The only crawl of a body with these fields.
fn crawl(fields: &Value) -> Result<PlannedCrawl, String> {
    let context = PlanContext {
        catalog: &FakeCatalog,
        defaults: RequestDefaults::default(),
    };
    let request = crawl_request(fields.to_string().as_bytes(), Verb::Scrape, context);
    let mut crawls = request.map_err(|error| error.to_string())?.crawls;
    assert_eq!(crawls.len(), 1);
    Ok(crawls.remove(0))
}

#[test]
fn a_crawl_is_stored_without_its_secrets() {
    let canary = "canary-0123456789";
    let hook = format!("https://u:{canary}@hook.example/x?t={canary}");
    let mut request = json!({
        "url": format!("https://u:{canary}@a.example/x"), "cookies": format!("a={canary}"),
        "headers": {"X-Custom": canary, "Accept": "text/html"}, "execution_scripts": {"*": canary},
        "sitemaps": [format!("https://u:{canary}@a.example/s.xml")], "webhooks": {"destination": hook},
    });
    let planned = crawl(&request).expect("a good request");
    assert!(!planned.request.contains("canary"), "{}", planned.request);
    assert!(!format!("{planned:?}").contains("canary"));
    assert_eq!(
        shown_request(&planned.request, None, &LeftOut::default()).missing_secrets,
        [
            "headers.X-Custom",
            "headers.authorization",
            "cookies",
            "execution_scripts"
        ]
    );
    let sent = planned.plan.seed.fetch.headers.iter();
    let sent: Vec<_> = sent.map(|(name, _)| name.as_str()).collect();
    assert!(sent.contains(&"authorization"), "{sent:?}");
    assert_eq!(
        planned.plan.sitemap.addresses[0].as_str(),
        "https://a.example/s.xml"
    );

    // One that goes on after a restart needs its receiver's URL, which is not shown.
    request["run_in_background"] = true.into();
    let planned = crawl(&request).expect("a good request");
    assert!(planned.needs_secrets && planned.request.contains(&hook));
    let shown = shown_request(&planned.request, None, &LeftOut::default()).json;
    assert!(
        !shown.contains("canary") && shown.contains("https://hook.example/x"),
        "{shown}"
    );
    let harmless =
        json!({"url": "a.example", "headers": {"Accept": "x", "User-Agent": "y"}, "cookies": ""});
    assert!(!crawl(&harmless).expect("a good request").needs_secrets);

    for (field, value) in [
        ("sitemaps", json!([format!("ftp://u:{canary}@a.example")])),
        (
            "external_domains",
            json!([format!("https://u:{canary}@a b/")]),
        ),
        (
            "webhooks",
            json!({"destination": format!("ftp://u:{canary}@a.example")}),
        ),
        ("url", json!(format!("ftp://u:{canary}@a.example"))),
    ] {
        let mut request = request.clone();
        request[field] = value;
        let refusal = crawl(&request).expect_err(field);
        assert!(!refusal.contains("canary"), "{field}: {refusal}");
    }
}

#[test]
fn hosts_with_passwords_are_planned_as_they_are_stored() {
    let of = |domains: Value| {
        let fields = json!({"url": "a.example", "external_domains": domains});
        crawl(&fields)
    };
    let domains = json!(["u*:canary@b.example", "https://u:canary@c.example"]);
    let planned = of(domains).expect("two hosts");
    assert!(!planned.request.contains("canary"), "{}", planned.request);
    let defaults = RequestDefaults::default();
    let again = crawl_plan(&planned.request, "crawl", &FakeCatalog, defaults);
    let again = again.expect("a stored request");
    for plan in [&planned.plan, &again] {
        let external = &plan.scope.external;
        let allowed = ["b.example", "c.example", "d.example"].map(|host| external.allow(host));
        assert_eq!(allowed, [true, true, false]);
    }
    // It was a regular expression because of its user name alone, and would be none once stored.
    let refusal = of(json!(["canary*@h<"])).expect_err("no host");
    assert!(refusal.starts_with("external_domains: `h<` "), "{refusal}");
}

#[test]
fn a_seed_that_can_never_be_fetched_refuses_the_crawl_by_its_name() {
    let crawl = |body: Value, verb| {
        let context = PlanContext {
            catalog: &FakeCatalog,
            defaults: RequestDefaults::default(),
        };
        crawl_request(body.to_string().as_bytes(), verb, context)
    };
    for bad in ["ftp://b.example/x", "http://[::1", "http://b.example:99999"] {
        let body = json!({"url": format!("https://a.example/,{bad}")});
        let error = crawl(body, Verb::Scrape).expect_err("a bad seed");
        assert!(error.to_string().starts_with("url"), "{error}");
    }
    // A text may mention what cannot be fetched, as long as it mentions a page as well.
    let crawl_text = |text: &str| {
        let verb = Verb::Pipeline(trawl_plan::Pipeline::CrawlText);
        crawl(json!({ "text": text }), verb)
    };
    let planned = crawl_text("see https://a.example/ or http://b.example:99999/").expect("a page");
    assert_eq!(planned.crawls.len(), 1);
}

#[test]
fn a_stored_text_says_how_many_of_its_urls_are_left_out() {
    let context = PlanContext {
        catalog: &FakeCatalog,
        defaults: RequestDefaults::default(),
    };
    let pipeline = trawl_plan::Pipeline::CrawlText;
    let text = |n: usize| -> String {
        let urls = (0..n).map(|n| format!("https://a.example/{n} "));
        urls.collect()
    };
    for in_background in [false, true] {
        for (n, expected) in [(2, "2 URLs"), (100_004, "100000 of 100004 URLs")] {
            let body = json!({"text": text(n), "run_in_background": in_background});
            let verb = Verb::Pipeline(pipeline);
            let planned = crawl_request(body.to_string().as_bytes(), verb, context);
            let crawl = planned.expect("a good request").crawls.remove(0);
            let found = crawl.plan.named.expect("the URLs of the text");
            let left_out = LeftOut::of_urls(found.n_dropped.into());
            assert_eq!(left_out.urls, (n > 100_000).then_some(4));
            let shown = shown_request(&crawl.request, Some(pipeline), &left_out).json;
            let shown: Value = serde_json::from_str(&shown).expect("an object");
            assert_eq!(shown["text"], expected, "{in_background}");
        }
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

#[test]
fn the_seeds_of_an_object_are_one_crawl_also_when_it_is_planned_again() {
    let context = || PlanContext {
        catalog: &FakeCatalog,
        defaults: RequestDefaults::default(),
    };
    let crawls = |body: Value| {
        let request = crawl_request(body.to_string().as_bytes(), Verb::Scrape, context());
        request.expect("a good request").crawls
    };
    let seeds = "a.com/x,y,https://user:word@b.com/1, c.com";
    let object = json!({"url": seeds, "limit": 7, "sitemap_path": "/map.xml"});
    let planned = crawls(json!([object, {"url": "d.com"}]));
    assert_eq!(planned.len(), 2, "an object is a crawl");
    let plan = &planned[0].plan;
    assert_eq!(plan.seed.url.as_str(), "https://a.com/x,y");
    let roots = |plan: &CrawlPlan| {
        let roots = plan.roots.iter().map(|root| root.url.to_string());
        roots.collect::<Vec<_>>()
    };
    assert_eq!(roots(plan), ["https://b.com/1", "https://c.com/"]);
    let has_password = plan.seeds().map(|seed| !seed.fetch.headers.is_empty());
    assert_eq!(has_password.collect::<Vec<_>>(), [false, true, false]);
    assert_eq!((plan.limit, plan.sitemap.addresses.len()), (Some(7), 3));
    let stored = &planned[0].request;
    assert!(
        planned[0].needs_secrets && !stored.contains("word"),
        "{stored}"
    );
    let defaults = RequestDefaults::default();
    let again = crawl_plan(stored, "crawl", &FakeCatalog, defaults).expect("a stored request");
    assert_eq!(
        (again.seed.url.as_str(), again.limit),
        ("https://a.com/x,y", Some(7))
    );
    assert_eq!(roots(&again), ["https://b.com/1", "https://c.com/"]);
    // The bound on seeds is that of the request.
    let many = vec!["a.com"; 60].join(",");
    let body = json!([{"url": many}, {"url": many}]).to_string();
    let refused = crawl_request(body.as_bytes(), Verb::Scrape, context());
    let refused = refused.expect_err("too many").to_string();
    assert!(refused.contains("more seeds"), "{refused}");
}

#[test]
fn a_background_crawl_has_one_password() {
    let context = || PlanContext {
        catalog: &FakeCatalog,
        defaults: RequestDefaults::default(),
    };
    let plan = |body: Value| crawl_request(body.to_string().as_bytes(), Verb::Scrape, context());
    for seeds in [
        "https://u:one@a.com/,https://u:two@b.com/",
        "https://u:one@a.com/,https://b.com/",
    ] {
        let refused = plan(json!({"url": seeds, "run_in_background": true}));
        let refused = refused.expect_err("different passwords").to_string();
        assert!(
            refused.starts_with("url: seeds with different"),
            "{refused}"
        );
        assert!(!refused.contains("one@"), "{refused}");
        assert!(plan(json!({"url": seeds})).is_ok(), "it streams");
        let own =
            json!({"url": seeds, "run_in_background": true, "headers": {"Authorization": "x"}});
        assert!(plan(own).is_ok(), "the caller's own goes to all of them");
    }
    let same = "https://u:one@a.com/,https://u:one@b.com/";
    let same = plan(json!({"url": same, "run_in_background": true}));
    assert!(same.expect("one password").crawls[0].needs_secrets);
    let objects = ["https://u:one@a.com/", "https://u:two@b.com/"];
    let objects = objects.map(|url| json!({"url": url, "run_in_background": true}));
    assert_eq!(plan(json!(objects)).expect("two crawls").crawls.len(), 2);
}
