//! Which parameters have an effect, which are named because they have none, and what is refused.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use trawl_model::{ModelSize, Terms};
use trawl_parameters::{self as parameters, Object, Parameter, Route, Shape};
use trawl_plan::testing::FakeCatalog;
use trawl_plan::{Catalog, ConfiguredPool, Ignored, PagePlan, Pipeline, PluginKind, Pool};

use crate::{
    KnownModel, MapRequest, PlanContext, RequestDefaults, Verb, map_request, runs, scrape_plan,
    search_request, transform_plan,
};

/// A catalogue with everything that a parameter may name.
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
    let model = KnownModel {
        name: "small",
        size: ModelSize {
            context_tokens: 8_192,
            answer_tokens: 1_024,
        },
    };
    on_server(Some(model), route, terms, body)
}

/// The same on a server with this model, or without any.
fn on_server(
    model: Option<KnownModel<'_>>,
    route: Route,
    terms: Terms,
    body: &Value,
) -> Result<Planned, String> {
    let isp = ConfiguredPool {
        pool: Pool::Isp,
        countries: vec!["DE".to_owned()],
    };
    let context = PlanContext {
        catalog: &Everything,
        defaults: RequestDefaults {
            pools: &[isp],
            terms,
            model,
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
        Route::Map => return mapped(&body, context),
        Route::Batch => (Verb::Batch, true),
        Route::Search => return searched(&body, context),
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
    let request = runs(body.as_bytes(), verb, context);
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

fn mapped(body: &str, context: PlanContext<'_>) -> Result<Planned, String> {
    let request = map_request(body.as_bytes(), context);
    let MapRequest { plan, ignored } = request.map_err(|error| error.to_string())?;
    Ok(Planned {
        plan: format!("{plan:?} {}", page(&plan.site.seed)),
        ignored,
    })
}

fn searched(body: &str, context: PlanContext<'_>) -> Result<Planned, String> {
    let request = search_request(body.as_bytes(), context).map_err(|error| error.to_string())?;
    let pages = request
        .pages
        .map(|pages| pages.plans(&["https://a.com/".to_owned()]));
    let pages = pages.iter().flatten().flatten().map(page);
    Ok(Planned {
        plan: format!("{:?} {}", request.plan, pages.collect::<String>()),
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

const ROUTES: [Route; 14] = [
    Route::Scrape,
    Route::Unblocker,
    Route::Screenshot,
    Route::Crawl,
    Route::Links,
    Route::Map,
    Route::Batch,
    Route::Transform,
    Route::Pipeline(Pipeline::ExtractContacts),
    Route::Pipeline(Pipeline::ExtractQa),
    Route::Pipeline(Pipeline::Label),
    Route::Pipeline(Pipeline::FilterLinks),
    Route::Pipeline(Pipeline::CrawlText),
    Route::Search,
];

/// The least request of a route, in which a parameter may have its effect.
fn base(route: Route, row: &Parameter) -> Value {
    let mut base = match route {
        Route::Transform => json!({"data": [{"html": "<p>"}]}),
        Route::Batch => json!({"urls": ["https://a.com/"]}),
        Route::Pipeline(Pipeline::CrawlText) => json!({"text": "https://a.com/"}),
        Route::Search if row.name == "fetch_page_content" => json!({"search": "a"}),
        Route::Search => json!({"search": "a", "fetch_page_content": true}),
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
        "root_selector" | "exclude_selector" | "filters" | "pages" | "decoder_options" => {
            json!({"metadata": true})
        }
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

#[test]
fn without_a_model_contacts_are_found_without_a_question() {
    let body = |name: &str| json!({"url": "https://a.com/", name: "the shop's"});
    for (pipeline, are_named) in [
        (Pipeline::ExtractContacts, true),
        // It looks for passages without a model, too.
        (Pipeline::ExtractQa, false),
    ] {
        for name in ["prompt", "custom_prompt"] {
            let route = Route::Pipeline(pipeline);
            let planned = on_server(None, route, Terms::PayAsYouGo, &body(name));
            let planned = planned.expect("a good request");
            assert_eq!(
                planned.names().contains(&name),
                are_named,
                "{pipeline:?} {name}"
            );
        }
    }
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
    check(
        Route::Map,
        json!({"metadata": true, "depth": 3, "query": "install", "whitelist": ["/docs"]}),
        &["metadata", "depth"],
    );
    check(Route::Crawl, json!({"query": "install"}), &["query"]);
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
        "router.credentials.A",
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
    check(json!({"foo": "x"}), &["router.credentials.foo"], &[]);
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
fn scripts_that_no_page_gets_are_named() {
    let steps = json!([{"Click": "#a"}]);
    let of = |keys: &[&str], url: &str| {
        let steps = keys.iter().map(|key| ((*key).to_owned(), steps.clone()));
        let scripts = keys.iter().map(|key| ((*key).to_owned(), json!("1")));
        json!({"url": url, "automation_scripts": Map::from_iter(steps),
            "execution_scripts": Map::from_iter(scripts)})
    };
    let check = |route: Route, body: Value, expected: &[&str]| {
        let planned = on(route, Terms::PayAsYouGo, &body).expect("a good request");
        assert_eq!(planned.names(), expected, "{route:?} {body}");
    };
    let keys = ["*", "/", "/log", "/login", "/sign-in", "login"];
    check(
        Route::Scrape,
        of(&keys, "a.com/login?next=/sign-in"),
        &[
            "automation_scripts./sign-in",
            "automation_scripts.login",
            "execution_scripts./sign-in",
            "execution_scripts.login",
        ],
    );
    let both = "https://a.com/login,https://a.com/sign-in/x";
    check(Route::Screenshot, of(&keys[..5], both), &[]);
    // The pages of a crawl are not known yet.
    check(
        Route::Crawl,
        of(&keys, "a.com/x"),
        &["automation_scripts.login", "execution_scripts.login"],
    );
    // What may be a secret in the place of a path is not repeated.
    check(
        Route::Scrape,
        json!({"url": "a.com", "execution_scripts": {"pass word": "1"}}),
        &["execution_scripts.*"],
    );
    // Without a browser all of it has no effect.
    let mut plain = of(&["/y"], "a.com/x");
    plain["request"] = json!("http");
    let names = ["automation_scripts", "execution_scripts"];
    let planned = on(Route::Scrape, Terms::PayAsYouGo, &plain).expect("a good request");
    let named: BTreeSet<&str> = planned.names().into_iter().collect();
    assert_eq!(named, BTreeSet::from(names));
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
    // What is in an object without effect is not named in addition to it.
    let planned = on(
        Route::Scrape,
        Terms::PayAsYouGo,
        &json!({"url": "a.com", "webhooks": {"on_fnd": true}, "limt": 3}),
    );
    let planned = planned.expect("a good request");
    assert_eq!(planned.names(), ["webhooks", "limt"]);
    assert!(planned.ignored.hints().is_empty());
}

mod refusals;
