//! Apify: a task is a run of one of two actors, started, watched and read with three kinds of request.

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value, json};

use super::provider_7::{
    Field, address, grouped_headers, json_fields, known_fields, method, text_of, text_pairs,
    without_cookies,
};
use super::{
    Answered, Asked, KeyState, RETRY_AFTER, Target, TargetPage, Vendor, Wanted, to_base64,
};

/// The vendor.
#[derive(Default)]
pub struct Apify {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    runs: Vec<Run>,
    aborted: Vec<String>,
}

struct Run {
    wanted: Wanted,
    mime_types: Vec<String>,
    /// Whether the texts of JavaScript are what the actor can evaluate at all.
    evaluates: bool,
    polls: u32,
    aborted: bool,
}

/// Input of both actors.
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

impl Apify {
    /// The runs that were aborted, oldest first.
    pub fn aborted(&self) -> Vec<String> {
        self.state().aborted.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start(&self, asked: &Asked, actor: &str) -> Answered {
        let javascript = match actor {
            "apify~cheerio-scraper" => false,
            "apify~playwright-scraper" => true,
            _ => return missing("Actor was not found"),
        };
        let run = match run_of(asked, javascript) {
            Ok(run) => run,
            Err(reason) => return invalid(&reason),
        };
        if Target::of(&run.wanted) == Target::Refused {
            return invalid("Input is not valid: Field input.startUrls[0].url is not allowed");
        }
        let mut state = self.state();
        state.runs.push(run);
        // A run never ends within the request that starts it, whatever `waitForFinish` says.
        Answered::json(201, &shown(state.runs.len() - 1, "RUNNING"))
    }

    fn poll(&self, asked: &Asked, id: &str) -> Answered {
        if let Err(reason) = checked_query(asked, &[("waitForFinish", 0, u64::MAX)], &[]) {
            return invalid(&reason);
        }
        let mut state = self.state();
        let Some((number, run)) = found(&mut state.runs, id, "run") else {
            return missing("Actor run was not found");
        };
        run.polls = run.polls.saturating_add(1);
        Answered::json(200, &shown(number, run.status()))
    }

    fn abort(&self, asked: &Asked, id: &str) -> Answered {
        if let Some(unknown) = asked.unknown_param(&["token", "gracefully"]) {
            return invalid(&format!("Unknown parameter {unknown}"));
        }
        let mut state = self.state();
        let Some((number, run)) = found(&mut state.runs, id, "run") else {
            return missing("Actor run was not found");
        };
        run.aborted |= run.status() == "RUNNING";
        let status = run.status();
        state.aborted.push(id.to_owned());
        Answered::json(200, &shown(number, status))
    }

    fn items(&self, asked: &Asked, id: &str) -> Answered {
        let numbers = [("limit", 0, u64::MAX), ("offset", 0, u64::MAX)];
        if let Err(reason) = checked_query(asked, &numbers, &["format", "clean", "desc"]) {
            return invalid(&reason);
        }
        if asked.param("format").is_some_and(|format| format != "json") {
            return invalid("Only the format json is known here");
        }
        let mut state = self.state();
        let Some((_, run)) = found(&mut state.runs, id, "dataset") else {
            return missing("Dataset was not found");
        };
        let Some(mut item) = run
            .item()
            .filter(|_| asked.param("offset").unwrap_or("0") == "0")
        else {
            return Answered::json(200, &json!([]));
        };
        if matches!(asked.param("clean"), Some("true" | "1")) {
            item.retain(|name, _| !name.starts_with('#'));
        }
        match item.is_empty() || asked.param("limit") == Some("0") {
            true => Answered::json(200, &json!([])),
            false => Answered::json(200, &json!([item])),
        }
    }
}

impl Vendor for Apify {
    fn name(&self) -> &'static str {
        "provider_8"
    }

    fn answer(&self, asked: &Asked) -> Answered {
        let key = asked.bearer().or(asked.param("token"));
        let account = KeyState::of(key);
        if account == KeyState::Bad {
            return match key {
                None => refusal(
                    401,
                    "token-not-provided",
                    "Authentication token was not provided",
                ),
                Some(_) => refusal(
                    401,
                    "user-or-token-not-found",
                    "User was not found or the token is not valid",
                ),
            };
        }
        if account == KeyState::RateLimited {
            return refusal(
                429,
                "rate-limit-exceeded",
                "You have exceeded the rate limit",
            )
            .header("retry-after", RETRY_AFTER);
        }
        let path: Vec<&str> = asked.path.split('/').skip(1).collect();
        match (asked.method.as_str(), path.as_slice()) {
            // An account without credit may still read.
            ("POST", ["v2", "actors" | "acts", _, "runs"]) if account == KeyState::NoCredit => {
                refusal(
                    402,
                    "not-enough-usage-to-run-paid-actor",
                    "By launching this run you would exceed your remaining usage",
                )
            }
            ("POST", ["v2", "actors" | "acts", actor, "runs"]) => self.start(asked, actor),
            ("GET", ["v2", "actor-runs", id]) => self.poll(asked, id),
            ("POST", ["v2", "actor-runs", id, "abort"]) => self.abort(asked, id),
            ("GET", ["v2", "datasets", id, "items"]) => self.items(asked, id),
            _ => missing("We could not find such an address"),
        }
    }
}

fn run_of(asked: &Asked, javascript: bool) -> Result<Run, String> {
    let numbers = [
        ("timeout", 0, u64::MAX),
        ("memory", 128, 32_768),
        ("waitForFinish", 0, u64::MAX),
        ("maxItems", 1, u64::MAX),
    ];
    checked_query(
        asked,
        &numbers,
        &["maxTotalChargeUsd", "build", "restartOnError"],
    )?;
    let memory = asked
        .param("memory")
        .and_then(|memory| memory.parse::<u64>().ok());
    if memory.is_some_and(|memory| !memory.is_power_of_two()) {
        return Err("memory must be a power of two".to_owned());
    }
    let charge = asked.param("maxTotalChargeUsd").map(str::parse::<f64>);
    if charge.is_some_and(|charge| !charge.is_ok_and(|charge| charge > 0.0)) {
        return Err("maxTotalChargeUsd must be a positive number".to_owned());
    }
    let own: &[Field] = if javascript { &PLAYWRIGHT } else { &CHEERIO };
    let input = json_fields(asked, &[&INPUT, own].concat())?;
    let wanted = wanted(&input, javascript)?;
    let text = |name: &str| text_of(&input, name).map(str::trim);
    let function = text("pageFunction").unwrap_or_default();
    let hooks = [text("preNavigationHooks"), text("postNavigationHooks")];
    let mime_types = input
        .get("additionalMimeTypes")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let mime_types = mime_types.map(|name| name.as_str().map(str::to_owned));
    Ok(Run {
        wanted,
        mime_types: mime_types
            .collect::<Option<_>>()
            .ok_or("additionalMimeTypes: not texts")?,
        evaluates: (function.contains("function") || function.contains("=>"))
            && hooks
                .into_iter()
                .flatten()
                .all(|hooks| hooks.contains('[') && hooks.ends_with(']')),
        polls: 0,
        aborted: false,
    })
}

fn wanted(input: &Map<String, Value>, javascript: bool) -> Result<Wanted, String> {
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
    Ok(Wanted {
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
        ..Wanted::new(&address(start)?)
    })
}

/// Whether residential addresses are asked for, and of which country.
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

/// The first JSON text or object that a call in this JavaScript begins with.
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

/// The first whole number that a call in this JavaScript begins with.
fn number_after(script: &str, call: &str) -> Option<u64> {
    script.match_indices(call).find_map(|(at, _)| {
        let rest = script.get(at + call.len()..)?.trim_start();
        rest.split(|letter: char| !letter.is_ascii_digit())
            .next()?
            .parse()
            .ok()
    })
}

/// Refuses unknown query parameters and numbers out of range.
fn checked_query(
    asked: &Asked,
    numbers: &[(&str, u64, u64)],
    texts: &[&str],
) -> Result<(), String> {
    for (name, value) in &asked.query {
        if let Some((_, least, most)) = numbers.iter().find(|(known, _, _)| known == name) {
            if !value
                .parse::<u64>()
                .is_ok_and(|value| (*least..=*most).contains(&value))
            {
                return Err(format!("{name} is out of range"));
            }
        } else if name != "token" && !texts.contains(&name.as_str()) {
            return Err(format!("Unknown parameter {name}"));
        }
    }
    Ok(())
}

/// The run of this run or dataset, and its number.
fn found<'a>(runs: &'a mut [Run], id: &str, kind: &str) -> Option<(usize, &'a mut Run)> {
    let number: usize = id.strip_prefix(kind)?.parse().ok()?;
    Some((number, runs.get_mut(number)?))
}

fn shown(number: usize, status: &str) -> Value {
    let running = status == "RUNNING";
    json!({"data": {
        "id": format!("run{number}"),
        "status": status,
        "startedAt": "2026-11-21T10:00:00.000Z",
        "finishedAt": (!running).then_some("2026-11-21T10:00:04.000Z"),
        "defaultDatasetId": format!("dataset{number}"),
        "defaultKeyValueStoreId": format!("store{number}"),
        "usageTotalUsd": (!running).then_some(0.00125),
    }})
}

impl Run {
    fn status(&self) -> &'static str {
        match Target::of(&self.wanted) {
            _ if self.aborted => "ABORTED",
            _ if self.polls < 2 => "RUNNING",
            _ if !self.evaluates => "FAILED",
            Target::Slow => "TIMED-OUT",
            Target::VendorDown => "FAILED",
            _ => "SUCCEEDED",
        }
    }

    /// The only item of the dataset.
    fn item(&self) -> Option<Map<String, Value>> {
        if self.status() != "SUCCEEDED" {
            return None;
        }
        let wanted = &self.wanted;
        let item = match Target::of(wanted) {
            Target::Page(page) => match self.failure(&page) {
                Some(reason) => self.failed(&reason),
                None => self.returned(&page),
            },
            Target::Blocked => self.failed("Request blocked - received 403 status code."),
            Target::Unreachable => {
                let rest = wanted.url.split_once("://").map_or("", |(_, rest)| rest);
                let host = rest.split(['/', ':']).next().unwrap_or_default();
                self.failed(&format!("getaddrinfo ENOTFOUND {host}"))
            }
            Target::Slow | Target::VendorDown | Target::Garbage | Target::Refused => return None,
        };
        item.as_object().cloned()
    }

    /// Why the actor does not get as far as the end of the page function.
    fn failure(&self, page: &TargetPage) -> Option<String> {
        let content_type = media_type(page);
        let listed = self
            .mime_types
            .iter()
            .any(|known| known == content_type || known == "*/*");
        let wanted = &self.wanted;
        let browser_only =
            wanted.wait_ms.is_some() || wanted.wait_for.is_some() || wanted.script.is_some();
        match page.status {
            status @ (401 | 403 | 429) => {
                Some(format!("Request blocked - received {status} status code."))
            }
            status @ 500.. => Some(format!("{status} - Internal Server Error: {}", page.text())),
            _ if wanted.javascript => None,
            _ if !listed && !is_html(content_type) => Some(format!(
                "Resource {} served Content-Type {content_type}, but only text/html, application/xhtml+xml are \
                 allowed. Skipping resource.",
                wanted.url
            )),
            _ if browser_only => {
                Some("Cannot read properties of undefined (reading 'evaluate')".to_owned())
            }
            _ => None,
        }
    }

    fn failed(&self, reason: &str) -> Value {
        json!({"#error": true, "#debug": {
            "requestId": "request1",
            "url": self.wanted.url,
            "method": self.wanted.method,
            "retryCount": 0,
            "errorMessages": [format!("Error: {reason}\n    at run (file:///home/myuser/main.js:1:1)")],
        }})
    }

    /// What the page function returns. Without a browser it gets bytes for anything but HTML.
    fn returned(&self, page: &TargetPage) -> Value {
        let utf8 = std::str::from_utf8(&page.body).is_ok();
        let is_text = utf8 && (self.wanted.javascript || is_html(media_type(page)));
        json!({
            "url": page.url,
            "status": page.status,
            "headers": grouped_headers(page),
            "body": if is_text { page.text() } else { to_base64(&page.body) },
            "encoding": if is_text { "text" } else { "base64" },
            "#error": false,
            "#debug": {
                "requestId": "request1", "url": self.wanted.url, "loadedUrl": page.url,
                "method": self.wanted.method, "retryCount": 0, "errorMessages": [], "statusCode": page.status,
            },
        })
    }
}

fn media_type(page: &TargetPage) -> &str {
    page.header("content-type")
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
}

fn is_html(media_type: &str) -> bool {
    matches!(media_type, "text/html" | "application/xhtml+xml")
}

fn invalid(reason: &str) -> Answered {
    refusal(400, "invalid-input", reason)
}

fn missing(reason: &str) -> Answered {
    refusal(404, "record-not-found", reason)
}

fn refusal(status: u16, kind: &str, message: &str) -> Answered {
    Answered::json(
        status,
        &json!({"error": {"type": kind, "message": message}}),
    )
}

#[cfg(test)]
mod tests {
    use super::super::provider_7::tests::{body, header, post};
    use super::super::{BAD_KEY, BUSY_KEY, GOOD_KEY, IMAGE, POOR_KEY};
    use super::*;

    const FUNCTION: &str = "async function pageFunction(context) { return {}; }";

    fn input(path: &str) -> Value {
        json!({
            "startUrls": [{"url": format!("http://fish.example/{path}")}], "pageFunction": FUNCTION,
            "proxyConfiguration": {"useApifyProxy": true}, "maxPagesPerCrawl": 1, "maxRequestRetries": 0,
        })
    }

    fn start(vendor: &Apify, key: &str, actor: &str, input: &Value) -> Answered {
        let path = format!("/v2/actors/apify~{actor}-scraper/runs");
        vendor.answer(&post(&path, &format!("Bearer {key}"), input))
    }

    fn get(vendor: &Apify, path: &str) -> Value {
        let mut asked = post(path, &format!("Bearer {GOOD_KEY}"), &Value::Null);
        asked.method = "GET".to_owned();
        body(&vendor.answer(&asked))
    }

    /// The final run and its items.
    fn finished(actor: &str, input: &Value) -> (Value, Value) {
        let vendor = Apify::default();
        let started = start(&vendor, GOOD_KEY, actor, input);
        assert_eq!(
            (started.status, &body(&started)["data"]["status"]),
            (201, &json!("RUNNING"))
        );
        let first = get(&vendor, "/v2/actor-runs/run0");
        assert_eq!(first["data"]["status"], "RUNNING");
        assert_eq!(first["data"]["usageTotalUsd"], Value::Null);
        assert_eq!(get(&vendor, "/v2/datasets/dataset0/items"), json!([]));
        let last = get(&vendor, "/v2/actor-runs/run0");
        (
            last["data"].clone(),
            get(&vendor, "/v2/datasets/dataset0/items"),
        )
    }

    #[test]
    fn everything_asked_for_arrives() {
        let mut task = input("echo");
        task["startUrls"][0]["method"] = json!("POST");
        task["startUrls"][0]["payload"] = json!("hook");
        task["initialCookies"] = json!([{"name": "a", "value": "b", "domain": "fish.example"}]);
        task["preNavigationHooks"] = json!(
            "[async ({page}) => { await page.setExtraHTTPHeaders({\"X-Sea\": \"north\"}); }]"
        );
        task["pageFunction"] = json!(
            "async function pageFunction(context) { const p = context.page; await p.waitForTimeout(1500); \
             await p.waitForSelector(\"#x \\\"y\\\"\", {timeout: 5}); await p.evaluate(\"go()\"); }"
        );
        task["proxyConfiguration"] = json!({"useApifyProxy": true, "apifyProxyGroups": ["RESIDENTIAL"], "apifyProxyCountry": "DE"});
        let (run, items) = finished("playwright", &task);
        assert_eq!(
            (&run["status"], &run["usageTotalUsd"]),
            (&json!("SUCCEEDED"), &json!(0.00125))
        );
        assert_eq!(items[0]["status"], 200);
        let echo: Value =
            serde_json::from_str(items[0]["body"].as_str().unwrap_or_default()).unwrap_or_default();
        assert_eq!(
            (&echo["method"], &echo["body"]),
            (&json!("POST"), &json!("hook"))
        );
        assert_eq!(
            (&echo["wait_ms"], &echo["wait_for"]),
            (&json!(1500), &json!("#x \"y\""))
        );
        assert_eq!(
            (&echo["script"], &echo["country"]),
            (&json!("go()"), &json!("DE"))
        );
        assert_eq!(
            (&echo["residential"], &echo["javascript"]),
            (&json!(true), &json!(true))
        );
        assert_eq!(echo["headers"], json!([["x-sea", "north"]]));
        assert_eq!(echo["cookies"], json!([["a", "b"]]));
    }

    #[test]
    fn keys_decide() {
        for (key, status, kind) in [
            (BAD_KEY, 401, "user-or-token-not-found"),
            (POOR_KEY, 402, "not-enough-usage-to-run-paid-actor"),
            (BUSY_KEY, 429, "rate-limit-exceeded"),
        ] {
            let answer = start(&Apify::default(), key, "cheerio", &input("page"));
            assert_eq!(
                (answer.status, &body(&answer)["error"]["type"]),
                (status, &json!(kind))
            );
            assert_eq!(header(&answer, "retry-after").is_some(), status == 429);
        }
    }

    #[test]
    fn strange_tasks_are_refused() {
        let mut refused = Vec::new();
        for (name, value) in [
            ("startUrls", json!([])),
            (
                "startUrls",
                json!([{"url": "http://fish.example/", "payload": "x"}]),
            ),
            ("startUrls", json!([{"url": "http://fish.example/refused"}])),
            ("proxyConfiguration", json!(null)),
            (
                "proxyConfiguration",
                json!({"useApifyProxy": false, "apifyProxyCountry": "DE"}),
            ),
            (
                "proxyConfiguration",
                json!({"useApifyProxy": true, "apifyProxyCountry": "de"}),
            ),
            ("waitUntil", json!("load")),
            ("maxConcurrency", json!(0)),
        ] {
            let mut task = input("page");
            task[name] = value;
            refused.push(start(&Apify::default(), GOOD_KEY, "cheerio", &task).status);
        }
        refused.push(start(&Apify::default(), GOOD_KEY, "cheerio", &json!({})).status);
        assert_eq!(refused, [400; 9]);
        assert_eq!(
            start(&Apify::default(), GOOD_KEY, "web", &input("page")).status,
            404
        );
    }

    #[test]
    fn targets_fail_in_the_documented_way() {
        for (path, status, error) in [
            ("slow", "TIMED-OUT", None),
            ("breaks", "FAILED", None),
            ("garbage", "SUCCEEDED", None),
            ("blocked", "SUCCEEDED", Some("received 403")),
            ("forbidden", "SUCCEEDED", Some("received 403")),
            ("busy", "SUCCEEDED", Some("503")),
            ("image", "SUCCEEDED", Some("Content-Type image/png")),
        ] {
            let (run, items) = finished("cheerio", &input(path));
            assert_eq!(run["status"], status, "{path}");
            let message = items[0]["#debug"]["errorMessages"][0].as_str();
            assert_eq!(items[0]["#error"] == json!(true), error.is_some(), "{path}");
            assert!(
                error.is_none_or(|error| message.unwrap_or_default().contains(error)),
                "{path}"
            );
        }
        let (_, items) = finished("cheerio", &input("missing"));
        assert_eq!(
            (&items[0]["status"], &items[0]["#error"]),
            (&json!(404), &json!(false))
        );
        let mut task = input("image");
        task["additionalMimeTypes"] = json!(["image/png"]);
        let (_, items) = finished("cheerio", &task);
        assert_eq!(
            (&items[0]["encoding"], &items[0]["body"]),
            (&json!("base64"), &json!(to_base64(&IMAGE)))
        );
    }

    #[test]
    fn aborted_runs_are_known() {
        let vendor = Apify::default();
        start(&vendor, GOOD_KEY, "cheerio", &input("slow"));
        let asked = post(
            "/v2/actor-runs/run0/abort",
            &format!("Bearer {GOOD_KEY}"),
            &Value::Null,
        );
        assert_eq!(body(&vendor.answer(&asked))["data"]["status"], "ABORTED");
        assert_eq!(
            get(&vendor, "/v2/actor-runs/run0")["data"]["status"],
            "ABORTED"
        );
        assert_eq!(vendor.aborted(), ["run0"]);
    }
}
