use super::super::{BAD_KEY, BUSY_KEY, GOOD_KEY, PAGE, PAGE_RENDERED, POOR_KEY};
use super::*;

fn ask_as(key: &str, body: &Value) -> (u16, Value, Answered) {
    let secret = to_base64(format!("{key}:").as_bytes());
    let answer = Zyte.answer(&Asked {
        method: "POST".to_owned(),
        path: "/v1/extract".to_owned(),
        query: Vec::new(),
        headers: vec![
            ("authorization".to_owned(), format!("Basic {secret}")),
            ("content-type".to_owned(), "application/json".to_owned()),
        ],
        body: body.to_string().into_bytes(),
        origin: "http://127.0.0.1:1".to_owned(),
    });
    let reply = serde_json::from_slice(&answer.body).unwrap_or_default();
    (answer.status, reply, answer)
}

fn with(mut body: Value, more: &Value) -> Value {
    for (name, value) in more.as_object().into_iter().flatten() {
        body[name] = value.clone();
    }
    body
}

fn plain(path: &str, more: &Value) -> (u16, Value, Answered) {
    let url = format!("http://site.example/{path}");
    ask_as(
        GOOD_KEY,
        &with(json!({"url": url, "httpResponseBody": true}), more),
    )
}

fn browser(path: &str, more: &Value) -> (u16, Value, Answered) {
    let url = format!("http://site.example/{path}");
    ask_as(
        GOOD_KEY,
        &with(json!({"url": url, "browserHtml": true}), more),
    )
}

#[test]
fn a_page_comes_as_base64_with_its_facts() {
    let facts = json!({"httpResponseHeaders": true, "responseCookies": true});
    let (status, reply, answer) = plain("moved", &facts);
    assert_eq!(status, 200);
    assert_eq!(reply["httpResponseBody"], to_base64(PAGE.as_bytes()));
    assert_eq!(reply["url"], "http://site.example/page");
    assert_eq!(
        reply["httpResponseHeaders"][2],
        json!({"name": "set-cookie", "value": "sea=north"})
    );
    assert_eq!(reply["responseCookies"][0]["domain"], "site.example");
    assert!(
        answer
            .headers
            .contains(&("request-id".to_owned(), "req-1".to_owned()))
    );
    assert_eq!(plain("missing", &json!({})).1["statusCode"], 404);
    let image = plain("image", &json!({})).1;
    assert_eq!(image["httpResponseBody"], to_base64(&IMAGE));
}

#[test]
fn the_browser_supports_text_actions_and_screenshots() {
    let actions = json!([
        {"action": "waitForTimeout", "timeout": 1.5},
        {"action": "waitForSelector", "timeout": 15,
         "selector": {"type": "css", "value": "#x", "state": "visible"}},
        {"action": "evaluate", "source": "1"},
    ]);
    let more = json!({"actions": actions, "screenshot": true, "geolocation": "DE",
        "screenshotOptions": {"fullPage": true}, "requestHeaders": {"referer": "http://r/"}});
    let (status, reply, _) = browser("page", &more);
    assert_eq!(status, 200);
    assert_eq!(reply["browserHtml"], PAGE_RENDERED);
    assert_eq!(reply["actions"][2]["action"], "evaluate");
    assert_eq!(reply["screenshot"], to_base64(&IMAGE));
    let echo = browser("echo", &more).1;
    let echo: Value = echo["browserHtml"]
        .as_str()
        .and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default();
    assert_eq!(echo["wait_ms"], 1500);
    assert_eq!(echo["wait_for"], "#x");
    assert_eq!(echo["script"], "1");
    assert_eq!(echo["country"], "DE");
    assert_eq!(echo["screenshot"], "full_page");
    assert_eq!(echo["headers"], json!([["referer", "http://r/"]]));
    assert_eq!(browser("image", &json!({})).0, 521);
}

#[test]
fn the_key_decides_the_response() {
    let body = json!({"url": "http://site.example/", "httpResponseBody": true});
    for (key, status, kind) in [
        (BAD_KEY, 401, "/auth/key-not-found"),
        (POOR_KEY, 403, "/auth/account-suspended"),
        (BUSY_KEY, 429, "/limits/over-user-limit"),
    ] {
        let (got, reply, answer) = ask_as(key, &body);
        assert_eq!((got, &reply["type"]), (status, &json!(kind)));
        let waits = answer.headers.iter().any(|(name, _)| name == "retry-after");
        assert_eq!(waits, status == 429);
    }
    assert_eq!(ask_as(&format!("{GOOD_KEY}:x"), &body).0, 401);
}

#[test]
fn invalid_parameters_are_refused() {
    for more in [
        json!({"browserHtml": true}),
        json!({"httpResponseBody": false}),
        json!({"actions": []}),
        json!({"httpRequestText": "a", "httpRequestBody": "YQ=="}),
    ] {
        assert_eq!(plain("page", &more).0, 422, "{more}");
    }
    for more in [
        json!({"customHttpRequestHeaders": [{"name": "a", "value": "b"}]}),
        json!({"httpRequestMethod": "POST"}),
        json!({"httpRequestText": "a"}),
        json!({"httpRequestBody": "YQ=="}),
    ] {
        assert_eq!(plain("page", &more).0, 200, "{more}");
        assert_eq!(browser("page", &more).0, 422, "{more}");
    }
    for more in [
        json!({"fish": 1}),
        json!({"url": "http://10.0.0.1:80/"}),
        json!({"url": "http://[::1]/"}),
        json!({"url": format!("http://site.example/{}", "x".repeat(URL_BYTES_MAX))}),
        json!({"httpResponseHeaders": "true"}),
        json!({"geolocation": "us"}),
        json!({"ipType": "mobile"}),
        json!({"httpRequestBody": "not base64"}),
        json!({"customHttpRequestHeaders": [{"name": "Cookie", "value": "a=b"}]}),
        json!({"requestHeaders": {"accept": "*/*"}}),
        json!({"requestCookies": [{"name": "a", "value": "b"}]}),
        json!({"session": {"id": "1"}}),
    ] {
        assert_eq!(plain("page", &more).0, 400, "{more}");
    }
    for action in [
        json!({"action": "dance"}),
        json!({"action": "waitForTimeout", "timeout": "1"}),
        json!({"action": "evaluate"}),
        json!({"action": "waitForSelector", "timeout": 16,
            "selector": {"type": "css", "value": "#x"}}),
    ] {
        let more = json!({"actions": [action]});
        assert_eq!(browser("page", &more).0, 400, "{more}");
    }
    let id = "123e4567-e89b-42d3-a456-426614174000";
    assert_eq!(plain("page", &json!({"session": {"id": id}})).0, 200);
}

#[test]
fn failures_have_documented_types() {
    for (path, status, kind) in [
        ("blocked", 520, "/download/temporary-error"),
        ("slow", 500, "/server/timed-out"),
        ("breaks", 500, "/server/internal"),
        ("refused", 422, "/request/unprocessable"),
    ] {
        let (got, reply, _) = plain(path, &json!({}));
        assert_eq!((got, &reply["type"]), (status, &json!(kind)));
    }
    let gone = json!({"url": "http://a.nowhere.example/"});
    assert_eq!(plain("", &gone).0, 421);
    assert_eq!(plain("garbage", &json!({})).1, json!({"hello": "world"}));
}
