//! Zyte API: JSON in, JSON out; the page is base64 without a browser and text with one.

use std::net::IpAddr;

use serde_json::{Value, json};

use super::{
    Answered, Asked, IMAGE, KeyState, RETRY_AFTER, Target, TargetPage, TargetRequest, Vendor,
    from_base64, to_base64,
};

/// The vendor.
pub struct Zyte;

const FIELDS: [&str; 18] = [
    "url",
    "httpResponseBody",
    "browserHtml",
    "httpResponseHeaders",
    "responseCookies",
    "actions",
    "customHttpRequestHeaders",
    "requestHeaders",
    "requestCookies",
    "geolocation",
    "ipType",
    "httpRequestMethod",
    "httpRequestText",
    "httpRequestBody",
    "followRedirect",
    "screenshot",
    "screenshotOptions",
    "session",
];
/// Parameters for plain requests only, and for browser requests only.
const HTTP_ONLY: [&str; 4] = [
    "customHttpRequestHeaders",
    "httpRequestMethod",
    "httpRequestText",
    "httpRequestBody",
];
const BROWSER_ONLY: [&str; 2] = ["actions", "screenshotOptions"];
const METHODS: [&str; 8] = [
    "GET", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "HEAD",
];
const URL_BYTES_MAX: usize = 8192;
const REQUEST_BYTES_MAX: usize = 5 * 1024 * 1024;
const SELECTOR_WAIT_MAX: f64 = 15.0;

/// A value, or the vendor's error response.
type Checked<T> = Result<T, Answered>;

impl Vendor for Zyte {
    fn name(&self) -> &'static str {
        "provider_1"
    }

    fn answer(&self, asked: &Asked) -> Answered {
        if asked.path != "/v1/extract" || asked.method != "POST" {
            return problem(404, "/request/not-found", "Not Found", "no such endpoint");
        }
        let Some(pair) = asked.basic() else {
            return problem(401, "/auth/not-valid", "Unauthorized", "no usable key");
        };
        match KeyState::of(pair.strip_suffix(':')) {
            KeyState::Bad => {
                let text = "the key does not exist";
                return problem(401, "/auth/key-not-found", "Unauthorized", text);
            }
            KeyState::NoCredit => {
                let text = "the spending limit is reached";
                return problem(403, "/auth/account-suspended", "Forbidden", text);
            }
            KeyState::RateLimited => {
                let text = "too many requests of this user";
                return problem(429, "/limits/over-user-limit", "Too Many Requests", text)
                    .header("retry-after", RETRY_AFTER);
            }
            KeyState::Good => {}
        }
        let body = asked.json();
        match parse_request(asked, &body) {
            Ok(request) => served(&body, &request),
            Err(refusal) => refusal,
        }
    }
}

fn parse_request(asked: &Asked, body: &Value) -> Checked<TargetRequest> {
    let content_type = asked.header("content-type").unwrap_or_default();
    if !content_type.starts_with("application/json") {
        return Err(invalid("the content type is not application/json"));
    }
    if asked.body.len() > REQUEST_BYTES_MAX {
        return Err(invalid("the request is too large"));
    }
    if !asked.query.is_empty() {
        return Err(invalid("there are no query parameters"));
    }
    only(body, &FIELDS)?;
    let url = text(body, "url")?.ok_or_else(|| invalid("url: required"))?;
    if !(url.starts_with("http://") || url.starts_with("https://")) || url.len() > URL_BYTES_MAX {
        return Err(invalid("url: not an address that can be used"));
    }
    if host(url).parse::<IpAddr>().is_ok() {
        return Err(invalid("url: IP addresses are not supported"));
    }
    let (plain, html) = (flag(body, "httpResponseBody")?, flag(body, "browserHtml")?);
    let screenshot = flag(body, "screenshot")?;
    let javascript = html || screenshot;
    if plain == javascript {
        return Err(unprocessable("ask for httpResponseBody or for a browser"));
    }
    let misplaced: &[&str] = if javascript {
        &HTTP_ONLY
    } else {
        &BROWSER_ONLY
    };
    if let Some(name) = misplaced.iter().find(|name| body.get(**name).is_some()) {
        return Err(unprocessable(&format!("{name}: not with this output")));
    }
    for name in ["httpResponseHeaders", "responseCookies", "followRedirect"] {
        flag(body, name)?;
    }
    let mut request = TargetRequest {
        method: one_of(body, "httpRequestMethod", &METHODS)?
            .unwrap_or("GET")
            .to_owned(),
        headers: headers(body)?,
        cookies: cookies(body)?,
        javascript,
        country: country(body)?,
        residential: one_of(body, "ipType", &["datacenter", "residential"])? == Some("residential"),
        ..TargetRequest::new(url)
    };
    let encoded = text(body, "httpRequestBody")?.map(from_base64);
    request.body = match (text(body, "httpRequestText")?, encoded) {
        (Some(_), Some(_)) => return Err(unprocessable("two request bodies")),
        (_, Some(None)) => return Err(invalid("httpRequestBody: not base64")),
        (Some(text), None) => text.as_bytes().to_vec(),
        (None, Some(Some(bytes))) => bytes,
        (None, None) => Vec::new(),
    };
    for action in list(body, "actions")? {
        act(action, &mut request)?;
    }
    let options = body.get("screenshotOptions").unwrap_or(&json!({})).clone();
    only(&options, &["format", "fullPage"])?;
    one_of(&options, "format", &["png", "jpeg"])?;
    request.screenshot = match (screenshot, flag(&options, "fullPage")?) {
        (false, _) => None,
        (true, false) => Some("window"),
        (true, true) => Some("full_page"),
    };
    session(body)?;
    Ok(request)
}

fn headers(body: &Value) -> Checked<Vec<(String, String)>> {
    let mut headers = Vec::new();
    for header in list(body, "customHttpRequestHeaders")? {
        only(header, &["name", "value"])?;
        let name = needed(header, "name")?.to_lowercase();
        if name == "cookie" {
            return Err(invalid("cookies belong into requestCookies"));
        }
        headers.push((name, needed(header, "value")?.to_owned()));
    }
    if let Some(named) = body.get("requestHeaders") {
        only(named, &["referer"])?;
        let referer = text(named, "referer")?;
        headers.extend(referer.map(|value| ("referer".to_owned(), value.to_owned())));
    }
    Ok(headers)
}

fn cookies(body: &Value) -> Checked<Vec<(String, String)>> {
    let mut cookies = Vec::new();
    for cookie in list(body, "requestCookies")? {
        only(cookie, &["name", "value", "domain", "path"])?;
        needed(cookie, "domain")?;
        text(cookie, "path")?;
        let (name, value) = (needed(cookie, "name")?, needed(cookie, "value")?);
        cookies.push((name.to_owned(), value.to_owned()));
    }
    Ok(cookies)
}

fn country(body: &Value) -> Checked<Option<String>> {
    match text(body, "geolocation")? {
        Some(code) if code.len() != 2 || !code.bytes().all(|byte| byte.is_ascii_uppercase()) => {
            Err(invalid("geolocation: not a country"))
        }
        code => Ok(code.map(str::to_owned)),
    }
}

fn session(body: &Value) -> Checked<()> {
    let Some(session) = body.get("session") else {
        return Ok(());
    };
    only(session, &["id"])?;
    let id = needed(session, "id")?;
    let dashes = [8, 13, 18, 23];
    let fits = |(place, letter): (usize, char)| match place {
        14 => letter == '4',
        _ if dashes.contains(&place) => letter == '-',
        _ => letter.is_ascii_hexdigit(),
    };
    if id.len() == 36 && id.chars().enumerate().all(fits) {
        Ok(())
    } else {
        Err(invalid("session.id: not a version 4 UUID"))
    }
}

/// Applies one browser action.
fn act(action: &Value, request: &mut TargetRequest) -> Checked<()> {
    let seconds = match action.get("timeout").map(Value::as_f64) {
        None => None,
        Some(Some(seconds)) if seconds > 0.0 => Some(seconds),
        Some(_) => return Err(invalid("timeout: not a length of time")),
    };
    match needed(action, "action")? {
        "waitForTimeout" => {
            only(action, &["action", "timeout"])?;
            let seconds = seconds.ok_or_else(|| invalid("timeout: required"))?;
            request.wait_ms = Some((seconds * 1000.0).round() as u64);
        }
        "waitForSelector" => {
            only(action, &["action", "selector", "timeout"])?;
            if seconds.is_some_and(|seconds| seconds > SELECTOR_WAIT_MAX) {
                return Err(invalid("timeout: too long"));
            }
            let selector = action.get("selector").unwrap_or(&Value::Null);
            only(selector, &["type", "value", "state"])?;
            one_of(selector, "type", &["css", "xpath"])?;
            one_of(selector, "state", &["visible", "attached", "hidden"])?;
            needed(selector, "type")?;
            request.wait_for = Some(needed(selector, "value")?.to_owned());
        }
        "evaluate" => {
            only(action, &["action", "source"])?;
            request.script = Some(needed(action, "source")?.to_owned());
        }
        other => return Err(invalid(&format!("actions: {other} is unknown"))),
    }
    Ok(())
}

fn served(body: &Value, request: &TargetRequest) -> Answered {
    let internal = |status, kind, text| problem(status, kind, "Internal Server Error", text);
    match Target::of(request) {
        Target::Page(page) => match extracted(body, request, &page) {
            Some(reply) => Answered::json(200, &reply).header("request-id", "req-1"),
            None => internal(521, "/download/internal-error", "no HTML came of it"),
        },
        Target::Blocked => problem(
            520,
            "/download/temporary-error",
            "Temporary Downloading Error",
            "the website turned every attempt away",
        ),
        Target::Unreachable => problem(
            421,
            "/website/domain-unreachable",
            "Misdirected Request",
            "the name of the website cannot be resolved",
        ),
        Target::Slow => internal(500, "/server/timed-out", "the request took too long"),
        Target::VendorDown => internal(500, "/server/internal", "something broke"),
        Target::Garbage => Answered::json(200, &json!({"hello": "world"})),
        Target::Refused => unprocessable("these fields do not work for this domain"),
    }
}

/// The response with everything that was requested; none when the browser has no HTML.
fn extracted(body: &Value, request: &TargetRequest, page: &TargetPage) -> Option<Value> {
    let is_asked = |name: &str| body.get(name) == Some(&Value::Bool(true));
    let mut reply = json!({"url": page.url, "statusCode": page.status});
    if is_asked("httpResponseBody") {
        reply["httpResponseBody"] = to_base64(&page.body).into();
    }
    if is_asked("browserHtml") {
        reply["browserHtml"] = std::str::from_utf8(&page.body).ok()?.into();
    }
    if is_asked("httpResponseHeaders") {
        let headers = page.headers.iter();
        let pairs = headers.map(|(name, value)| json!({"name": name, "value": value}));
        reply["httpResponseHeaders"] = pairs.collect();
    }
    if is_asked("responseCookies") {
        let cookie = |(name, value): &(String, String)| {
            json!({
                "name": name, "value": value, "domain": host(&page.url), "path": "/",
                "httpOnly": false, "secure": false, "sameSite": "Lax",
            })
        };
        reply["responseCookies"] = page.cookies().iter().map(cookie).collect();
    }
    if let Some(actions) = body.get("actions").and_then(Value::as_array) {
        let done = |action: &Value| json!({"action": action["action"], "status": "success", "elapsedTime": 0.25});
        reply["actions"] = actions.iter().map(done).collect();
    }
    if request.screenshot.is_some() {
        reply["screenshot"] = to_base64(&IMAGE).into();
    }
    Some(reply)
}

fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or("", |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let place = authority.rsplit('@').next().unwrap_or_default();
    match place.strip_prefix('[') {
        Some(address) => address.split(']').next().unwrap_or_default(),
        None => place.split(':').next().unwrap_or_default(),
    }
}

/// Refuses anything but an object without other fields than these.
fn only(object: &Value, known: &[&str]) -> Checked<()> {
    let Some(fields) = object.as_object() else {
        return Err(invalid("an object is missing"));
    };
    let mut names = fields.keys();
    match names.find(|name| !known.contains(&name.as_str())) {
        Some(unknown) => Err(invalid(&format!("{unknown}: unknown field"))),
        None => Ok(()),
    }
}

fn flag(object: &Value, name: &str) -> Checked<bool> {
    match object.get(name) {
        None => Ok(false),
        Some(Value::Bool(value)) => Ok(*value),
        Some(_) => Err(invalid(&format!("{name}: not a boolean"))),
    }
}

fn text<'a>(object: &'a Value, name: &str) -> Checked<Option<&'a str>> {
    match object.get(name) {
        None => Ok(None),
        Some(Value::String(value)) => Ok(Some(value)),
        Some(_) => Err(invalid(&format!("{name}: not a text"))),
    }
}

fn needed<'a>(object: &'a Value, name: &str) -> Checked<&'a str> {
    text(object, name)?.ok_or_else(|| invalid(&format!("{name}: required")))
}

fn one_of<'a>(object: &'a Value, name: &str, known: &[&str]) -> Checked<Option<&'a str>> {
    match text(object, name)? {
        Some(value) if !known.contains(&value) => Err(invalid(&format!("{name}: unknown value"))),
        value => Ok(value),
    }
}

fn list<'a>(object: &'a Value, name: &str) -> Checked<&'a [Value]> {
    match object.get(name) {
        None => Ok(&[]),
        Some(Value::Array(items)) => Ok(items),
        Some(_) => Err(invalid(&format!("{name}: not a list"))),
    }
}

fn invalid(detail: &str) -> Answered {
    problem(400, "/request/invalid", "Bad Request", detail)
}

fn unprocessable(detail: &str) -> Answered {
    let kind = "/request/unprocessable";
    problem(422, kind, "Unprocessable Request", detail)
}

fn problem(status: u16, kind: &str, title: &str, detail: &str) -> Answered {
    let body = json!({"type": kind, "title": title, "status": status, "detail": detail});
    Answered::new(status, "application/problem+json", body.to_string())
        .header("request-id", "req-1")
}

#[cfg(test)]
mod tests;
