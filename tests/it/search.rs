//! `POST /search`: web search services, their results, and the pages of those.

use std::time::Duration;

use serde_json::{Value, json};
use trawl_parameters::{self as parameters, Parameter};
use trawl_tests::caller::{assert_free, nanodollars};
use trawl_tests::vendors::{BAD_KEY, GOOD_KEY};
use trawl_tests::{Answer, Caller, FakeSite, SearchServer, TestApp, World};

const BRAVE_KEY: &str = "BRAVE_API_KEY";
/// Between two looks at what a test waits for.
const PAUSE: Duration = Duration::from_millis(20);
/// How long a test waits at most.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server whose search services are these.
async fn app(services: &SearchServer, names: &[&str], credentials: &[(&str, &str)]) -> TestApp {
    let mut world = World::new();
    world.use_searches(services.address, names, credentials);
    TestApp::of(world).await
}

async fn search(caller: &Caller, body: &Value) -> Answer {
    let answer = caller.post("/search", &[], body).await;
    let text = String::from_utf8_lossy(&answer.body);
    assert_eq!(answer.status, 200, "{text}");
    answer
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn searxng_needs_no_key_and_costs_nothing() {
    let services = SearchServer::start().await;
    services.find(&[
        ("https://a.example/tides", "Tide <b>tables</b>"),
        ("https://b.example/", "B"),
    ]);
    let app = app(&services, &["searxng"], &[]).await;
    let body = json!({"search": "tide & ebb", "language": "de", "tbs": "qdr:w", "country": "DE"});
    let answer = search(&app, &body).await;
    let results = answer.json();
    let expected = json!([
        {"position": 1, "url": "https://a.example/tides", "title": "Tide tables", "description": "High & low water."},
        {"position": 2, "url": "https://b.example/", "title": "B", "description": "High & low water."},
    ]);
    assert_eq!(results["content"], expected);
    assert_eq!(results["engine"], "searxng");
    assert_eq!(nanodollars(&results["cost"]), 0);
    // It has no country.
    assert_eq!(answer.header("x-ignored-parameters"), "country");
    let asked = services.asked();
    let [(name, request)] = asked.as_slice() else {
        panic!("{asked:?}");
    };
    assert_eq!(
        (name.as_str(), request.param("q")),
        ("searxng", Some("tide & ebb"))
    );
    assert_eq!(request.param("language"), Some("de"));
    assert_eq!(request.param("time_range"), Some("week"));
    app.assert_settled().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn brave_is_asked_with_the_operators_key_and_charged() {
    let services = SearchServer::start().await;
    services.find(&[("https://a.example/tides", "Tides")]);
    // No service is named, so the one that has its key is asked.
    let app = app(&services, &[], &[(BRAVE_KEY, GOOD_KEY)]).await;
    let before = app.balance();
    let answer = search(&app, &json!({"search": "tides", "num": 3, "country": "de"})).await;
    let results = answer.json();
    let expected = json!([{
        "position": 1, "url": "https://a.example/tides", "title": "Tides", "description": "High & low water.",
        "date": "2026-01-31T00:00:00", "site_name": "A Harbour",
    }]);
    assert_eq!(results["content"], expected);
    // 5,000,000 nanodollars and 20 %.
    assert_eq!(nanodollars(&results["cost"]), 6_000_000);
    assert_eq!(
        nanodollars(&results["costs"]["vendor"]["vendor_cost"]),
        5_000_000
    );
    assert_eq!(before - app.balance(), 6_000_000);
    let posts = app.entries().await;
    let mut posts = posts
        .iter()
        .filter(|entry| entry.charge.vendor_billed.0 > 0);
    assert_eq!(
        posts.next().map(|entry| &*entry.url),
        Some("search brave: tides")
    );
    assert!(posts.next().is_none());
    // The name of a credential is words like any others; its value is not sent.
    search(
        &app,
        &json!({"search": "{BRAVE_API_KEY}", "location": "{BRAVE_API_KEY}"}),
    )
    .await;
    let secret = app.post("/search", &[], &json!({"search": GOOD_KEY})).await;
    assert_eq!(secret.status, 502);
    assert!(!secret.error().contains(GOOD_KEY));
    // It has twenty on a page.
    let next = json!({"search": "tides", "num": 50, "page": 2});
    let next = search(&app, &next).await.json();
    assert_eq!(next["content"][0]["position"], 21);
    let (_, request) = &services.asked()[2];
    assert_eq!(request.param("offset"), Some("1"));
    let (_, request) = &services.asked()[0];
    assert_eq!(
        (request.param("count"), request.param("country")),
        (Some("3"), Some("DE"))
    );
    assert!(!String::from_utf8_lossy(&answer.body).contains(GOOD_KEY));
    app.assert_settled().await;
}

/// What a search by each scraping service that searches costs in nanodollars, 20 % included, and
/// the parameters that have no effect.
const BY_PROVIDERS: [(&str, i64, &str); 10] = [
    ("zyte", 1_524_000, "location, tbs"),
    ("scrapingbee", 2_352_000, "location"),
    ("scraperapi", 14_700_000, "location"),
    ("scrapedo", 1_392_000, ""),
    ("zenrows", 8_400_000, "location"),
    ("brightdata", 1_800_000, "location"),
    ("apify", 5_400_000, "location"),
    ("browserless", 1_500_000, ""),
    ("oxylabs", 1_380_000, ""),
    ("decodo", 1_200_000, ""),
];

/// The credentials of the provider that is the same service.
fn credentials(service: &str) -> Vec<(&'static str, String)> {
    let one = |name| vec![(name, GOOD_KEY.to_owned())];
    let pair = |user, password| {
        let of_user = (user, format!("user-{GOOD_KEY}"));
        vec![of_user, (password, GOOD_KEY.to_owned())]
    };
    match service {
        "zyte" => one("PROVIDER1_API_KEY"),
        "scrapingbee" => one("PROVIDER2_API_KEY"),
        "scraperapi" => one("PROVIDER3_API_KEY"),
        "scrapedo" => one("PROVIDER5_TOKEN"),
        "zenrows" => one("PROVIDER6_API_KEY"),
        "brightdata" => one("PROVIDER7_API_TOKEN"),
        "apify" => one("PROVIDER8_TOKEN"),
        "browserless" => one("PROVIDER9_TOKEN"),
        "oxylabs" => pair("PROVIDER10_USERNAME", "PROVIDER10_PASSWORD"),
        _ => pair("PROVIDER11_USERNAME", "PROVIDER11_PASSWORD"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scraping_services_search_with_the_keys_of_the_providers() {
    let services = SearchServer::start().await;
    services.find(&[
        ("https://a.example/tides", "Tide <b>tables</b>"),
        ("https://b.example/", "B"),
    ]);
    let body = json!({
        "search": "tide & ebb", "num": 1, "country": "DE", "language": "de-AT", "tbs": "qdr:w",
        "location": "Kiel,Schleswig-Holstein,Germany",
    });
    for (name, cost, without_effect) in BY_PROVIDERS {
        let credentials = credentials(name);
        let credentials: Vec<(&str, &str)> = credentials
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        // No service is named, so the one that has its keys is asked.
        let app = app(&services, &[], &credentials).await;
        let before = app.balance();
        let answer = search(&app, &body).await;
        let results = answer.json();
        let expected = json!([{
            "position": 1, "url": "https://a.example/tides", "title": "Tide tables",
            "description": "High & low water.",
        }]);
        assert_eq!(results["content"], expected, "{name}");
        assert_eq!(results["engine"], name);
        assert_eq!(nanodollars(&results["cost"]), cost, "{name}");
        assert_eq!(before - app.balance(), cost, "{name}");
        assert_eq!(answer.header("x-ignored-parameters"), without_effect);
        assert!(!String::from_utf8_lossy(&answer.body).contains(GOOD_KEY));
        app.assert_settled().await;
    }
    let asked: Vec<String> = services.asked().into_iter().map(|(name, _)| name).collect();
    let names: Vec<&str> = BY_PROVIDERS.iter().map(|(name, ..)| *name).collect();
    assert_eq!(asked, names);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_key_of_a_scraping_service_is_named_and_costs_nothing() {
    let services = SearchServer::start().await;
    let app = app(
        &services,
        &["scraperapi"],
        &[("PROVIDER3_API_KEY", BAD_KEY)],
    )
    .await;
    let before = app.balance();
    let failed = app.post("/search", &[], &json!({"search": "tides"})).await;
    assert_eq!(failed.status, 502);
    let error = failed.error();
    assert!(
        error.contains("scraperapi: ") && error.contains("the key is wrong"),
        "{error}"
    );
    assert!(!error.contains(BAD_KEY));
    assert_eq!(before, app.balance());
    app.assert_settled().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_are_scraped_and_a_failed_one_keeps_its_result() {
    let (services, site) = (SearchServer::start().await, FakeSite::start().await);
    let good = site.put("/good", "text/html", "<title>Good</title><h1>Tides</h1>");
    let gone = site.url("/gone");
    services.find(&[
        (gone.as_str(), "Gone"),
        (good.as_str(), "Good one"),
        ("https://c.example/", "C"),
    ]);
    let app = app(&services, &["brave"], &[(BRAVE_KEY, GOOD_KEY)]).await;
    let before = app.balance();
    let body = json!({
        "search": "tides", "search_limit": 2, "fetch_page_content": true, "request": "http",
        "return_format": "markdown",
    });
    let entries = search(&app, &body).await.json();
    let entries = entries.as_array().unwrap();
    assert_eq!(entries.len(), 2);
    assert!(entries[0]["error"].is_string(), "{}", entries[0]);
    assert_free(&entries[0]);
    let result = &entries[0]["metadata"]["search"];
    assert_eq!(
        (&result["position"], &result["title"]),
        (&json!(1), &json!("Gone"))
    );
    assert_eq!(result["description"], "High & low water.");
    assert!(entries[1]["error"].is_null(), "{}", entries[1]);
    assert_eq!(
        entries[1]["content"].as_str().map(str::trim),
        Some("# Tides")
    );
    assert_eq!(entries[1]["metadata"]["search"]["position"], 2);
    // The search and the page.
    let total = Caller::total(&entries[1]);
    assert!(total > 6_000_000, "{total}");
    assert_eq!(before - app.balance(), total);
    let lines = app
        .post("/search", &[("accept", "application/jsonl")], &body)
        .await;
    assert_eq!(lines.lines().len(), 2);
    app.assert_settled().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_next_service_is_asked_when_one_fails_and_nothing_is_charged_for_it() {
    let services = SearchServer::start().await;
    services.find(&[("https://a.example/", "A")]);
    let app = app(&services, &["brave", "searxng"], &[(BRAVE_KEY, BAD_KEY)]).await;
    let before = app.balance();
    let results = search(&app, &json!({"search": "tides"})).await.json();
    assert_eq!(results["engine"], "searxng");
    assert_eq!(results["costs"]["vendor"]["attempts"], 2);
    assert_eq!(before, app.balance());
    let voided = app.entries().await;
    let mut reasons = voided.iter().map(|entry| entry.reason.as_str());
    assert!(reasons.any(|reason| reason.contains("subscription token is invalid")));
    // The wrong key is not tried again at once.
    search(&app, &json!({"search": "tides"})).await;
    let order: Vec<String> = services.asked().into_iter().map(|(name, _)| name).collect();
    assert_eq!(order, ["brave", "searxng", "searxng"]);
    services.fail("searxng", 500);
    let failed = app.post("/search", &[], &json!({"search": "tides"})).await;
    assert_eq!(failed.status, 502);
    let error = failed.error();
    assert!(
        error.starts_with("the search service failed: searxng: "),
        "{error}"
    );
    assert_eq!(before, app.balance());
    app.assert_settled().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_service_the_answer_says_how_to_configure_one() {
    let app = TestApp::start().await;
    for path in ["/search", "/v1/search"] {
        let answer = app.post(path, &[], &json!({"search": "tides"})).await;
        assert_eq!(answer.status, 501);
        let error = answer.error();
        assert!(error.contains("backends = [\"searxng\"]"), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_search_that_cannot_be_paid_asks_no_service() {
    let services = SearchServer::start().await;
    let mut world = World::new();
    world.dollars = "0.005";
    world.use_searches(services.address, &["brave"], &[(BRAVE_KEY, GOOD_KEY)]);
    let app = TestApp::of(world).await;
    let answer = app.post("/search", &[], &json!({"search": "tides"})).await;
    assert_eq!(
        answer.status,
        402,
        "{}",
        String::from_utf8_lossy(&answer.body)
    );
    assert!(services.asked().is_empty());
    app.assert_settled().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repeated_request_pays_once() {
    let services = SearchServer::start().await;
    services.find(&[("https://a.example/", "A")]);
    let app = app(&services, &["brave"], &[(BRAVE_KEY, GOOD_KEY)]).await;
    let before = app.balance();
    let (key, body) = ([("idempotency-key", "one")], json!({"search": "tides"}));
    let first = app.post("/search", &key, &body).await;
    let second = app.post("/search", &key, &body).await;
    assert_eq!((first.status, &first.body), (200, &second.body));
    assert_eq!(before - app.balance(), 6_000_000);
    assert_eq!(services.asked().len(), 1);
    app.assert_settled().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_search_whose_caller_hangs_up_is_charged_once_its_service_is_asked() {
    let services = SearchServer::start().await;
    services.find(&[("https://a.example/", "A")]);
    let app = app(&services, &["brave"], &[(BRAVE_KEY, GOOD_KEY)]).await;
    let before = app.balance();
    services.hold(true);
    let body = json!({"search": "tides"});
    let is_asked = async {
        while services.asked().is_empty() {
            tokio::time::sleep(PAUSE).await;
        }
    };
    tokio::select! {
        answer = app.post("/search", &[], &body) => panic!("it is held back: {answer:?}"),
        () = is_asked => {}
    }
    // A search that ends with its caller has ended by then.
    tokio::time::sleep(20 * PAUSE).await;
    services.hold(false);
    let is_charged = async {
        let held = || app.app.billing().funds(&app.account).held.0;
        while app.balance() == before || held() != 0 {
            tokio::time::sleep(PAUSE).await;
        }
    };
    let is_charged = tokio::time::timeout(PATIENCE, is_charged).await;
    is_charged.expect("the service has answered");
    assert_eq!(before - app.balance(), 6_000_000);
    assert_eq!(services.asked().len(), 1);
    app.assert_settled().await;
}

/// The examples of the reference, and the requests of the published clients.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_of_clients_and_of_the_reference_are_accepted() {
    let (services, site) = (SearchServer::start().await, FakeSite::start().await);
    let page = site.put("/page", "text/html", "<h1>Tides</h1>");
    services.find(&[(page.as_str(), "A")]);
    let app = app(&services, &["brave"], &[(BRAVE_KEY, GOOD_KEY)]).await;
    let rows: Vec<&Parameter> = parameters::all().filter(|row| row.is_of_search()).collect();
    assert!(rows.len() > 8, "{}", rows.len());
    for row in rows {
        let mut body = json!({"search": "tides", "request": "http"});
        body[row.name] = serde_json::from_str(row.example).unwrap();
        let answer = search(&app, &body).await;
        let ignored = answer.header("x-ignored-parameters");
        // Of the services here, none has a location.
        let expected = match row.name {
            "location" => "request, location",
            "fetch_page_content" => "",
            _ => "request",
        };
        assert_eq!(ignored, expected, "{}", row.name);
    }
    // The Python client's; the Rust client's with all of its fields, most of them null.
    let python = json!({
        "search": "a sports website", "request": "smart_mode", "search_limit": 5, "limit": 5,
        "fetch_page_content": true,
    });
    let entries = search(&app, &python).await.json();
    for field in ["content", "error", "status", "url"] {
        assert!(entries[0].get(field).is_some(), "{field}");
    }
    let rust = json!({
        "url": null, "request": null, "search": "tides", "search_limit": 1,
        "fetch_page_content": null, "location": null, "country": "DE", "language": "de",
        "latitude": null, "num": null, "tbs": "qdr:d", "page": null, "website_limit": null,
        "quick_search": null, "auto_pagination": null, "engine": null,
    });
    let list = search(&app, &rust).await.json();
    assert_eq!(list["content"][0]["url"], page);
    assert!(list["content"][0]["description"].is_string());
    app.assert_settled().await;
}
