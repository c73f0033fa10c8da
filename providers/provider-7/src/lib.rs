//! `provider_7`: Bright Data Web Unlocker API. The response body is the page, with metadata in
//! `x-brd-*` headers; errors are there or in `Proxy-Status`. Each request names a zone of the
//! account; without one in the settings, it is looked up first.

mod error;

use serde::Deserialize;
use serde_json::{Value, json};
use trawl_sdk::provider::{
    Abilities, Class, Cost, Description, Failure, Page, Provider, Reply, Request, Step, Task,
    header_object,
};

use error::Report;

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
        .settings_schema(include_str!("settings.json"))
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
        let report = Report::of(reply);
        let status = reply.number("x-brd-status-code");
        let (200..=299, None, Some(status)) = (reply.status, &report, status) else {
            return Err(error::failure(task, reply, report));
        };
        let mut headers = reply.passed_headers("x-brd-");
        headers.retain(|(name, value)| name != "proxy-status" || !error::is_of_vendor(value));
        // Even without `render` the vendor may use a browser.
        Ok(Page::of_reply(task)
            .status(status)
            .headers(headers)
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
        return Err(error::vendor_failure(reply, Report::of(reply)));
    }
    let zones: Vec<Zone> = reply.json()?;
    let found = zones.into_iter().find(|zone| zone.kind == ZONE_TYPE);
    found.map(|zone| zone.name).ok_or_else(|| {
        let message = format!("the token has no active zone of the type `{ZONE_TYPE}`");
        Failure::new(Class::BadKey, message)
    })
}

#[cfg(test)]
mod tests;
