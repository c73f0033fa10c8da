//! Decodo Web Scraping API: JSON in, JSON out; the page is in a list of results.

use serde_json::{Value, json};

use super::read::{
    Field, cookies_shown, country_code, device, flag_of, headers_shown, json_fields, statuses,
    text_of, text_pairs, url_field, without_cookies,
};
use super::{
    Answered, Asked, IMAGE, KeyState, RETRY_AFTER, Target, TargetRequest, Vendor, from_base64,
    to_base64,
};

/// The vendor.
pub struct Decodo;

const TASK: &str = "7440000000000000001";
const LONGEST_URL: usize = 2056;

const FIELDS: [Field; 15] = [
    ("target", Value::is_string),
    ("url", Value::is_string),
    ("proxy_pool", Value::is_string),
    ("headless", Value::is_string),
    ("headers", Value::is_object),
    ("force_headers", Value::is_boolean),
    ("cookies", Value::is_object),
    ("force_cookies", Value::is_boolean),
    ("geo", Value::is_string),
    ("locale", Value::is_string),
    ("device_type", Value::is_string),
    ("http_method", Value::is_string),
    ("payload", Value::is_string),
    ("successful_status_codes", |value| statuses(value).is_some()),
    ("session_id", Value::is_string),
];

impl Vendor for Decodo {
    fn name(&self) -> &'static str {
        "provider_11"
    }

    fn answer(&self, asked: &Asked) -> Answered {
        if (asked.method.as_str(), asked.path.as_str()) != ("POST", "/v2/scrape") {
            return refusal(404, "Not found");
        }
        match KeyState::of_basic(&asked.basic().unwrap_or_default()) {
            KeyState::Bad => return refusal(401, "Unauthorized: wrong username or password"),
            KeyState::NoCredit => {
                return refusal(
                    429,
                    "You are out of requests: the limit of your subscription is reached",
                );
            }
            KeyState::RateLimited => {
                return refusal(429, "Too many requests per second")
                    .header("retry-after", RETRY_AFTER);
            }
            KeyState::Good => {}
        }
        match parse_request(asked) {
            Ok((successful, request)) => served(&successful, &request),
            Err(reason) => invalid(&reason),
        }
    }
}

/// The target's statuses that count as success, and the task.
fn parse_request(asked: &Asked) -> Result<(Vec<u16>, TargetRequest), String> {
    if let Some(unknown) = asked.unknown_param(&[]) {
        return Err(format!("\"{unknown}\" is not allowed"));
    }
    let task = json_fields(asked, &FIELDS)?;
    let one_of = |name: &str, known: &[&str]| match text_of(&task, name) {
        Some(value) if !known.contains(&value) => {
            Err(format!("\"{name}\" must be one of {known:?}"))
        }
        value => Ok(value),
    };
    one_of("target", &["universal"])?;
    let pool = one_of("proxy_pool", &["standard", "premium"])?;
    let headless = one_of("headless", &["html", "png"])?;
    let url = url_field(&task)?;
    if url.chars().count() > LONGEST_URL {
        return Err(format!("\"url\" is longer than {LONGEST_URL} characters"));
    }
    device(text_of(&task, "device_type"))?;
    let method = one_of("http_method", &["get", "post"])?.unwrap_or("get");
    let payload = text_of(&task, "payload").map(from_base64);
    let body = match (method, payload) {
        (_, None) => Vec::new(),
        ("post", Some(Some(body))) => body,
        ("post", Some(None)) => return Err("\"payload\" is not base64".to_owned()),
        _ => return Err("\"payload\" needs the method post".to_owned()),
    };
    // Unless forced, the vendor's own headers and cookies take precedence.
    let mut headers = text_pairs(task.get("headers"))?;
    if !flag_of(&task, "force_headers") {
        headers.clear();
    }
    let (headers, mut cookies) = without_cookies(headers);
    for (name, value) in task
        .get("cookies")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        let value = value.as_str().ok_or("\"cookies\" must be strings")?;
        if flag_of(&task, "force_cookies") {
            cookies.push((name.clone(), value.to_owned()));
        }
    }
    let successful = task.get("successful_status_codes").and_then(statuses);
    let request = TargetRequest {
        method: method.to_uppercase(),
        body,
        headers,
        cookies,
        javascript: headless.is_some(),
        country: text_of(&task, "geo").map(country_code).transpose()?,
        residential: pool == Some("premium"),
        screenshot: (headless == Some("png")).then_some("window"),
        ..TargetRequest::new(&url)
    };
    Ok((successful.unwrap_or_default(), request))
}

fn served(successful: &[u16], request: &TargetRequest) -> Answered {
    match Target::of(request) {
        Target::Page(page) if !(page.status < 400 || successful.contains(&page.status)) => {
            faulted(request)
        }
        Target::Page(page) => {
            let content = match request.screenshot {
                Some(_) => to_base64(&IMAGE),
                None => page.text(),
            };
            replied(&json!({
                "content": content,
                "headers": headers_shown(&page),
                "cookies": cookies_shown(&page),
                "status_code": page.status,
                "url": page.url,
                "task_id": TASK,
                "created_at": "2026-11-21 10:00:00",
                "updated_at": "2026-11-21 10:00:02",
            }))
        }
        Target::Blocked => {
            let failed =
                json!({"status": "failed", "message": "The target turned all attempts away"});
            Answered::json(200, &failed)
        }
        Target::Unreachable => faulted(request),
        Target::Slow => refusal(524, "Timeout"),
        Target::VendorDown => refusal(500, "Internal server error"),
        Target::Garbage => Answered::json(200, &json!({"hello": "world"})),
        Target::Refused => invalid("\"url\" is not allowed"),
    }
}

fn faulted(request: &TargetRequest) -> Answered {
    replied(&json!({
        "content": "", "headers": {}, "cookies": [], "status_code": 613, "url": request.url, "task_id": TASK,
    }))
}

fn replied(result: &Value) -> Answered {
    Answered::json(200, &json!({"results": [result]}))
}

fn invalid(reason: &str) -> Answered {
    Answered::json(
        422,
        &json!({"message": "Validation failed", "errors": [{"message": reason}]}),
    )
}

fn refusal(status: u16, message: &str) -> Answered {
    Answered::json(status, &json!({"status": "failed", "message": message}))
}

#[cfg(test)]
mod tests {
    use super::super::read::tests::{body, header, post};
    use super::super::{BAD_KEY, BUSY_KEY, GOOD_KEY, PAGE_RENDERED, POOR_KEY};
    use super::*;

    fn ask(key: &str, task: &Value) -> Answered {
        let pair = to_base64(format!("user-{key}:{key}").as_bytes());
        Decodo.answer(&post("/v2/scrape", &format!("Basic {pair}"), task))
    }

    fn page(path: &str) -> Value {
        let url = format!("http://fish.example/{path}");
        json!({"target": "universal", "url": url, "proxy_pool": "standard"})
    }

    fn result(task: &Value) -> Value {
        body(&ask(GOOD_KEY, task))["results"][0].clone()
    }

    #[test]
    fn all_parameters_are_understood() {
        let task = json!({
            "target": "universal", "url": "http://fish.example/echo", "proxy_pool": "premium", "headless": "html",
            "headers": {"X-Sea": "north"}, "force_headers": true, "cookies": {"a": "b"}, "force_cookies": true,
            "geo": "Japan", "http_method": "post", "payload": to_base64(b"hook"), "device_type": "desktop",
        });
        let result = result(&task);
        let echo: Value = serde_json::from_str(result["content"].as_str().unwrap_or_default())
            .unwrap_or_default();
        assert_eq!(
            (&echo["method"], &echo["body"]),
            (&json!("POST"), &json!("hook"))
        );
        assert_eq!(
            (&echo["residential"], &echo["country"]),
            (&json!(true), &json!("JP"))
        );
        assert_eq!(echo["headers"], json!([["x-sea", "north"]]));
        assert_eq!(echo["cookies"], json!([["a", "b"]]));
        assert_eq!(
            result["cookies"][1],
            json!({"key": "sea", "value": "north"})
        );
        assert_eq!(result["headers"]["x-target"], "yes");
    }

    #[test]
    fn scripts_run_on_request() {
        let mut task = page("page");
        task["headless"] = json!("html");
        assert_eq!(result(&task)["content"], PAGE_RENDERED);
        task["headless"] = json!("png");
        assert_eq!(result(&task)["content"], to_base64(&IMAGE));
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
            assert_eq!(header(&answer, "retry-after").is_some(), key == BUSY_KEY);
        }
    }

    #[test]
    fn invalid_requests_are_refused() {
        for (name, value) in [
            (
                "url",
                json!(format!("http://fish.example/{}", "x".repeat(2040))),
            ),
            ("proxy_pool", json!("cheap")),
            ("headless", json!(true)),
            ("geo", json!("JP")),
            ("payload", json!("Zm8=")),
            ("cookies", json!([{"key": "a", "value": "b"}])),
            ("wait", json!(5)),
        ] {
            let mut task = page("page");
            task[name] = value;
            let answer = ask(GOOD_KEY, &task);
            assert_eq!(answer.status, 422, "{task}");
            assert!(body(&answer)["errors"].is_array());
        }
    }

    #[test]
    fn targets_fail_in_the_documented_way() {
        assert_eq!(body(&ask(GOOD_KEY, &page("blocked")))["status"], "failed");
        assert_eq!(result(&page("missing"))["status_code"], 613);
        let mut task = page("missing");
        task["successful_status_codes"] = json!([404]);
        assert_eq!(result(&task)["status_code"], 404);
        for (path, status) in [("slow", 524), ("breaks", 500), ("refused", 422)] {
            assert_eq!(ask(GOOD_KEY, &page(path)).status, status);
        }
    }
}
