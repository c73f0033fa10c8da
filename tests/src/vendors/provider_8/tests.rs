use super::super::read::tests::{body, header, post};
use super::super::{BAD_KEY, BUSY_KEY, GOOD_KEY, IMAGE, POOR_KEY};
use super::*;

const FUNCTION: &str = "async function pageFunction(context) { return {}; }";

fn input(path: &str) -> Value {
    json!({
        "startUrls": [{"url": format!("http://fish.example/{path}")}], "pageFunction": FUNCTION,
        "proxyConfiguration": {"useApifyProxy": true}, "maxPagesPerCrawl": 1, "maxRequestRetries": 0,
    })
}

fn start(vendor: &Apify, key: &str, actor: &str, input: &Value) -> Answered {
    let path = format!("/v2/actors/apify~{actor}-scraper/runs");
    vendor.answer(&post(&path, &format!("Bearer {key}"), input))
}

fn get(vendor: &Apify, path: &str) -> Value {
    let mut asked = post(path, &format!("Bearer {GOOD_KEY}"), &Value::Null);
    asked.method = "GET".to_owned();
    body(&vendor.answer(&asked))
}

/// The finished run and its items.
fn finished(actor: &str, input: &Value) -> (Value, Value) {
    let vendor = Apify::default();
    let started = start(&vendor, GOOD_KEY, actor, input);
    assert_eq!(
        (started.status, &body(&started)["data"]["status"]),
        (201, &json!("RUNNING"))
    );
    let first = get(&vendor, "/v2/actor-runs/run0");
    assert_eq!(first["data"]["status"], "RUNNING");
    assert_eq!(first["data"]["usageTotalUsd"], Value::Null);
    assert_eq!(get(&vendor, "/v2/datasets/dataset0/items"), json!([]));
    let last = get(&vendor, "/v2/actor-runs/run0");
    (
        last["data"].clone(),
        get(&vendor, "/v2/datasets/dataset0/items"),
    )
}

#[test]
fn all_parameters_are_understood() {
    let mut task = input("echo");
    task["startUrls"][0]["method"] = json!("POST");
    task["startUrls"][0]["payload"] = json!("hook");
    task["initialCookies"] = json!([{"name": "a", "value": "b", "domain": "fish.example"}]);
    task["preNavigationHooks"] =
        json!("[async ({page}) => { await page.setExtraHTTPHeaders({\"X-Sea\": \"north\"}); }]");
    task["pageFunction"] = json!(
        "async function pageFunction(context) { const p = context.page; await p.waitForTimeout(1500); \
         await p.waitForSelector(\"#x \\\"y\\\"\", {timeout: 5}); await p.evaluate(\"go()\"); }"
    );
    task["proxyConfiguration"] = json!({"useApifyProxy": true, "apifyProxyGroups": ["RESIDENTIAL"], "apifyProxyCountry": "DE"});
    let (run, items) = finished("playwright", &task);
    assert_eq!(
        (&run["status"], &run["usageTotalUsd"]),
        (&json!("SUCCEEDED"), &json!(0.00125))
    );
    assert_eq!(items[0]["status"], 200);
    let echo: Value =
        serde_json::from_str(items[0]["body"].as_str().unwrap_or_default()).unwrap_or_default();
    assert_eq!(
        (&echo["method"], &echo["body"]),
        (&json!("POST"), &json!("hook"))
    );
    assert_eq!(
        (&echo["wait_ms"], &echo["wait_for"]),
        (&json!(1500), &json!("#x \"y\""))
    );
    assert_eq!(
        (&echo["script"], &echo["country"]),
        (&json!("go()"), &json!("DE"))
    );
    assert_eq!(
        (&echo["residential"], &echo["javascript"]),
        (&json!(true), &json!(true))
    );
    assert_eq!(echo["headers"], json!([["x-sea", "north"]]));
    assert_eq!(echo["cookies"], json!([["a", "b"]]));
}

#[test]
fn the_key_decides_the_response() {
    for (key, status, kind) in [
        (BAD_KEY, 401, "user-or-token-not-found"),
        (POOR_KEY, 403, "platform-feature-disabled"),
        (BUSY_KEY, 429, "rate-limit-exceeded"),
    ] {
        let answer = start(&Apify::default(), key, "cheerio", &input("page"));
        assert_eq!(
            (answer.status, &body(&answer)["error"]["type"]),
            (status, &json!(kind))
        );
        assert_eq!(header(&answer, "retry-after").is_some(), status == 429);
    }
}

#[test]
fn invalid_requests_are_refused() {
    let mut refused = Vec::new();
    for (name, value) in [
        ("startUrls", json!([])),
        (
            "startUrls",
            json!([{"url": "http://fish.example/", "payload": "x"}]),
        ),
        ("startUrls", json!([{"url": "http://fish.example/refused"}])),
        ("proxyConfiguration", json!(null)),
        (
            "proxyConfiguration",
            json!({"useApifyProxy": false, "apifyProxyCountry": "DE"}),
        ),
        (
            "proxyConfiguration",
            json!({"useApifyProxy": true, "apifyProxyCountry": "de"}),
        ),
        ("waitUntil", json!("load")),
        ("maxConcurrency", json!(0)),
    ] {
        let mut task = input("page");
        task[name] = value;
        refused.push(start(&Apify::default(), GOOD_KEY, "cheerio", &task).status);
    }
    refused.push(start(&Apify::default(), GOOD_KEY, "cheerio", &json!({})).status);
    assert_eq!(refused, [400; 9]);
    assert_eq!(
        start(&Apify::default(), GOOD_KEY, "web", &input("page")).status,
        404
    );
}

#[test]
fn targets_fail_in_the_documented_way() {
    for (path, status, error) in [
        ("slow", "TIMED-OUT", None),
        ("breaks", "FAILED", None),
        ("garbage", "SUCCEEDED", None),
        ("blocked", "SUCCEEDED", Some("received 403")),
        ("forbidden", "SUCCEEDED", Some("received 403")),
        ("busy", "SUCCEEDED", Some("503")),
        ("image", "SUCCEEDED", Some("Content-Type image/png")),
    ] {
        let (run, items) = finished("cheerio", &input(path));
        assert_eq!(run["status"], status, "{path}");
        let message = items[0]["#debug"]["errorMessages"][0].as_str();
        assert_eq!(items[0]["#error"] == json!(true), error.is_some(), "{path}");
        assert!(
            error.is_none_or(|error| message.unwrap_or_default().contains(error)),
            "{path}"
        );
    }
    let (_, items) = finished("cheerio", &input("missing"));
    assert_eq!(
        (&items[0]["status"], &items[0]["#error"]),
        (&json!(404), &json!(false))
    );
    let mut task = input("image");
    task["additionalMimeTypes"] = json!(["image/png"]);
    let (_, items) = finished("cheerio", &task);
    assert_eq!(
        (&items[0]["encoding"], &items[0]["body"]),
        (&json!("base64"), &json!(to_base64(&IMAGE)))
    );
}

#[test]
fn aborted_runs_are_listed() {
    let vendor = Apify::default();
    start(&vendor, GOOD_KEY, "cheerio", &input("slow"));
    let asked = post(
        "/v2/actor-runs/run0/abort",
        &format!("Bearer {GOOD_KEY}"),
        &Value::Null,
    );
    assert_eq!(body(&vendor.answer(&asked))["data"]["status"], "ABORTED");
    assert_eq!(
        get(&vendor, "/v2/actor-runs/run0")["data"]["status"],
        "ABORTED"
    );
    assert_eq!(vendor.aborted(), ["run0"]);
}
