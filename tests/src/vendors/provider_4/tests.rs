use super::super::{BAD_KEY, BUSY_KEY, GOOD_KEY, LARGE_BYTES, PAGE, PAGE_RENDERED, POOR_KEY};
use super::*;

fn ask(vendor: &Scrapfly, path: &str, query: &[(&str, &str)]) -> (Answered, Value) {
    let query = query.iter();
    let answer = vendor.answer(&Asked {
        method: "GET".to_owned(),
        path: path.to_owned(),
        query: query
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect(),
        headers: Vec::new(),
        body: Vec::new(),
        origin: "http://127.0.0.1:1".to_owned(),
    });
    let reply = serde_json::from_slice(&answer.body).unwrap_or_default();
    (answer, reply)
}

fn scrape(path: &str, more: &[(&str, &str)]) -> (Answered, Value) {
    let url = format!("http://site.example/{path}");
    let mut query = vec![("key", GOOD_KEY), ("url", url.as_str())];
    query.extend(more);
    ask(&Scrapfly::default(), "/scrape", &query)
}

#[test]
fn the_envelope_contains_the_page() {
    let (answer, reply) = scrape("moved", &[("country", "us")]);
    let result = &reply["result"];
    assert_eq!(answer.status, 200);
    assert_eq!(result["content"], PAGE);
    assert_eq!(result["format"], "text");
    assert_eq!(result["success"], true);
    assert_eq!(result["status_code"], 200);
    assert_eq!(result["url"], "http://site.example/page");
    assert_eq!(result["response_headers"]["x-target"], "yes");
    assert_eq!(result["response_headers"]["set-cookie"][1], "sea=north");
    assert_eq!(result["cookies"][0]["value"], "cod");
    assert_eq!(reply["context"]["cost"]["total"], 1);
    assert_eq!(reply["uuid"], "req-1");
    let (_, image) = scrape("image", &[]);
    assert_eq!(image["result"]["format"], "binary");
    assert_eq!(image["result"]["content"], to_base64(&IMAGE));
    let (raw, _) = scrape("page", &[("proxified_response", "true")]);
    assert_eq!(raw.body, PAGE.as_bytes());
}

#[test]
fn the_browser_supports_scripts_waits_and_screenshots() {
    let more = [
        ("render_js", "true"),
        ("rendering_wait", "500"),
        ("wait_for_selector", "#x"),
        ("js", "cmV0dXJuIDE"),
        ("screenshots[main]", "fullpage"),
        ("headers[X-Fish]", "cod"),
        ("headers[cookie]", "a=b"),
        ("proxy_pool", RESIDENTIAL),
    ];
    let (_, reply) = scrape("echo", &more);
    let text = reply["result"]["content"].as_str().unwrap_or_default();
    let echo: Value = serde_json::from_str(text).unwrap_or_default();
    assert_eq!(echo["script"], "return 1");
    assert_eq!(echo["wait_ms"], 500);
    assert_eq!(echo["headers"], json!([["x-fish", "cod"]]));
    assert_eq!(echo["cookies"], json!([["a", "b"]]));
    assert_eq!(echo["screenshot"], "full_page");
    assert_eq!(reply["context"]["cost"]["total"], 30);
    let url = "http://127.0.0.1:1/scrape/screenshot/main";
    assert_eq!(reply["result"]["screenshots"]["main"]["url"], url);
    let (_, rendered) = scrape("page", &more);
    assert_eq!(rendered["result"]["content"], PAGE_RENDERED);
}

#[test]
fn a_large_body_is_fetched_with_the_key() {
    let vendor = Scrapfly::default();
    let query = [("key", GOOD_KEY), ("url", "http://site.example/large")];
    for _ in 0..2 {
        let (_, reply) = ask(&vendor, "/scrape", &query);
        assert_eq!(reply["result"]["format"], "clob");
        let url = "http://127.0.0.1:1/scrape/blob/1";
        assert_eq!(reply["result"]["content"], url);
        assert_eq!(reply["context"]["cost"]["total"], 52);
    }
    let (blob, _) = ask(&vendor, "/scrape/blob/1", &query[..1]);
    assert_eq!((blob.status, blob.body.len()), (200, LARGE_BYTES + 7));
    assert_eq!(ask(&vendor, "/scrape/blob/1", &[]).0.status, 401);
    for path in ["/scrape/blob/0", "/scrape/blob/2", "/scrape/blob/x", "/"] {
        assert_eq!(ask(&vendor, path, &query[..1]).0.status, 404, "{path}");
    }
}

#[test]
fn the_key_decides_the_response() {
    let vendor = Scrapfly::default();
    for (key, status, code) in [
        (BAD_KEY, 401, Value::Null),
        (
            POOR_KEY,
            429,
            json!("ERR::THROTTLE::PROJECT_QUOTA_LIMIT_REACHED"),
        ),
        (
            BUSY_KEY,
            429,
            json!("ERR::THROTTLE::MAX_REQUEST_RATE_EXCEEDED"),
        ),
    ] {
        let query = [("key", key), ("url", "http://site.example/page")];
        let (answer, reply) = ask(&vendor, "/scrape", &query);
        assert_eq!((answer.status, &reply["code"]), (status, &code));
        let waits = answer.headers.iter().any(|(name, _)| name == "Retry-After");
        assert_eq!(waits, key == BUSY_KEY);
    }
}

#[test]
fn invalid_parameters_are_refused() {
    for more in [
        [("fish", "1")].as_slice(),
        &[("headers[]", "1")],
        &[("render_js", "1")],
        &[("rendering_wait", "5")],
        &[("wait_for_selector", "#x")],
        &[("js", "YQ")],
        &[("screenshots[main]", "fullpage")],
        &[("render_js", "true"), ("js", "+/8=")],
        &[("render_js", "true"), ("js_scenario", "e30")],
        &[("timeout", "1000")],
        &[("timeout", "1000"), ("retry", "true")],
        &[("country", "US")],
        &[("proxy_pool", "mine")],
        &[("format", "markdown")],
        &[("cost_budget", "0")],
    ] {
        let (answer, reply) = scrape("page", more);
        assert_eq!(answer.status, 400, "{more:?}");
        assert_eq!(reply["code"], "ERR::SCRAPE::CONFIG_ERROR");
    }
    let fits = [
        ("timeout", "1000"),
        ("retry", "false"),
        ("cost_budget", "1"),
    ];
    assert_eq!(scrape("page", &fits).0.status, 200);
}

#[test]
fn failures_have_documented_codes() {
    for (path, status, cost) in [("missing", 404, 1), ("forbidden", 403, 1), ("busy", 503, 0)] {
        let (answer, reply) = scrape(path, &[]);
        let error = &reply["result"]["error"];
        assert_eq!(answer.status, 200);
        assert_eq!(error["code"], "ERR::SCRAPE::BAD_UPSTREAM_RESPONSE");
        assert_eq!(reply["result"]["status_code"], status);
        assert_eq!(reply["context"]["cost"]["total"], cost);
        let text = reply["result"]["content"].as_str().unwrap_or_default();
        assert!(text.starts_with("<h1>"));
    }
    for (path, status, code) in [
        ("blocked", 422, "ERR::ASP::SHIELD_PROTECTION_FAILED"),
        ("slow", 504, "ERR::SCRAPE::OPERATION_TIMEOUT"),
    ] {
        let (answer, reply) = scrape(path, &[]);
        let error = &reply["result"]["error"];
        assert_eq!((answer.status, &error["code"]), (status, &json!(code)));
        assert!(reply["result"].get("status_code").is_none());
    }
    assert_eq!(scrape("breaks", &[]).0.status, 500);
    assert_eq!(scrape("refused", &[]).0.status, 400);
    assert_eq!(scrape("garbage", &[]).1, json!({"hello": "world"}));
    let query = [("key", GOOD_KEY), ("url", "http://a.nowhere.example/")];
    let (dead, _) = ask(&Scrapfly::default(), "/scrape", &query);
    assert_eq!(dead.status, 422);
}
