//! Bright Data, Web Unlocker API: the page itself with facts in `x-brd-*` headers, or everything as JSON.
//!
//! The checks of JSON bodies at the end of this file serve the vendors after this one too.

use serde_json::{Map, Value, json};

use super::{
    Answered, Asked, IMAGE, KeyState, RETRY_AFTER, Target, TargetPage, Vendor, Wanted, cookies_of,
};

/// The vendor.
pub struct BrightData;

/// The zone that every account has here.
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
            KeyState::Bad => return text(401, "Invalid credentials"),
            // An empty account still sees its zones.
            KeyState::NoCredit if !lists_zones => {
                return text(402, "Payment required: balance is empty");
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
        match wanted(&task) {
            Ok(wanted) => served(&task, &wanted),
            Err(reason) => invalid(&reason),
        }
    }
}

fn wanted(task: &Map<String, Value>) -> Result<Wanted, String> {
    let url = address(task)?;
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
    Ok(Wanted {
        method: method(text_of(task, "method"))?,
        body: text_of(task, "body").unwrap_or_default().into(),
        headers,
        cookies,
        javascript: flag_of(task, "render"),
        wait_for,
        country: text_of(task, "country").map(country).transpose()?,
        screenshot,
        ..Wanted::new(&url)
    })
}

fn served(task: &Map<String, Value>, wanted: &Wanted) -> Answered {
    match Target::of(wanted) {
        Target::Page(page) if matches!(page.status, 403 | 429) => unserved(
            "http_status",
            &format!("Request failed with status code {}", page.status),
        ),
        Target::Page(page) => match (text_of(task, "format"), wanted.screenshot) {
            (Some("json"), _) => Answered::json(200, &enveloped(&page)),
            (_, Some(_)) => with_facts(Answered::new(200, "image/png", IMAGE), &page),
            (_, None) => {
                let content_type = page.header("content-type").to_owned();
                with_facts(Answered::new(200, &content_type, page.body.clone()), &page)
            }
        },
        Target::Blocked => unserved("reject_block", "The target refused all attempts"),
        Target::Unreachable => {
            let rest = wanted.url.split_once("://").map_or("", |(_, rest)| rest);
            let host = rest.split(['/', ':']).next().unwrap_or_default();
            unserved("proxy_error", &format!("Could not resolve host {host}"))
        }
        Target::Slow => text(504, "Gateway Timeout"),
        Target::VendorDown => text(503, "Service Unavailable"),
        Target::Garbage => Answered::json(200, &json!({"hello": "world"})),
        Target::Refused => invalid("\"url\" is not allowed in this zone"),
    }
}

/// The target's headers pass through beside the vendor's.
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

fn text(status: u16, message: &str) -> Answered {
    Answered::new(status, "text/plain", message)
}

fn invalid(reason: &str) -> Answered {
    Answered::json(400, &json!({"error": reason, "error_code": "validation"}))
}

/// A field's name and what its value has to be.
pub(super) type Field = (&'static str, fn(&Value) -> bool);

/// The JSON object that was sent; all its fields are among these and of their type.
pub(super) fn json_fields(asked: &Asked, known: &[Field]) -> Result<Map<String, Value>, String> {
    let content_type = asked.header("content-type").unwrap_or_default();
    if content_type.split(';').next().map(str::trim) != Some("application/json") {
        return Err("content type must be application/json".to_owned());
    }
    let body = asked.json();
    Ok(known_fields(&body, known)?.clone())
}

/// This value as an object; all its fields are among these and of their type.
pub(super) fn known_fields<'a>(
    value: &'a Value,
    known: &[Field],
) -> Result<&'a Map<String, Value>, String> {
    let fields = value.as_object().ok_or("not a JSON object")?;
    for (name, value) in fields {
        match known.iter().find(|(known, _)| known == name) {
            None => return Err(format!("\"{name}\" is not allowed")),
            Some((_, fits)) if !fits(value) => {
                return Err(format!("\"{name}\" has the wrong type"));
            }
            Some(_) => {}
        }
    }
    Ok(fields)
}

/// A text field.
pub(super) fn text_of<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    fields.get(name).and_then(Value::as_str)
}

/// A flag that is off when it is not given.
pub(super) fn flag_of(fields: &Map<String, Value>, name: &str) -> bool {
    fields.get(name).and_then(Value::as_bool) == Some(true)
}

/// The field `url`, an address of the web.
pub(super) fn address(fields: &Map<String, Value>) -> Result<String, String> {
    let url = text_of(fields, "url").ok_or("\"url\" is required")?;
    let rest = url
        .strip_prefix("https://")
        .or_else(|| url.strip_prefix("http://"));
    match rest.is_some_and(|rest| !rest.starts_with('/') && !rest.is_empty()) {
        true => Ok(url.to_owned()),
        false => Err("\"url\" must be a valid address".to_owned()),
    }
}

/// A method of HTTP in upper case; GET when none is given.
pub(super) fn method(name: Option<&str>) -> Result<String, String> {
    let name = name.unwrap_or("GET").to_uppercase();
    match name.as_str() {
        "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS" => Ok(name),
        _ => Err(format!("\"method\": unknown method {name}")),
    }
}

/// A country's two letters, in upper case.
pub(super) fn country(code: &str) -> Result<String, String> {
    match code.len() == 2 && code.bytes().all(|letter| letter.is_ascii_alphabetic()) {
        true => Ok(code.to_uppercase()),
        false => Err(format!("unknown country {code}")),
    }
}

/// An object of texts, names in lower case.
pub(super) fn text_pairs(value: Option<&Value>) -> Result<Vec<(String, String)>, String> {
    let pairs = value.and_then(Value::as_object).into_iter().flatten();
    let texts = pairs.map(|(name, value)| match value.as_str() {
        Some(value) => Ok((name.to_lowercase(), value.to_owned())),
        None => Err(format!("\"{name}\" must be a string")),
    });
    texts.collect()
}

type Pairs = Vec<(String, String)>;

/// These headers without `cookie`, and its cookies.
pub(super) fn without_cookies(headers: Pairs) -> (Pairs, Pairs) {
    let (lines, others): (Pairs, Pairs) =
        headers.into_iter().partition(|(name, _)| name == "cookie");
    let cookies = lines
        .iter()
        .flat_map(|(_, line)| cookies_of(line))
        .collect();
    (others, cookies)
}

/// Headers of a page as an object; `set-cookie` is a list of its lines.
pub(super) fn grouped_headers(page: &TargetPage) -> Value {
    let mut headers = Map::new();
    for (name, value) in &page.headers {
        match headers.get_mut(name) {
            Some(Value::Array(lines)) => lines.push(json!(value)),
            _ if name == "set-cookie" => {
                headers.insert(name.clone(), json!([value]));
            }
            _ => {
                headers.insert(name.clone(), json!(value));
            }
        }
    }
    Value::Object(headers)
}

/// A list of target statuses.
pub(super) fn statuses(value: &Value) -> Option<Vec<u16>> {
    let codes = value.as_array()?.iter().map(|code| {
        let code = u16::try_from(code.as_u64()?).ok()?;
        (100..600).contains(&code).then_some(code)
    });
    codes.collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::{BAD_KEY, BUSY_KEY, GOOD_KEY, POOR_KEY};
    use super::*;

    /// A JSON request as tests of all these vendors send it.
    pub(in super::super) fn post(path: &str, authorization: &str, body: &Value) -> Asked {
        Asked {
            method: "POST".to_owned(),
            path: path.to_owned(),
            query: Vec::new(),
            headers: vec![
                ("authorization".to_owned(), authorization.to_owned()),
                ("content-type".to_owned(), "application/json".to_owned()),
            ],
            body: body.to_string().into_bytes(),
            origin: "http://vendor.test".to_owned(),
        }
    }

    /// A header of an answer.
    pub(in super::super) fn header<'a>(answer: &'a Answered, name: &str) -> Option<&'a str> {
        let mut headers = answer.headers.iter();
        let found = headers.find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// The body of an answer as JSON.
    pub(in super::super) fn body(answer: &Answered) -> Value {
        serde_json::from_slice(&answer.body).unwrap_or_default()
    }

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
    fn everything_asked_for_arrives() {
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
    fn keys_decide() {
        let task = json!({"zone": ZONE, "url": "http://fish.example/", "format": "raw"});
        for (key, status) in [
            (GOOD_KEY, 200),
            (BAD_KEY, 401),
            (POOR_KEY, 402),
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
    fn strange_tasks_are_refused() {
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
        assert_eq!(
            header(&page("blocked"), "x-brd-error-code"),
            Some("reject_block")
        );
        assert_eq!(page("breaks").status, 503);
        assert_eq!(header(&page("garbage"), "x-brd-status-code"), None);
        assert_eq!(page("image").body, IMAGE);
    }
}
