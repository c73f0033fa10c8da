//! Generations: a change is live at once, a broken one never, and no request fails because of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use trawl_test_guests::Guest;
use trawl_tests::{FakeSite, ServerProcess, TestApp, World};

use super::{generation, plugin, shows};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_added_plugin_is_callable_until_it_is_removed() {
    let (app, site) = (TestApp::start().await, FakeSite::start().await);
    let url = site.url("/page");
    let guests = [
        Guest::constant_format("shout", "HELLO"),
        Guest::echo_extractor("echo"),
        Guest::whole_chunker("whole"),
        Guest::keeping_filter("keeping"),
    ];
    let body = json!({"url": url, "return_format": "shout"});
    let (status, error) = app.refused(&body).await;
    assert!(status == 400 && error.contains("`shout`"), "{error}");
    app.world.load(&guests.each_ref(), "");
    let (status, _) = shows(&app, |status| plugin(status, "shout").is_some()).await;
    assert_eq!(generation(&status), 2);
    assert_eq!(app.fine(body.clone()).await["content"], "HELLO");
    let all = json!({
        "url": url, "return_format": ["Shout", "markdown"], "extractors": {"echo": {"a": [1]}},
        "chunking_alg": {"type": "whole"}, "filters": {"keeping": {}},
    });
    let entry = app.fine(all).await;
    assert_eq!(entry["content"]["shout"], json!(["HELLO"]));
    assert!(
        entry["content"]["markdown"][0]
            .as_str()
            .unwrap()
            .starts_with("# A page")
    );
    assert_eq!(entry["extracted"], json!({"echo": {"a": [1]}}));
    app.world.manifest("");
    shows(&app, |status| plugin(status, "shout").is_none()).await;
    let (status, error) = app.refused(&body).await;
    assert!(status == 400 && error.contains("`shout`"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_invalid_change_keeps_the_generation_and_reports_the_error() {
    let (app, site) = (TestApp::start().await, FakeSite::start().await);
    let good = Guest::constant_format("shout", "HELLO");
    app.world.load(&[&good], "");
    shows(&app, |status| generation(status) == 2).await;
    let wrong_kind = Guest::keeping_filter("odd");
    let mut from_the_future = Guest::constant_format("odd", "x");
    from_the_future.contract = "9.0.0";
    let entry = "[[format]]\nname = \"odd\"\ncomponent = \"odd.wasm\"\n";
    let own = "[[format]]\nname = \"shout\"\ncomponent = \"shout.wasm\"\n";
    let break_by = |what: &str| match what {
        "syntax" => app.world.write("plugins.toml", b"[[format]"),
        "unknown key" => app.world.manifest(&format!("{own}colour = 3\n")),
        "missing file" => app
            .world
            .manifest(&entry.replace("odd.wasm", "nowhere.wasm")),
        "kind" => {
            app.world.put(&wrong_kind);
            app.world.manifest(entry);
        }
        "name twice" => app.world.manifest(&own.repeat(2)),
        "built-in name" => app
            .world
            .manifest(&own.replace("shout\"\nc", "markdown\"\nc")),
        "truncated" => {
            let bytes = good.build();
            app.world.write("odd.wasm", &bytes[..bytes.len() / 2]);
            app.world.manifest(entry);
        }
        _ => {
            app.world.put(&from_the_future);
            app.world.manifest(entry);
        }
    };
    for (what, says) in [
        ("syntax", "manifest"),
        ("unknown key", "colour"),
        ("missing file", "nowhere.wasm"),
        ("kind", "`odd`"),
        ("name twice", "shout"),
        ("built-in name", "markdown"),
        ("truncated", "`odd`"),
        ("contract", "9.0.0"),
    ] {
        break_by(what);
        let is_reported = |status: &serde_json::Value| {
            status["last_error"]["reason"]
                .as_str()
                .is_some_and(|text| text.contains(says))
        };
        let (status, _) = shows(&app, is_reported).await;
        let reason = status["last_error"]["reason"].as_str().unwrap();
        eprintln!("{what}: {reason}");
        let body = json!({"url": site.url("/page"), "return_format": ["shout", "markdown"]});
        assert_eq!(app.fine(body).await["content"]["shout"], "HELLO", "{what}");
        app.world.load(&[&good], "");
        shows(&app, |status| status["last_error"].is_null()).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_reload_is_seen_by_monitoring() {
    let mut world = World::new();
    world.config = "[http]\nmetrics_without_key = true\n".to_owned();
    world.log = "info";
    let server = ServerProcess::start(world);
    let deadline = Instant::now() + Duration::from_secs(60);
    // The report is cached for a moment.
    let becomes = async |is_current: bool| loop {
        let health = server.get("/health").await;
        assert_eq!(health.status, 200, "pages are served all the same");
        let plugins = health.json()["plugins"].clone();
        if plugins["ok"] == is_current {
            let fields = plugins.as_object().unwrap().len();
            assert_eq!(fields, 2, "no reason, which may name files: {plugins}");
            return;
        }
        assert!(Instant::now() < deadline, "{plugins}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    becomes(true).await;
    server.world.write("plugins.toml", b"[[format]");
    becomes(false).await;
    let failure = server.get("/plugins").await.json()["last_error"].clone();
    let seconds = failure["at"].as_i64().unwrap();
    let time = trawl_model::clock::Timestamp(seconds * 1000).to_string();
    assert_eq!(failure["time"].as_str().unwrap()[..19], time[..19]);
    let metrics = server.get("/metrics").await;
    let metrics = String::from_utf8_lossy(&metrics.body).into_owned();
    assert!(metrics.contains("\ntrawl_plugins_current 0\n"), "{metrics}");
    let counter = "trawl_plugin_reloads_total{outcome=\"failed\"} ";
    assert!(metrics.contains(counter), "{metrics}");
    server.world.manifest("");
    becomes(true).await;
    // The log has a line for both, whatever else a reload changed. Decision D262.
    for line in ["plugins not reloaded", "are valid again and in effect"] {
        loop {
            let log = std::fs::read_to_string(server.world.path("log")).unwrap();
            if log.contains(line) {
                break;
            }
            assert!(Instant::now() < deadline, "{line}: {log}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reloads_under_load_fail_no_request() {
    let (app, site) = (TestApp::start().await, FakeSite::start().await);
    let variants = ["one", "two"].map(|text| Guest::constant_format("shout", text));
    app.world.load(&[&variants[0]], "");
    shows(&app, |status| generation(status) == 2).await;
    let stop = Arc::new(AtomicBool::new(false));
    let body = json!({"url": format!("{0}?1,{0}?2", site.url("/page")), "return_format": ["shout", "markdown"]});
    let clients: Vec<_> = (0..4)
        .map(|_| {
            let (caller, body, stop) = ((*app).clone(), body.clone(), Arc::clone(&stop));
            tokio::spawn(async move {
                let mut n_requests = 0;
                while !stop.load(Ordering::Relaxed) {
                    let entries = caller.scrape(body.clone()).await;
                    let said = &entries[0]["content"]["shout"];
                    assert!(said == "one" || said == "two", "{entries:?}");
                    // A request keeps the generation it started with.
                    assert_eq!(&entries[1]["content"]["shout"], said);
                    assert!(
                        entries.iter().all(|entry| entry["error"].is_null()),
                        "{entries:?}"
                    );
                    n_requests += 1;
                }
                n_requests
            })
        })
        .collect();
    for round in 0..20 {
        let next = &variants[(round + 1) % 2];
        let (status, _) = shows(&app, |_| true).await;
        let before = generation(&status);
        app.world.put(next);
        shows(&app, |status| generation(status) > before).await;
    }
    stop.store(true, Ordering::Relaxed);
    let mut n_requests = 0;
    for client in clients {
        n_requests += client.await.unwrap();
    }
    eprintln!("{n_requests} requests over 20 reloads");
    assert!(n_requests > 40, "{n_requests} requests are not a load");
    app.assert_settled().await;
}
