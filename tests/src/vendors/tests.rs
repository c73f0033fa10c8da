//! What a description cannot show: refusals and the state of runs. The replies themselves are
//! checked with the adapters (`conformance`).

use serde_json::json;

use super::*;

fn asked(method: &str, path: &str, key: &str) -> Asked {
    Asked {
        method: method.to_owned(),
        path: path.to_owned(),
        query: Vec::new(),
        headers: vec![
            ("authorization".to_owned(), format!("Bearer {key}")),
            ("content-type".to_owned(), "application/json".to_owned()),
        ],
        body: Vec::new(),
        origin: "http://vendor.test".to_owned(),
    }
}

/// A request of provider_2 for a page, with more parameters.
fn page(key: &str, more: &[(&str, &str)]) -> Asked {
    let usual = [
        ("url", "http://fish.example/echo"),
        ("transparent_status_code", "true"),
    ];
    let query = usual.iter().chain(more);
    Asked {
        query: query
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect(),
        ..asked("GET", "/api/v1/", key)
    }
}

fn vendor(number: usize) -> Vendor {
    all().swap_remove(number - 1)
}

fn json_of(answered: &Answered) -> Value {
    serde_json::from_slice(&answered.body).unwrap_or_default()
}

#[test]
fn base64_is_the_standards() {
    for (bytes, text) in [(b"fo".as_slice(), "Zm8="), (&[0xfb, 0xff], "+/8=")] {
        assert_eq!(to_base64(bytes), text);
        assert_eq!(from_base64(text).as_deref(), Some(bytes));
    }
    assert_eq!(from_base64("-_8"), Some(vec![0xfb, 0xff]));
    assert_eq!(from_base64("a b"), None);
}

#[test]
fn the_key_decides_the_response() {
    let keys = [
        (GOOD_KEY, 200),
        (POOR_KEY, 401),
        (BUSY_KEY, 429),
        (BAD_KEY, 401),
    ];
    for (key, status) in keys {
        let answered = vendor(2).answer(&page(key, &[]));
        assert_eq!(answered.status, status, "{key}");
    }
}

#[test]
fn unknown_and_misplaced_parameters_are_refused() {
    let refused = |more: &[(&str, &str)]| {
        let answered = vendor(2).answer(&page(GOOD_KEY, more));
        assert_eq!(answered.status, 400, "{more:?}");
        json_of(&answered)["message"].to_string()
    };
    assert!(refused(&[("fish", "cod")]).contains("fish is not a parameter"));
    assert!(refused(&[("wait", "5")]).contains("wait does not go"));
    assert!(refused(&[("country_code", "de")]).contains("needs premium_proxy"));
    assert!(refused(&[("render_js", "true"), ("wait", "soon")]).contains("wait cannot be"));
    assert!(refused(&[("render_js", "yes")]).contains("render_js cannot be"));
    let known = [
        ("render_js", "true"),
        ("wait", "5"),
        ("cookies", "a=b; c=d"),
    ];
    let echo = json_of(&vendor(2).answer(&page(GOOD_KEY, &known)));
    assert_eq!(echo["wait_ms"], 5);
    assert_eq!(echo["cookies"], json!([["a", "b"], ["c", "d"]]));
}

#[test]
fn members_of_a_body_are_parameters_too() {
    let task = json!({"zone": "web_unlocker1", "format": "raw", "url": "http://fish.example/echo"});
    let ask = |more: &str| {
        let mut task = task.clone();
        task[more] = json!("de");
        let body = task.to_string().into_bytes();
        let asked = asked("POST", "/request", GOOD_KEY);
        vendor(7).answer(&Asked { body, ..asked })
    };
    assert_eq!(json_of(&ask("country"))["country"], "DE");
    assert_eq!(ask("continent").status, 400);
}

/// What a vendor answers to JSON with this authorization.
fn told(number: usize, path: &str, authorization: &str, task: &Value) -> Answered {
    let mut asked = asked("POST", path, "");
    asked.headers[0].1 = authorization.to_owned();
    asked.body = task.to_string().into_bytes();
    vendor(number).answer(&asked)
}

#[test]
fn only_json_is_taken_where_json_is_sent() {
    let task = json!({"zone": "web_unlocker1", "format": "raw", "url": "http://fish.example/page"});
    let usual = asked("POST", "/request", GOOD_KEY);
    let body = task.to_string().into_bytes();
    let status = |asked: &Asked| vendor(7).answer(asked).status;
    assert_eq!(
        status(&Asked {
            body,
            ..usual.clone()
        }),
        200
    );
    let mut form = usual.clone();
    form.body = task.to_string().into_bytes();
    form.headers[1].1 = "text/plain".to_owned();
    assert_eq!(status(&form), 400);
    let body = b"fish".to_vec();
    assert_eq!(status(&Asked { body, ..usual }), 400);
}

#[test]
fn values_inside_of_parameters_are_checked() {
    let pair = format!("user-{GOOD_KEY}:{GOOD_KEY}");
    let basic = format!("Basic {}", to_base64(pair.as_bytes()));
    let told = |more: &Value| {
        let context = json!([{"key": "successful_status_codes", "value": [404]}, more]);
        let url = "http://fish.example/page";
        let task = json!({"source": "universal", "url": url, "context": context});
        told(10, "/v1/queries", &basic, &task).status
    };
    assert_eq!(told(&json!({"key": "http_method", "value": "get"})), 200);
    assert_eq!(told(&json!({"key": "http_method", "value": "GET"})), 400);
    assert_eq!(told(&json!({"key": "fish", "value": "cod"})), 400);
    assert_eq!(told(&json!({"key": "force_headers", "value": 1})), 400);
}

#[test]
fn replies_depend_on_what_was_asked_for() {
    let key = to_base64(format!("{GOOD_KEY}:").as_bytes());
    let extracted = |output: &str| {
        let mut task = json!({
            "url": "http://fish.example/page", "httpResponseHeaders": true, "responseCookies": true,
        });
        task[output] = json!(true);
        told(1, "/v1/extract", &format!("Basic {key}"), &task)
    };
    assert!(json_of(&extracted("httpResponseBody"))["httpResponseBody"].is_string());
    assert!(json_of(&extracted("browserHtml"))["browserHtml"].is_string());
    assert_eq!(extracted("responseCookies").status, 422);
    let pair = to_base64(format!("user-{GOOD_KEY}:{GOOD_KEY}").as_bytes());
    let scraped = |statuses: Value| {
        let url = "http://fish.example/missing";
        let task = json!({"target": "universal", "url": url, "successful_status_codes": statuses});
        let answered = told(11, "/v2/scrape", &format!("Basic {pair}"), &task);
        json_of(&answered)["results"][0]["status_code"].clone()
    };
    assert_eq!(scraped(json!([404])), 404);
    assert_eq!(scraped(json!([503])), 613);
}

#[test]
fn a_run_ends_after_two_looks_or_when_it_is_stopped() {
    let task = json!({
        "startUrls": [{"url": "http://fish.example/page", "method": "GET"}], "pageFunction": "",
        "maxRequestRetries": 0, "proxyConfiguration": {"useApifyProxy": true},
    });
    let vendor = vendor(8);
    let start = || {
        let body = task.to_string().into_bytes();
        let path = "/v2/actors/apify~cheerio-scraper/runs";
        let asked = asked("POST", path, GOOD_KEY);
        vendor.answer(&Asked { body, ..asked }).status
    };
    let status = |method: &str, path: &str| {
        let answered = vendor.answer(&asked(method, path, GOOD_KEY));
        json_of(&answered)["data"]["status"].clone()
    };
    assert_eq!((start(), start()), (201, 201));
    let statuses = [(); 4].map(|()| status("GET", "/v2/actor-runs/run0"));
    let expected = [
        json!("RUNNING"),
        json!("SUCCEEDED"),
        Value::Null,
        json!("SUCCEEDED"),
    ];
    assert_eq!(statuses, expected);
    let items = vendor.answer(&asked("GET", "/v2/datasets/dataset0/items", GOOD_KEY));
    assert_eq!(json_of(&items)[0]["body"], PAGE);
    assert_eq!(status("POST", "/v2/actor-runs/run1/abort"), "ABORTED");
    assert_eq!(status("GET", "/v2/actor-runs/run1"), "ABORTED");
    let missing = vendor.answer(&asked("GET", "/v2/actor-runs/run2", GOOD_KEY));
    assert_eq!(missing.status, 404);
    let other = vendor.answer(&asked("POST", "/v2/actors/apify~fish/runs", GOOD_KEY));
    assert_eq!(other.status, 404);
}
