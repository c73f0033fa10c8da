//! Plugins that misbehave on a page: the page fails for free with the plugin's name and the limit,
//! and nothing else is affected.

use std::time::{Duration, Instant};

use serde_json::json;
use trawl_test_guests::{Guest, hostile};
use trawl_tests::{FakeSite, TestApp, World};

use super::{plugin, shows};

fn misbehaving(name: &str, misbehavior: &str) -> Guest {
    Guest::echo_format(name).when_asked(misbehavior)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_misbehaving_plugin_fails_only_its_page() {
    let misdeeds = [
        (
            misbehaving("looping", hostile::ENDLESS_LOOP),
            "allowed 1000 ms",
        ),
        (
            misbehaving("grabbing", hostile::MEMORY_GRAB),
            "allowed 4 MiB",
        ),
        (misbehaving("trapping", hostile::TRAP), "unreachable"),
        (
            misbehaving("reading", hostile::OUT_OF_BOUNDS),
            "out of bounds",
        ),
        (
            misbehaving("lying", hostile::LYING_POINTER),
            "out of bounds",
        ),
        (misbehaving("garbling", hostile::INVALID_UTF8), "utf-8"),
        (
            misbehaving("pouring", hostile::LARGE_OUTPUT),
            "the limit is 1 MiB",
        ),
        (hostile::deep_recursion("recursing"), "stack"),
    ];
    let world = World::new();
    let guests: Vec<_> = misdeeds.iter().map(|(guest, _)| guest).collect();
    world.load(
        &guests,
        "limits = { time_ms = 1000, memory_mib = 4, output_mib = 1 }",
    );
    let (app, site) = (TestApp::of(world).await, FakeSite::start().await);
    let url = site.url("/page");
    let before = app.balance();
    for (guest, limit) in &misdeeds {
        let name = &guest.name;
        let began = Instant::now();
        let options = json!({name: {"misbehave": true}});
        let body = json!({"url": url, "return_format": name, "format_options": options});
        let (_, reason) = app.failure(body).await;
        assert!(
            reason.contains(&format!("format `{name}`")) && reason.contains(limit),
            "{reason}"
        );
        assert!(
            began.elapsed() < Duration::from_secs(20),
            "{name}: {:?}",
            began.elapsed()
        );
        assert_eq!(app.balance(), before, "{name}");
        let next = app.page(json!({"url": url, "return_format": name})).await;
        assert!(
            next["error"].is_null() && next["content"].as_str().unwrap().contains("A page"),
            "{next}"
        );
        let (status, _) = shows(&app, |_| true).await;
        assert!(
            plugin(&status, name).unwrap()["traps"].as_u64().unwrap() >= 1,
            "{name}"
        );
        app.fine(json!({"url": url, "return_format": "markdown", "cache": false}))
            .await;
        let spent = before - app.balance();
        assert!(spent > 0);
        app.app
            .billing()
            .top_up(&app.account, trawl_model::Nanodollars(spent), None)
            .await
            .unwrap();
    }
    app.assert_settled().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plugins_failure_does_not_affect_other_parts_of_the_page() {
    let world = World::new();
    let extractor = Guest::echo_extractor("broken").when_asked(hostile::TRAP);
    let lying = Guest::whole_chunker("lying").when_asked(&hostile::lying_span(3, 1));
    let mask = Guest::keeping_filter("masked").when_asked(hostile::LYING_MASK);
    world.load(&[&extractor, &lying, &mask], "");
    let (app, site) = (TestApp::of(world).await, FakeSite::start().await);
    let url = site.url("/page");
    let misbehaving = json!({"misbehave": true});
    let entry = app
        .page(json!({"url": url, "return_format": "markdown", "extractors": {"broken": misbehaving}, "metadata": true}))
        .await;
    assert!(
        entry["error"]
            .as_str()
            .unwrap()
            .contains("extractor `broken`"),
        "{entry}"
    );
    assert!(entry["content"].as_str().unwrap().starts_with("# A page"));
    assert_eq!(entry["metadata"]["title"], "A page");
    trawl_tests::caller::assert_free(&entry);
    for (field, value, says) in [
        (
            "chunking_alg",
            json!({"type": "lying", "misbehave": true}),
            "chunker `lying`",
        ),
        ("filters", json!({"masked": misbehaving}), "filter `masked`"),
    ] {
        let (_, reason) = app
            .failure(json!({"url": url, "return_format": "text", field: value}))
            .await;
        assert!(reason.contains(says), "{reason}");
    }
    assert_eq!(app.balance(), 100_000_000_000);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_accounts_are_served_while_a_plugin_loops() {
    let world = World::new();
    world.load(
        &[&misbehaving("looping", hostile::ENDLESS_LOOP)],
        "limits = { time_ms = 300 }",
    );
    let (app, site) = (TestApp::of(world).await, FakeSite::start().await);
    let urls: Vec<_> = (0..8).map(|n| site.url(&format!("/page?{n}"))).collect();
    let options = json!({"looping": {"misbehave": true}});
    let looping = app.scrape(
        json!({"url": urls.join(","), "return_format": "looping", "format_options": options}),
    );
    let others = async {
        for _ in 0..10 {
            app.fine(json!({"url": site.url("/page"), "return_format": "markdown"}))
                .await;
        }
    };
    let (entries, ()) = tokio::join!(looping, others);
    assert!(
        entries.iter().all(|entry| entry["error"]
            .as_str()
            .unwrap()
            .contains("format `looping`")),
        "{entries:?}"
    );
    app.assert_settled().await;
}
