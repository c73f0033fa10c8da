//! ZenRows Universal Scraper API: the page itself with the target's status and metadata in headers;
//! errors are problem details with a code.

use serde_json::{Value, json};

use super::{
    Answered, Asked, IMAGE, KeyState, Target, TargetPage, TargetRequest, Vendor, cookies_of,
    to_base64,
};

/// The vendor.
pub struct ZenRows;

const PARAMETERS: [&str; 20] = [
    "apikey",
    "url",
    "js_render",
    "original_status",
    "wait",
    "wait_for",
    "js_instructions",
    "custom_headers",
    "proxy_country",
    "premium_proxy",
    "mode",
    "screenshot",
    "screenshot_fullpage",
    "screenshot_selector",
    "screenshot_format",
    "screenshot_quality",
    "session_id",
    "allowed_status_codes",
    "block_resources",
    "json_response",
];
const BROWSER_ONLY: [&str; 9] = [
    "wait",
    "wait_for",
    "js_instructions",
    "screenshot",
    "screenshot_fullpage",
    "screenshot_selector",
    "screenshot_format",
    "screenshot_quality",
    "json_response",
];
/// Headers of the call that are not forwarded to the target.
const OF_THE_CALL: [&str; 6] = [
    "host",
    "connection",
    "content-length",
    "transfer-encoding",
    "accept-encoding",
    "cookie",
];
const WAIT_MS_MAX: u64 = 30_000;
const SESSION_MAX: u64 = 99_999;
/// Price of a credit in dollars, for the header with the cost in dollars.
const CREDIT: f64 = 0.000_362_5;

impl Vendor for ZenRows {
    fn name(&self) -> &'static str {
        "provider_6"
    }

    fn answer(&self, asked: &Asked) -> Answered {
        if asked.path != "/v1/" {
            return problem(404, "REQS003", "there is no such endpoint");
        }
        match KeyState::of(asked.param("apikey")) {
            KeyState::Bad if asked.param("apikey").is_none() => {
                return problem(401, "AUTH001", "the apikey is missing");
            }
            KeyState::Bad => return problem(401, "AUTH002", "the apikey is not valid"),
            KeyState::NoCredit => return problem(402, "AUTH004", "the usage limit is reached"),
            KeyState::RateLimited => {
                return problem(429, "AUTH008", "the rate limit is reached")
                    .header("Concurrency-Limit", 5)
                    .header("Concurrency-Remaining", 0);
            }
            KeyState::Good => {}
        }
        match parse_request(asked) {
            Ok(request) => served(asked, &request),
            Err(reason) => problem(400, "REQS004", &reason),
        }
    }
}

fn is_on(asked: &Asked, name: &str) -> bool {
    matches!(asked.param(name), Some("true" | "True"))
}

/// A boolean in the spelling of any programming language.
fn flag(asked: &Asked, name: &str) -> Result<bool, String> {
    match asked.param(name) {
        None | Some("false" | "False") => Ok(false),
        Some("true" | "True") => Ok(true),
        Some(_) => Err(format!("{name} must be true or false")),
    }
}

fn number(asked: &Asked, name: &str, most: u64) -> Result<Option<u64>, String> {
    match asked.param(name).map(str::parse::<u64>) {
        None => Ok(None),
        Some(Ok(value)) if value <= most => Ok(Some(value)),
        Some(_) => Err(format!("{name} is out of range")),
    }
}

fn parse_request(asked: &Asked) -> Result<TargetRequest, String> {
    if !["GET", "POST", "PUT"].contains(&asked.method.as_str()) {
        return Err(format!("{} is not supported", asked.method));
    }
    if let Some(unknown) = asked.unknown_param(&PARAMETERS) {
        return Err(format!("{unknown} is not a parameter"));
    }
    let url = asked.param("url").ok_or("url is required")?;
    if !(url.starts_with("http://") || url.starts_with("https://")) {
        return Err("url must begin with http:// or https://".to_owned());
    }
    let (javascript, premium) = (flag(asked, "js_render")?, flag(asked, "premium_proxy")?);
    let automatic = match asked.param("mode") {
        None => false,
        Some("auto") => true,
        Some(_) => return Err("mode has no such choice".to_owned()),
    };
    if automatic && (javascript || premium) {
        return Err("mode=auto excludes js_render and premium_proxy".to_owned());
    }
    let mut browser_only = BROWSER_ONLY.iter();
    if let Some(name) = browser_only.find(|name| asked.param(name).is_some() && !javascript) {
        return Err(format!("{name} needs js_render=true"));
    }
    for name in ["original_status", "json_response"] {
        flag(asked, name)?;
    }
    number(asked, "session_id", SESSION_MAX)?;
    if number(asked, "screenshot_quality", 100)? == Some(0) {
        return Err("screenshot_quality is out of range".to_owned());
    }
    if !matches!(
        asked.param("screenshot_format"),
        None | Some("png" | "jpeg")
    ) {
        return Err("screenshot_format has no such choice".to_owned());
    }
    allowed(asked)?;
    let country = asked.param("proxy_country");
    let is_code =
        |code: &str| code.len() == 2 && code.bytes().all(|byte| byte.is_ascii_lowercase());
    if country.is_some_and(|code| !is_code(code)) {
        return Err("proxy_country must have two letters".to_owned());
    }
    if country.is_some() && !premium && !automatic {
        return Err("proxy_country needs premium_proxy=true".to_owned());
    }
    let screenshot = match (
        flag(asked, "screenshot")?,
        flag(asked, "screenshot_fullpage")?,
    ) {
        (_, true) => Some("full_page"),
        (true, false) => Some("window"),
        (false, false) => asked.param("screenshot_selector").map(|_| "window"),
    };
    let keeps = flag(asked, "custom_headers")?;
    let forwarded = asked
        .headers
        .iter()
        .filter(|(name, _)| !OF_THE_CALL.contains(&name.as_str()));
    let headers = if keeps {
        forwarded.cloned().collect()
    } else {
        asked.body_type()
    };
    let cookies = asked.header("cookie").filter(|_| keeps);
    Ok(TargetRequest {
        method: asked.method.clone(),
        body: asked.body.clone(),
        headers,
        cookies: cookies.map(cookies_of).unwrap_or_default(),
        javascript,
        wait_ms: number(asked, "wait", WAIT_MS_MAX)?,
        wait_for: asked.param("wait_for").map(str::to_owned),
        script: script(asked)?,
        country: country.map(str::to_uppercase),
        residential: premium,
        screenshot,
        ..TargetRequest::new(url)
    })
}

/// The target's error statuses that are delivered like successful ones.
fn allowed(asked: &Asked) -> Result<Vec<u16>, String> {
    let Some(list) = asked.param("allowed_status_codes") else {
        return Ok(Vec::new());
    };
    let codes = list.split(',').map(|code| match code.trim().parse() {
        Ok(code @ 100..=599) => Ok(code),
        _ => Err("allowed_status_codes must be a list of statuses".to_owned()),
    });
    codes.collect()
}

fn script(asked: &Asked) -> Result<Option<String>, String> {
    let text = asked.param("js_instructions").unwrap_or("[]");
    let steps = serde_json::from_str::<Vec<Value>>(text).unwrap_or(vec![Value::Null]);
    let is_step = |step: &Value| match step.get("evaluate") {
        Some(source) => source.is_string(),
        None => step.as_object().is_some_and(|step| !step.is_empty()),
    };
    if !steps.iter().all(is_step) {
        return Err("js_instructions must be a JSON list of instructions".to_owned());
    }
    let script = steps.iter().find_map(|step| step["evaluate"].as_str());
    Ok(script.map(str::to_owned))
}

fn served(asked: &Asked, request: &TargetRequest) -> Answered {
    match Target::of(request) {
        Target::Page(page) => delivered(asked, request, &page),
        Target::Blocked => problem(422, "RESP001", "the content could not be had"),
        Target::Unreachable => problem(404, "RESP007", "the host cannot be resolved"),
        Target::Slow => problem(504, "CTX0002", "the operation took too long"),
        Target::VendorDown => problem(502, "RESP003", "the content could not be had, try again"),
        Target::Garbage => Answered::new(200, "text/html", "<html>"),
        Target::Refused => problem(400, "REQS004", "this domain does not take these parameters"),
    }
}

fn delivered(asked: &Asked, request: &TargetRequest, page: &TargetPage) -> Answered {
    let is_allowed = allowed(asked).is_ok_and(|codes| codes.contains(&page.status));
    let is_good = page.status < 400 || is_allowed;
    let credits = match (request.residential, request.javascript) {
        _ if !is_good && page.status != 404 => 0,
        (false, false) => 1,
        (false, true) => 5,
        (true, false) => 10,
        (true, true) => 25,
    };
    let charged = |answer: Answered| {
        answer
            .header("X-Request-Credits", credits)
            .header("X-Request-Cost", f64::from(credits) * CREDIT)
    };
    let is_original = is_on(asked, "original_status");
    if !is_good && page.status == 404 {
        return charged(problem(404, "RESP002", "the page does not exist"));
    }
    if !is_good && !is_original {
        return problem(422, "RESP001", "the content could not be had");
    }
    let status = if is_original { page.status } else { 200 };
    let answer = if is_on(asked, "json_response") {
        Answered::json(status, &enveloped(request, page))
    } else if request.screenshot.is_some() {
        Answered::new(status, "image/png", IMAGE)
    } else {
        Answered::new(status, page.header("content-type"), page.body.clone())
    };
    let cookies = page.cookies();
    let cookies = cookies
        .iter()
        .map(|(name, value)| format!("{name}={value}"));
    let cookies = cookies.collect::<Vec<_>>().join("; ");
    charged(answer)
        .header("Zr-Final-Url", &page.url)
        .header("Zr-Content-Type", page.header("content-type"))
        .header("Zr-X-Target", page.header("x-target"))
        .header("Zr-Cookies", cookies)
        .header("X-Request-Id", "req-1")
        .header("Concurrency-Limit", 5)
        .header("Concurrency-Remaining", 4)
}

fn enveloped(request: &TargetRequest, page: &TargetPage) -> Value {
    let mut reply = json!({"html": page.text(), "xhr": []});
    if request.script.is_some() {
        reply["js_instructions_report"] = json!({"instructions_succeeded": 1});
    }
    if request.screenshot.is_some() {
        reply["screenshot"] = to_base64(&IMAGE).into();
    }
    reply
}

fn problem(status: u16, code: &str, detail: &str) -> Answered {
    let title = format!("{detail} ({code})");
    let body = json!({"code": code, "title": title, "detail": detail, "status": status});
    Answered::new(status, "application/problem+json", body.to_string())
        .header("X-Request-Id", "req-1")
}

#[cfg(test)]
mod tests {
    use super::super::{BAD_KEY, BUSY_KEY, GOOD_KEY, PAGE, PAGE_RENDERED, POOR_KEY};
    use super::*;

    fn owned(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        let pairs = pairs.iter();
        pairs
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    fn ask(query: &[(&str, &str)], headers: &[(&str, &str)]) -> (Answered, Value) {
        let answer = ZenRows.answer(&Asked {
            method: "PUT".to_owned(),
            path: "/v1/".to_owned(),
            query: owned(query),
            headers: owned(headers),
            body: b"a=b".to_vec(),
            origin: "http://127.0.0.1:1".to_owned(),
        });
        let reply = serde_json::from_slice(&answer.body).unwrap_or_default();
        (answer, reply)
    }

    fn get(path: &str, more: &[(&str, &str)]) -> (Answered, Value) {
        let url = format!("http://site.example/{path}");
        let mut query = vec![("apikey", GOOD_KEY), ("url", url.as_str())];
        query.extend(more);
        let headers = [("host", "api"), ("cookie", "a=b"), ("x-fish", "cod")];
        ask(&query, &headers)
    }

    fn header<'a>(answer: &'a Answered, name: &str) -> Option<&'a str> {
        let mut headers = answer.headers.iter();
        let found = headers.find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    const CLEAR: (&str, &str) = ("original_status", "true");

    #[test]
    fn a_page_has_metadata() {
        let (answer, _) = get("moved", &[CLEAR]);
        assert_eq!(answer.status, 200);
        assert_eq!(answer.body, PAGE.as_bytes());
        assert_eq!(
            header(&answer, "Zr-Final-Url"),
            Some("http://site.example/page")
        );
        assert_eq!(header(&answer, "Zr-Cookies"), Some("fish=cod; sea=north"));
        assert_eq!(header(&answer, "Zr-X-Target"), Some("yes"));
        assert_eq!(header(&answer, "Zr-Set-Cookie"), None);
        assert_eq!(header(&answer, "X-Request-Credits"), Some("1"));
        assert_eq!(header(&answer, "X-Request-Cost"), Some("0.0003625"));
        assert_eq!(get("image", &[CLEAR]).0.body, IMAGE);
    }

    #[test]
    fn the_browser_supports_waits_scripts_and_screenshots() {
        let more = [
            ("js_render", "True"),
            ("premium_proxy", "true"),
            ("proxy_country", "de"),
            ("wait", "30000"),
            ("wait_for", "#x"),
            ("js_instructions", r#"[{"evaluate": "1"}]"#),
            ("screenshot_fullpage", "true"),
            ("json_response", "true"),
            ("custom_headers", "True"),
        ];
        let (answer, reply) = get("echo", &more);
        assert_eq!(header(&answer, "X-Request-Credits"), Some("25"));
        assert_eq!(reply["screenshot"], to_base64(&IMAGE));
        let text = reply["html"].as_str().unwrap_or_default();
        let echo: Value = serde_json::from_str(text).unwrap_or_default();
        assert_eq!(echo["headers"], json!([["x-fish", "cod"]]));
        assert_eq!(echo["cookies"], json!([["a", "b"]]));
        assert_eq!(echo["wait_ms"], 30_000);
        assert_eq!(echo["script"], "1");
        assert_eq!(echo["country"], "DE");
        assert_eq!(echo["screenshot"], "full_page");
        assert_eq!(echo["method"], "PUT");
        let (rendered, _) = get("page", &[("js_render", "true")]);
        assert_eq!(rendered.body, PAGE_RENDERED.as_bytes());
        let (pictured, _) = get("page", &[("js_render", "true"), ("screenshot", "true")]);
        assert_eq!(pictured.body, IMAGE);
        let (_, bare) = get("echo", &[("mode", "auto"), ("proxy_country", "us")]);
        assert_eq!(
            (&bare["headers"], &bare["country"]),
            (&json!([]), &json!("US"))
        );
    }

    #[test]
    fn the_key_decides_the_response() {
        for (key, status, code) in [
            (BAD_KEY, 401, "AUTH002"),
            (POOR_KEY, 402, "AUTH004"),
            (BUSY_KEY, 429, "AUTH008"),
        ] {
            let (answer, reply) = ask(&[("apikey", key), ("url", "http://site.example/")], &[]);
            assert_eq!((answer.status, &reply["code"]), (status, &json!(code)));
            assert_eq!(
                header(&answer, "content-type"),
                Some("application/problem+json")
            );
        }
        assert_eq!(ask(&[], &[]).1["code"], "AUTH001");
    }

    #[test]
    fn invalid_parameters_are_refused() {
        let browser = ("js_render", "true");
        for more in [
            [("fish", "1")].as_slice(),
            &[("js_render", "1")],
            &[("wait", "5")],
            &[("wait_for", "#x")],
            &[("js_instructions", "[]")],
            &[("screenshot", "true")],
            &[("json_response", "true")],
            &[browser, ("wait", "30001")],
            &[browser, ("js_instructions", "evaluate")],
            &[browser, ("js_instructions", r#"[{"evaluate": 1}]"#)],
            &[browser, ("mode", "auto")],
            &[("premium_proxy", "true"), ("mode", "auto")],
            &[("mode", "fast")],
            &[("proxy_country", "us")],
            &[("premium_proxy", "true"), ("proxy_country", "usa")],
            &[("session_id", "100000")],
            &[("allowed_status_codes", "404,x")],
        ] {
            let (answer, reply) = get("page", more);
            assert_eq!(answer.status, 400, "{more:?}");
            assert_eq!(reply["code"], "REQS004");
        }
    }

    #[test]
    fn failures_have_documented_codes() {
        for (path, status, code) in [
            ("missing", 404, "RESP002"),
            ("blocked", 422, "RESP001"),
            ("slow", 504, "CTX0002"),
            ("breaks", 502, "RESP003"),
            ("refused", 400, "REQS004"),
        ] {
            let (answer, reply) = get(path, &[CLEAR]);
            assert_eq!((answer.status, &reply["code"]), (status, &json!(code)));
        }
        let (missing, _) = get("missing", &[CLEAR]);
        assert_eq!(header(&missing, "X-Request-Credits"), Some("1"));
        let (allowed, _) = get("missing", &[CLEAR, ("allowed_status_codes", "404, 500")]);
        assert_eq!(allowed.body, b"<h1>Not here</h1>");
        for (path, status) in [("busy", 503), ("forbidden", 403)] {
            let (answer, _) = get(path, &[CLEAR]);
            assert_eq!(answer.status, status);
            assert_eq!(header(&answer, "X-Request-Credits"), Some("0"));
            assert_eq!(get(path, &[]).0.status, 422);
        }
        let (garbage, _) = get("garbage", &[CLEAR]);
        assert_eq!(header(&garbage, "Zr-Final-Url"), None);
        let dead = [("apikey", GOOD_KEY), ("url", "http://a.nowhere.example/")];
        assert_eq!(ask(&dead, &[]).1["code"], "RESP007");
    }
}
