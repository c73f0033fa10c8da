//! Scrape.do: the page itself with the target's headers, and metadata in `scrape.do-*` headers;
//! JSON on request.

use serde_json::{Value, json};

use super::{
    Answered, Asked, IMAGE, KeyState, Target, TargetPage, TargetRequest, Vendor, cookies_of,
    to_base64,
};

/// The vendor.
pub struct ScrapeDo;

const PARAMETERS: [&str; 28] = [
    "token",
    "url",
    "render",
    "transparentResponse",
    "customWait",
    "waitSelector",
    "waitUntil",
    "playWithBrowser",
    "customHeaders",
    "extraHeaders",
    "forwardHeaders",
    "setCookies",
    "geoCode",
    "super",
    "screenShot",
    "fullScreenShot",
    "particularScreenShot",
    "returnJSON",
    "sessionId",
    "blockResources",
    "width",
    "height",
    "device",
    "disableRedirection",
    "timeout",
    "retryTimeout",
    "disableRetry",
    "pureCookies",
];
const BROWSER_ONLY: [&str; 7] = [
    "customWait",
    "waitSelector",
    "waitUntil",
    "playWithBrowser",
    "screenShot",
    "fullScreenShot",
    "particularScreenShot",
];
/// Parameters that request a screenshot, with the screenshot's name in the response.
const SCREENSHOTS: [(&str, &str); 3] = [
    ("screenShot", "ScreenShot"),
    ("fullScreenShot", "FullScreenShot"),
    ("particularScreenShot", "ParticularScreenShot"),
];
const WAITS: [&str; 4] = ["load", "domcontentloaded", "networkidle0", "networkidle2"];
/// Headers of the call that are not forwarded to the target.
const OF_THE_CALL: [&str; 6] = [
    "host",
    "connection",
    "content-length",
    "transfer-encoding",
    "accept-encoding",
    "cookie",
];

impl Vendor for ScrapeDo {
    fn name(&self) -> &'static str {
        "provider_5"
    }

    fn answer(&self, asked: &Asked) -> Answered {
        if asked.path != "/" {
            return failure(404, "Not found");
        }
        match KeyState::of(asked.param("token")) {
            KeyState::Bad => return failure(401, "The token is not valid"),
            KeyState::NoCredit => {
                return failure(401, "Your account has no credits left or is suspended");
            }
            KeyState::RateLimited => return failure(429, "Too many concurrent requests"),
            KeyState::Good => {}
        }
        match parse_request(asked) {
            Ok(request) => served(asked, &request),
            Err(reason) => failure(400, &reason),
        }
    }
}

fn is_on(asked: &Asked, name: &str) -> bool {
    asked.param(name) == Some("true")
}

fn flag(asked: &Asked, name: &str) -> Result<bool, String> {
    match asked.param(name) {
        None | Some("false") => Ok(false),
        Some("true") => Ok(true),
        Some(_) => Err(format!("{name} must be true or false")),
    }
}

fn number(asked: &Asked, name: &str) -> Result<Option<u64>, String> {
    let value = asked.param(name).map(str::parse::<u64>).transpose();
    value.map_err(|_| format!("{name} must be a number"))
}

fn parse_request(asked: &Asked) -> Result<TargetRequest, String> {
    if let Some(unknown) = asked.unknown_param(&PARAMETERS) {
        return Err(format!("{unknown} is not a parameter"));
    }
    let url = asked.param("url").ok_or("url is required")?;
    if !(url.starts_with("http://") || url.starts_with("https://")) {
        return Err("url must begin with http:// or https://".to_owned());
    }
    for name in [
        "transparentResponse",
        "returnJSON",
        "blockResources",
        "disableRedirection",
        "disableRetry",
        "pureCookies",
    ] {
        flag(asked, name)?;
    }
    for name in ["sessionId", "width", "height", "timeout", "retryTimeout"] {
        number(asked, name)?;
    }
    let javascript = flag(asked, "render")?;
    let mut browser_only = BROWSER_ONLY.iter();
    if let Some(name) = browser_only.find(|name| asked.param(name).is_some() && !javascript) {
        return Err(format!("{name} needs render=true"));
    }
    let wait_until = asked.param("waitUntil");
    if wait_until.is_some_and(|event| !WAITS.contains(&event)) {
        return Err("waitUntil has no such event".to_owned());
    }
    if !matches!(
        asked.param("device"),
        None | Some("desktop" | "mobile" | "tablet")
    ) {
        return Err("device must be desktop, mobile or tablet".to_owned());
    }
    let screenshot = match (flag(asked, "screenShot")?, flag(asked, "fullScreenShot")?) {
        (_, true) => Some("full_page"),
        (true, false) => Some("window"),
        (false, false) => asked.param("particularScreenShot").map(|_| "window"),
    };
    if screenshot.is_some() && !is_on(asked, "returnJSON") {
        return Err("a screenshot needs returnJSON=true".to_owned());
    }
    let country = asked.param("geoCode");
    let is_code =
        |code: &str| code.len() == 2 && code.bytes().all(|byte| byte.is_ascii_lowercase());
    if country.is_some_and(|code| !is_code(code)) {
        return Err("geoCode must have two letters".to_owned());
    }
    let (headers, cookies) = sent_on(asked)?;
    Ok(TargetRequest {
        method: asked.method.clone(),
        body: asked.body.clone(),
        headers,
        cookies,
        javascript,
        wait_ms: number(asked, "customWait")?,
        wait_for: asked.param("waitSelector").map(str::to_owned),
        script: script(asked)?,
        country: country.map(str::to_uppercase),
        residential: flag(asked, "super")?,
        screenshot,
        ..TargetRequest::new(url)
    })
}

type Pairs = Vec<(String, String)>;

/// Headers and cookies for the target. Three options decide which headers of the call are
/// forwarded, and under which name.
fn sent_on(asked: &Asked) -> Result<(Pairs, Pairs), String> {
    let whole = flag(asked, "customHeaders")? | flag(asked, "forwardHeaders")?;
    let extra = flag(asked, "extraHeaders")?;
    if let Some(cookies) = asked.param("setCookies") {
        return if whole || extra {
            Err("setCookies does not go with header options".to_owned())
        } else {
            Ok((asked.body_type(), cookies_of(cookies)))
        };
    }
    let name_there = |name: &str| match name.strip_prefix("sd-") {
        Some(name) if extra => Some(name.to_owned()),
        _ => whole.then(|| name.to_owned()),
    };
    let mut headers = if whole { Vec::new() } else { asked.body_type() };
    let mut cookies = Vec::new();
    for (name, value) in &asked.headers {
        match name_there(name).as_deref() {
            Some("cookie") => cookies.extend(cookies_of(value)),
            Some(name) if !OF_THE_CALL.contains(&name) => {
                headers.push((name.to_owned(), value.clone()));
            }
            _ => {}
        }
    }
    Ok((headers, cookies))
}

/// The browser steps.
fn steps(asked: &Asked) -> Result<Vec<Value>, String> {
    let text = asked.param("playWithBrowser").unwrap_or("[]");
    let steps = serde_json::from_str::<Vec<Value>>(text);
    let steps = steps.map_err(|_| "playWithBrowser must be a JSON list".to_owned())?;
    let is_step = |step: &Value| match step["Action"].as_str() {
        Some("Execute") => step["Execute"].is_string(),
        Some(_) => true,
        None => false,
    };
    if steps.iter().all(is_step) {
        Ok(steps)
    } else {
        Err("playWithBrowser has a step without an action".to_owned())
    }
}

fn script(asked: &Asked) -> Result<Option<String>, String> {
    let steps = steps(asked)?;
    let script = steps.iter().find_map(|step| step["Execute"].as_str());
    Ok(script.map(str::to_owned))
}

fn served(asked: &Asked, request: &TargetRequest) -> Answered {
    match Target::of(request) {
        Target::Page(page) => delivered(asked, request, &page),
        Target::Blocked => failure(
            502,
            "The website could not be reached: every attempt failed",
        ),
        Target::Unreachable => failure(502, "The website could not be reached: no such host"),
        Target::Slow => failure(502, "The website could not be reached: it took too long"),
        Target::VendorDown => failure(500, "Something broke, try again"),
        Target::Garbage => Answered::new(200, "text/html", "<html>"),
        Target::Refused => failure(400, "This domain does not go with these parameters"),
    }
}

fn delivered(asked: &Asked, request: &TargetRequest, page: &TargetPage) -> Answered {
    let is_charged = matches!(page.status, 200..=299 | 400 | 404 | 410);
    if !is_charged && !is_on(asked, "transparentResponse") {
        return failure(502, "The website answered with an error");
    }
    let credits = match (request.residential, request.javascript) {
        _ if !is_charged => 0,
        (false, false) => 1,
        (false, true) => 5,
        (true, false) => 10,
        (true, true) => 25,
    };
    let in_json = is_on(asked, "returnJSON");
    let mut answer = if in_json {
        Answered::json(page.status, &enveloped(asked, page))
    } else {
        Answered::new(page.status, page.header("content-type"), page.body.clone())
    };
    answer = answer
        .header("scrape.do-initial-status-code", page.status)
        .header("scrape.do-resolved-url", &page.url)
        .header("scrape.do-target-url", &request.url)
        .header("scrape.do-request-cost", credits)
        .header("scrape.do-remaining-credits", 1000)
        .header("scrape.do-request-id", "req-1")
        .header("scrape.do-rid", "req-1");
    if page.url != request.url {
        answer = answer.header("scrape.do-target-redirected-location", &page.url);
    }
    let pure = is_on(asked, "pureCookies");
    if !pure {
        let cookies = page.cookies();
        let cookies = cookies
            .iter()
            .map(|(name, value)| format!("{name}={value};"));
        answer = answer.header("scrape.do-cookies", cookies.collect::<String>());
    }
    let others = page.headers.iter().filter(|(name, _)| match name.as_str() {
        "content-type" => false,
        "set-cookie" => pure,
        _ => true,
    });
    others.fold(answer, |answer, (name, value)| answer.header(name, value))
}

fn enveloped(asked: &Asked, page: &TargetPage) -> Value {
    let asked_for = |name: &str| !matches!(asked.param(name), None | Some("false"));
    let screenshots = SCREENSHOTS.iter().filter(|(name, _)| asked_for(name));
    let screenshot =
        |(_, kind): &(&str, &str)| json!({"type": kind, "image": to_base64(&IMAGE), "error": null});
    let steps = steps(asked).unwrap_or_default();
    let done = |step: &Value| json!({"action": step["Action"], "success": true, "error": null});
    json!({
        "statusCode": page.status,
        "content": page.text(),
        "networkRequests": [],
        "websocketResponses": [],
        "actionResults": steps.iter().map(done).collect::<Value>(),
        "screenShots": screenshots.map(screenshot).collect::<Value>(),
        "frames": [],
    })
}

/// An error of the vendor itself.
fn failure(status: u16, message: &str) -> Answered {
    let body = json!({
        "StatusCode": status,
        "Message": [message],
        "PossibleCauses": ["See the documentation"],
        "ErrorType": "ScrapeDoError",
        "ErrorCode": status,
        "Contact": "support",
    });
    Answered::json(status, &body)
}

#[cfg(test)]
mod tests;
