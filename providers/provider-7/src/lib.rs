//! `provider_7`: Bright Data Web Unlocker API. The response body is the page, with metadata in
//! `x-brd-*` headers. Each request names a zone of the account; without one in the settings, it is
//! looked up first.

use serde::Deserialize;
use serde_json::{Value, json};
use trawl_sdk::provider::{
    Abilities, Class, Cost, Description, Failure, Page, Provider, Reply, Request, Step, Task,
    header_object,
};

/// Adapter for the Bright Data Web Unlocker API.
pub struct BrightData;

const TOKEN: &str = "PROVIDER7_API_TOKEN";
const REQUEST: &str = "request";
/// Memo of the zone lookup.
const ZONE_LOOKUP: &[u8] = b"zones";
/// Zone type of the Web Unlocker.
const ZONE_TYPE: &str = "unblocker";
/// Operator settings.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Name of the zone. If unset, the token's first Web Unlocker zone is looked up for each page.
    pub zone: Option<String>,
}

const SETTINGS_SCHEMA: &str = r#"{
    "type": "object",
    "additionalProperties": false,
    "properties": {
        "zone": { "type": "string", "description": "Name of the Web Unlocker zone; looked up for each page if unset" }
    }
}"#;

trawl_sdk::export!(provider: BrightData);

impl Provider for BrightData {
    type Settings = Settings;

    fn describe() -> Description {
        let always = Abilities::SERVES
            | Abilities::HEADERS
            | Abilities::COOKIES
            | Abilities::COUNTRY
            | Abilities::RESIDENTIAL
            | Abilities::BODY
            | Abilities::TARGET_HEADERS
            | Abilities::TARGET_COOKIES;
        Description::new(
            "provider_7",
            env!("CARGO_PKG_VERSION"),
            "Bright Data (Web Unlocker API)",
            "https://api.brightdata.com",
        )
        .settings_schema(SETTINGS_SCHEMA)
        .credentials(&[TOKEN])
        .hosts(&["api.brightdata.com"])
        .plain(always | Abilities::BINARY)
        .rendered(always | Abilities::WAIT_SELECTOR)
        .units(&[REQUEST])
        .seconds(90)
    }

    fn start(task: &Task, settings: Settings) -> Result<Step, Failure> {
        if let Some(zone) = settings.zone {
            return unlock(task, &zone);
        }
        body_text(task)?;
        let lookup = Request::get(task.at("/zone/get_active_zones")).bearer(TOKEN);
        Ok(lookup.send_with(ZONE_LOOKUP))
    }

    fn resume(task: &Task, _: Settings, memo: &[u8], reply: &Reply<'_>) -> Result<Step, Failure> {
        if memo == ZONE_LOOKUP {
            return unlock(task, &first_zone(reply)?);
        }
        let error = [
            "x-brd-error-code",
            "x-brd-err-code",
            "x-brd-error",
            "x-brd-err-msg",
        ];
        let is_error = error.iter().any(|name| reply.header(name).is_some());
        let status = reply.number("x-brd-status-code");
        let (200..=299, false, Some(status)) = (reply.status, is_error, status) else {
            return Err(failure(task, reply));
        };
        // Even without `render` the vendor may use a browser.
        Ok(Page::of_reply(task)
            .status(status)
            .headers(reply.passed_headers("x-brd-"))
            .rendered(task.javascript.then_some(true))
            .cost(Cost::listed(REQUEST))
            .done())
    }
}

/// The step that requests the page through a zone. The zone determines the proxy pool.
fn unlock(task: &Task, zone: &str) -> Result<Step, Failure> {
    let mut body = json!({
        "zone": zone,
        "url": task.url,
        "format": "raw",
        "method": task.method,
        "render": task.javascript,
    });
    let mut headers = header_object(&task.headers);
    if let Some(line) = task.cookie_line() {
        headers["Cookie"] = line.into();
    }
    if let Some(wait) = &task.wait_for {
        let expected = json!({"element": wait.selector});
        headers["x-unblock-expect"] = expected.to_string().into();
    }
    if headers != json!({}) {
        body["headers"] = headers;
    }
    if let Some(country) = task.country_lower() {
        body["country"] = country.into();
    }
    if let Some(text) = body_text(task)? {
        body["body"] = text.into();
    }
    let request = Request::post(task.at("/request")).bearer(TOKEN);
    Ok(request.json(&body).send())
}

/// Body of the target's request; it is sent as a JSON string and must be UTF-8.
fn body_text(task: &Task) -> Result<Option<&str>, Failure> {
    match std::str::from_utf8(&task.body) {
        Ok("") => Ok(None),
        Ok(text) => Ok(Some(text)),
        Err(_) => Err(Failure::new(
            Class::Unsupported,
            "the vendor accepts no request body that is not UTF-8",
        )),
    }
}

/// A zone of the account.
#[derive(Deserialize)]
struct Zone {
    name: String,
    #[serde(rename = "type", default)]
    kind: Value,
}

/// Name of the account's first Web Unlocker zone.
fn first_zone(reply: &Reply<'_>) -> Result<String, Failure> {
    if reply.status != 200 {
        return Err(Failure::of_reply(vendor_class(reply), reply));
    }
    let zones: Vec<Zone> = reply.json()?;
    let found = zones.into_iter().find(|zone| zone.kind == ZONE_TYPE);
    found.map(|zone| zone.name).ok_or_else(|| {
        let message = format!("the token has no active zone of the type `{ZONE_TYPE}`");
        Failure::new(Class::BadKey, message)
    })
}

/// Classifies a response without a page.
fn failure(task: &Task, reply: &Reply<'_>) -> Failure {
    let either = |one: &str, other: &str| reply.header(one).or_else(|| reply.header(other));
    let code = either("x-brd-error-code", "x-brd-err-code");
    let words = either("x-brd-error", "x-brd-err-msg");
    let failure = match reply.status {
        400..=499 => Failure::of_reply(vendor_class(reply), reply),
        _ if (code, words) == (None, None) => Failure::of_reply(vendor_class(reply), reply),
        _ => target_failure(
            task,
            reply,
            code.unwrap_or_default(),
            words.unwrap_or_default(),
        ),
    };
    failure.code_some(code)
}

/// A failure after the vendor contacted the target. With custom headers or cookies every attempt is
/// charged.
fn target_failure(task: &Task, reply: &Reply<'_>, code: &str, words: &str) -> Failure {
    let (class, status) = target_class(code, words);
    let cost = if task.headers.is_empty() && task.cookies.is_empty() {
        Cost::free()
    } else {
        Cost::listed(REQUEST)
    };
    Failure::quoting(class, reply, words)
        .target_status(status)
        .cost(cost)
}

/// Failure class, and the target's status if the vendor reports it.
fn target_class(code: &str, words: &str) -> (Class, Option<u16>) {
    let words = words.to_lowercase();
    let mentions = |some: &[&str]| some.iter().any(|word| words.contains(word));
    match code {
        "http_status" => match status_in(&words) {
            status @ Some(403 | 429) => (Class::TargetBlocked, status),
            status => (Class::TargetFailed, status),
        },
        "proxy_error" if mentions(&["resolv", "enotfound", "dns"]) => {
            (Class::TargetUnreachable, None)
        }
        "reject_block" => (Class::TargetBlocked, None),
        _ if code.contains("captcha") => (Class::TargetBlocked, None),
        _ => (Class::ProviderError, None),
    }
}

/// The first number in a text that is an HTTP error status.
fn status_in(text: &str) -> Option<u16> {
    let mut numbers = text.split(|one: char| !one.is_ascii_digit());
    numbers.find_map(|digits| digits.parse().ok().filter(|n| (400..600).contains(n)))
}

/// Whether the vendor rejected a field of the request.
fn is_validation_error(reply: &Reply<'_>) -> bool {
    let problem: Value = reply.json().unwrap_or_default();
    problem["error_code"] == "validation"
}

/// Failure class of a request that never reached the target.
fn vendor_class(reply: &Reply<'_>) -> Class {
    match reply.status {
        // An unknown zone is a credential problem like a wrong token, but a validation error may
        // just mention the zone next to the rejected field.
        400 if !is_validation_error(reply) && reply.text().to_lowercase().contains("zone") => {
            Class::BadKey
        }
        400 => Class::BadRequest,
        401 | 403 => Class::BadKey,
        402 => Class::NoCredit,
        429 => Class::RateLimited,
        200..=299 => Class::Drift,
        _ => Class::ProviderError,
    }
}

#[cfg(test)]
mod tests {
    use trawl_sdk::provider::{Charged, Content, Credential, Pool, WaitFor};
    use trawl_sdk::testkit::{converse, reply};

    use super::*;

    fn task() -> Task {
        let settings = r#"{"zone":"web_unlocker1"}"#.to_owned();
        let task = Task::new(
            "https://shop.example/a?b=1&c=2#d",
            "https://api.brightdata.com",
        );
        Task { settings, ..task }
    }

    fn pair(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn the_javascript_switch_is_always_stated() {
        let talk = converse::<BrightData>(&task(), &[]);
        let request = talk.first();
        assert_eq!(
            (request.method.as_str(), request.url.as_str()),
            ("POST", "https://api.brightdata.com/request")
        );
        assert_eq!(request.credentials, [Credential::Bearer(TOKEN.to_owned())]);
        let expected = json!({
            "zone": "web_unlocker1",
            "url": "https://shop.example/a?b=1&c=2#d",
            "format": "raw",
            "method": "GET",
            "render": false,
        });
        assert_eq!(request.body_json(), expected);
    }

    #[test]
    fn a_request_has_every_option() {
        let wished = Task {
            method: "POST".to_owned(),
            body: b"x=1".to_vec(),
            headers: vec![pair("Accept", "text/html")],
            cookies: vec![pair("a", "1"), pair("b", "2")],
            javascript: true,
            wait_for: Some(WaitFor {
                selector: "#x".to_owned(),
                time_ms: 5000,
            }),
            country: Some("DE".to_owned()),
            pool: Pool::Residential,
            ..task()
        };
        let expected = json!({
            "zone": "web_unlocker1",
            "url": wished.url,
            "format": "raw",
            "method": "POST",
            "render": true,
            "headers": { "Accept": "text/html", "Cookie": "a=1; b=2", "x-unblock-expect": r##"{"element":"#x"}"## },
            "country": "de",
            "body": "x=1",
        });
        assert_eq!(
            converse::<BrightData>(&wished, &[]).first().body_json(),
            expected
        );
        let binary = Task {
            body: vec![0xff],
            ..wished
        };
        assert_eq!(
            converse::<BrightData>(&binary, &[]).class(),
            Class::Unsupported
        );
        let no_zone = Task {
            settings: "{}".to_owned(),
            ..binary
        };
        assert_eq!(
            converse::<BrightData>(&no_zone, &[]).class(),
            Class::Unsupported
        );
        let unknown = Task {
            settings: r#"{"zones":1}"#.to_owned(),
            ..task()
        };
        assert_eq!(
            converse::<BrightData>(&unknown, &[]).class(),
            Class::Unsupported
        );
    }

    #[test]
    fn a_zone_is_looked_up() {
        let task = Task {
            settings: "{}".to_owned(),
            ..task()
        };
        let check = |zones: &'static str| {
            converse::<BrightData>(&task, &[reply(200, &[], zones.as_bytes())])
        };
        let talk = check(r#"[{"name":"isp","type":"isp"},{"name":"mine","type":"unblocker"}]"#);
        assert_eq!(talk.first().method, "GET");
        assert_eq!(
            talk.first().url,
            "https://api.brightdata.com/zone/get_active_zones"
        );
        assert_eq!(
            talk.first().credentials,
            [Credential::Bearer(TOKEN.to_owned())]
        );
        assert_eq!(talk.requests()[1].body_json()["zone"], "mine");
        assert_eq!(check("[]").class(), Class::BadKey);
        assert!(check("[]").failure().message.contains("no active zone"));
        assert_eq!(check("{}").class(), Class::Drift);
        let refused = converse::<BrightData>(&task, &[reply(401, &[], b"".as_slice())]);
        assert_eq!(refused.class(), Class::BadKey);
    }

    #[test]
    fn the_body_is_the_page_and_headers_are_metadata() {
        let answered = [reply(
            200,
            &[
                ("x-brd-status-code", "404"),
                ("x-brd-debug", "x"),
                ("Connection", "keep-alive"),
                ("Content-Type", "text/html"),
                ("Set-Cookie", "a=b; Path=/"),
            ],
            b"gone".as_slice(),
        )];
        let talk = converse::<BrightData>(&task(), &answered);
        let page = talk.page();
        assert_eq!((page.status, &page.content), (Some(404), &Content::Reply));
        assert_eq!((&page.url, page.rendered), (&None, None));
        assert_eq!(page.cookies, [pair("a", "b")]);
        let headers = [
            pair("content-type", "text/html"),
            pair("set-cookie", "a=b; Path=/"),
        ];
        assert_eq!(page.headers.as_deref(), Some(headers.as_slice()));
        assert_eq!(page.cost, Cost::listed(REQUEST));
        let rendered = Task {
            javascript: true,
            ..task()
        };
        assert_eq!(
            converse::<BrightData>(&rendered, &answered).page().rendered,
            Some(true)
        );
    }

    #[test]
    fn failures_of_the_target_have_their_classes() {
        let check = |code: &str, words: &str, class: Class, status: Option<u16>| {
            let facts = [
                ("x-brd-status-code", "502"),
                ("x-brd-error-code", code),
                ("x-brd-error", words),
            ];
            let answered = [reply(200, &facts, b"".as_slice())];
            let talk = converse::<BrightData>(&task(), &answered);
            assert_eq!(talk.class(), class, "{code} {words}");
            assert_eq!(
                (talk.failure().code.as_deref(), talk.failure().target_status),
                (Some(code), status)
            );
            assert_eq!(talk.failure().cost.charged, Charged::No);
            let headers = vec![pair("Accept", "text/html")];
            let talk = converse::<BrightData>(&Task { headers, ..task() }, &answered);
            assert_eq!(talk.failure().cost, Cost::listed(REQUEST));
        };
        check(
            "http_status",
            "Target returned 429",
            Class::TargetBlocked,
            Some(429),
        );
        check(
            "http_status",
            "bad status: 403",
            Class::TargetBlocked,
            Some(403),
        );
        check(
            "http_status",
            "bad status: 500",
            Class::TargetFailed,
            Some(500),
        );
        check(
            "proxy_error",
            "Could not resolve host",
            Class::TargetUnreachable,
            None,
        );
        check(
            "proxy_error",
            "connection reset",
            Class::ProviderError,
            None,
        );
        check("reject_block", "", Class::TargetBlocked, None);
        check("captcha_failed", "", Class::TargetBlocked, None);
        let older = [("x-brd-err-code", "reject_block"), ("x-brd-err-msg", "no")];
        let talk = converse::<BrightData>(&task(), &[reply(502, &older, b"".as_slice())]);
        assert_eq!(talk.class(), Class::TargetBlocked);
    }

    #[test]
    fn failures_of_the_vendor_have_their_classes() {
        let check = |status: u16, body: &'static str, expected: Class| {
            let answered = reply(status, &[("Retry-After", "7")], body.as_bytes());
            let talk = converse::<BrightData>(&task(), &[answered]);
            assert_eq!(talk.class(), expected, "{status} {body}");
            assert_eq!(talk.failure().retry_after, Some(7));
            assert_eq!(talk.failure().cost.charged, Charged::No);
        };
        check(400, "url is not valid", Class::BadRequest);
        check(400, "Zone not found", Class::BadKey);
        check(
            400,
            r#"{"error":"\"url\" is not allowed in this zone","error_code":"validation"}"#,
            Class::BadRequest,
        );
        check(401, "", Class::BadKey);
        check(402, "", Class::NoCredit);
        check(403, "", Class::BadKey);
        check(429, "", Class::RateLimited);
        check(503, "", Class::ProviderError);
        check(200, "no facts", Class::Drift);
    }
}
