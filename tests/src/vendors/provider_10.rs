//! Oxylabs Web Scraper API (realtime): JSON in, JSON out; the page is in a list of results.

use serde_json::{Map, Value, json};

use super::read::{
    Field, cookies_shown, country_code, device, flag_of, headers_shown, json_fields, known_fields,
    statuses, text_of, text_pairs, url_field, without_cookies,
};
use super::{
    Answered, Asked, IMAGE, KeyState, Target, TargetRequest, Vendor, from_base64, to_base64,
};

/// The vendor.
pub struct Oxylabs;

const JOB: &str = "7330000000000000001";

const FIELDS: [Field; 9] = [
    ("source", Value::is_string),
    ("url", Value::is_string),
    ("render", Value::is_string),
    ("browser_instructions", Value::is_array),
    ("context", Value::is_array),
    ("geo_location", Value::is_string),
    ("user_agent_type", Value::is_string),
    ("content_encoding", Value::is_string),
    ("parse", Value::is_boolean),
];
const CONTEXT: [Field; 9] = [
    ("force_headers", Value::is_boolean),
    ("headers", Value::is_object),
    ("force_cookies", Value::is_boolean),
    ("cookies", Value::is_array),
    ("http_method", Value::is_string),
    ("content", Value::is_string),
    ("follow_redirects", Value::is_boolean),
    ("successful_status_codes", |value| statuses(value).is_some()),
    ("session_id", |value| value.is_string() || value.is_u64()),
];
const ENTRY: [Field; 2] = [("key", Value::is_string), ("value", |_| true)];
const COOKIE: [Field; 2] = [("key", Value::is_string), ("value", Value::is_string)];
const INSTRUCTION: [Field; 4] = [
    ("type", Value::is_string),
    ("wait_time_s", Value::is_u64),
    ("timeout_s", Value::is_u64),
    ("selector", Value::is_object),
];
const SELECTOR: [Field; 2] = [("type", is_selector_type), ("value", Value::is_string)];
/// The vendor's own timeout in seconds.
const PATIENCE_SECONDS: u64 = 150;

fn is_selector_type(value: &Value) -> bool {
    matches!(value.as_str(), Some("css" | "xpath" | "text"))
}

impl Vendor for Oxylabs {
    fn name(&self) -> &'static str {
        "provider_10"
    }

    fn answer(&self, asked: &Asked) -> Answered {
        if (asked.method.as_str(), asked.path.as_str()) != ("POST", "/v1/queries") {
            return refusal(404, "Not Found");
        }
        match KeyState::of_basic(&asked.basic().unwrap_or_default()) {
            KeyState::Bad => return Answered::new(401, "text/html", ""),
            KeyState::NoCredit => return refusal(429, "You are out of monthly requests"),
            KeyState::RateLimited => {
                return refusal(429, "Too many requests")
                    .header("x-ratelimit-total-requests-1-limit", 10)
                    .header("x-ratelimit-total-requests-1-remaining", 0);
            }
            KeyState::Good => {}
        }
        if asked.json().is_null() {
            return refusal(422, "The payload is not valid JSON");
        }
        match parse_request(asked) {
            Ok((job, request)) => served(&job, &request),
            Err(reason) => refusal(400, &reason),
        }
    }
}

/// Parameters of the response, which do not concern the target.
struct Job {
    base64: bool,
    successful: Vec<u16>,
}

fn parse_request(asked: &Asked) -> Result<(Job, TargetRequest), String> {
    if let Some(unknown) = asked.unknown_param(&[]) {
        return Err(format!("Unknown parameter {unknown}"));
    }
    let task = json_fields(asked, &FIELDS)?;
    match text_of(&task, "source") {
        Some("universal" | "universal_ecommerce") => {}
        Some(source) => return Err(format!("Unsupported source: {source}")),
        None => return Err("Source parameter is required".to_owned()),
    }
    let render = text_of(&task, "render");
    if !matches!(render, None | Some("html" | "png")) {
        return Err("Parameter 'render' has an unknown value".to_owned());
    }
    if !matches!(
        text_of(&task, "content_encoding"),
        None | Some("utf-8" | "base64")
    ) {
        return Err("Parameter 'content_encoding' has an unknown value".to_owned());
    }
    device(text_of(&task, "user_agent_type"))?;
    let context = context(&task)?;
    let (wait_ms, wait_for) = instructions(&task)?;
    if task.contains_key("browser_instructions") && render.is_none() {
        return Err("Parameter 'browser_instructions' needs 'render'".to_owned());
    }
    let method = match text_of(&context, "http_method") {
        None | Some("get") => "GET",
        Some("post") => "POST",
        Some(method) => return Err(format!("Context 'http_method' cannot be {method}")),
    };
    let body = text_of(&context, "content").map(from_base64);
    let body = match (method, body) {
        (_, None) => Vec::new(),
        ("POST", Some(Some(body))) => body,
        ("POST", Some(None)) => return Err("Context 'content' is not base64".to_owned()),
        _ => return Err("Context 'content' needs the method post".to_owned()),
    };
    // Unless forced, the vendor's own headers and cookies take precedence.
    let forced = |name: &str, flag: &str| context.get(name).filter(|_| flag_of(&context, flag));
    let headers = text_pairs(context.get("headers"))?;
    let forced_headers = if forced("headers", "force_headers").is_some() {
        headers
    } else {
        Vec::new()
    };
    let (headers, mut cookies) = without_cookies(forced_headers);
    for cookie in context
        .get("cookies")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        let cookie = known_fields(cookie, &COOKIE)?;
        let pair = text_of(cookie, "key").zip(text_of(cookie, "value"));
        let (name, value) = pair.ok_or("Context 'cookies' needs key and value")?;
        if flag_of(&context, "force_cookies") {
            cookies.push((name.to_owned(), value.to_owned()));
        }
    }
    let job = Job {
        base64: text_of(&task, "content_encoding") == Some("base64"),
        successful: context
            .get("successful_status_codes")
            .and_then(statuses)
            .unwrap_or_default(),
    };
    let request = TargetRequest {
        method: method.to_owned(),
        body,
        headers,
        cookies,
        javascript: render.is_some(),
        wait_ms,
        wait_for,
        country: text_of(&task, "geo_location")
            .map(country_code)
            .transpose()?,
        screenshot: (render == Some("png")).then_some("window"),
        ..TargetRequest::new(&url_field(&task)?)
    };
    Ok((job, request))
}

/// A list of keys and values as one object.
fn context(task: &Map<String, Value>) -> Result<Map<String, Value>, String> {
    let mut context = Map::new();
    for entry in task
        .get("context")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        let entry = known_fields(entry, &ENTRY)?;
        let (key, value) = text_of(entry, "key")
            .zip(entry.get("value"))
            .ok_or("Context needs key and value")?;
        context.insert(key.to_owned(), value.clone());
    }
    let context = Value::Object(context);
    Ok(known_fields(&context, &CONTEXT)?.clone())
}

/// Milliseconds to wait and the selector to wait for.
fn instructions(task: &Map<String, Value>) -> Result<(Option<u64>, Option<String>), String> {
    let (mut wait_ms, mut wait_for) = (None, None);
    for step in task
        .get("browser_instructions")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        let step = known_fields(step, &INSTRUCTION)?;
        let seconds = |name: &str| step.get(name).and_then(Value::as_u64);
        if seconds("wait_time_s").max(seconds("timeout_s")) > Some(PATIENCE_SECONDS) {
            return Err("Browser instruction waits too long".to_owned());
        }
        match text_of(step, "type") {
            Some("wait") => {
                let seconds =
                    seconds("wait_time_s").ok_or("Instruction 'wait' needs wait_time_s")?;
                wait_ms = Some(seconds * 1000);
            }
            Some("wait_for_element") => {
                let selector = known_fields(step.get("selector").unwrap_or_default(), &SELECTOR)?;
                let pair = text_of(selector, "type").zip(text_of(selector, "value"));
                let (_, value) = pair.ok_or("Selector needs type and value")?;
                wait_for = Some(value.to_owned());
            }
            _ => return Err("Browser instruction of an unknown type".to_owned()),
        }
    }
    Ok((wait_ms, wait_for))
}

fn served(job: &Job, request: &TargetRequest) -> Answered {
    match Target::of(request) {
        Target::Page(page) if !(page.status < 400 || job.successful.contains(&page.status)) => {
            faulted(613, request)
        }
        Target::Page(page) => {
            let content = match request.screenshot {
                Some(_) => to_base64(&IMAGE),
                // The encoding is not honoured for error pages.
                None if job.base64 && page.status < 400 => to_base64(&page.body),
                None => page.text(),
            };
            let result = json!({
                "content": content,
                "created_at": "2026-11-21 10:00:00",
                "updated_at": "2026-11-21 10:00:02",
                "page": 1,
                "url": page.url,
                "job_id": JOB,
                "status_code": page.status,
                "_response": {"headers": headers_shown(&page), "cookies": cookies_shown(&page)},
            });
            replied(&json!([result]))
        }
        Target::Blocked => faulted(612, request),
        Target::Unreachable => faulted(613, request),
        Target::Slow => refusal(408, "Request timed out"),
        Target::VendorDown => refusal(500, "Internal Server Error"),
        Target::Garbage => Answered::json(200, &json!({"hello": "world"})),
        Target::Refused => refusal(400, "Provided url is not supported"),
    }
}

fn faulted(status: u16, request: &TargetRequest) -> Answered {
    replied(&json!([{
        "content": "",
        "created_at": "2026-11-21 10:00:00",
        "updated_at": "2026-11-21 10:00:02",
        "page": 1,
        "url": request.url,
        "job_id": JOB,
        "status_code": status,
    }]))
}

fn replied(results: &Value) -> Answered {
    Answered::json(200, &json!({"results": results}))
        .header("x-oxylabs-job-id", JOB)
        .header("x-ratelimit-total-requests-1-limit", 10)
        .header("x-ratelimit-total-requests-1-remaining", 9)
}

fn refusal(status: u16, message: &str) -> Answered {
    Answered::json(status, &json!({"message": message}))
}

#[cfg(test)]
mod tests {
    use super::super::read::tests::{body, header, post};
    use super::super::{BAD_KEY, BUSY_KEY, GOOD_KEY, PAGE, POOR_KEY};
    use super::*;

    fn ask(key: &str, task: &Value) -> Answered {
        let pair = to_base64(format!("user-{key}:{key}").as_bytes());
        Oxylabs.answer(&post("/v1/queries", &format!("Basic {pair}"), task))
    }

    fn result(task: &Value) -> Value {
        body(&ask(GOOD_KEY, task))["results"][0].clone()
    }

    fn page(path: &str) -> Value {
        json!({"source": "universal", "url": format!("http://fish.example/{path}")})
    }

    #[test]
    fn all_parameters_are_understood() {
        let mut task = page("echo");
        task["render"] = json!("html");
        task["geo_location"] = json!("Germany");
        task["browser_instructions"] = json!([
            {"type": "wait", "wait_time_s": 2},
            {"type": "wait_for_element", "selector": {"type": "css", "value": "#x"}, "timeout_s": 5},
        ]);
        task["context"] = json!([
            {"key": "force_headers", "value": true}, {"key": "headers", "value": {"X-Sea": "north"}},
            {"key": "force_cookies", "value": true}, {"key": "cookies", "value": [{"key": "a", "value": "b"}]},
            {"key": "http_method", "value": "post"}, {"key": "content", "value": to_base64(b"hook")},
        ]);
        let result = result(&task);
        let echo: Value = serde_json::from_str(result["content"].as_str().unwrap_or_default())
            .unwrap_or_default();
        assert_eq!(
            (&echo["method"], &echo["body"]),
            (&json!("POST"), &json!("hook"))
        );
        assert_eq!(
            (&echo["wait_ms"], &echo["wait_for"]),
            (&json!(2000), &json!("#x"))
        );
        assert_eq!(
            (&echo["javascript"], &echo["country"]),
            (&json!(true), &json!("DE"))
        );
        assert_eq!(echo["headers"], json!([["x-sea", "north"]]));
        assert_eq!(echo["cookies"], json!([["a", "b"]]));
    }

    #[test]
    fn results_have_the_documented_shape() {
        let plain = result(&page("page"));
        assert_eq!(
            (&plain["content"], &plain["status_code"]),
            (&json!(PAGE), &json!(200))
        );
        assert_eq!(plain["_response"]["headers"]["x-target"], "yes");
        assert_eq!(
            plain["_response"]["cookies"][0],
            json!({"key": "fish", "value": "cod"})
        );
        assert_eq!(result(&page("moved"))["url"], "http://fish.example/page");
        let mut image = page("image");
        image["content_encoding"] = json!("base64");
        assert_eq!(result(&image)["content"], to_base64(&IMAGE));
    }

    #[test]
    fn the_key_decides_the_response() {
        for (key, status) in [
            (BAD_KEY, 401),
            (POOR_KEY, 429),
            (BUSY_KEY, 429),
            (GOOD_KEY, 200),
        ] {
            let answer = ask(key, &page("page"));
            assert_eq!(answer.status, status);
            assert_eq!(header(&answer, "retry-after"), None);
        }
        assert_eq!(
            body(&ask(POOR_KEY, &page("page")))["message"],
            "You are out of monthly requests"
        );
    }

    #[test]
    fn invalid_requests_are_refused() {
        for (name, value) in [
            ("source", json!("fish")),
            ("url", json!("fish")),
            ("render", json!(true)),
            ("geo_location", json!("DE")),
            (
                "browser_instructions",
                json!([{"type": "wait", "wait_time_s": 1}]),
            ),
            ("context", json!([{"key": "fish", "value": 1}])),
            ("context", json!([{"key": "content", "value": "Zm8="}])),
            (
                "context",
                json!([{"key": "successful_status_codes", "value": ["404"]}]),
            ),
            ("fish", json!("cod")),
        ] {
            let mut task = page("page");
            task[name] = value;
            assert_eq!(ask(GOOD_KEY, &task).status, 400, "{task}");
        }
    }

    #[test]
    fn targets_fail_in_the_documented_way() {
        for (path, status) in [("blocked", 612), ("missing", 613), ("busy", 613)] {
            let result = result(&page(path));
            assert_eq!(
                (&result["status_code"], &result["content"]),
                (&json!(status), &json!(""))
            );
        }
        let mut task = page("missing");
        task["context"] = json!([{"key": "successful_status_codes", "value": [404, 503]}]);
        assert_eq!(result(&task)["status_code"], 404);
        for (path, status) in [("slow", 408), ("breaks", 500), ("refused", 400)] {
            assert_eq!(ask(GOOD_KEY, &page(path)).status, status);
        }
    }
}
