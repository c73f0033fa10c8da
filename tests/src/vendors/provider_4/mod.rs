//! Scrapfly Web Scraping API: a JSON envelope around the page; larger bodies have a URL of their
//! own.

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value, json};

use super::{
    Answered, Asked, IMAGE, KeyState, RETRY_AFTER, Target, TargetPage, TargetRequest, Vendor,
    cookies_of, from_base64, to_base64,
};

/// The vendor, with the large bodies that wait to be fetched; the first has number 1.
#[derive(Default)]
pub struct Scrapfly {
    blobs: Mutex<Vec<Vec<u8>>>,
}

const PARAMETERS: [&str; 21] = [
    "key",
    "url",
    "render_js",
    "rendering_stage",
    "rendering_wait",
    "wait_for_selector",
    "js",
    "js_scenario",
    "country",
    "proxy_pool",
    "asp",
    "unblocker",
    "cost_budget",
    "session",
    "cache",
    "retry",
    "timeout",
    "lang",
    "os",
    "format",
    "proxified_response",
];
const BROWSER_ONLY: [&str; 5] = [
    "rendering_stage",
    "rendering_wait",
    "wait_for_selector",
    "js",
    "js_scenario",
];
const METHODS: [&str; 5] = ["GET", "POST", "PUT", "PATCH", "HEAD"];
const BLOB: &str = "/scrape/blob/";
const SCREENSHOT: &str = "/scrape/screenshot/";
/// Upper bound on the bytes in the envelope.
const CONTENT_BYTES_MAX: usize = 5_000_000;
const DATACENTER: &str = "public_datacenter_pool";
const RESIDENTIAL: &str = "public_residential_pool";

impl Vendor for Scrapfly {
    fn name(&self) -> &'static str {
        "provider_4"
    }

    fn answer(&self, asked: &Asked) -> Answered {
        match KeyState::of(asked.param("key")) {
            KeyState::Bad => return stated(401, "Unauthorized", "Invalid API key"),
            KeyState::NoCredit => {
                let text = "The quota of this subscription is used up";
                return coded(
                    429,
                    "ERR::THROTTLE::PROJECT_QUOTA_LIMIT_REACHED",
                    text,
                    false,
                );
            }
            KeyState::RateLimited => {
                let code = "ERR::THROTTLE::MAX_REQUEST_RATE_EXCEEDED";
                return coded(429, code, "Too many requests in this minute", true)
                    .header("Retry-After", RETRY_AFTER);
            }
            KeyState::Good => {}
        }
        if asked.path != "/scrape" {
            return self.kept(asked);
        }
        match parse_request(asked) {
            Ok(request) => self.served(asked, &request),
            Err(reason) => refusal(&reason),
        }
    }
}

impl Scrapfly {
    /// A large body or a screenshot.
    fn kept(&self, asked: &Asked) -> Answered {
        if asked.method == "GET" && asked.path.starts_with(SCREENSHOT) {
            return Answered::new(200, "image/png", IMAGE);
        }
        let place = asked.path.strip_prefix(BLOB).map(str::parse::<usize>);
        let index = match place {
            Some(Ok(number)) if asked.method == "GET" => number.checked_sub(1),
            _ => None,
        };
        let blobs = self.blobs();
        match index.and_then(|index| blobs.get(index)) {
            Some(body) => Answered::new(200, "application/octet-stream", body.clone()),
            None => stated(404, "Not Found", "There is nothing here"),
        }
    }

    fn blobs(&self) -> MutexGuard<'_, Vec<Vec<u8>>> {
        self.blobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores a body; the same body gets the same number again.
    fn keep(&self, body: &[u8]) -> usize {
        let mut blobs = self.blobs();
        if let Some(index) = blobs.iter().position(|known| known == body) {
            return index + 1;
        }
        blobs.push(body.to_vec());
        blobs.len()
    }

    fn served(&self, asked: &Asked, request: &TargetRequest) -> Answered {
        let page = match Target::of(request) {
            Target::Page(page) => page,
            Target::Blocked => {
                return failed(422, "ERR::ASP::SHIELD_PROTECTION_FAILED", request, true);
            }
            Target::Unreachable => {
                return failed(422, "ERR::SCRAPE::DNS_NAME_NOT_RESOLVED", request, false);
            }
            Target::Slow => return failed(504, "ERR::SCRAPE::OPERATION_TIMEOUT", request, true),
            Target::VendorDown => {
                return stated(500, "Internal Server Error", "Something broke, try again");
            }
            Target::Garbage => return Answered::json(200, &json!({"hello": "world"})),
            Target::Refused => return refusal("These options do not go with this domain"),
        };
        let cost = cost(request, &page);
        let budget = asked
            .param("cost_budget")
            .and_then(|text| text.parse().ok());
        if budget.is_some_and(|budget: usize| budget < cost) {
            return refusal("cost_budget is below the least cost of this scrape");
        }
        if asked.param("proxified_response") == Some("true") {
            let answer = Answered {
                status: page.status,
                headers: page.headers.clone(),
                body: page.body.clone(),
                ..Answered::default()
            };
            return answer.header("X-Scrapfly-Api-Cost", cost);
        }
        let mut result = result(&page);
        (result["content"], result["format"]) = self.content(asked, &page);
        result["browser_data"] = if request.javascript {
            json!({"javascript_evaluation_result": request.script.as_ref().map(|_| "")})
        } else {
            Value::Null
        };
        result["screenshots"] = screenshots(asked);
        let answer = Answered::json(200, &envelope(request, cost, &result))
            .header("X-Scrapfly-Api-Cost", cost);
        match result["error"]["code"].as_str() {
            Some(code) => answer
                .header("X-Scrapfly-Reject-Code", code)
                .header("X-Scrapfly-Reject-Retryable", false),
            None => answer,
        }
    }

    /// The content and the name of its format.
    fn content(&self, asked: &Asked, page: &TargetPage) -> (Value, Value) {
        let text = std::str::from_utf8(&page.body);
        if page.body.len() > CONTENT_BYTES_MAX {
            let address = format!("{}{BLOB}{}", asked.origin, self.keep(&page.body));
            let form = if text.is_ok() { "clob" } else { "blob" };
            return (address.into(), form.into());
        }
        match text {
            Ok(text) => (text.into(), "text".into()),
            Err(_) => (to_base64(&page.body).into(), "binary".into()),
        }
    }
}

/// The key in a bracketed parameter: `x` of `headers[x]` in the group `headers`.
fn member<'a>(name: &'a str, group: &str) -> Option<&'a str> {
    let rest = name.strip_prefix(group)?.strip_prefix('[')?;
    rest.strip_suffix(']').filter(|member| !member.is_empty())
}

fn flag(asked: &Asked, name: &str, default: bool) -> Result<bool, String> {
    match asked.param(name) {
        None => Ok(default),
        Some("true") => Ok(true),
        Some("false") => Ok(false),
        Some(_) => Err(format!("{name} must be a boolean")),
    }
}

fn number(asked: &Asked, name: &str) -> Result<Option<u64>, String> {
    let value = asked.param(name).map(str::parse::<u64>).transpose();
    value.map_err(|_| format!("{name} must be a number"))
}

fn encoded(asked: &Asked, name: &str) -> Result<Option<String>, String> {
    let Some(text) = asked.param(name) else {
        return Ok(None);
    };
    let bytes = if text.contains(['+', '/']) {
        None
    } else {
        from_base64(text)
    };
    match bytes.map(String::from_utf8) {
        Some(Ok(decoded)) => Ok(Some(decoded)),
        _ => Err(format!("{name} must be base64 for addresses")),
    }
}

fn parse_request(asked: &Asked) -> Result<TargetRequest, String> {
    if !METHODS.contains(&asked.method.as_str()) {
        return Err(format!("{} is not supported", asked.method));
    }
    let mut request = TargetRequest::new(asked.param("url").ok_or("url is required")?);
    if !(request.url.starts_with("http://") || request.url.starts_with("https://")) {
        return Err("url must begin with http:// or https://".to_owned());
    }
    request.method = asked.method.clone();
    request.body = asked.body.clone();
    request.javascript = flag(asked, "render_js", false)?;
    for (name, value) in &asked.query {
        if let Some(header) = member(name, "headers") {
            match header.to_lowercase().as_str() {
                "cookie" => request.cookies.extend(cookies_of(value)),
                header => request.headers.push((header.to_owned(), value.clone())),
            }
        } else if member(name, "screenshots").is_some() {
            let is_whole = value == "fullpage";
            request.screenshot = Some(if is_whole { "full_page" } else { "window" });
        } else if !PARAMETERS.contains(&name.as_str()) {
            return Err(format!("{name} is not an option"));
        }
    }
    let mut browser_only = BROWSER_ONLY.iter();
    let misplaced = browser_only.find(|name| asked.param(name).is_some());
    if !request.javascript && (misplaced.is_some() || request.screenshot.is_some()) {
        return Err("this option needs render_js=true".to_owned());
    }
    for (name, known) in [
        ("rendering_stage", ["complete", "domcontentloaded"]),
        ("proxy_pool", [DATACENTER, RESIDENTIAL]),
        ("format", ["raw", "raw"]),
    ] {
        if asked
            .param(name)
            .is_some_and(|value| !known.contains(&value))
        {
            return Err(format!("{name} has no such choice"));
        }
    }
    for name in ["asp", "unblocker", "cache", "proxified_response"] {
        flag(asked, name, false)?;
    }
    if number(asked, "timeout")?.is_some() && flag(asked, "retry", true)? {
        return Err("timeout needs retry=false".to_owned());
    }
    flag(asked, "retry", true)?;
    number(asked, "cost_budget")?;
    let country = asked.param("country");
    let is_code =
        |code: &str| code.len() == 2 && code.bytes().all(|byte| byte.is_ascii_lowercase());
    if country.is_some_and(|code| !is_code(code)) {
        return Err("country must have two letters".to_owned());
    }
    let scenario = encoded(asked, "js_scenario")?;
    if scenario.is_some_and(|text| serde_json::from_str::<Vec<Value>>(&text).is_err()) {
        return Err("js_scenario must be a list".to_owned());
    }
    request.wait_ms = number(asked, "rendering_wait")?;
    request.wait_for = asked.param("wait_for_selector").map(str::to_owned);
    request.script = encoded(asked, "js")?;
    request.country = country.map(str::to_uppercase);
    request.residential = asked.param("proxy_pool") == Some(RESIDENTIAL);
    Ok(request)
}

/// Price of a page in credits: by pool and browser, plus one for each started 100 KB beyond what is
/// included.
fn cost(request: &TargetRequest, page: &TargetPage) -> usize {
    if matches!(page.status, 429 | 503) {
        return 0;
    }
    let pool = if request.residential { 25 } else { 1 };
    let (browser, included) = if request.javascript {
        (5, 3_000_000)
    } else {
        (0, 1_000_000)
    };
    let beyond = page.body.len().saturating_sub(included);
    pool + browser + beyond.div_ceil(100_000)
}

/// The metadata of a page.
fn result(page: &TargetPage) -> Value {
    let mut headers = Map::new();
    for (name, value) in &page.headers {
        match headers.get_mut(name) {
            Some(Value::Array(values)) => values.push(json!(value)),
            _ if name == "set-cookie" => {
                headers.insert(name.clone(), json!([value]));
            }
            _ => {
                headers.insert(name.clone(), json!(value));
            }
        }
    }
    let cookie = |(name, value): &(String, String)| json!({"name": name, "value": value, "domain": "", "path": "/", "http_only": false});
    let is_good = page.status < 400;
    let error = json!({
        "code": "ERR::SCRAPE::BAD_UPSTREAM_RESPONSE", "http_code": page.status,
        "message": "The website answered with an error", "retryable": false,
    });
    json!({
        "url": page.url, "status_code": page.status, "success": is_good,
        "content_type": page.header("content-type"), "response_headers": headers,
        "cookies": page.cookies().iter().map(cookie).collect::<Value>(),
        "error": if is_good { Value::Null } else { error },
    })
}

fn screenshots(asked: &Asked) -> Value {
    let names = asked.query.iter();
    let names = names.filter_map(|(name, _)| member(name, "screenshots"));
    let shot = |name: &str| {
        let address = format!("{}{SCREENSHOT}{name}", asked.origin);
        (name.to_owned(), json!({"url": address, "extension": "png"}))
    };
    Value::Object(names.map(shot).collect())
}

fn envelope(request: &TargetRequest, cost: usize, result: &Value) -> Value {
    json!({
        "uuid": "req-1",
        "config": {"url": request.url, "method": request.method, "render_js": request.javascript},
        "context": {"cost": {"total": cost, "details": []}},
        "result": result,
    })
}

/// A scrape without a response of the target.
fn failed(status: u16, code: &str, request: &TargetRequest, retryable: bool) -> Answered {
    let text = "The scrape did not succeed";
    let error = json!({"code": code, "http_code": status, "message": text, "retryable": retryable});
    let result = json!({"success": false, "error": error, "content": null});
    Answered::json(status, &envelope(request, 0, &result))
        .header("X-Scrapfly-Api-Cost", 0)
        .header("X-Scrapfly-Reject-Code", code)
        .header("X-Scrapfly-Reject-Retryable", retryable)
}

fn refusal(message: &str) -> Answered {
    coded(400, "ERR::SCRAPE::CONFIG_ERROR", message, false)
}

fn coded(status: u16, code: &str, message: &str, retryable: bool) -> Answered {
    Answered::json(status, &json!({"code": code, "message": message}))
        .header("X-Scrapfly-Reject-Code", code)
        .header("X-Scrapfly-Reject-Retryable", retryable)
}

fn stated(status: u16, reason: &str, message: &str) -> Answered {
    let body = json!({
        "status": "error", "http_code": status, "reason": reason,
        "error_id": "req-1", "message": message,
    });
    Answered::json(status, &body)
}

#[cfg(test)]
mod tests;
