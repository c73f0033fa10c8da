//! Bright Data Web Unlocker API: the page itself with metadata in `x-brd-*` headers, or everything
//! as JSON.

use serde_json::{Map, Value, json};

use super::read::{
    Field, country, flag_of, grouped_headers, json_fields, method, text_of, text_pairs, url_field,
    without_cookies,
};
use super::{
    Answered, Asked, IMAGE, KeyState, RETRY_AFTER, Target, TargetPage, TargetRequest, Vendor,
};

/// The vendor.
pub struct BrightData;

/// The zone of every account.
pub const ZONE: &str = "web_unlocker1";

const FIELDS: [Field; 9] = [
    ("zone", Value::is_string),
    ("url", Value::is_string),
    ("format", Value::is_string),
    ("method", Value::is_string),
    ("render", Value::is_boolean),
    ("headers", Value::is_object),
    ("country", Value::is_string),
    ("body", Value::is_string),
    ("data_format", Value::is_string),
];

impl Vendor for BrightData {
    fn name(&self) -> &'static str {
        "provider_7"
    }

    fn answer(&self, asked: &Asked) -> Answered {
        let lists_zones = match (asked.method.as_str(), asked.path.as_str()) {
            ("POST", "/request") => false,
            ("GET", "/zone/get_active_zones") => true,
            _ => return text(404, "Not Found"),
        };
        match KeyState::of(asked.bearer()) {
            KeyState::Bad => {
                return text(407, "")
                    .header("x-brd-err-code", "client_10000")
                    .header("x-brd-err-msg", "Invalid credentials");
            }
            // An account without credit can still list its zones.
            KeyState::NoCredit if !lists_zones => {
                return text(502, "")
                    .header("x-brd-err-code", "client_10100")
                    .header("x-brd-err-msg", "The balance of the account is used up");
            }
            KeyState::RateLimited => {
                return text(429, "Too many requests").header("retry-after", RETRY_AFTER);
            }
            KeyState::Good | KeyState::NoCredit => {}
        }
        if let Some(unknown) = asked.unknown_param(&[]) {
            return invalid(&format!("\"{unknown}\" is not allowed"));
        }
        if lists_zones {
            let zones = json!([
                {"name": "dc1", "type": "dc"},
                {"name": ZONE, "type": "unblocker"},
                {"name": "web_unlocker2", "type": "unblocker"},
            ]);
            return Answered::json(200, &zones);
        }
        let task = match json_fields(asked, &FIELDS) {
            Ok(task) => task,
            Err(reason) => return invalid(&reason),
        };
        match task.get("zone").and_then(Value::as_str) {
            Some(ZONE) => {}
            Some(zone) => return text(400, &format!("zone \"{zone}\" not found")),
            None => return invalid("\"zone\" is required"),
        }
        match parse_request(&task) {
            Ok(request) => served(&task, &request),
            Err(reason) => invalid(&reason),
        }
    }
}

fn parse_request(task: &Map<String, Value>) -> Result<TargetRequest, String> {
    let url = url_field(task)?;
    match text_of(task, "format") {
        Some("raw" | "json") => {}
        Some(_) => return Err("\"format\" must be one of [raw, json]".to_owned()),
        None => return Err("\"format\" is required".to_owned()),
    }
    let screenshot = match text_of(task, "data_format") {
        None | Some("markdown") => None,
        Some("screenshot") => Some("window"),
        Some(_) => return Err("\"data_format\" must be one of [markdown, screenshot]".to_owned()),
    };
    let mut headers = text_pairs(task.get("headers"))?;
    let expected = headers
        .iter()
        .position(|(name, _)| name == "x-unblock-expect");
    let wait_for = match expected.map(|at| headers.remove(at).1) {
        None => None,
        Some(expected) => {
            let expected: Value = serde_json::from_str(&expected).unwrap_or_default();
            let element = expected.get("element").and_then(Value::as_str);
            Some(
                element
                    .ok_or("x-unblock-expect: not {\"element\": ...}")?
                    .to_owned(),
            )
        }
    };
    let (headers, cookies) = without_cookies(headers);
    Ok(TargetRequest {
        method: method(text_of(task, "method"))?,
        body: text_of(task, "body").unwrap_or_default().into(),
        headers,
        cookies,
        javascript: flag_of(task, "render"),
        wait_for,
        country: text_of(task, "country").map(country).transpose()?,
        screenshot,
        ..TargetRequest::new(&url)
    })
}

fn served(task: &Map<String, Value>, request: &TargetRequest) -> Answered {
    match Target::of(request) {
        Target::Page(page) if matches!(page.status, 403 | 429) => unserved(
            "http_status",
            &format!("Request failed with status code {}", page.status),
        ),
        Target::Page(page) => match (text_of(task, "format"), request.screenshot) {
            (Some("json"), _) => Answered::json(200, &enveloped(&page)),
            (_, Some(_)) => with_facts(Answered::new(200, "image/png", IMAGE), &page),
            (_, None) => {
                let content_type = page.header("content-type").to_owned();
                with_facts(Answered::new(200, &content_type, page.body.clone()), &page)
            }
        },
        // An error in the standard header only.
        Target::Blocked => unserved_by_standard(
            "http_request_denied",
            "policy_20050: Forbidden: the site requires special permission",
        ),
        Target::Unreachable => {
            let rest = request.url.split_once("://").map_or("", |(_, rest)| rest);
            let host = rest.split(['/', ':']).next().unwrap_or_default();
            let details = format!("resolve_failed_1: Could not resolve host {host}");
            unserved_by_standard("dns_error", &details)
        }
        Target::Slow => unserved("navigation_timeout", "The page took too long"),
        Target::VendorDown => text(503, "Service Unavailable"),
        Target::Garbage => Answered::json(200, &json!({"hello": "world"})),
        Target::Refused => invalid("\"url\" is not allowed in this zone"),
    }
}

/// The target's headers are forwarded with the vendor's.
fn with_facts(answer: Answered, page: &TargetPage) -> Answered {
    let facts = answer.header("x-brd-status-code", page.status);
    let headers = page
        .headers
        .iter()
        .filter(|(name, _)| name != "content-type");
    headers.fold(facts, |answer, (name, value)| answer.header(name, value))
}

fn enveloped(page: &TargetPage) -> Value {
    json!({"status_code": page.status, "headers": grouped_headers(page), "body": page.text()})
}

fn unserved(code: &str, reason: &str) -> Answered {
    text(200, "")
        .header("x-brd-status-code", 502)
        .header("x-brd-error-code", code)
        .header("x-brd-error", reason)
}

/// An error in the form of RFC 9209.
fn unserved_by_standard(error: &str, details: &str) -> Answered {
    let status =
        format!("brd.brightdata.io; received-status=403; error={error}; details=\"{details}\"");
    text(200, "")
        .header("x-brd-status-code", 403)
        .header("Proxy-Status", status)
}

fn text(status: u16, message: &str) -> Answered {
    Answered::new(status, "text/plain", message)
}

fn invalid(reason: &str) -> Answered {
    Answered::json(400, &json!({"error": reason, "error_code": "validation"}))
}

#[cfg(test)]
mod tests {
    use super::super::read::tests::{body, header, post};
    use super::super::{BAD_KEY, BUSY_KEY, GOOD_KEY, POOR_KEY};
    use super::*;

    fn ask(key: &str, body: &Value) -> Answered {
        BrightData.answer(&post("/request", &format!("Bearer {key}"), body))
    }

    fn page(path: &str) -> Answered {
        let url = format!("http://fish.example/{path}");
        ask(
            GOOD_KEY,
            &json!({"zone": ZONE, "url": url, "format": "raw"}),
        )
    }

    #[test]
    fn all_parameters_are_understood() {
        let answer = ask(
            GOOD_KEY,
            &json!({
                "zone": ZONE, "url": "http://fish.example/echo", "format": "raw", "method": "POST", "render": true,
                "body": "hook", "country": "de",
                "headers": {"X-Sea": "north", "Cookie": "a=b; c=d", "x-unblock-expect": r##"{"element":"#x"}"##},
            }),
        );
        assert_eq!(header(&answer, "x-brd-status-code"), Some("200"));
        assert_eq!(header(&answer, "x-target"), Some("yes"));
        let echo = body(&answer);
        assert_eq!(echo["method"], "POST");
        assert_eq!(echo["body"], "hook");
        assert_eq!(echo["country"], "DE");
        assert_eq!(echo["javascript"], true);
        assert_eq!(echo["wait_for"], "#x");
        assert_eq!(echo["headers"], json!([["x-sea", "north"]]));
        assert_eq!(echo["cookies"], json!([["a", "b"], ["c", "d"]]));
    }

    #[test]
    fn the_key_decides_the_response() {
        let task = json!({"zone": ZONE, "url": "http://fish.example/", "format": "raw"});
        for (key, status) in [
            (GOOD_KEY, 200),
            (BAD_KEY, 407),
            (POOR_KEY, 502),
            (BUSY_KEY, 429),
        ] {
            assert_eq!(ask(key, &task).status, status);
        }
        let busy = ask(BUSY_KEY, &task);
        assert_eq!(header(&busy, "retry-after"), Some("7"));
    }

    #[test]
    fn zones_are_listed() {
        let mut asked = post(
            "/zone/get_active_zones",
            &format!("Bearer {GOOD_KEY}"),
            &Value::Null,
        );
        asked.method = "GET".to_owned();
        assert_eq!(body(&BrightData.answer(&asked))[1]["name"], ZONE);
    }

    #[test]
    fn invalid_requests_are_refused() {
        let url = "http://fish.example/";
        for task in [
            json!({"zone": "other", "url": url, "format": "raw"}),
            json!({"zone": ZONE, "url": url}),
            json!({"zone": ZONE, "url": "fish", "format": "raw"}),
            json!({"zone": ZONE, "url": url, "format": "raw", "session_id": "1"}),
            json!({"zone": ZONE, "url": url, "format": "raw", "render": "true"}),
            json!({"zone": ZONE, "url": url, "format": "raw", "country": "Germany"}),
            json!({"zone": ZONE, "url": url, "format": "raw", "headers": {"a": 1}}),
            json!([]),
        ] {
            assert_eq!(ask(GOOD_KEY, &task).status, 400, "{task}");
        }
        assert_eq!(page("refused").status, 400);
    }

    #[test]
    fn targets_fail_in_the_documented_way() {
        let missing = page("missing");
        assert_eq!(header(&missing, "x-brd-status-code"), Some("404"));
        assert_eq!(header(&missing, "x-brd-error"), None);
        let forbidden = page("forbidden");
        assert_eq!(header(&forbidden, "x-brd-error-code"), Some("http_status"));
        assert!(header(&forbidden, "x-brd-error").is_some_and(|text| text.contains("403")));
        assert_eq!(forbidden.body, b"");
        let blocked = page("blocked");
        assert_eq!(header(&blocked, "x-brd-error-code"), None);
        let standard = header(&blocked, "proxy-status").unwrap_or_default();
        assert!(standard.contains("policy_20050"), "{standard}");
        assert_eq!(page("breaks").status, 503);
        assert_eq!(header(&page("garbage"), "x-brd-status-code"), None);
        assert_eq!(page("image").body, IMAGE);
    }
}
