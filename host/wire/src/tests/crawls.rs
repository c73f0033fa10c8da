//! Crawls: their seeds, and how they are stored and planned again.

use serde_json::{Value, json};

use trawl_plan::crawl::CrawlPlan;
use trawl_plan::testing::FakeCatalog;

use crate::{
    Omitted, PlanContext, PlannedCrawl, RequestDefaults, Verb, crawl_plan, crawl_request,
    shown_request,
};

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
        shown_request(&planned.request, None, &Omitted::default()).missing_secrets,
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
    let shown = shown_request(&planned.request, None, &Omitted::default()).json;
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
            let left_out = Omitted::of_urls(found.n_dropped.into());
            assert_eq!(left_out.urls, (n > 100_000).then_some(4));
            let shown = shown_request(&crawl.request, Some(pipeline), &left_out).json;
            let shown: Value = serde_json::from_str(&shown).expect("an object");
            assert_eq!(shown["text"], expected, "{in_background}");
        }
    }
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
