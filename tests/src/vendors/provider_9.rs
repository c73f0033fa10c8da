//! Browserless REST API: `/smart-scrape` responds with JSON about a plain fetch,
//! `/chromium/content` with the page of a browser.

use serde_json::{Map, Value, json};

use super::read::{
    Field, country, json_fields, known_fields, text_of, text_pairs, url_field, without_cookies,
};
use super::{
    Answered, Asked, IMAGE, KeyState, RETRY_AFTER, TURNED_AWAY, Target, TargetPage, TargetRequest,
    Vendor, to_base64,
};

/// The vendor.
pub struct Browserless;

const SMART_FIELDS: [Field; 2] = [("url", Value::is_string), ("formats", Value::is_array)];
const CONTENT_FIELDS: [Field; 15] = [
    ("url", Value::is_string),
    ("waitForTimeout", Value::is_u64),
    ("waitForSelector", Value::is_object),
    ("waitForFunction", Value::is_object),
    ("waitForEvent", Value::is_object),
    ("gotoOptions", Value::is_object),
    ("addScriptTag", Value::is_array),
    ("setExtraHTTPHeaders", Value::is_object),
    ("setJavaScriptEnabled", Value::is_boolean),
    ("userAgent", Value::is_string),
    ("cookies", Value::is_array),
    ("rejectResourceTypes", Value::is_array),
    ("rejectRequestPattern", Value::is_array),
    ("bestAttempt", Value::is_boolean),
    ("viewport", Value::is_object),
];
const SELECTOR: [Field; 4] = [
    ("selector", Value::is_string),
    ("timeout", Value::is_u64),
    ("visible", Value::is_boolean),
    ("hidden", Value::is_boolean),
];
const FUNCTION: [Field; 3] = [
    ("fn", Value::is_string),
    ("timeout", Value::is_u64),
    ("polling", |_| true),
];
const EVENT: [Field; 2] = [("event", Value::is_string), ("timeout", Value::is_u64)];
const GOTO: [Field; 3] = [
    ("waitUntil", is_load_state),
    ("timeout", Value::is_u64),
    ("referer", Value::is_string),
];
const SCRIPT: [Field; 4] = [
    ("content", Value::is_string),
    ("url", Value::is_string),
    ("type", Value::is_string),
    ("id", Value::is_string),
];
const COOKIE: [Field; 9] = [
    ("name", Value::is_string),
    ("value", Value::is_string),
    ("url", Value::is_string),
    ("domain", Value::is_string),
    ("path", Value::is_string),
    ("secure", Value::is_boolean),
    ("httpOnly", Value::is_boolean),
    ("sameSite", Value::is_string),
    ("expires", Value::is_number),
];

fn is_load_state(value: &Value) -> bool {
    let known = |value: &Value| {
        matches!(
            value.as_str(),
            Some("load" | "domcontentloaded" | "networkidle0" | "networkidle2")
        )
    };
    known(value)
        || value
            .as_array()
            .is_some_and(|values| values.iter().all(known))
}

impl Vendor for Browserless {
    fn name(&self) -> &'static str {
        "provider_9"
    }

    fn answer(&self, asked: &Asked) -> Answered {
        let smart = match (asked.method.as_str(), asked.path.as_str()) {
            ("POST", "/smart-scrape") => true,
            ("POST", "/chromium/content" | "/content") => false,
            _ => return text(404, "No route for this address"),
        };
        let key = asked.param("token").or(asked.bearer());
        match KeyState::of(key) {
            KeyState::Bad if key.is_none_or(str::is_empty) => {
                return text(403, "Forbidden: the token is missing or malformed");
            }
            KeyState::Bad => return text(401, "Unauthorized: the token is not valid"),
            KeyState::NoCredit => return text(429, "All units of your plan are used up"),
            KeyState::RateLimited => {
                return text(429, "Too many requests at once").header("retry-after", RETRY_AFTER);
            }
            KeyState::Good => {}
        }
        let request = if smart {
            smart_wanted(asked)
        } else {
            content_wanted(asked)
        };
        match request {
            Ok(request) if smart => smart_served(&request),
            Ok(request) => {
                let is_best_attempt = asked.json()["bestAttempt"] == true;
                content_served(&request, is_best_attempt)
            }
            Err(reason) => text(400, &reason),
        }
    }
}

fn checked_query(asked: &Asked, known: &[&str]) -> Result<(), String> {
    if let Some(unknown) = asked.unknown_param(known) {
        return Err(format!("Query: unknown parameter {unknown}"));
    }
    let timeout = asked.param("timeout").map(str::parse::<u64>);
    if timeout.is_some_and(|timeout| !timeout.is_ok_and(|timeout| timeout > 0)) {
        return Err("Query: timeout must be a number of milliseconds".to_owned());
    }
    for name in ["blockAds", "proxySticky"] {
        if !matches!(
            asked.param(name),
            None | Some("" | "true" | "false" | "1" | "0")
        ) {
            return Err(format!("Query: {name} must be a boolean"));
        }
    }
    Ok(())
}

fn smart_wanted(asked: &Asked) -> Result<TargetRequest, String> {
    checked_query(asked, &["token", "timeout"])?;
    let task = json_fields(asked, &SMART_FIELDS)?;
    let formats = task.get("formats").and_then(Value::as_array);
    let known = ["html", "markdown", "screenshot", "pdf", "links"];
    let is_known = |format: &Value| {
        format
            .as_str()
            .is_some_and(|format| known.contains(&format))
    };
    if formats.is_some_and(|formats| formats.is_empty() || !formats.iter().all(is_known)) {
        return Err("formats: not a list of known formats".to_owned());
    }
    let pictured = formats.is_some_and(|formats| formats.contains(&json!("screenshot")));
    Ok(TargetRequest {
        screenshot: pictured.then_some("window"),
        ..TargetRequest::new(&url_field(&task)?)
    })
}

fn content_wanted(asked: &Asked) -> Result<TargetRequest, String> {
    checked_query(
        asked,
        &[
            "token",
            "timeout",
            "proxy",
            "proxyCountry",
            "proxySticky",
            "blockAds",
        ],
    )?;
    let proxy = asked.param("proxy");
    if !matches!(proxy, None | Some("residential" | "datacenter")) {
        return Err("Query: proxy must be residential or datacenter".to_owned());
    }
    if proxy.is_none() && (asked.param("proxyCountry").or(asked.param("proxySticky"))).is_some() {
        return Err("Query: proxyCountry and proxySticky need proxy".to_owned());
    }
    let task = json_fields(asked, &CONTENT_FIELDS)?;
    let part = |name: &str, known: &[Field], needed: &str| match task.get(name) {
        None => Ok(None),
        Some(value) => match known_fields(value, known)? {
            part if !needed.is_empty() && text_of(part, needed).is_none_or(str::is_empty) => {
                Err(format!("\"{name}.{needed}\" is required"))
            }
            part => Ok(Some(part)),
        },
    };
    part("gotoOptions", &GOTO, "")?;
    part("waitForEvent", &EVENT, "event")?;
    part("waitForFunction", &FUNCTION, "fn")?;
    let selector = part("waitForSelector", &SELECTOR, "selector")?;
    let headers = text_pairs(task.get("setExtraHTTPHeaders"))?;
    let (mut headers, mut cookies) = without_cookies(headers);
    headers.extend(
        text_of(&task, "userAgent").map(|agent| ("user-agent".to_owned(), agent.to_owned())),
    );
    for cookie in list(&task, "cookies") {
        let cookie = known_fields(cookie, &COOKIE)?;
        let pair = text_of(cookie, "name").zip(text_of(cookie, "value"));
        let (name, value) = pair.ok_or("cookies: name and value are required")?;
        if text_of(cookie, "url")
            .or(text_of(cookie, "domain"))
            .is_none()
        {
            return Err("cookies: url or domain is required".to_owned());
        }
        cookies.push((name.to_owned(), value.to_owned()));
    }
    let mut scripts = Vec::new();
    for script in list(&task, "addScriptTag") {
        let script = known_fields(script, &SCRIPT)?;
        scripts.extend(text_of(script, "content"));
        if text_of(script, "content")
            .or(text_of(script, "url"))
            .is_none()
        {
            return Err("addScriptTag: content or url is required".to_owned());
        }
    }
    Ok(TargetRequest {
        headers,
        cookies,
        javascript: true,
        wait_ms: task.get("waitForTimeout").and_then(Value::as_u64),
        wait_for: selector
            .and_then(|part| text_of(part, "selector"))
            .map(str::to_owned),
        script: (!scripts.is_empty()).then(|| scripts.join("\n")),
        country: asked.param("proxyCountry").map(country).transpose()?,
        residential: proxy == Some("residential"),
        ..TargetRequest::new(&url_field(&task)?)
    })
}

fn list<'a>(task: &'a Map<String, Value>, name: &str) -> impl Iterator<Item = &'a Value> {
    task.get(name)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

fn smart_served(request: &TargetRequest) -> Answered {
    let gave_up = |status: Option<u16>, reason: &str| {
        let answer = json!({
            "ok": false, "statusCode": status, "content": null, "contentType": null, "headers": {},
            "strategy": null, "attempted": ["http-fetch", "browser"], "message": reason,
        });
        Answered::json(200, &answer)
    };
    match Target::of(request) {
        Target::Page(page) => Answered::json(200, &enveloped(&page, request)),
        Target::Blocked => gave_up(Some(403), "All strategies were blocked by the target"),
        Target::Unreachable => gave_up(None, "net::ERR_NAME_NOT_RESOLVED"),
        Target::Slow => text(408, "Request has timed out"),
        Target::VendorDown => text(500, "Internal Server Error"),
        Target::Garbage => Answered::json(200, &json!({"hello": "world"})),
        Target::Refused => text(400, "\"url\" is not allowed"),
    }
}

/// There are no cookies: an object cannot hold a header that occurs twice.
fn enveloped(page: &TargetPage, request: &TargetRequest) -> Value {
    let headers = page.headers.iter().filter(|(name, _)| name != "set-cookie");
    let headers: Map<String, Value> = headers
        .map(|(name, value)| (name.clone(), json!(value)))
        .collect();
    let parsed = if page.header("content-type").contains("json") {
        serde_json::from_slice(&page.body).ok()
    } else {
        None
    };
    json!({
        "ok": true,
        "statusCode": page.status,
        "content": parsed.unwrap_or_else(|| json!(page.text())),
        "contentType": page.header("content-type"),
        "headers": headers,
        "strategy": "http-fetch",
        "attempted": ["http-fetch"],
        "screenshot": request.screenshot.map(|_| to_base64(&IMAGE)),
    })
}

/// With `bestAttempt` a failed navigation is a blank page without the target's status.
fn content_served(request: &TargetRequest, is_best_attempt: bool) -> Answered {
    let shown = |status: u16, url: &str, body: &str| {
        let url: String = url.chars().take(1000).collect();
        Answered::new(200, "text/html", body)
            .header("X-Response-Code", status)
            .header("X-Response-URL", url)
    };
    match Target::of(request) {
        Target::Unreachable | Target::Slow if is_best_attempt => {
            Answered::new(200, "text/html", "<html><head></head><body></body></html>")
        }
        Target::Page(page) => shown(page.status, &page.url, &page.text()),
        // The browser delivers whatever it gets, also a response that blocks it.
        Target::Blocked => shown(403, &request.url, TURNED_AWAY),
        Target::Unreachable => text(
            500,
            &format!("net::ERR_NAME_NOT_RESOLVED at {}", request.url),
        ),
        Target::Slow => text(408, "Request has timed out"),
        Target::VendorDown => text(503, "Service Unavailable"),
        Target::Garbage => Answered::json(200, &json!({"hello": "world"})),
        Target::Refused => text(400, "\"url\" is not allowed"),
    }
}

fn text(status: u16, message: &str) -> Answered {
    Answered::new(status, "text/plain; charset=utf-8", message)
}

#[cfg(test)]
mod tests {
    use super::super::read::tests::{body, header, post};
    use super::super::{BAD_KEY, BUSY_KEY, GOOD_KEY, POOR_KEY};
    use super::*;

    fn ask(path: &str, query: &[(&str, &str)], task: &Value) -> Answered {
        let mut asked = post(path, &format!("Bearer {GOOD_KEY}"), task);
        let query = query
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        asked.query = query.collect();
        Browserless.answer(&asked)
    }

    fn page(path: &str, target: &str) -> Answered {
        ask(
            path,
            &[],
            &json!({"url": format!("http://fish.example/{target}")}),
        )
    }

    #[test]
    fn all_parameters_are_understood() {
        let query = [
            ("proxy", "residential"),
            ("proxyCountry", "de"),
            ("timeout", "30000"),
        ];
        let task = json!({
            "url": "http://fish.example/echo", "waitForTimeout": 1500, "waitForSelector": {"selector": "#x"},
            "addScriptTag": [{"content": "go()"}], "setExtraHTTPHeaders": {"X-Sea": "north"},
            "cookies": [{"name": "a", "value": "b", "url": "http://fish.example/"}],
        });
        let echo = body(&ask("/chromium/content", &query, &task));
        assert_eq!(
            (&echo["wait_ms"], &echo["wait_for"]),
            (&json!(1500), &json!("#x"))
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
    fn both_responses_have_the_documented_shape() {
        let plain = body(&page("/smart-scrape", "json"));
        assert_eq!(
            (&plain["ok"], &plain["statusCode"]),
            (&json!(true), &json!(200))
        );
        assert_eq!(plain["content"], json!({"fish": ["cod"]}));
        assert_eq!(plain["headers"]["x-target"], "yes");
        let rendered = page("/chromium/content", "missing");
        assert_eq!(rendered.status, 200);
        assert_eq!(header(&rendered, "x-response-code"), Some("404"));
        let moved = page("/content", "moved");
        assert_eq!(
            header(&moved, "x-response-url"),
            Some("http://fish.example/page")
        );
    }

    #[test]
    fn the_key_decides_the_response() {
        let task = json!({"url": "http://fish.example/"});
        for (key, status) in [
            (BAD_KEY, 401),
            (POOR_KEY, 429),
            (BUSY_KEY, 429),
            (GOOD_KEY, 200),
        ] {
            let mut asked = post("/content", "", &task);
            asked.query = vec![("token".to_owned(), key.to_owned())];
            assert_eq!(Browserless.answer(&asked).status, status);
        }
        assert_eq!(Browserless.answer(&post("/content", "", &task)).status, 403);
    }

    #[test]
    fn invalid_requests_are_refused() {
        let url = "http://fish.example/";
        for task in [
            json!({"url": url, "formats": ["text"]}),
            json!({"url": url, "waitForTimeout": 1}),
            json!({"url": url, "cookies": []}),
            json!({"url": url, "setExtraHTTPHeaders": {}}),
            json!({"url": url, "addScriptTag": []}),
        ] {
            assert_eq!(ask("/smart-scrape", &[], &task).status, 400, "{task}");
        }
        for task in [
            json!({"url": url, "cookies": [{"name": "a", "value": "b"}]}),
            json!({"url": url, "waitForSelector": {"timeout": 5}}),
            json!({"url": url, "gotoOptions": {"waitUntil": "networkidle"}}),
            json!({"url": url, "waitForTimeout": "5"}),
            json!({"url": "fish"}),
        ] {
            assert_eq!(ask("/content", &[], &task).status, 400, "{task}");
        }
        for query in [
            ("proxyCountry", "de"),
            ("proxy", "mobile"),
            ("timeout", "soon"),
            ("fish", "cod"),
        ] {
            assert_eq!(
                ask("/content", &[query], &json!({"url": url})).status,
                400,
                "{query:?}"
            );
        }
    }

    #[test]
    fn targets_fail_in_the_documented_way() {
        assert_eq!(body(&page("/smart-scrape", "blocked"))["ok"], false);
        let nowhere = ask(
            "/content",
            &[],
            &json!({"url": "http://a.nowhere.example/"}),
        );
        assert_eq!(nowhere.status, 500);
        assert!(String::from_utf8_lossy(&nowhere.body).contains("net::ERR_NAME_NOT_RESOLVED"));
        assert_eq!(page("/content", "slow").status, 408);
        assert_eq!(page("/content", "refused").status, 400);
        assert_eq!(
            header(&page("/content", "garbage"), "x-response-code"),
            None
        );
    }
}
