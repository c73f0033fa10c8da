//! ScrapingBee HTML API: the page itself with metadata in `Spb-*` headers, or everything as JSON.

use serde_json::json;

use super::{
    Answered, Asked, IMAGE, KeyState, RETRY_AFTER, TURNED_AWAY, Target, TargetPage, TargetRequest,
    Vendor, cookies_of, from_base64, to_base64,
};

/// The vendor.
pub struct ScrapingBee;

const PARAMETERS: [&str; 18] = [
    "api_key",
    "url",
    "render_js",
    "transparent_status_code",
    "timeout",
    "wait",
    "wait_for",
    "wait_browser",
    "js_snippet",
    "js_scenario",
    "forward_headers",
    "cookies",
    "country_code",
    "premium_proxy",
    "block_resources",
    "json_response",
    "screenshot",
    "screenshot_full_page",
];

impl Vendor for ScrapingBee {
    fn name(&self) -> &'static str {
        "provider_2"
    }

    fn answer(&self, asked: &Asked) -> Answered {
        if asked.path != "/api/v1/" {
            return refusal(404, "Not found");
        }
        match KeyState::of(asked.bearer().or(asked.param("api_key"))) {
            KeyState::Bad => return refusal(401, "Invalid api key"),
            KeyState::NoCredit => return refusal(401, "Monthly API calls limit reached: 1000"),
            KeyState::RateLimited => {
                return refusal(429, "Too many concurrent requests")
                    .header("retry-after", RETRY_AFTER);
            }
            KeyState::Good => {}
        }
        match parse_request(asked) {
            Ok(request) => served(asked, &request),
            Err(reason) => refusal(400, &reason),
        }
    }
}

fn parse_request(asked: &Asked) -> Result<TargetRequest, String> {
    if let Some(unknown) = asked.unknown_param(&PARAMETERS) {
        return Err(format!("Unknown arguments: {unknown}"));
    }
    let flag = |name: &str, default: bool| match asked.param(name) {
        None => Ok(default),
        Some("true" | "True" | "1") => Ok(true),
        Some("false" | "False" | "0") => Ok(false),
        Some(other) => Err(format!("{name}: not a boolean: {other}")),
    };
    let number = |name: &str, most: u64| match asked.param(name).map(str::parse::<u64>) {
        None => Ok(None),
        Some(Ok(value)) if value <= most => Ok(Some(value)),
        Some(_) => Err(format!("{name}: out of range")),
    };
    let url = asked.param("url").ok_or("url: required")?;
    let javascript = flag("render_js", true)?;
    let premium = flag("premium_proxy", false)?;
    if number("timeout", 140_000)?.is_some_and(|timeout| timeout < 1_000) {
        return Err("timeout: out of range".to_owned());
    }
    if asked.param("country_code").is_some() && !premium {
        return Err("country_code needs premium_proxy".to_owned());
    }
    let script = asked.param("js_snippet").map(from_base64);
    if script == Some(None) {
        return Err("js_snippet: not base64".to_owned());
    }
    let pictures = (
        flag("screenshot", false)?,
        flag("screenshot_full_page", false)?,
    );
    for browser_only in [
        "wait",
        "wait_for",
        "js_snippet",
        "screenshot",
        "screenshot_full_page",
    ] {
        if asked.param(browser_only).is_some() && !javascript {
            return Err(format!("{browser_only} needs render_js"));
        }
    }
    let forwarded = asked
        .headers
        .iter()
        .filter_map(|(name, value)| Some((name.strip_prefix("spb-")?.to_owned(), value.clone())));
    let mut headers = asked.body_type();
    if flag("forward_headers", false)? {
        headers.extend(forwarded);
    }
    Ok(TargetRequest {
        method: asked.method.clone(),
        body: asked.body.clone(),
        headers,
        cookies: asked.param("cookies").map(cookies_of).unwrap_or_default(),
        javascript,
        wait_ms: number("wait", 35_000)?,
        wait_for: asked.param("wait_for").map(str::to_owned),
        script: script
            .flatten()
            .and_then(|bytes| String::from_utf8(bytes).ok()),
        country: asked.param("country_code").map(str::to_uppercase),
        residential: premium,
        screenshot: match pictures {
            (_, true) => Some("full_page"),
            (true, false) => Some("window"),
            (false, false) => None,
        },
        ..TargetRequest::new(url)
    })
}

fn served(asked: &Asked, request: &TargetRequest) -> Answered {
    match Target::of(request) {
        Target::Page(page) => delivered(asked, request, &page),
        // The vendor reports an unreachable host like a 503 of the target, at no cost.
        Target::Unreachable => Answered::new(503, "text/plain", "Proxy connection error")
            .header("Spb-initial-status-code", 503)
            .header("Spb-cost", 0),
        // A target that blocks the vendor is delivered like any other.
        Target::Blocked => delivered(asked, request, &turned_away(request)),
        Target::Slow => refusal(500, "Timeout: the request took too long"),
        Target::VendorDown => refusal(500, "Server error, try again"),
        Target::Garbage => Answered::new(200, "text/html", "<html>"),
        Target::Refused => refusal(400, "url: this domain is not allowed"),
    }
}

fn delivered(asked: &Asked, request: &TargetRequest, page: &TargetPage) -> Answered {
    let transparent = asked.param("transparent_status_code") == Some("true");
    let status = if transparent { page.status } else { 200 };
    let credits = match (request.residential, request.javascript) {
        _ if page.status == 503 => 0,
        (false, false) => 1,
        (false, true) => 5,
        (true, false) => 10,
        (true, true) => 25,
    };
    let answer = match asked.param("json_response") {
        Some("true") => Answered::json(status, &enveloped(page, request)),
        _ => Answered::new(status, page.header("content-type"), page.body.clone()),
    };
    let facts = with_facts(answer, page, credits);
    page.headers.iter().fold(facts, |answer, (name, value)| {
        answer.header(&format!("Spb-{name}"), value)
    })
}

fn turned_away(request: &TargetRequest) -> TargetPage {
    TargetPage {
        status: 403,
        url: request.url.clone(),
        headers: vec![("content-type".to_owned(), "text/html".to_owned())],
        body: TURNED_AWAY.into(),
    }
}

fn with_facts(answer: Answered, page: &TargetPage, credits: u32) -> Answered {
    answer
        .header("Spb-initial-status-code", page.status)
        .header("Spb-resolved-url", &page.url)
        .header("Spb-cost", credits)
        .header("Spb-request-id", "req-1")
}

fn enveloped(page: &TargetPage, request: &TargetRequest) -> serde_json::Value {
    let is_text = std::str::from_utf8(&page.body).is_ok();
    json!({
        "body": if is_text { page.text() } else { to_base64(&page.body) },
        "type": if is_text { "html" } else { "b64_bytes" },
        "screenshot": request.screenshot.map(|_| to_base64(&IMAGE)),
    })
}

fn refusal(status: u16, message: &str) -> Answered {
    Answered::json(status, &json!({"message": message}))
}
