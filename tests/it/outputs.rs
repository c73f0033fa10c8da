//! Cached outputs: who is served from them, what they cost, and when they are rendered again.

use serde_json::{Value, json};
use trawl_model::Nanodollars;
use trawl_test_guests::{Guest, hostile};
use trawl_tests::caller::costs;
use trawl_tests::{FakeSite, TestApp, World};

const DOLLAR: Nanodollars = Nanodollars(1_000_000_000);
/// Pages of this size cost a measurable amount of CPU time.
const PARAGRAPHS: usize = 20_000;

async fn calls(app: &TestApp, name: &str) -> u64 {
    let status = app.get("/plugins").await.json();
    let mut plugins = status["plugins"].as_array().unwrap().iter();
    let plugin = plugins.find(|plugin| plugin["name"] == name);
    plugin.unwrap()["calls"].as_u64().unwrap()
}

async fn generation(app: &TestApp) -> u64 {
    let status = app.get("/plugins").await.json();
    status["generation"].as_u64().unwrap()
}

/// Waits for a newer generation than this one.
async fn reloaded(app: &TestApp, before: u64) {
    let soon = std::time::Duration::from_secs(60);
    let reload = async {
        while generation(app).await == before {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    };
    let reload = tokio::time::timeout(soon, reload).await;
    reload.expect("the new generation is in effect");
}

/// An entry without the parts that differ between equal responses: durations, costs, and where the
/// page came from.
fn essence(mut entry: Value) -> Value {
    let object = entry.as_object_mut().unwrap();
    object.remove("costs");
    object.remove("duration_elasped_ms");
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("cache");
    }
    entry
}

fn everything(url: &str) -> Value {
    json!({
        "url": url, "request": "http", "return_format": ["markdown", "text", "raw"], "metadata": true, "return_page_links": true,
        "return_json_data": true, "return_hidden_text": true, "css_extraction_map": {"title": "h1"}, "readability": true,
        "extractors": {"links": {}}, "chunking_alg": "words",
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cached_output_is_shared_and_costs_a_lookup() {
    let (app, site) = (TestApp::start().await, FakeSite::start().await);
    let (other_account, other) = app.another("other", DOLLAR).await;
    let page = "<h1>A page</h1>".to_owned()
        + &"<p>Some <b>text</b> and <a href=\"/other\">a link</a>.".repeat(PARAGRAPHS);
    let url = site.put("/large", "text/html", page);
    let first = app.fine(everything(&url)).await;
    let [_, _, _, bytes, transform, _] = costs(&first);
    assert!(bytes > 0 && transform > 0, "{:?}", first["costs"]);
    let made = [calls(&app, "markdown").await, calls(&app, "links").await];

    let before = app.balance();
    let again = app.fine(everything(&url)).await;
    let [_, compute, _, bytes, transform, total] = costs(&again);
    assert_eq!((bytes, transform), (0, 0), "{:?}", again["costs"]);
    // A lookup and a copy cost a small part of rendering.
    assert!(compute * 10 < costs(&first)[4], "{compute}");
    assert_eq!(before - app.balance(), total);
    let others = other.fine(everything(&url)).await;
    let spent = DOLLAR.0 - app.app.billing().balance(&other_account).0;
    assert_eq!(spent, costs(&others)[5]);
    assert_eq!(essence(again), essence(first.clone()));
    assert_eq!(essence(others), essence(first));
    assert_eq!(
        [calls(&app, "markdown").await, calls(&app, "links").await],
        made
    );
    assert_eq!(site.requests().len(), 1);
    app.assert_settled().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_options_or_another_page_are_rendered_again() {
    let (app, site) = (TestApp::start().await, FakeSite::start().await);
    let one = site.put("/one", "text/html", "<h1>One</h1><a href=\"x\">x</a>");
    let two = site.put("/two", "text/html", "<h1>Two</h1><a href=\"x\">x</a>");
    // The same body at another URL has links to other pages.
    let elsewhere = site.put("/a/one", "text/html", "<h1>One</h1><a href=\"x\">x</a>");
    let text = |url: &str, more: Value| {
        let mut request = json!({"url": url, "request": "http", "return_format": "markdown"});
        let more = more.as_object().unwrap().clone();
        request.as_object_mut().unwrap().extend(more);
        request
    };
    for _ in 0..2 {
        let content = async |url: &str, more: Value| {
            let entry = app.fine(text(url, more)).await;
            entry["content"].clone()
        };
        let whole = content(&one, json!({})).await;
        assert_eq!(
            whole,
            format!("# One\n\n[x]({})\n", site.url("/x")),
            "{whole}"
        );
        assert_eq!(content(&one, json!({"max_size": 5})).await, "# One");
        assert_eq!(
            content(&one, json!({"root_selector": "h1"})).await,
            "# One\n"
        );
        assert!(
            content(&two, json!({}))
                .await
                .as_str()
                .unwrap()
                .contains("Two")
        );
        let there = content(&elsewhere, json!({})).await;
        assert!(
            there.as_str().unwrap().contains(&site.url("/a/x")),
            "{there}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reloaded_plugin_renders_again() {
    let (app, site) = (TestApp::start().await, FakeSite::start().await);
    let url = site.url("/page");
    for (round, text) in ["one", "two", "one", "three"].into_iter().enumerate() {
        let before = generation(&app).await;
        app.world
            .load(&[&Guest::constant_format("shout", text)], "");
        reloaded(&app, before).await;
        for _ in 0..3 {
            let request = json!({"url": url, "return_format": ["shout", "markdown"]});
            assert_eq!(
                app.fine(request).await["content"]["shout"],
                text,
                "round {round}"
            );
        }
        // The plugin of the third round is the same as the first, and so is its cached output.
        let expected = u64::from(round != 2);
        assert_eq!(calls(&app, "shout").await, expected, "round {round}");
    }
    // Other limits make another plugin: an output within the old limits may exceed the new ones.
    let before = generation(&app).await;
    let guest = Guest::constant_format("shout", "three");
    app.world.load(&[&guest], "limits = { output_mib = 1 }");
    reloaded(&app, before).await;
    app.fine(json!({"url": url, "return_format": ["shout", "markdown"]}))
        .await;
    assert_eq!(calls(&app, "shout").await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failed_outputs_are_not_cached() {
    let world = World::new();
    let trapping = Guest::echo_format("trapping").when_asked(hostile::TRAP);
    world.load(&[&trapping], "");
    let (app, site) = (TestApp::of(world).await, FakeSite::start().await);
    let url = site.url("/page");
    let asked = json!({"trapping": {"misbehave": true}});
    let request =
        json!({"url": url, "return_format": ["markdown", "trapping"], "format_options": asked});
    // The options are tried when they first arrive; each request renders its page.
    let before = [calls(&app, "trapping").await, calls(&app, "markdown").await];
    app.failure(request.clone()).await;
    let first = [calls(&app, "trapping").await, calls(&app, "markdown").await];
    app.failure(request).await;
    let second = [calls(&app, "trapping").await, calls(&app, "markdown").await];
    for plugin in 0..2 {
        assert!(first[plugin] > before[plugin]);
        assert_eq!(second[plugin] - first[plugin], 1, "rendered again");
    }
    // A page that its caller did not pay for is not cached either.
    let url = site.put("/unpaid", "text/html", "<p>text".repeat(30_000));
    let request = |credits: Option<u32>| json!({"url": url, "return_format": "text", "request": "http", "max_credits_per_page": credits});
    let mut before = calls(&app, "text").await;
    for credits in [Some(1), Some(1), None] {
        let entry = app.page(request(credits)).await;
        assert_eq!(entry["error"].is_null(), credits.is_none(), "{entry}");
        let now = calls(&app, "text").await;
        // A body that cannot be paid ends while it arrives.
        assert_eq!(now, before + u64::from(credits.is_none()), "{credits:?}");
        before = now;
    }
    app.fine(request(Some(1))).await;
    assert_eq!(calls(&app, "text").await, before);
    app.assert_settled().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn private_pages_are_neither_cached_nor_served_from_the_cache() {
    let (app, site) = (TestApp::start().await, FakeSite::start().await);
    let url = site.url("/page");
    let everyones = json!({"url": url, "return_format": "markdown", "request": "http"});
    app.fine(everyones.clone()).await;
    let mut before = calls(&app, "markdown").await;
    for own in [
        json!({"headers": {"X-Token": "canary"}}),
        json!({"cookies": "sid=canary"}),
        json!({"cache": false}),
    ] {
        for _ in 0..2 {
            let mut request = everyones.clone();
            let own = own.as_object().unwrap().clone();
            request.as_object_mut().unwrap().extend(own);
            app.fine(request).await;
            before += 1;
            assert_eq!(calls(&app, "markdown").await, before);
        }
    }
    // Uploaded pages are private as well.
    let body = json!({"data": [{"html": trawl_tests::site::PAGE, "url": url}], "return_format": "markdown"});
    for _ in 0..2 {
        let answer = app.post("/transform", &[], &body).await;
        assert_eq!(answer.status, 200);
        before += 1;
        assert_eq!(calls(&app, "markdown").await, before);
    }
    app.fine(everyones).await;
    assert_eq!(calls(&app, "markdown").await, before);
}
