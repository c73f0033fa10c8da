//! Which parameters have an effect, which are named because they have none, and what is refused.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use trawl_model::{ModelSize, Terms};
use trawl_plan::parameters::{self, Object, Parameter, Route, Shape};
use trawl_plan::testing::FakeCatalog;
use trawl_plan::{Catalog, ConfiguredPool, Ignored, PagePlan, Pipeline, PluginKind, Pool};

use super::*;

/// A catalogue with everything that a parameter may stand for.
struct Everything;

impl Catalog for Everything {
    fn has(&self, kind: PluginKind, name: &str) -> bool {
        kind == PluginKind::Analyst || name == "hidden_text" || FakeCatalog.has(kind, name)
    }

    fn names(&self, kind: PluginKind) -> Vec<String> {
        FakeCatalog.names(kind)
    }

    fn own_credentials(&self) -> Vec<(String, String)> {
        FakeCatalog.own_credentials()
    }

    fn check_options(&self, kind: PluginKind, name: &str, options: &Value) -> Result<(), String> {
        FakeCatalog.check_options(kind, name, options)
    }
}

/// What a request becomes: all of its plan as text, and the parameters without effect.
struct Planned {
    plan: String,
    ignored: Ignored,
}

impl Planned {
    fn names(&self) -> Vec<&str> {
        self.ignored.names().iter().map(String::as_str).collect()
    }
}

fn on(route: Route, terms: Terms, body: &Value) -> Result<Planned, String> {
    let isp = ConfiguredPool {
        pool: Pool::Isp,
        countries: vec!["DE".to_owned()],
    };
    let model = KnownModel {
        name: "small",
        size: ModelSize {
            context_tokens: 8_192,
            answer_tokens: 1_024,
        },
    };
    let context = PlanContext {
        catalog: &Everything,
        defaults: RequestDefaults {
            pools: &[isp],
            terms,
            model: Some(model),
            ..RequestDefaults::default()
        },
    };
    let body = body.to_string();
    let (verb, is_crawl) = match route {
        Route::Scrape => (Verb::Scrape, false),
        Route::Unblocker => (Verb::Unblocker, false),
        Route::Screenshot => (Verb::Screenshot, false),
        Route::Crawl => (Verb::Scrape, true),
        Route::Links => (Verb::Links, true),
        Route::Pipeline(pipeline) => (Verb::Pipeline(pipeline), true),
        Route::Transform => {
            let plan = transform_plan(body.as_bytes(), &Everything);
            let plan = plan.map_err(|error| error.to_string())?;
            return Ok(Planned {
                plan: format!("{:?} {:?}", plan.sources, plan.output),
                ignored: plan.ignored,
            });
        }
    };
    if !is_crawl {
        let plan = scrape_plan(body.as_bytes(), verb, context);
        let plan = plan.map_err(|error| error.to_string())?;
        let pages = plan.pages.iter().flatten().map(page);
        return Ok(Planned {
            plan: pages.collect(),
            ignored: plan.ignored,
        });
    }
    let request = crawl_request(body.as_bytes(), verb, context);
    let request = request.map_err(|error| error.to_string())?;
    let crawls = request.crawls.iter().map(|crawl| {
        let plan = &crawl.plan;
        let seeds = plan.seeds().map(page).collect::<String>();
        let found = plan.named.as_ref().map(|found| found.len());
        format!("{plan:?} {seeds} {found:?}")
    });
    Ok(Planned {
        plan: crawls.collect(),
        ignored: request.ignored,
    })
}

/// All of a page's plan, also what its debug text leaves out.
fn page(plan: &PagePlan) -> String {
    let (fetch, render) = (&plan.fetch, &plan.render);
    let router = &plan.router;
    format!(
        "{plan:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?}",
        fetch.headers,
        fetch.cookies,
        fetch.user_agent,
        fetch.locale,
        fetch.country_code,
        render.before_load,
        render.scripts.find("/"),
        render.automation.find("/"),
        router.token.is_some(),
        router.credentials.keys().collect::<Vec<_>>(),
        router.funding,
        plan.output.formats,
    )
}

const ROUTES: [Route; 11] = [
    Route::Scrape,
    Route::Unblocker,
    Route::Screenshot,
    Route::Crawl,
    Route::Links,
    Route::Transform,
    Route::Pipeline(Pipeline::ExtractContacts),
    Route::Pipeline(Pipeline::ExtractQa),
    Route::Pipeline(Pipeline::Label),
    Route::Pipeline(Pipeline::FilterLinks),
    Route::Pipeline(Pipeline::CrawlText),
];

/// The least request of a route, in which a parameter may have its effect.
fn base(route: Route, row: &Parameter) -> Value {
    let mut base = match route {
        Route::Transform => json!({"data": [{"html": "<p>"}]}),
        Route::Pipeline(Pipeline::CrawlText) => json!({"text": "https://a.com/"}),
        _ => json!({"url": "https://a.com/"}),
    };
    let more = match row.name {
        "country_code" => json!({"proxy": "isp"}),
        "proxy" => json!({"proxy": "standard"}),
        "respect_robots" => json!({"respect_robots": false}),
        "full_page" | "omit_background" | "clip" | "binary" => {
            json!({"return_format": "screenshot"})
        }
        "format_options" => json!({"return_format": "markdown"}),
        "link_rewrite" => json!({"return_page_links": true}),
        "root_selector" | "exclude_selector" | "filters" => json!({"metadata": true}),
        name if name.starts_with("filter_") => json!({"metadata": true}),
        _ => json!({}),
    };
    for (name, value) in more.as_object().expect("an object") {
        base[name] = value.clone();
    }
    base
}

fn with(mut body: Value, name: &str, value: Value) -> Value {
    body[name] = value;
    body
}

fn example(row: &Parameter) -> Value {
    serde_json::from_str(row.example).expect("JSON")
}

#[test]
fn a_parameter_changes_the_plan_or_is_named() {
    let mut n_effects = 0;
    for row in parameters::all() {
        // It has its effect by being the configured one.
        if row.name == "model" {
            continue;
        }
        for route in ROUTES {
            let base = base(route, row);
            let without = on(route, Terms::PayAsYouGo, &base).expect("a good request");
            let body = with(base.clone(), row.name, example(row));
            let with = on(route, Terms::PayAsYouGo, &body);
            let with = with.unwrap_or_else(|error| panic!("{route:?} {body}: {error}"));
            let is_named = with.names().contains(&row.name);
            let has_effect = with.plan != without.plan;
            assert!(has_effect || is_named, "{route:?} {body}");
            n_effects += usize::from(has_effect && !is_named);
            // What every route of the row needs is met by its base.
            assert!(is_named || row.routes.has(route), "{route:?} {body}");
        }
    }
    assert!(n_effects > 300, "{n_effects}");
}

#[track_caller]
fn check(route: Route, body: Value, expected: &[&str]) {
    let mut body = body;
    if !matches!(
        route,
        Route::Transform | Route::Pipeline(Pipeline::CrawlText)
    ) {
        body["url"] = json!("a.com");
    }
    let planned = on(route, Terms::PayAsYouGo, &body).expect("a good request");
    let names: BTreeSet<&str> = planned.names().into_iter().collect();
    assert_eq!(
        names,
        expected.iter().copied().collect(),
        "{route:?} {body}"
    );
}

#[test]
fn what_a_route_does_not_use_is_named() {
    let outputs = json!({
        "return_format": "markdown", "chunking_alg": "words", "max_size": 3, "readability": true,
        "clean_html": true, "format_options": {"markdown": {}},
    });
    let all = [
        "return_format",
        "chunking_alg",
        "max_size",
        "readability",
        "clean_html",
        "format_options",
    ];
    check(Route::Links, outputs.clone(), &all);
    check(Route::Screenshot, outputs.clone(), &all);
    check(Route::Pipeline(Pipeline::ExtractQa), outputs.clone(), &all);
    check(Route::Unblocker, outputs.clone(), &["clean_html"]);
    check(Route::Crawl, outputs, &["clean_html"]);
    check(
        Route::Links,
        json!({"return_page_links": true}),
        &["return_page_links"],
    );
    check(Route::Screenshot, json!({"return_format": "bytes"}), &[]);
    for route in [Route::Screenshot, Route::Unblocker] {
        check(route, json!({"request": "http"}), &["request"]);
    }
    let bytes = json!({"return_format": "bytes", "chunking_alg": "words", "max_size": 3});
    check(Route::Scrape, bytes, &["chunking_alg"]);
    let nothing = json!({"return_format": "empty", "max_size": 3, "root_selector": "a"});
    check(Route::Scrape, nothing, &["max_size", "root_selector"]);
    let in_background = json!({"run_in_background": true});
    check(
        Route::Pipeline(Pipeline::FilterLinks),
        in_background.clone(),
        &["run_in_background"],
    );
    check(Route::Crawl, in_background, &[]);
}

#[test]
fn what_the_mode_does_not_use_is_named() {
    let cache = json!({"max_age": 0, "allow_stale": true, "skip_browser": true});
    let check = |body: Value, expected: &[&str]| check(Route::Scrape, body, expected);
    check(json!({"cache": cache}), &[]);
    check(json!({"cache": cache, "request": "http"}), &[]);
    check(
        json!({"cache": cache, "request": "browser"}),
        &["cache.allow_stale", "cache.skip_browser"],
    );
    check(json!({"cache": cache, "cookies": "a=b"}), &["cache"]);
    check(json!({"cache": false, "cookies": "a=b"}), &[]);
    let script = json!({"*": "1"});
    check(
        json!({"cache": true, "execution_scripts": script}),
        &["cache"],
    );
    check(
        json!({"cache": true, "execution_scripts": script, "request": "http"}),
        &["execution_scripts"],
    );
    check(
        json!({"wait_for": {"dom": {}}, "request": "http"}),
        &["wait_for"],
    );
    check(json!({"viewport": {"width": 300}}), &[]);
}

#[test]
fn the_unlimited_plan_has_no_ceilings() {
    let body = json!({
        "url": "a.com", "max_credits_per_page": 1, "max_credits_allowed": 1, "limit": 1,
        "webhooks": {"destination": "https://a.com/", "on_find": true, "on_credits_depleted": true},
    });
    let planned = on(Route::Crawl, Terms::Unlimited, &body).expect("a good request");
    let mut names = planned.names();
    names.sort_unstable();
    let expected = [
        "max_credits_allowed",
        "max_credits_per_page",
        "webhooks.on_credits_depleted",
    ];
    assert_eq!(names, expected);
}

#[test]
fn what_a_router_does_not_use_is_named() {
    let check = |terms: Terms, router: Value, expected: &[&str]| {
        let body = json!({"url": "a.com", "router": router});
        let planned = on(Route::Scrape, terms, &body).expect("a good request");
        assert_eq!(planned.names(), expected, "{body}");
    };
    let paid = Terms::PayAsYouGo;
    check(paid, json!({}), &[]);
    check(
        paid,
        json!({"mode": " Fallback", "provider": "PROVIDER_1", "token": "x"}),
        &[],
    );
    check(paid, json!({"mode": "last"}), &["router.mode"]);
    check(paid, json!({"token": "x"}), &["router.token"]);
    check(
        paid,
        json!({"provider": "nobody", "token": "x"}),
        &["router.provider", "router.token"],
    );
    // The second needs two secrets, so it takes none from a request; the third is not loaded.
    for provider in ["provider_2", "provider_10", "provider_3"] {
        let idle: &[&str] = match provider {
            "provider_2" => &[],
            _ => &["router.token"],
        };
        check(paid, json!({"provider": provider, "token": "x"}), idle);
    }
    check(paid, json!({"funding": "mine"}), &["router.funding"]);
    check(paid, json!({"funding": "any"}), &[]);
    check(
        Terms::Unlimited,
        json!({"funding": "any"}),
        &["router.funding"],
    );
    check(Terms::Unlimited, json!({"funding": "own"}), &[]);
    let all =
        json!({"mode": "off", "provider": "provider_1", "token": "x", "credentials": {"A": "b"}});
    let expected = [
        "router.credentials",
        "router.credentials.*",
        "router.provider",
        "router.token",
    ];
    let planned = on(Route::Scrape, paid, &json!({"url": "a.com", "router": all}));
    let planned = planned.expect("a good request");
    let mut names = planned.names();
    names.sort_unstable();
    assert_eq!(names, expected);
}

#[test]
fn credentials_that_no_provider_takes_are_named() {
    let check = |credentials: Value, names: &[&str], hints: &[&str]| {
        let body = json!({"url": "a.com", "router": {"credentials": credentials}});
        let planned = on(Route::Scrape, Terms::PayAsYouGo, &body).expect("a good request");
        assert_eq!(planned.names(), names, "{body}");
        assert_eq!(planned.ignored.hints(), hints, "{body}");
    };
    let good = json!({"PROVIDER1_API_KEY": "x", "ACME_TOKEN": "y"});
    check(good, &[], &[]);
    check(json!({"NO_SUCH_KEY": null, "BLANK_KEY": " "}), &[], &[]);
    check(
        json!({"NO_SUCH_KEY": "x", "PROVIDER3_API_KEY": "y"}),
        &[
            "router.credentials.NO_SUCH_KEY",
            "router.credentials.PROVIDER3_API_KEY",
        ],
        // The names of two providers are equally close.
        &[],
    );
    check(
        json!({"acme-token": "x"}),
        &["router.credentials.acme-token"],
        &["router.credentials.acme-token=router.credentials.ACME_TOKEN"],
    );
    // A key in the place of its name is not repeated.
    for key in ["canary0123456789abcdef", "CANARY0123", "A B_C", "Ü_X", ""] {
        check(json!({key: "ACME_TOKEN"}), &["router.credentials.*"], &[]);
    }
    let mut many = Map::new();
    (0..32).for_each(|n| drop(many.insert(format!("KEY_{n}"), "x".into())));
    let body = json!({"url": "a.com", "router": {"credentials": many.clone()}});
    let planned = on(Route::Scrape, Terms::PayAsYouGo, &body).expect("a good request");
    assert_eq!(planned.names().len(), 32);
    many.insert("KEY_32".to_owned(), "x".into());
    let body = json!({"url": "a.com", "router": {"credentials": many}});
    let refused = on(Route::Scrape, Terms::PayAsYouGo, &body).err();
    assert!(refused.is_some_and(|error| error.contains("too many")));
}

#[test]
fn ten_thousand_unknown_keys_make_a_short_header() {
    let keys = |n: usize| -> Map<String, Value> {
        let keys = (0..n).map(|n| (format!("unknown_{n}"), json!(1)));
        keys.collect()
    };
    let mut flat = keys(900);
    flat.insert("url".to_owned(), json!("a.com"));
    let nested = json!({"url": "a.com", "cache": keys(9_999)});
    let object = |n: usize| json!({"url": "a.com", "cache": {format!("unknown_{n}"): 1}});
    let objects = (0..10_000).map(object).collect();
    for body in [flat.into(), nested, objects] {
        let planned = on(Route::Scrape, Terms::PayAsYouGo, &body).expect("a good request");
        let names = planned.ignored.names().join(", ");
        assert!(names.len() <= 2_048 && names.ends_with(", ..."), "{names}");
        assert!(planned.ignored.hints().join(", ").len() <= 2_048);
    }
}

#[test]
fn of_two_names_for_one_parameter_one_is_named() {
    let hook = json!({"destination": "https://a.com/", "url": "https://b.com/", "on_find": true});
    check(
        Route::Crawl,
        json!({"webhooks": hook, "webhook": hook}),
        &["webhook", "webhooks.url"],
    );
    check(
        Route::Crawl,
        json!({"webhook": {"url": "https://b.com/", "on_find": true}}),
        &[],
    );
    let silent = json!({"destination": "https://a.com/", "on_find": false});
    check(Route::Crawl, json!({"webhooks": silent}), &["webhooks"]);
    check(
        Route::Pipeline(Pipeline::ExtractContacts),
        json!({"prompt": "a", "custom_prompt": "b"}),
        &["custom_prompt"],
    );
}

#[test]
fn a_key_of_the_other_type_of_link_rewrite_is_named() {
    let of = |kind: &str| {
        let rule = json!({"type": kind, "find": "a", "pattern": "b"});
        json!({"return_page_links": true, "link_rewrite": rule})
    };
    check(Route::Scrape, of("replace"), &["link_rewrite.pattern"]);
    check(Route::Crawl, of("Regex"), &["link_rewrite.find"]);
}

#[test]
fn unknown_keys_are_named_with_their_path_and_the_closest_right_one() {
    let check = |body: Value, name: &str, hint: &str| {
        let mut body = body;
        body["url"] = json!("a.com");
        let planned = on(Route::Crawl, Terms::PayAsYouGo, &body).expect("a good request");
        assert_eq!(planned.names(), [name], "{body}");
        let hints: &[&str] = if hint.is_empty() { &[] } else { &[hint] };
        assert_eq!(planned.ignored.hints(), hints, "{body}");
    };
    let hook = |key: &str| json!({"webhooks": {"destination": "https://a.com/", "on_find": true, key: true}});
    check(
        hook("on_fnd_metadata"),
        "webhooks.on_fnd_metadata",
        "webhooks.on_fnd_metadata=webhooks.on_find_metadata",
    );
    check(hook("secret"), "webhooks.secret", "");
    let silent =
        json!({"url": "a.com", "webhooks": {"destination": "https://a.com/", "on_fnd": true}});
    let planned = on(Route::Crawl, Terms::PayAsYouGo, &silent).expect("a good request");
    assert_eq!(planned.names(), ["webhooks", "webhooks.on_fnd"]);
    assert_eq!(
        planned.ignored.hints(),
        ["webhooks.on_fnd=webhooks.on_find"]
    );
    check(
        json!({"cache": {"maxAge": 0}}),
        "cache.maxAge",
        "cache.maxAge=cache.max_age",
    );
    check(
        json!({"crawl_timeout": {"seconds": 60}}),
        "crawl_timeout.seconds",
        "crawl_timeout.seconds=crawl_timeout.secs",
    );
    check(
        json!({"viewport": {"heigth": 60}}),
        "viewport.heigth",
        "viewport.heigth=viewport.height",
    );
    check(
        json!({"router": {"mod": "off"}}),
        "router.mod",
        "router.mod=router.mode",
    );
    check(json!({"wait_for": {"idle": {}}}), "wait_for.idle", "");
    check(
        json!({"wait_for": {"selector": {"selector": "a", "timout": 1}}}),
        "wait_for.selector.timout",
        "wait_for.selector.timout=wait_for.selector.timeout",
    );
    check(
        json!({"cookies": [{"name": "a", "value": "b", "domain": "c"}, {"name": "a", "value": "b", "domain": "c"}]}),
        "cookies[].domain",
        "",
    );
    check(
        json!({"automation_scripts": {"/a": [
            {"Click": "#a"},
            {"type": "Fill", "selector": "a", "value": "b", "selectr": 1},
        ]}}),
        "automation_scripts./a[].selectr",
        "automation_scripts./a[].selectr=automation_scripts./a[].selector",
    );
    check(
        json!({"automation_scripts": {"*": [{"Fill": {"selector": "a", "value": "b", "by": 1}}]}}),
        "automation_scripts.*[].Fill.by",
        "",
    );
    check(json!({"max_pages": 1}), "max_pages", "max_pages=limit");
    check(
        json!({"returnFormat": "text"}),
        "returnFormat",
        "returnFormat=return_format",
    );
    check(json!({"stealth": true}), "stealth", "");
    // What is in an object without effect is not named beside it.
    let planned = on(
        Route::Scrape,
        Terms::PayAsYouGo,
        &json!({"url": "a.com", "webhooks": {"on_fnd": true}, "limt": 3}),
    );
    let planned = planned.expect("a good request");
    assert_eq!(planned.names(), ["webhooks", "limt"]);
    assert!(planned.ignored.hints().is_empty());
}

#[test]
fn ranges_are_those_of_the_tables() {
    fn range(shape: &Shape) -> Option<parameters::Range> {
        match shape {
            Shape::Count(range) => Some(*range),
            Shape::Either(shapes) => shapes.iter().find_map(range),
            _ => None,
        }
    }
    let mut n_bounded = 0;
    for row in parameters::all() {
        let Some(range) = range(&row.shape).filter(|range| range.most < u64::MAX) else {
            continue;
        };
        let route = ROUTES.into_iter().find(|route| row.routes.has(*route));
        let route = route.expect("a route");
        let check = |value: u64, is_fine: bool| {
            let body = with(base(route, row), row.name, value.into());
            let planned = on(route, Terms::PayAsYouGo, &body);
            assert_eq!(planned.is_ok(), is_fine, "{body}: {:?}", planned.err());
        };
        check(range.most, true);
        check(range.most + 1, !range.is_refused);
        check(range.least, true);
        if let Some(below) = range.least.checked_sub(1) {
            check(below, !range.is_refused);
        }
        n_bounded += 1;
    }
    assert_eq!(n_bounded, 6);
}

#[test]
fn times_are_numbers_or_objects() {
    let same = |route: Route, name: &str, forms: &[Value]| {
        let plan = |form: &Value| {
            let body = json!({"url": "a.com", name: form});
            on(route, Terms::PayAsYouGo, &body).unwrap_or_else(|error| panic!("{body}: {error}"))
        };
        let first = plan(&forms[0]);
        assert!(first.names().is_empty(), "{name}: {:?}", first.names());
        let unset = on(route, Terms::PayAsYouGo, &json!({"url": "a.com"})).expect("a request");
        assert_ne!(first.plan, unset.plan, "{name}");
        for form in forms {
            assert_eq!(plan(form).plan, first.plan, "{name}: {form}");
        }
    };
    let of_two_seconds = |number: u64| {
        let exact = json!({"secs": 2, "nanos": 0});
        let wrapped = json!({ "timeout": exact });
        [
            json!(number),
            exact,
            json!({"secs": 2}),
            wrapped,
            json!({ "timeout": number }),
        ]
    };
    let millis = of_two_seconds(2_000);
    let seconds = of_two_seconds(2);
    same(Route::Crawl, "crawl_timeout", &seconds);
    same(Route::Crawl, "delay", &millis);
    same(Route::Scrape, "scroll", &millis);
    same(Route::Scrape, "wait_for", &millis);
    same(Route::Scrape, "request_timeout", &millis);
    for condition in [
        "delay",
        "idle_network",
        "idle_network0",
        "almost_idle_network0",
    ] {
        let form = |time: &Value| json!({ (condition): time });
        same(Route::Scrape, "wait_for", &millis.each_ref().map(form));
    }
    let of_selector = |time: &Value| json!({"selector": {"selector": "a", "timeout": time}});
    same(
        Route::Scrape,
        "wait_for",
        &[of_selector(&millis[0]), of_selector(&millis[1])],
    );
    let cache = |time: &Value| json!({ "max_age": time });
    same(Route::Scrape, "cache", &millis.each_ref().map(cache));
    let step = |time: &Value| json!({"*": [{"WaitFor": {"selector": "a", "timeout": time}}]});
    same(
        Route::Scrape,
        "automation_scripts",
        &millis.each_ref().map(step),
    );
    // Zero is no bound, and an object without a time is not set.
    for form in [
        json!(0),
        json!({}),
        json!({"timeout": {}}),
        json!({"secs": 0}),
    ] {
        let body = json!({"url": "a.com", "crawl_timeout": form});
        let planned = on(Route::Crawl, Terms::PayAsYouGo, &body).expect("a request");
        assert!(planned.plan.contains("timeout: None"), "{body}");
    }
    let long = json!({"url": "a.com", "delay": {"secs": 61}});
    let refusal = on(Route::Crawl, Terms::PayAsYouGo, &long).err();
    assert_eq!(
        refusal.as_deref(),
        Some("delay: must be 0 to 60000 milliseconds")
    );
}

/// Sees a place in a request: its path, its shape, and how a value there becomes a request.
type Visit<'a> = &'a mut dyn FnMut(&str, &Shape, &dyn Fn(Value) -> Value);

/// Calls `visit` with every place in a request.
fn each_place(visit: Visit<'_>) {
    fn keys(object: &'static Object, path: &str, wrap: &dyn Fn(Value) -> Value, visit: Visit<'_>) {
        for row in object.rows {
            let wrap = |value: Value| {
                wrap(Value::Object(Map::from_iter([(
                    row.name.to_owned(),
                    value,
                )])))
            };
            place(&row.shape, &format!("{path}.{}", row.name), &wrap, visit);
        }
    }
    fn place(shape: &'static Shape, path: &str, wrap: &dyn Fn(Value) -> Value, visit: Visit<'_>) {
        visit(path, shape, wrap);
        match shape {
            Shape::Object(object) => keys(object, path, wrap, visit),
            Shape::List(item) => {
                let wrap = |value: Value| wrap(json!([null, value]));
                place(item, &format!("{path}[1]"), &wrap, visit);
            }
            Shape::Map(_, of) => {
                let wrap = |value: Value| wrap(json!({ "/a": value }));
                place(of, &format!("{path}./a"), &wrap, visit);
            }
            Shape::Either(shapes) => {
                for shape in shapes.iter() {
                    if !matches!(shape, Shape::Object(_) | Shape::List(_)) {
                        continue;
                    }
                    // The whole was visited.
                    match shape {
                        Shape::Object(object) => keys(object, path, wrap, visit),
                        other => place(other, path, wrap, &mut |at, shape, wrap| {
                            if at != path {
                                visit(at, shape, wrap);
                            }
                        }),
                    }
                }
            }
            _ => {}
        }
    }
    for row in parameters::all() {
        let wrap = |value: Value| json!({ (row.name): value });
        place(&row.shape, row.name, &wrap, visit);
    }
}

#[test]
fn a_wrong_type_is_refused_with_its_path_at_every_level() {
    let values = [
        json!(true),
        json!(1.5),
        json!(-1),
        json!("x"),
        json!([[]]),
        json!({"a": [[]]}),
    ];
    let may_be = |shape: &Shape, value: &Value| -> bool {
        fn fits(shape: &Shape, value: &Value) -> bool {
            match shape {
                Shape::Switch => value.is_boolean(),
                Shape::Count(_) => value.is_u64(),
                Shape::Number(_) => value.is_number(),
                Shape::Text(_) | Shape::Name(_) => value.is_string(),
                Shape::Scalar => !value.is_array() && !value.is_object(),
                // What is in it has a path of its own.
                Shape::List(_) | Shape::Bytes => value.is_array(),
                Shape::Object(_) | Shape::Map(..) | Shape::Options(_) => value.is_object(),
                Shape::Either(shapes) => shapes.iter().any(|shape| fits(shape, value)),
                Shape::Steps | Shape::Any(..) => true,
            }
        }
        fits(shape, value)
    };
    let mut n_refused = 0;
    each_place(&mut |path, shape, wrap| {
        for value in &values {
            if may_be(shape, value) {
                continue;
            }
            let mut body = wrap(value.clone());
            let row = path.split(['.', '[']).next().and_then(parameters::find);
            let row = row.expect("a row");
            let route = ROUTES.into_iter().find(|route| row.routes.has(*route));
            let route = route.expect("a route");
            if route != Route::Transform && body.get("url").is_none() {
                body["url"] = json!("a.com");
            }
            let refusal = on(route, Terms::PayAsYouGo, &body).err();
            let refusal = refusal.unwrap_or_else(|| panic!("{body} was accepted"));
            let expected = format!("Deserialization error: {path}: ");
            assert!(refusal.starts_with(&expected), "{body}: {refusal}");
            n_refused += 1;
        }
    });
    assert!(n_refused > 500, "{n_refused}");
}
