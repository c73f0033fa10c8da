//! Messages as clients send them, on an interface that notes its requests.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http::{HeaderMap, HeaderValue, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use serde_json::{Map, Value, json};

use trawl_model::memory::MemoryBudget;

use crate::tools::TOOLS;
use crate::{Answer, Interface, Unanswered, serve};

/// A made-up answer: status, headers, body.
type Made = (u16, &'static [(&'static str, &'static str)], Value);

/// Made-up answers to requests, by method and path without its query.
type Answers = fn(&str) -> Made;

/// An interface with made-up answers.
struct FakeInterface {
    answers: Answers,
    /// Requests that came: method and path, body.
    requests: Mutex<Vec<(String, Value)>>,
}

impl Interface for FakeInterface {
    fn call(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Answer, Unanswered>> {
        let asked = format!("{} {}", request.method(), request.uri());
        let body = serde_json::from_slice(request.body()).unwrap_or_default();
        self.requests
            .lock()
            .expect("a lock")
            .push((asked.clone(), body));
        let path = asked.split('?').next().unwrap_or_default();
        let (status, headers, body) = (self.answers)(path);
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, HeaderValue::from_static(value));
        }
        let lease = MemoryBudget::unlimited().share("").page().lease();
        let answer = Answer {
            status: StatusCode::from_u16(status).expect("a status"),
            headers: map,
            body: lease.hold(Bytes::from(body.to_string())),
        };
        async move { Ok(answer) }.boxed()
    }
}

fn fake(answers: Answers) -> Arc<FakeInterface> {
    Arc::new(FakeInterface {
        answers,
        requests: Mutex::default(),
    })
}

/// What the server says to a message of this version.
async fn said(interface: &Arc<FakeInterface>, version: &'static str, message: Value) -> Value {
    let mut request = Request::new(Full::new(Bytes::from(message.to_string())));
    *request.method_mut() = http::Method::POST;
    let headers = request.headers_mut();
    for (name, value) in [
        ("accept", "application/json, text/event-stream"),
        ("content-type", "application/json"),
        ("mcp-protocol-version", version),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    for (name, field) in [("mcp-method", "/method"), ("mcp-name", "/params/name")] {
        if let Some(value) = message.pointer(field).and_then(Value::as_str) {
            headers.insert(name, HeaderValue::from_str(value).expect("a header"));
        }
    }
    let interface = Arc::clone(interface) as Arc<dyn Interface>;
    let response = serve(interface, request, 1_000_000).await;
    let status = response.status();
    let body = response
        .into_body()
        .collect()
        .await
        .expect("a body")
        .to_bytes();
    let text = String::from_utf8_lossy(&body);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {status} {text}"))
}

/// The result of a call of a tool.
async fn called(interface: &Arc<FakeInterface>, tool: &str, arguments: Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments});
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let mut answer = said(interface, "2025-11-25", message).await;
    assert!(answer["error"].is_null(), "{answer}");
    answer["result"].take()
}

fn requests(interface: &FakeInterface) -> Vec<(String, Value)> {
    interface.requests.lock().expect("a lock").clone()
}

fn nothing(_: &str) -> Made {
    (404, &[], json!({"error": "not found"}))
}

fn site(asked: &str) -> Made {
    let page = |content: Value| json!([{"url": "https://a.example/", "status": 200, "error": null, "content": content, "costs": {"total_cost": 0.25}}]);
    match asked {
        "POST /scrape" => {
            let text = "word ".repeat(2_000);
            (200, &[("x-ignored-parameters", "proxy")], page(text.into()))
        }
        "POST /screenshot" => (200, &[], page("aWJt".into())),
        "POST /crawl" => (200, &[], json!({"id": "c1", "status": "queued"})),
        "GET /crawl/c1" => (200, &[], json!({"id": "c1", "state": "ended", "pages": 2})),
        "DELETE /crawl/c1" => (200, &[], json!({"id": "c1", "state": "ended"})),
        "GET /crawl/busy/pages" => (429, &[("retry-after", "7")], json!({"error": "slow down"})),
        "GET /crawl/c1/pages" => (200, &[("x-next-cursor", "1")], page("# One".into())),
        "POST /transform" => (
            200,
            &[],
            json!({"content": ["# H"], "costs": {"total_cost": 0.5}}),
        ),
        "POST /map" => (
            402,
            &[],
            json!({"error": "balance is zero", "hint": "top up"}),
        ),
        "POST /links" => (429, &[("retry-after", "7")], json!({"error": "slow down"})),
        _ => nothing(asked),
    }
}

#[tokio::test]
async fn a_client_that_begins_with_initialize_gets_its_version() {
    let interface = fake(nothing);
    for version in ["2025-06-18", "2025-11-25"] {
        let params = json!({
            "protocolVersion": version, "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        });
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
        let answer = said(&interface, version, message).await;
        let result = &answer["result"];
        assert_eq!(result["protocolVersion"], version, "{answer}");
        assert_eq!(result["serverInfo"]["name"], "trawl");
        assert!(result["capabilities"]["tools"].is_object());
        assert!(
            result["instructions"]
                .as_str()
                .is_some_and(|text| text.contains("crawl_pages"))
        );
    }
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
    let listed = said(&interface, "2025-11-25", list).await;
    let tools = listed["result"]["tools"].as_array().expect("tools");
    assert_eq!(tools.len(), TOOLS.len());
    assert!(
        tools
            .iter()
            .all(|tool| tool["inputSchema"]["type"] == "object")
    );
    assert!(requests(&interface).is_empty(), "nothing was fetched");
}

#[tokio::test]
async fn a_message_of_the_stateless_protocol_stands_alone() {
    let interface = fake(site);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({"name": "crawl_stop", "arguments": {"id": "c1"}, "_meta": meta});
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let answer = said(&interface, "2026-07-28", message).await;
    assert_eq!(
        answer["result"]["structuredContent"]["state"], "ended",
        "{answer}"
    );
    assert_eq!(requests(&interface)[0].0, "DELETE /crawl/c1");
}

#[tokio::test]
async fn a_long_page_goes_on_by_cursor() {
    let interface = fake(site);
    let arguments = json!({"url": "a.example", "max_tokens": 500, "proxy": "isp"});
    let first = called(&interface, "scrape", arguments.clone()).await;
    assert_eq!(first["isError"], false);
    let structured = &first["structuredContent"];
    assert_eq!(structured["costs"], json!({"total_cost": 0.25}));
    assert_eq!(structured["pages"][0]["is_cut"], true);
    let text = first["content"][0]["text"].as_str().expect("a text");
    assert!(text.contains("Without effect: proxy"), "{text}");
    assert!(text.ends_with("Cost: $0.25"), "{text}");
    let mut arguments = arguments;
    arguments["cursor"] = structured["next_cursor"].clone();
    let second = called(&interface, "scrape", arguments).await;
    let [one, two] = [&first, &second].map(|answer| {
        let content = &answer["structuredContent"]["pages"][0]["content"];
        content.as_str().expect("a text").to_owned()
    });
    let whole = "word ".repeat(2_000);
    assert!(
        whole.starts_with(&(one + &two)),
        "the second part begins where the first ends"
    );
    // What is for the tool alone does not reach the interface.
    let expected = json!({"url": "a.example", "proxy": "isp", "return_format": "markdown"});
    for (asked, body) in requests(&interface) {
        assert_eq!((asked.as_str(), &body), ("POST /scrape", &expected));
    }
}

#[tokio::test]
async fn errors_are_those_of_the_interface() {
    let interface = fake(site);
    let check = async |tool: &str, arguments: Value, expected: &str| {
        let answer = called(&interface, tool, arguments).await;
        assert_eq!(answer["isError"], true, "{answer}");
        assert_eq!(answer["content"][0]["text"], expected);
        assert_eq!(
            answer["structuredContent"]["costs"],
            json!({"total_cost": 0.0})
        );
    };
    let url = json!({"url": "a.example"});
    check("map", url.clone(), "balance is zero: top up").await;
    check("links", url.clone(), "slow down; try again in 7 s").await;
    check("crawl_status", json!({"id": "c2"}), "not found").await;
    check("scrape", json!({}), "url: is missing").await;
    let unknown =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "no"}});
    let answer = said(&interface, "2025-11-25", unknown).await;
    assert_eq!(answer["error"]["message"], "there is no tool `no`");
}

#[tokio::test]
async fn a_resource_that_cannot_be_read_now_is_not_absent() {
    let interface = fake(site);
    for (crawl, code, text) in [
        ("busy", -32603, "slow down; try again in 7 s"),
        ("none", -32002, "not found"),
    ] {
        let uri = json!({"uri": format!("trawl://crawl/{crawl}/page/1")});
        let read = json!({"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": uri});
        let error = said(&interface, "2025-11-25", read).await["error"].take();
        assert_eq!(error["code"], code, "{error}");
        let said = error["message"].as_str().expect("a text");
        assert!(said.ends_with(text), "{said}");
    }
}

#[tokio::test]
async fn a_screenshot_is_an_image() {
    let answer = called(&fake(site), "screenshot", json!({"url": "a.example"})).await;
    let image = json!({"type": "image", "data": "aWJt", "mimeType": "image/png"});
    assert_eq!(answer["content"][0], image);
    assert_eq!(answer["content"][1]["type"], "text");
    let text = answer["structuredContent"].to_string();
    assert!(!text.contains("aWJt"), "the image is not there twice");
}

#[tokio::test]
async fn a_crawl_is_begun_followed_and_read() {
    let interface = fake(site);
    let begun = called(&interface, "crawl", json!({"url": "a.example"})).await;
    assert_eq!(begun["structuredContent"]["id"], "c1");
    let arguments = json!({"id": "c1", "wait_seconds": 50});
    let state = called(&interface, "crawl_status", arguments).await;
    assert_eq!(state["structuredContent"]["pages"], 2);
    let pages = called(&interface, "crawl_pages", json!({"id": "c1"})).await;
    let structured = &pages["structuredContent"];
    assert_eq!(structured["next_cursor"], "1");
    assert_eq!(
        structured["pages"][0]["resource"],
        "trawl://crawl/c1/page/1"
    );
    assert_eq!(structured["costs"], json!({"total_cost": 0.0}));
    let more = json!({"id": "c1", "cursor": "1"});
    let pages = called(&interface, "crawl_pages", more).await;
    assert_eq!(pages["structuredContent"]["next_cursor"], "2");
    let uri = json!({"uri": "trawl://crawl/c1/page/3"});
    let read = json!({"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": uri});
    let answer = said(&interface, "2025-11-25", read).await;
    assert_eq!(answer["result"]["contents"][0]["text"], "# One", "{answer}");
    let asked: Vec<_> = requests(&interface)
        .into_iter()
        .map(|(asked, _)| asked)
        .collect();
    let expected = [
        "POST /crawl",
        "GET /crawl/c1",
        "GET /crawl/c1/pages?cursor=0&limit=20",
        "GET /crawl/c1/pages?cursor=1&limit=20",
        "GET /crawl/c1/pages?cursor=2&limit=1",
    ];
    assert_eq!(asked, expected);
    let body: Map<String, Value> = Map::from_iter([
        ("url".to_owned(), "a.example".into()),
        ("limit".to_owned(), 50.into()),
        ("return_format".to_owned(), "markdown".into()),
        ("run_in_background".to_owned(), true.into()),
    ]);
    assert_eq!(requests(&interface)[0].1, Value::Object(body));
}

#[tokio::test]
async fn html_is_the_data_of_a_transformation() {
    let interface = fake(site);
    let arguments = json!({"html": "<h1>H</h1>", "url": "https://a.example/"});
    let answer = called(&interface, "transform", arguments).await;
    assert_eq!(answer["structuredContent"]["content"], "# H");
    assert_eq!(
        answer["structuredContent"]["costs"],
        json!({"total_cost": 0.5})
    );
    let data = json!([{"html": "<h1>H</h1>", "url": "https://a.example/"}]);
    assert_eq!(requests(&interface)[0].1["data"], data);
}
