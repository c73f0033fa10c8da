//! ScraperAPI: the page itself, always as text, with metadata in `sa-*` headers. Options are in the
//! query or in `x-sapi-*` headers.

use super::{
    Answered, Asked, IMAGE, KeyState, Target, TargetPage, TargetRequest, Vendor, cookies_of,
};

/// The vendor.
pub struct ScraperApi;

const OPTIONS: [&str; 15] = [
    "api_key",
    "url",
    "render",
    "wait_for_selector",
    "keep_headers",
    "country_code",
    "premium",
    "ultra_premium",
    "device_type",
    "session_number",
    "follow_redirect",
    "retry_404",
    "binary_target",
    "max_cost",
    "screenshot",
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
const PREFIX: &str = "x-sapi-";

impl Vendor for ScraperApi {
    fn name(&self) -> &'static str {
        "provider_3"
    }

    fn answer(&self, asked: &Asked) -> Answered {
        if asked.path == "/screenshot/1" && asked.method == "GET" {
            return Answered::new(200, "image/png", IMAGE);
        }
        if asked.path != "/" {
            return said(404, "Not found");
        }
        match KeyState::of(option(asked, "api_key")) {
            KeyState::Bad => return said(401, "Unauthorized request, check the API key"),
            KeyState::NoCredit => {
                return said(403, "You have exhausted the API credits of this month");
            }
            KeyState::RateLimited => {
                return said(429, "You are over the concurrency limit of your plan");
            }
            KeyState::Good => {}
        }
        match parse_request(asked) {
            Ok(request) => served(asked, &request),
            Err(reason) => said(400, &reason),
        }
    }
}

/// An option from its header or the query.
fn option<'a>(asked: &'a Asked, name: &str) -> Option<&'a str> {
    let header = asked.header(&format!("{PREFIX}{name}"));
    header.or(asked.param(name))
}

fn flag(asked: &Asked, name: &str) -> Result<bool, String> {
    match option(asked, name) {
        None | Some("false") => Ok(false),
        Some("true") => Ok(true),
        Some(_) => Err(format!("{name} must be true or false")),
    }
}

fn number(asked: &Asked, name: &str) -> Result<Option<u64>, String> {
    let value = option(asked, name).map(str::parse::<u64>).transpose();
    value.map_err(|_| format!("{name} must be a number"))
}

fn parse_request(asked: &Asked) -> Result<TargetRequest, String> {
    if !["GET", "POST", "PUT"].contains(&asked.method.as_str()) {
        return Err(format!("{} is not supported", asked.method));
    }
    let headers = asked.headers.iter();
    let mut named = headers.filter_map(|(name, _)| name.strip_prefix(PREFIX));
    let strange = asked.unknown_param(&OPTIONS);
    if let Some(unknown) = strange.or_else(|| named.find(|name| !OPTIONS.contains(name))) {
        return Err(format!("{unknown} is not a parameter"));
    }
    let url = option(asked, "url").ok_or("url is missing")?;
    if !(url.starts_with("http://") || url.starts_with("https://")) {
        return Err("url must begin with http:// or https://".to_owned());
    }
    for name in ["follow_redirect", "retry_404", "binary_target"] {
        flag(asked, name)?;
    }
    let (premium, ultra) = (flag(asked, "premium")?, flag(asked, "ultra_premium")?);
    let session = number(asked, "session_number")?;
    if premium && ultra {
        return Err("premium and ultra_premium exclude each other".to_owned());
    }
    if session.is_some() && (premium || ultra) {
        return Err("session_number does not go with premium pools".to_owned());
    }
    number(asked, "max_cost")?;
    if !matches!(
        option(asked, "device_type"),
        None | Some("desktop" | "mobile")
    ) {
        return Err("device_type must be desktop or mobile".to_owned());
    }
    let country = option(asked, "country_code");
    let is_code =
        |code: &str| code.len() == 2 && code.bytes().all(|byte| byte.is_ascii_lowercase());
    if country.is_some_and(|code| !is_code(code)) {
        return Err("country_code must have two letters".to_owned());
    }
    let wait_for = option(asked, "wait_for_selector");
    let render = flag(asked, "render")?;
    if wait_for.is_some() && !render {
        return Err("wait_for_selector needs render=true".to_owned());
    }
    let screenshot = flag(asked, "screenshot")?;
    let keeps = flag(asked, "keep_headers")? && !ultra;
    let forwarded = asked
        .headers
        .iter()
        .filter(|(name, _)| !name.starts_with(PREFIX) && !OF_THE_CALL.contains(&name.as_str()));
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
        // A screenshot needs a browser, which the vendor starts without being asked.
        javascript: render || screenshot,
        wait_for: wait_for.map(str::to_owned),
        country: country.map(str::to_uppercase),
        residential: premium || ultra,
        screenshot: screenshot.then_some("window"),
        ..TargetRequest::new(url)
    })
}

fn served(asked: &Asked, request: &TargetRequest) -> Answered {
    let ultra = option(asked, "ultra_premium") == Some("true");
    let credits = match (request.javascript, request.residential, ultra) {
        (false, _, true) => 30,
        (true, _, true) => 75,
        (true, true, false) => 25,
        (false, true, false) | (true, false, false) => 10,
        (false, false, false) => 1,
    };
    let most = number(asked, "max_cost").ok().flatten();
    if most.is_some_and(|most| credits > most) {
        return said(403, "This request costs more than max_cost");
    }
    match Target::of(request) {
        Target::Page(page) if matches!(page.status, 200 | 404) => {
            let answer = page_as_text(asked, &page)
                .header("sa-statuscode", page.status)
                .header("sa-final-url", &page.url)
                .header("sa-credit-cost", credits);
            match request.screenshot {
                Some(_) => answer.header("sa-screenshot", format!("{}/screenshot/1", asked.origin)),
                None => answer,
            }
        }
        Target::Page(page) => failed(page.status),
        Target::Blocked => failed(403),
        Target::Unreachable | Target::Slow => failed(504),
        Target::VendorDown => said(500, "Internal server error"),
        Target::Garbage => Answered::new(200, "text/html", "<html>"),
        Target::Refused => said(400, "This domain does not go with these parameters"),
    }
}

/// The page with the target's status. Only a PDF that was requested as binary is delivered
/// unchanged; everything else is converted to text.
fn page_as_text(asked: &Asked, page: &TargetPage) -> Answered {
    let kind = page.header("content-type");
    let announced = option(asked, "binary_target") == Some("true");
    if announced && kind == "application/pdf" {
        Answered::new(page.status, kind, page.body.clone())
    } else {
        Answered::new(page.status, kind, page.text())
    }
}

/// All of the vendor's attempts failed; nothing is charged.
fn failed(status: u16) -> Answered {
    let text = "Request failed. You will not be charged for this request.";
    said(500, text).header("sa-statuscode", status)
}

fn said(status: u16, text: &str) -> Answered {
    Answered::new(status, "text/plain; charset=utf-8", text)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::{BAD_KEY, BUSY_KEY, GOOD_KEY, PAGE, PAGE_RENDERED, POOR_KEY};
    use super::*;

    type Pairs<'a> = &'a [(&'a str, &'a str)];

    fn owned(pairs: Pairs<'_>) -> Vec<(String, String)> {
        let pairs = pairs.iter();
        pairs
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    fn ask(query: Pairs<'_>, headers: Pairs<'_>) -> Answered {
        ScraperApi.answer(&Asked {
            method: "POST".to_owned(),
            path: "/".to_owned(),
            query: owned(query),
            headers: owned(headers),
            body: b"a=b".to_vec(),
            origin: "http://127.0.0.1:1".to_owned(),
        })
    }

    fn get(path: &str, more: Pairs<'_>) -> Answered {
        let url = format!("http://site.example/{path}");
        let mut query = vec![("api_key", GOOD_KEY), ("url", url.as_str())];
        query.extend(more);
        ask(&query, &[])
    }

    fn header<'a>(answer: &'a Answered, name: &str) -> Option<&'a str> {
        let mut headers = answer.headers.iter();
        let found = headers.find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    #[test]
    fn a_page_has_metadata_and_no_target_headers() {
        let answer = get("moved", &[]);
        assert_eq!(answer.status, 200);
        assert_eq!(answer.body, PAGE.as_bytes());
        assert_eq!(header(&answer, "sa-statuscode"), Some("200"));
        assert_eq!(
            header(&answer, "sa-final-url"),
            Some("http://site.example/page")
        );
        assert_eq!(header(&answer, "sa-credit-cost"), Some("1"));
        assert_eq!(
            header(&answer, "content-type"),
            Some("text/html; charset=utf-8")
        );
        assert_eq!(
            header(&answer, "x-target").or(header(&answer, "set-cookie")),
            None
        );
        assert_ne!(get("image", &[("binary_target", "true")]).body, IMAGE);
        let costly = get("page", &[("render", "true"), ("premium", "true")]);
        assert_eq!(costly.body, PAGE_RENDERED.as_bytes());
        assert_eq!(header(&costly, "sa-credit-cost"), Some("25"));
        let pictured = get("page", &[("screenshot", "true")]);
        let place = Some("http://127.0.0.1:1/screenshot/1");
        assert_eq!(header(&pictured, "sa-screenshot"), place);
    }

    #[test]
    fn options_are_accepted_as_headers_and_others_are_forwarded() {
        let answer = ask(
            &[],
            &[
                ("x-sapi-api_key", GOOD_KEY),
                ("x-sapi-url", "http://site.example/echo"),
                ("x-sapi-keep_headers", "true"),
                ("x-sapi-country_code", "de"),
                ("host", "api"),
                ("cookie", "a=b; c=d"),
                ("x-fish", "cod"),
            ],
        );
        let echo: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        assert_eq!(echo["headers"], json!([["x-fish", "cod"]]));
        assert_eq!(echo["cookies"], json!([["a", "b"], ["c", "d"]]));
        assert_eq!(echo["method"], "POST");
        assert_eq!(echo["body"], "a=b");
        assert_eq!(echo["country"], "DE");
    }

    #[test]
    fn the_key_decides_the_response() {
        let url = ("url", "http://site.example/page");
        for (key, status) in [(BAD_KEY, 401), (POOR_KEY, 403), (BUSY_KEY, 429)] {
            for answer in [
                ask(&[("api_key", key), url], &[]),
                ask(&[url], &[("x-sapi-api_key", key)]),
            ] {
                assert_eq!(answer.status, status);
                assert_eq!(header(&answer, "sa-statuscode"), None);
            }
        }
        assert_eq!(ask(&[url], &[]).status, 401);
    }

    #[test]
    fn invalid_parameters_are_refused() {
        for more in [
            [("fish", "1")].as_slice(),
            &[("render", "True")],
            &[("wait_for_selector", "#x")],
            &[("premium", "true"), ("ultra_premium", "true")],
            &[("premium", "true"), ("session_number", "1")],
            &[("session_number", "one")],
            &[("country_code", "usa")],
            &[("device_type", "fridge")],
            &[("wait", "1000")],
        ] {
            let answer = get("page", more);
            assert_eq!(answer.status, 400, "{more:?}");
        }
        assert_eq!(ask(&[("api_key", GOOD_KEY)], &[]).status, 400);
        let strange = [("x-sapi-fish", "1")];
        let query = [("api_key", GOOD_KEY), ("url", "http://site.example/")];
        assert_eq!(ask(&query, &strange).status, 400);
        let capped = get("page", &[("render", "true"), ("max_cost", "5")]);
        assert_eq!(
            (capped.status, header(&capped, "sa-statuscode")),
            (403, None)
        );
    }

    #[test]
    fn failures_have_documented_statuses() {
        let missing = get("missing", &[]);
        assert_eq!(missing.status, 404);
        assert_eq!(header(&missing, "sa-credit-cost"), Some("1"));
        for (path, status, reported) in [
            ("busy", 500, Some("503")),
            ("forbidden", 500, Some("403")),
            ("blocked", 500, Some("403")),
            ("slow", 500, Some("504")),
            ("breaks", 500, None),
            ("refused", 400, None),
            ("garbage", 200, None),
        ] {
            let answer = get(path, &[]);
            assert_eq!(answer.status, status, "{path}");
            assert_eq!(header(&answer, "sa-statuscode"), reported, "{path}");
            assert_eq!(header(&answer, "sa-credit-cost"), None, "{path}");
        }
        let query = [("api_key", GOOD_KEY), ("url", "http://a.nowhere.example/")];
        let dead = ask(&query, &[]);
        assert_eq!(header(&dead, "sa-statuscode"), Some("504"));
    }
}
