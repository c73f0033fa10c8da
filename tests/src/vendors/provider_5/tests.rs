use super::super::{BAD_KEY, BUSY_KEY, GOOD_KEY, PAGE, POOR_KEY};
use super::*;

fn owned(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    let pairs = pairs.iter();
    pairs
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

fn ask(query: &[(&str, &str)], headers: &[(&str, &str)]) -> (Answered, Value) {
    let answer = ScrapeDo.answer(&Asked {
        method: "DELETE".to_owned(),
        path: "/".to_owned(),
        query: owned(query),
        headers: owned(headers),
        body: Vec::new(),
        origin: "http://127.0.0.1:1".to_owned(),
    });
    let reply = serde_json::from_slice(&answer.body).unwrap_or_default();
    (answer, reply)
}

fn get(path: &str, more: &[(&str, &str)], headers: &[(&str, &str)]) -> (Answered, Value) {
    let url = format!("http://site.example/{path}");
    let mut query = vec![("token", GOOD_KEY), ("url", url.as_str())];
    query.extend(more);
    ask(&query, headers)
}

fn header<'a>(answer: &'a Answered, name: &str) -> Option<&'a str> {
    let mut headers = answer.headers.iter();
    let found = headers.find(|(known, _)| known == name);
    found.map(|(_, value)| value.as_str())
}

const CLEAR: (&str, &str) = ("transparentResponse", "true");

#[test]
fn a_page_has_target_headers_and_metadata() {
    let (answer, _) = get("moved", &[CLEAR], &[]);
    let resolved = "http://site.example/page";
    assert_eq!(answer.status, 200);
    assert_eq!(answer.body, PAGE.as_bytes());
    assert_eq!(
        header(&answer, "scrape.do-initial-status-code"),
        Some("200")
    );
    assert_eq!(header(&answer, "scrape.do-resolved-url"), Some(resolved));
    assert_eq!(
        header(&answer, "scrape.do-cookies"),
        Some("fish=cod;sea=north;")
    );
    assert_eq!(header(&answer, "scrape.do-request-cost"), Some("1"));
    assert_eq!(header(&answer, "x-target"), Some("yes"));
    assert_eq!(header(&answer, "set-cookie"), None);
    let (pure, _) = get("image", &[CLEAR, ("pureCookies", "true")], &[]);
    assert_eq!(pure.body, IMAGE);
    assert_eq!(header(&pure, "scrape.do-cookies"), None);
    assert_eq!(
        header(&pure, "set-cookie"),
        Some("fish=cod; Path=/; HttpOnly")
    );
}

#[test]
fn the_browser_responds_with_json() {
    let steps = r#"[{"Action": "Execute", "Execute": "1"}]"#;
    let more = [
        ("render", "true"),
        ("super", "true"),
        ("customWait", "500"),
        ("waitSelector", "#x"),
        ("playWithBrowser", steps),
        ("fullScreenShot", "true"),
        ("returnJSON", "true"),
    ];
    let (answer, reply) = get("echo", &more, &[]);
    assert_eq!(header(&answer, "scrape.do-request-cost"), Some("25"));
    assert_eq!(reply["screenShots"][0]["image"], to_base64(&IMAGE));
    assert_eq!(reply["actionResults"][0]["action"], "Execute");
    let text = reply["content"].as_str().unwrap_or_default();
    let echo: Value = serde_json::from_str(text).unwrap_or_default();
    assert_eq!(echo["script"], "1");
    assert_eq!(echo["wait_ms"], 500);
    assert_eq!(echo["wait_for"], "#x");
    assert_eq!(echo["screenshot"], "full_page");
    assert_eq!(echo["residential"], true);
}

#[test]
fn options_select_the_headers_to_forward() {
    let sent = [
        ("host", "api"),
        ("cookie", "a=b"),
        ("sd-cookie", "c=d"),
        ("sd-x-fish", "cod"),
    ];
    let whole = json!([["sd-cookie", "c=d"], ["sd-x-fish", "cod"]]);
    for (option, headers, cookies) in [
        (
            "extraHeaders",
            json!([["x-fish", "cod"]]),
            json!([["c", "d"]]),
        ),
        ("customHeaders", whole.clone(), json!([["a", "b"]])),
        ("forwardHeaders", whole, json!([["a", "b"]])),
        ("render", json!([]), json!([])),
    ] {
        let (_, echo) = get("echo", &[(option, "true")], &sent);
        assert_eq!(echo["headers"], headers, "{option}");
        assert_eq!(echo["cookies"], cookies, "{option}");
        assert_eq!(echo["method"], "DELETE");
    }
    let (_, echo) = get("echo", &[("setCookies", "a=b;c=d;")], &sent);
    assert_eq!(echo["cookies"], json!([["a", "b"], ["c", "d"]]));
}

#[test]
fn the_key_decides_the_response() {
    for (key, status, word) in [
        (BAD_KEY, 401, "token"),
        (POOR_KEY, 401, "credits"),
        (BUSY_KEY, 429, "concurrent"),
    ] {
        let (answer, reply) = ask(&[("token", key), ("url", "http://site.example/")], &[]);
        assert_eq!(
            (answer.status, &reply["StatusCode"]),
            (status, &json!(status))
        );
        let message = reply["Message"][0].as_str().unwrap_or_default();
        assert!(message.contains(word));
    }
}

#[test]
fn invalid_parameters_are_refused() {
    for more in [
        [("fish", "1")].as_slice(),
        &[("render", "yes")],
        &[("customWait", "5")],
        &[("waitSelector", "#x")],
        &[("render", "true"), ("customWait", "long")],
        &[("render", "true"), ("waitUntil", "later")],
        &[("render", "true"), ("playWithBrowser", "{}")],
        &[("render", "true"), ("playWithBrowser", "[{}]")],
        &[("render", "true"), ("screenShot", "true")],
        &[("returnJSON", "true"), ("screenShot", "true")],
        &[("setCookies", "a=b"), ("extraHeaders", "true")],
        &[("setCookies", "a=b"), ("customHeaders", "true")],
        &[("setCookies", "a=b"), ("forwardHeaders", "true")],
        &[("geoCode", "usa")],
        &[("device", "fridge")],
    ] {
        let (answer, _) = get("page", more, &[]);
        assert_eq!(answer.status, 400, "{more:?}");
    }
    assert_eq!(ask(&[("token", GOOD_KEY)], &[]).0.status, 400);
}

#[test]
fn failures_have_documented_statuses() {
    for (path, status, reported, cost) in [
        ("missing", 404, Some("404"), Some("1")),
        ("busy", 503, Some("503"), Some("0")),
        ("forbidden", 403, Some("403"), Some("0")),
        ("blocked", 502, None, None),
        ("slow", 502, None, None),
        ("breaks", 500, None, None),
        ("refused", 400, None, None),
        ("garbage", 200, None, None),
    ] {
        let (answer, _) = get(path, &[CLEAR], &[]);
        assert_eq!(answer.status, status, "{path}");
        assert_eq!(header(&answer, "scrape.do-initial-status-code"), reported);
        assert_eq!(header(&answer, "scrape.do-request-cost"), cost);
    }
    assert_eq!(get("busy", &[], &[]).0.status, 502);
    let dead = [("token", GOOD_KEY), ("url", "http://a.nowhere.example/")];
    assert_eq!(ask(&dead, &[]).0.status, 502);
}
