//! Tools for agents: messages over HTTP, and through `trawl mcp`.

use std::time::Duration;

use serde_json::{Value, json};
use trawl_tests::{Answer, Caller, FakeSite, ServerProcess, TestApp, World, run_program};

const ACCEPT: (&str, &str) = ("accept", "application/json, text/event-stream");

async fn sent(caller: &Caller, message: &Value) -> Answer {
    caller.post("/mcp", &[ACCEPT], message).await
}

fn call(tool: &str, arguments: &Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments});
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
}

/// The result of a call of a tool.
async fn called(caller: &Caller, tool: &str, arguments: &Value) -> Value {
    let answer = sent(caller, &call(tool, arguments)).await;
    let text = String::from_utf8_lossy(&answer.body);
    assert_eq!(answer.status, 200, "{text}");
    answer.json()["result"].take()
}

/// The same of a call that succeeds: its text and its structured content.
async fn done(caller: &Caller, tool: &str, arguments: Value) -> (String, Value) {
    let mut result = called(caller, tool, &arguments).await;
    assert_eq!(result["isError"], false, "{tool} {arguments}: {result}");
    let text = result["content"][0]["text"].as_str().unwrap_or_default();
    (text.to_owned(), result["structuredContent"].take())
}

fn nanodollars(dollars: &Value) -> i64 {
    (dollars.as_f64().expect("a number") * 1e9).round() as i64
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_costs_what_it_says() {
    let (app, site) = (TestApp::start().await, FakeSite::start().await);
    site.put(
        "/a",
        "text/html",
        "<title>A</title><h1>A</h1><a href=/b>b</a>",
    );
    let before = app.balance();
    let url = site.url("/a");
    let (text, page) = done(&app, "scrape", json!({"url": url, "metadata": true})).await;
    assert!(
        text.contains("# A") && text.contains("\"title\": \"A\""),
        "{text}"
    );
    let (_, links) = done(&app, "links", json!({"url": url})).await;
    assert_eq!(links["pages"][0]["links"], json!([site.url("/b")]));
    let fields = json!({"url": url, "css_extraction_map": {"heading": "h1"}});
    let (text, extracted) = done(&app, "extract", fields).await;
    assert_eq!(
        extracted["pages"][0]["css_extracted"]["heading"], "A",
        "{text}"
    );
    let html = json!({"html": "<h1>B</h1>"});
    let (_, transformed) = done(&app, "transform", html).await;
    assert_eq!(transformed["content"].as_str().map(str::trim), Some("# B"));
    let parts = [page, links, extracted, transformed];
    let costs = parts
        .iter()
        .map(|part| nanodollars(&part["costs"]["total_cost"]));
    assert_eq!(before - app.balance(), costs.sum::<i64>());
    app.assert_settled().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_page_and_a_refusal_cost_nothing() {
    let (app, site) = (TestApp::start().await, FakeSite::start().await);
    let before = app.balance();
    let missing = json!({"url": site.url("/missing")});
    let result = called(&app, "scrape", &missing).await;
    assert_eq!(result["isError"], true, "{result}");
    let text = result["content"][0]["text"].as_str().unwrap_or_default();
    assert!(text.contains("Status: 404\nError: "), "{text}");
    let unknown = json!({"url": site.url("/"), "return_format": "pdf"});
    let direct = app.post("/scrape", &[], &unknown).await;
    let result = called(&app, "scrape", &unknown).await;
    assert_eq!(result["content"][0]["text"], direct.error());
    let result = called(&app, "search", &json!({"search": "tides"})).await;
    let text = result["content"][0]["text"].as_str().unwrap_or_default();
    assert!(
        text.contains("[search]") && result["isError"] == true,
        "{result}"
    );
    assert_eq!(app.balance(), before);
    let denied = app.with_key("tr_unknown");
    assert_eq!(sent(&denied, &call("scrape", &missing)).await.status, 401);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_page_is_read_in_parts() {
    let (app, site) = (TestApp::start().await, FakeSite::start().await);
    let lines: Vec<String> = (0..2_000)
        .map(|n| format!("<p>Line number {n}.</p>"))
        .collect();
    site.put("/long", "text/html", lines.concat());
    let whole = app
        .fine(json!({"url": site.url("/long"), "return_format": "markdown"}))
        .await;
    let whole = whole["content"].as_str().expect("a text").to_owned();
    let (mut read, mut n_parts) = (String::new(), 0);
    let mut arguments = json!({"url": site.url("/long"), "max_tokens": 3_000});
    loop {
        let (_, part) = done(&app, "scrape", arguments.clone()).await;
        read += part["pages"][0]["content"].as_str().expect("a text");
        n_parts += 1;
        assert!(n_parts < 20, "it gets on");
        match part.get("next_cursor") {
            Some(next) => arguments["cursor"] = next.clone(),
            None => break,
        }
    }
    assert_eq!(read, whole);
    assert!(n_parts > 2, "{n_parts}");
    // The page changes, so that the parts of two versions are not put together.
    arguments["cache"] = false.into();
    site.put("/long", "text/html", lines[1..].concat());
    let result = called(&app, "scrape", &arguments).await;
    let text = result["content"][0]["text"].as_str().unwrap_or_default();
    assert!(
        text.starts_with("cursor: what it continues has changed"),
        "{text}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crawl_is_followed_with_its_progress() {
    let (app, site) = (TestApp::start().await, FakeSite::start().await);
    for n in 0..4 {
        let page = format!(
            "<title>{n}</title><p>Page {n}</p><a href=/p/{}>next</a>",
            n + 1
        );
        site.put(&format!("/p/{n}"), "text/html", page);
    }
    let arguments = json!({"url": site.url("/p/0"), "limit": 3, "delay": 1_000, "request": "http"});
    let (_, begun) = done(&app, "crawl", arguments).await;
    let id = begun["id"].as_str().expect("an id").to_owned();
    let mut message = call("crawl_status", &json!({"id": id, "wait_seconds": 50}));
    message["params"]["_meta"] = json!({"progressToken": "p1"});
    let answer = sent(&app, &message).await;
    assert_eq!(answer.header("content-type"), "text/event-stream");
    let stream = String::from_utf8(answer.body).expect("a text");
    let data = stream.lines().filter_map(|line| line.strip_prefix("data:"));
    let events: Vec<Value> = data
        .filter_map(|data| serde_json::from_str(data).ok())
        .collect();
    let (last, reports) = events.split_last().expect("events");
    assert_eq!(
        last["result"]["structuredContent"]["state"], "ended",
        "{stream}"
    );
    assert!(!reports.is_empty(), "{stream}");
    for report in reports {
        assert_eq!(report["method"], "notifications/progress");
        assert_eq!(report["params"]["progressToken"], "p1");
        assert_eq!(report["params"]["total"], 3.0);
    }
    let (text, pages) = done(&app, "crawl_pages", json!({"id": id})).await;
    assert_eq!(pages["pages"].as_array().map(Vec::len), Some(3));
    assert_eq!(pages.get("next_cursor"), None, "the crawl has ended");
    let uri = format!("trawl://crawl/{id}/page/2");
    assert!(text.contains(&format!("Resource: {uri}")), "{text}");
    let read = |uri: &str| json!({"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": uri}});
    let resource = sent(&app, &read(&uri)).await.json();
    assert_eq!(
        resource["result"]["contents"][0]["text"],
        pages["pages"][1]["content"]
    );
    let missing = sent(&app, &read(&format!("trawl://crawl/{id}/page/9")))
        .await
        .json();
    let text = missing["error"]["message"].as_str().unwrap_or_default();
    assert!(text.contains("no such page"), "{missing}");
    // Another account sees neither.
    let (_, other) = app
        .another("other", trawl_model::Nanodollars(1_000_000))
        .await;
    let result = called(&other, "crawl_status", &json!({"id": id})).await;
    assert_eq!(result["isError"], true);
    assert!(sent(&other, &read(&uri)).await.json()["error"].is_object());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crawl_is_stopped() {
    let (app, site) = (TestApp::start().await, FakeSite::start().await);
    site.put("/start", "text/html", "<a href=/1>1</a><a href=/2>2</a>");
    let arguments = json!({"url": site.url("/start"), "delay": 60_000, "request": "http"});
    let (_, begun) = done(&app, "crawl", arguments).await;
    let id = begun["id"].as_str().expect("an id").to_owned();
    done(&app, "crawl_stop", json!({"id": id})).await;
    let state = app.crawl_ended(&id, Duration::from_secs(60)).await;
    assert_eq!(state["stop_reason"], "cancelled");
}

/// Messages of a client that begins with `initialize`, one a line.
fn session() -> String {
    let client = json!({"name": "test", "version": "1"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
    let messages = [
        json!({"jsonrpc": "2.0", "id": "i", "method": "initialize", "params": params}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        call("scrape", &json!({"url": "http://sample.trawl.test/tides"})),
    ];
    let lines = messages.map(|message| format!("{message}\n"));
    lines.concat() + "no message\n"
}

/// Checks what `trawl mcp` answers to them.
fn check_session(output: &std::process::Output) {
    let (out, err) = (&output.stdout, &output.stderr);
    let (out, err) = (String::from_utf8_lossy(out), String::from_utf8_lossy(err));
    assert!(output.status.success(), "{out}\n{err}");
    let read = |line| serde_json::from_str::<Value>(line).unwrap_or_else(|_| panic!("{out}"));
    let replies: Vec<Value> = out.lines().map(read).collect();
    assert_eq!(replies.len(), 3, "{out}\n{err}");
    let reply = |id: Value| {
        replies
            .iter()
            .find(|reply| reply["id"] == id)
            .expect("a reply")
    };
    assert_eq!(reply("i".into())["result"]["serverInfo"]["name"], "trawl");
    let page = &reply(1.into())["result"];
    assert_eq!(page["isError"], false, "{page}");
    let text = page["content"][0]["text"].as_str().unwrap_or_default();
    assert!(text.contains("# Tides"), "{text}");
    assert_eq!(reply(Value::Null)["error"]["code"], -32_700);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_command_line_passes_messages_to_a_server() {
    let server = ServerProcess::start(World::new());
    let world = World::new();
    let arguments = ["mcp", "--url", &server.base, "--key", &server.key];
    check_session(&run_program(&world, &arguments, session().as_bytes()));
    // What the server refuses is a reply, too.
    let arguments = ["mcp", "--url", &server.base, "--key", "tr_unknown"];
    let message = format!("{}\n", call("scrape", &json!({"url": "a.example"})));
    let output = run_program(&world, &arguments, message.as_bytes());
    let reply: Value = serde_json::from_slice(&output.stdout).expect("a reply");
    let text = reply["error"]["message"].as_str().unwrap_or_default();
    assert!(text.contains("the key is unknown or revoked"), "{reply}");
    let arguments = ["mcp", "--url", "http://127.0.0.1:9", "--key", "tr_unknown"];
    let output = run_program(&world, &arguments, message.as_bytes());
    let reply: Value = serde_json::from_slice(&output.stdout).expect("a reply");
    let text = reply["error"]["message"].as_str().unwrap_or_default();
    assert!(text.starts_with("no answer from the server"), "{reply}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_command_line_has_a_server_of_its_own() {
    let world = World::new();
    let (data, plugins) = (world.data(), world.plugins());
    let arguments = [
        "mcp",
        "--data",
        data.to_str().unwrap(),
        "--plugins",
        plugins.to_str().unwrap(),
    ];
    // The second start finds the account of the first.
    for _ in 0..2 {
        check_session(&run_program(&world, &arguments, session().as_bytes()));
    }
}
