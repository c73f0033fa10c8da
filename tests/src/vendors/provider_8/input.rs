//! Input of the actors: its validation, and the target request in it.

use serde_json::{Map, Value, json};

use super::super::read::{
    Field, json_fields, known_fields, method, text_of, text_pairs, url_field, without_cookies,
};
use super::super::{Asked, TargetRequest};

/// Fields of both actors.
const INPUT: [Field; 26] = [
    ("startUrls", Value::is_array),
    ("pageFunction", Value::is_string),
    ("proxyConfiguration", Value::is_object),
    ("proxyRotation", Value::is_string),
    ("sessionPoolName", Value::is_string),
    ("initialCookies", Value::is_array),
    ("preNavigationHooks", Value::is_string),
    ("postNavigationHooks", Value::is_string),
    ("globs", Value::is_array),
    ("pseudoUrls", Value::is_array),
    ("excludes", Value::is_array),
    ("linkSelector", Value::is_string),
    ("keepUrlFragments", Value::is_boolean),
    ("respectRobotsTxtFile", Value::is_boolean),
    ("ignoreSslErrors", Value::is_boolean),
    ("maxRequestRetries", Value::is_u64),
    ("maxPagesPerCrawl", Value::is_u64),
    ("maxResultsPerCrawl", Value::is_u64),
    ("maxCrawlingDepth", Value::is_u64),
    ("maxConcurrency", positive),
    ("pageLoadTimeoutSecs", positive),
    ("pageFunctionTimeoutSecs", positive),
    ("debugLog", Value::is_boolean),
    ("customData", Value::is_object),
    ("datasetName", Value::is_string),
    ("keyValueStoreName", Value::is_string),
];
const CHEERIO: [Field; 3] = [
    ("additionalMimeTypes", Value::is_array),
    ("suggestResponseEncoding", Value::is_string),
    ("forceResponseEncoding", Value::is_boolean),
];
const PLAYWRIGHT: [Field; 10] = [
    ("waitUntil", is_load_state),
    ("maxScrollHeightPixels", Value::is_u64),
    ("launcher", Value::is_string),
    ("useChrome", Value::is_boolean),
    ("headless", Value::is_boolean),
    ("ignoreCorsAndCsp", Value::is_boolean),
    ("downloadMedia", Value::is_boolean),
    ("downloadCss", Value::is_boolean),
    ("closeCookieModals", Value::is_boolean),
    ("browserLog", Value::is_boolean),
];
const START_URL: [Field; 7] = [
    ("url", Value::is_string),
    ("method", Value::is_string),
    ("payload", Value::is_string),
    ("headers", Value::is_object),
    ("userData", Value::is_object),
    ("uniqueKey", Value::is_string),
    ("keepUrlFragment", Value::is_boolean),
];
const PROXY: [Field; 4] = [
    ("useApifyProxy", Value::is_boolean),
    ("apifyProxyGroups", Value::is_array),
    ("apifyProxyCountry", Value::is_string),
    ("proxyUrls", Value::is_array),
];

fn positive(value: &Value) -> bool {
    value.as_u64().is_some_and(|value| value > 0)
}

fn is_load_state(value: &Value) -> bool {
    matches!(
        value.as_str(),
        Some("load" | "domcontentloaded" | "networkidle")
    )
}

/// The validated input of a run, and the target request in it.
pub(super) fn read(
    asked: &Asked,
    javascript: bool,
) -> Result<(Map<String, Value>, TargetRequest), String> {
    let own: &[Field] = if javascript { &PLAYWRIGHT } else { &CHEERIO };
    let input = json_fields(asked, &[&INPUT, own].concat())?;
    let request = parse_request(&input, javascript)?;
    Ok((input, request))
}

fn parse_request(input: &Map<String, Value>, javascript: bool) -> Result<TargetRequest, String> {
    let needed = |name: &str| {
        input
            .get(name)
            .ok_or(format!("Field input.{name} is required"))
    };
    let start_urls = needed("startUrls")?.as_array();
    let start = start_urls
        .and_then(|urls| urls.first())
        .ok_or("startUrls is empty")?;
    let start = known_fields(start, &START_URL)?;
    let method = method(text_of(start, "method"))?;
    let payload = text_of(start, "payload").unwrap_or_default();
    if method == "GET" && !payload.is_empty() {
        return Err("Request with GET method cannot have a payload".to_owned());
    }
    needed("pageFunction")?;
    let function = text_of(input, "pageFunction").unwrap_or_default();
    let hooks = text_of(input, "preNavigationHooks").unwrap_or_default();
    let (residential, country) = proxy(needed("proxyConfiguration")?)?;
    let mut headers = text_pairs(start.get("headers"))?;
    headers.extend(text_pairs(
        literal_after(hooks, "setExtraHTTPHeaders(").as_ref(),
    )?);
    let (headers, mut cookies) = without_cookies(headers);
    for cookie in input
        .get("initialCookies")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        let text = |name: &str| cookie.get(name).and_then(Value::as_str).map(str::to_owned);
        let (name, value) = text("name")
            .zip(text("value"))
            .ok_or("initialCookies: name and value are required")?;
        cookies.push((name, value));
    }
    let text_after = |call| literal_after(function, call)?.as_str().map(str::to_owned);
    Ok(TargetRequest {
        method,
        body: payload.into(),
        headers,
        cookies,
        javascript,
        wait_ms: number_after(function, "waitForTimeout("),
        wait_for: text_after("waitForSelector("),
        script: text_after("evaluate("),
        country,
        residential,
        ..TargetRequest::new(&url_field(start)?)
    })
}

/// Whether residential IP addresses are requested, and in which country.
fn proxy(value: &Value) -> Result<(bool, Option<String>), String> {
    let proxy = known_fields(value, &PROXY)?;
    let on = proxy.get("useApifyProxy") == Some(&Value::Bool(true));
    let country = text_of(proxy, "apifyProxyCountry");
    let groups = proxy.get("apifyProxyGroups").and_then(Value::as_array);
    if !on && (country.is_some() || groups.is_some()) {
        return Err("proxyConfiguration: groups and country need useApifyProxy".to_owned());
    }
    if country.is_some_and(|code| {
        code.len() != 2 || !code.bytes().all(|letter| letter.is_ascii_uppercase())
    }) {
        return Err("proxyConfiguration.apifyProxyCountry must be two capital letters".to_owned());
    }
    if groups.is_some_and(|groups| !groups.iter().all(Value::is_string)) {
        return Err("proxyConfiguration.apifyProxyGroups must be texts".to_owned());
    }
    let residential = groups.is_some_and(|groups| groups.contains(&json!("RESIDENTIAL")));
    Ok((residential, country.map(str::to_owned)))
}

/// The first JSON string or object at the start of a call's arguments in this JavaScript.
fn literal_after(script: &str, call: &str) -> Option<Value> {
    script.match_indices(call).find_map(|(at, _)| {
        let rest = script.get(at + call.len()..)?;
        let value = serde_json::Deserializer::from_str(rest)
            .into_iter::<Value>()
            .next()?;
        value
            .ok()
            .filter(|value| value.is_string() || value.is_object())
    })
}

/// The first integer at the start of a call's arguments in this JavaScript.
fn number_after(script: &str, call: &str) -> Option<u64> {
    script.match_indices(call).find_map(|(at, _)| {
        let rest = script.get(at + call.len()..)?.trim_start();
        rest.split(|letter: char| !letter.is_ascii_digit())
            .next()?
            .parse()
            .ok()
    })
}
