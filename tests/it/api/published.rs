//! The published clients of the interface, as they are installed from the registries, search with
//! this server.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use trawl_tests::{FakeSite, SearchServer, World};

use super::Api;
use super::clients::{Bench, TOOL_LIMIT, TOOLS};

/// Lets a program search and checks what its client makes of the answers.
async fn check(program: impl FnOnce(&Bench, &Api) -> Command) {
    let (services, site) = (SearchServer::start().await, FakeSite::start().await);
    let page = site.put("/tides", "text/html", "<title>Tides</title><h1>Tides</h1>");
    services.find(&[(page.as_str(), "Tide tables"), ("https://b.example/", "B")]);
    let mut world = World::new();
    world.use_searches(services.address, &["searxng"], &[]);
    let api = Api::start_in(world).await;
    let bench = Bench::new(&api.document);
    let report = bench.run(&mut program(&bench, &api), TOOL_LIMIT);
    let line = report.lines().last().unwrap_or_default();
    let said: Value =
        serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {report}"));

    let expected = json!([
        {"position": 1, "url": page, "title": "Tide tables", "description": "High & low water."},
        {"position": 2, "url": "https://b.example/", "title": "B", "description": "High & low water."},
    ]);
    assert_eq!(said["results"]["content"], expected, "{said}");
    let pages = said["pages"].as_array().expect("entries");
    assert_eq!(pages.len(), 1, "{said}");
    assert_eq!(
        (&pages[0]["url"], &pages[0]["status"]),
        (&json!(page), &json!(200))
    );
    let content = pages[0]["content"].as_str().unwrap_or_default();
    assert!(content.contains("Tides"), "{said}");
    assert!(pages[0]["error"].is_null(), "{said}");
    assert!(
        said["limit"].as_u64().is_some_and(|limit| limit > 0),
        "{said}"
    );

    let asked = services.asked();
    let [(_, first), (_, second)] = asked.as_slice() else {
        panic!("{asked:?}");
    };
    assert_eq!(first.param("q"), Some("tides & ebb"));
    assert_eq!(first.param("language"), Some("en"));
    assert_eq!(first.param("time_range"), Some("week"));
    assert_eq!(second.param("q"), Some("tides"));
    api.app.assert_settled().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(
    no_clients,
    ignore = "no tools in target/clients: install Node.js and Python, run cargo xtask clients"
)]
async fn the_published_client_for_python_searches() {
    check(|bench, api| {
        let mut user = bench.python("python");
        user.args(["use_search.py", &api.app.base, &api.app.key]);
        user
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(
    no_clients,
    ignore = "no tools in target/clients: install Node.js and Python, run cargo xtask clients"
)]
async fn the_published_client_for_javascript_searches() {
    check(|bench, api| {
        let mut user = bench.command(Path::new("node"));
        user.args(["use_search.mjs", &api.app.base, &api.app.key]);
        user
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(
    no_clients,
    ignore = "no tools in target/clients: install Node.js and Python, run cargo xtask clients"
)]
async fn the_published_client_for_rust_searches() {
    check(|bench, api| {
        let program = PathBuf::from(TOOLS).join("rust/debug/search-client");
        let mut user = bench.command(&program);
        user.arg(&api.app.key).env("SPIDER_API_URL", &api.app.base);
        user
    })
    .await;
}
