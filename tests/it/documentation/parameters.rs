//! The example of every parameter, key and step of the reference, sent to a server: it is accepted,
//! has an effect, and its page is good.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tokio::task::JoinSet;
use trawl::config::{AiSettings, ProxySettings, ResolveSetting};
use trawl_parameters::{self as parameters, Object, Parameter, Route, STEPS, Shape};
use trawl_plan::{Needs, Pipeline};
use trawl_tests::{Caller, FakeSite, ModelServer, ScriptedReply, TestApp, WatchedBrowser, World};

/// The routes, those first on which most parameters are.
const ROUTES: [(Route, &str); 11] = [
    (Route::Scrape, "/scrape"),
    (Route::Crawl, "/crawl"),
    (Route::Transform, "/transform"),
    (Route::Screenshot, "/screenshot"),
    (
        Route::Pipeline(Pipeline::ExtractContacts),
        "/pipeline/extract-contacts",
    ),
    (Route::Pipeline(Pipeline::ExtractQa), "/pipeline/extract-qa"),
    (Route::Pipeline(Pipeline::Label), "/pipeline/label"),
    (
        Route::Pipeline(Pipeline::FilterLinks),
        "/pipeline/filter-links",
    ),
    (Route::Pipeline(Pipeline::CrawlText), "/pipeline/crawl-text"),
    (Route::Map, "/map"),
    (Route::Batch, "/batch"),
];
/// Requests in flight.
const AT_ONCE: usize = 4;
/// The page of the examples. A click at (10, 20) gives the field the focus.
const PAGE: &str = "<!DOCTYPE html><html><head><title>Examples</title></head><body>\
<input id=user style='position:fixed;left:0;top:0;width:200px;height:40px'><nav>Examples</nav>\
<main style='margin-top:60px'><h1>Examples</h1><p class=price>12</p><p class=item>An item.</p>\
<p>Each example of the reference is sent to a server, which must accept and use it.</p>\
<button id=a>a</button><button id=more class=more>more</button>\
<p><a id=next href=/next>next</a></p></main></body></html>";
/// A page that leaves for another one.
const LEAVING: &str = "<!DOCTYPE html><html><body><p>leaving</p>\
<script>setTimeout(() => { location.href = '/next'; }, 300)</script></body></html>";

/// One example.
struct Case {
    /// Where it is: `cache.max_age`.
    at: String,
    row: &'static Parameter,
    /// What the parameter of the row is set to.
    value: Value,
}

/// The examples of all parameters, and of the keys of each nested object once.
fn cases() -> Vec<Case> {
    let (mut cases, mut seen) = (Vec::new(), BTreeSet::new());
    // Those of `/search` alone are sent where a search service answers, in `search.rs`.
    let is_of_page = |row: &&Parameter| ROUTES.iter().any(|(route, _)| row.routes.has(*route));
    for row in parameters::all().filter(is_of_page) {
        cases.push(Case {
            at: row.name.to_owned(),
            row,
            value: example(row),
        });
        nested(
            row,
            &row.shape,
            row.name,
            &|value| value,
            &mut seen,
            &mut cases,
        );
    }
    cases
}

fn example(row: &Parameter) -> Value {
    serde_json::from_str(row.example).expect("JSON")
}

/// Adds the keys of the objects in a shape. `wrap` puts a value of this shape into the parameter.
fn nested(
    row: &'static Parameter,
    shape: &'static Shape,
    at: &str,
    wrap: &dyn Fn(Value) -> Value,
    seen: &mut BTreeSet<&'static str>,
    cases: &mut Vec<Case>,
) {
    match shape {
        Shape::Object(object) => {
            if !seen.insert(object.name) {
                return;
            }
            for key in object.rows {
                let at = format!("{at}.{}", key.name);
                let inside = |value: Value| {
                    let mut whole = beside(object, key.name);
                    whole[key.name] = value;
                    wrap(whole)
                };
                cases.push(Case {
                    at: at.clone(),
                    row,
                    value: inside(example(key)),
                });
                nested(row, &key.shape, &at, &inside, seen, cases);
            }
        }
        Shape::List(item) => {
            let inside = |value: Value| wrap(json!([value]));
            nested(row, item, &format!("{at}[]"), &inside, seen, cases);
        }
        Shape::Map(_, of) => {
            let inside = |value: Value| wrap(json!({"*": value}));
            nested(row, of, &format!("{at}.*"), &inside, seen, cases);
        }
        Shape::Either(shapes) => {
            for shape in *shapes {
                nested(row, shape, at, wrap, seen, cases);
            }
        }
        _ => {}
    }
}

/// What else a key needs in its object: the required keys, and those without which it has no
/// meaning.
fn beside(object: &Object, key: &str) -> Value {
    let mut whole = match (object.name, key) {
        ("Cookie", _) => json!({"name": "sid", "value": "1"}),
        ("Router", _) => json!({"provider": "provider_1", "token": "your-key"}),
        ("Webhooks", _) => json!({"on_find": true}),
        ("LinkRewrite", "pattern") => json!({"type": "regex", "replace": "https://"}),
        ("LinkRewrite", _) => json!({"type": "replace", "find": "http://"}),
        _ => json!({}),
    };
    let is_replaced =
        |row: &&Parameter| object.name == "TransformItem" && row.name == "html" && key == "base64";
    let required = object
        .rows
        .iter()
        .filter(|row| row.default.starts_with("required"));
    for row in required.filter(|row| !is_replaced(row)) {
        if whole.get(row.name).is_none() {
            whole[row.name] = example(row);
        }
    }
    whole
}

/// A server that can do everything that a parameter may need.
struct Everything {
    app: TestApp,
    site: FakeSite,
    _model: ModelServer,
}

impl Everything {
    async fn start(has_browser: bool) -> Self {
        let model = ModelServer::start(ScriptedReply::Garbage).await;
        let mut world = World::new();
        if has_browser {
            WatchedBrowser::put(&mut world);
        }
        world.proxies = vec![ProxySettings {
            pool: "isp".to_owned(),
            // The sample site needs no way out.
            url: "http://127.0.0.1:1".to_owned(),
            country: Some("DE".to_owned()),
            dollars_per_gigabyte: String::new(),
            resolve: ResolveSetting::default(),
        }];
        world.ai = Some(AiSettings {
            dollars_per_million_question_tokens: String::new(),
            dollars_per_million_answer_tokens: String::new(),
            timeout: 5,
            ..model.settings()
        });
        let site = FakeSite::start().await;
        let html = "text/html";
        let next = site.put("/next", html, PAGE);
        site.put("/examples", html, PAGE);
        site.put("/leaving", html, LEAVING);
        let sitemap = format!("<urlset><url><loc>{next}</loc></url></urlset>");
        site.put("/sitemap.xml", "application/xml", sitemap);
        Self {
            app: TestApp::of(world).await,
            site,
            _model: model,
        }
    }

    /// The path and the body that give a case its effect.
    fn request(&self, case: &Case) -> (&'static str, Value) {
        let (row, needs) = (case.row, case.row.needs);
        let route = ROUTES.iter().find(|(route, _)| row.routes.has(*route));
        let (route, path) = *route.expect("a route");
        let is_rendered = is_rendered(row);
        let is_crawl = path.starts_with("/crawl") || path.starts_with("/pipeline");
        let page = match case.at.as_str() {
            "wait_for.page_navigations" => self.site.url("/leaving"),
            _ if is_crawl || is_rendered => self.site.url("/examples"),
            _ => "http://sample.trawl.test/".to_owned(),
        };
        let mut body = match route {
            Route::Transform => json!({"data": [{"html": "<p>Hello</p>"}]}),
            Route::Pipeline(Pipeline::CrawlText) => json!({ "text": page }),
            Route::Batch => json!({ "urls": [page] }),
            _ => json!({ "url": page }),
        };
        if route != Route::Map {
            body["metadata"] = true.into();
        }
        if is_crawl {
            body["limit"] = 2.into();
        }
        if is_rendered {
            body["request"] = "browser".into();
        }
        if needs.has_all(Needs::PICTURE) {
            body["return_format"] = "screenshot".into();
        }
        if needs.has_all(Needs::LINKS) {
            body["return_page_links"] = true.into();
        }
        if row.name == "format_options" {
            let formats = case.value.as_object().expect("options by format");
            body["return_format"] = formats.keys().cloned().collect();
        }
        if row.name == "country_code" {
            body["proxy"] = "isp".into();
        }
        body[row.name] = case.value.clone();
        (path, body)
    }

    /// Sends the examples, a few at once.
    async fn send(&self, cases: Vec<Case>) {
        let mut running = JoinSet::new();
        for case in cases {
            if running.len() == AT_ONCE {
                running.join_next().await.expect("one").expect("it passed");
            }
            let (path, body) = self.request(&case);
            let caller = Caller::clone(&self.app);
            running.spawn(async move { check(&caller, &case.at, path, &body).await });
        }
        while let Some(ended) = running.join_next().await {
            ended.expect("it passed");
        }
    }
}

/// Whether the parameter is about what a browser does.
fn is_rendered(row: &Parameter) -> bool {
    row.needs.has_all(Needs::BROWSER) || row.needs.has_all(Needs::PICTURE)
}

/// Sends one example. Returns the entries of the answer.
async fn check(caller: &Caller, at: &str, path: &str, body: &Value) -> Vec<Value> {
    let answer = caller.post(path, &[], body).await;
    let text = String::from_utf8_lossy(&answer.body);
    assert_eq!(answer.status, 200, "{at}: {body}: {text}");
    assert_eq!(answer.header("x-ignored-parameters"), "", "{at}: {body}");
    let entries = match answer.json() {
        Value::Array(entries) => entries,
        one => vec![one],
    };
    // A crawl that may last a nanosecond has no pages.
    for entry in entries.iter().filter(|_| !at.starts_with("crawl_timeout")) {
        let error = &entry["error"];
        assert!(error.is_null() || error == "", "{at}: {body}: {entry}");
        let ignored = &entry["metadata"]["ignored"];
        assert!(ignored.is_null(), "{at}: {body}: {ignored} is ignored");
    }
    entries
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_example_of_a_parameter_is_used() {
    let server = Everything::start(false).await;
    let mut cases = cases();
    cases.retain(|case| !is_rendered(case.row));
    assert!(cases.len() > 80, "{} examples", cases.len());
    server.send(cases).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn every_example_of_a_browser_parameter_is_used() {
    let server = Everything::start(true).await;
    let mut cases = cases();
    cases.retain(|case| is_rendered(case.row));
    assert!(cases.len() > 30, "{} examples", cases.len());
    server.send(cases).await;
    server.app.app.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn every_example_of_a_step_succeeds() {
    let server = Everything::start(true).await;
    let mut steps: Vec<Value> = Vec::new();
    for kind in STEPS {
        if kind.name == "WaitForNavigation" {
            // What it waits for.
            steps.push(json!({"Click": "#next"}));
        }
        steps.push(serde_json::from_str(kind.example).expect("JSON"));
    }
    let body = json!({
        "url": server.site.url("/examples"), "request": "browser", "request_timeout": 120,
        "metadata": true, "automation_scripts": {"*": steps},
    });
    let entries = check(&server.app, "steps", "/scrape", &body).await;
    let report = entries[0]["metadata"]["automation_data"].as_array();
    let report = report.expect("the results of the steps");
    // A script and a screenshot have results; a failed step would end the others.
    assert_eq!(report.len(), 2, "{report:?}");
    for result in report {
        assert!(result.get("error").is_none(), "{result}");
    }
    server.app.app.close().await;
}
