//! `provider_7`: Bright Data Web Unlocker API. The response body is the page, with metadata in
//! `x-brd-*` headers; errors are there or in `Proxy-Status`. Each request names a zone of the
//! account; without one in the settings, it is looked up first.

use serde::Deserialize;
use serde_json::{Value, json};
use trawl_sdk::provider::Mode::{Both, Plain, Rendered};
use trawl_sdk::provider::{
    Abilities, Class, Cost, Description, Failure, Page, Provider, ProxyStatus, Reply, Request,
    Step, Task, error_status_in, header_object, mentions,
};

/// Adapter for the Bright Data Web Unlocker API.
pub struct BrightData;

const TOKEN: &str = "PROVIDER7_API_TOKEN";
const REQUEST: &str = "request";
/// Memo of the zone lookup.
const ZONE_LOOKUP: &[u8] = b"zones";
/// Zone type of the Web Unlocker.
const ZONE_TYPE: &str = "unblocker";
/// Starts of the names that the vendor's proxies have in `Proxy-Status`.
const PROXY_NAMES: [&str; 2] = ["brd", "bright"];

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
        Description::new(
            "provider_7",
            env!("CARGO_PKG_VERSION"),
            "Bright Data (Web Unlocker API)",
            "https://api.brightdata.com",
        )
        .credentials(&[TOKEN])
        .hosts(&["api.brightdata.com"])
        .abilities(&[
            (Abilities::SERVES, Both),
            (Abilities::HEADERS, Both),
            (Abilities::COOKIES, Both),
            (Abilities::COUNTRY, Both),
            (Abilities::RESIDENTIAL, Both),
            (Abilities::BODY, Both),
            (Abilities::TARGET_HEADERS, Both),
            (Abilities::TARGET_COOKIES, Both),
            (Abilities::BINARY, Plain),
            (Abilities::WAIT_SELECTOR, Rendered),
        ])
        .units(&[REQUEST])
        .seconds(90)
        .settings_schema(include_str!("settings.json"))
    }

    fn start(task: &Task, settings: Settings) -> Result<Step, Failure> {
        if let Some(zone) = settings.zone {
            return unlock(task, &zone);
        }
        task.body_text()?;
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
            return Err(failure(task, reply, report));
        };
        let is_of_vendor = |line: &str| ProxyStatus::list(line).iter().any(is_vendor);
        let mut headers = reply.passed_headers("x-brd-");
        headers.retain(|(name, value)| name != "proxy-status" || !is_of_vendor(value));
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
    let mut headers = header_object(&task.headers);
    if let Some(line) = task.cookie_line() {
        headers["Cookie"] = line.into();
    }
    if let Some(selector) = task.selector() {
        headers["x-unblock-expect"] = json!({"element": selector}).to_string().into();
    }
    let request = Request::post(task.at("/request")).bearer(TOKEN);
    let request = request.json_some(json!({
        "zone": zone,
        "url": task.url,
        "format": "raw",
        "method": task.method,
        "render": task.javascript,
        "headers": (headers != json!({})).then_some(headers),
        "country": task.country_lower(),
        "body": task.body_text()?,
    }));
    Ok(request.send())
}

/// Name of the account's first Web Unlocker zone.
fn first_zone(reply: &Reply<'_>) -> Result<String, Failure> {
    #[derive(Deserialize)]
    struct Zone {
        name: String,
        #[serde(rename = "type", default)]
        kind: Value,
    }
    if reply.status != 200 {
        return Err(vendor_failure(reply, Report::of(reply)));
    }
    let zones: Vec<Zone> = reply.json()?;
    let found = zones.into_iter().find(|zone| zone.kind == ZONE_TYPE);
    found.map(|zone| zone.name).ok_or_else(|| {
        let message = format!("the token has no active zone of the type `{ZONE_TYPE}`");
        Failure::new(Class::BadKey, message)
    })
}

/// An error as the vendor reports it: in its own headers, or in `Proxy-Status` (RFC 9209).
#[derive(Default, PartialEq)]
struct Report {
    /// The vendor's error code, or the error type of the RFC.
    code: Option<String>,
    /// Its message.
    words: Option<String>,
}

impl Report {
    /// The error in a response; `None` if it reports none.
    fn of(reply: &Reply<'_>) -> Option<Self> {
        let either = |one: &str, other: &str| reply.header(one).or_else(|| reply.header(other));
        let code = either("x-brd-error-code", "x-brd-err-code").map(str::to_owned);
        let words = either("x-brd-error", "x-brd-err-msg").map(str::to_owned);
        let mut entries = reply.proxy_status().into_iter();
        let standard = entries.find(|entry| is_vendor(entry) && entry.error.is_some());
        let standard = standard.map(Self::of_entry).unwrap_or_default();
        let report = Self {
            code: code.or(standard.code),
            words: words.or(standard.words),
        };
        (report != Self::default()).then_some(report)
    }

    /// The details of an entry start with the vendor's code: `policy_20050: Forbidden`.
    fn of_entry(entry: ProxyStatus) -> Self {
        let details = entry.details.unwrap_or_default();
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        let coded = details.split_once(':').filter(|(code, _)| {
            let code = code.trim();
            code.contains(['_', '-']) && code.bytes().all(is_letter)
        });
        let (code, words) = match coded {
            Some((code, words)) => (Some(code.trim().replace('-', "_")), words.trim().to_owned()),
            None => (entry.error, details),
        };
        Self {
            code,
            words: Some(words).filter(|words| !words.is_empty()),
        }
    }
}

/// Whether an entry is of the vendor's proxies: the target may have proxies of its own.
fn is_vendor(entry: &ProxyStatus) -> bool {
    let proxy = entry.proxy.to_lowercase();
    proxy.is_empty() || PROXY_NAMES.iter().any(|name| proxy.starts_with(name))
}

/// Classifies a response without a page. With custom headers or cookies every attempt at the target
/// is charged: not if the cause is the account, the request, or a rule of the vendor.
fn failure(task: &Task, reply: &Reply<'_>, report: Option<Report>) -> Failure {
    let has_tried = report.as_ref().is_some_and(|report| {
        let code = report.code.as_deref().unwrap_or_default();
        !matches!(reply.status, 400..=499) && !code.starts_with("client") && !is_policy(code)
    });
    let failure = vendor_failure(reply, report);
    if has_tried && !(task.headers.is_empty() && task.cookies.is_empty()) {
        failure.cost(Cost::listed(REQUEST))
    } else {
        failure
    }
}

/// Classifies a response without a page that costs nothing. The vendor's code decides before the
/// status: several statuses share a cause, and one status several causes.
fn vendor_failure(reply: &Reply<'_>, report: Option<Report>) -> Failure {
    let is_reported = report.is_some();
    let Report { code, words } = report.unwrap_or_default();
    let coded = code.as_deref().unwrap_or_default();
    let text = words.as_deref().unwrap_or_default();
    let known = coded.replace('-', "_").to_lowercase();
    let class = class_of(&known, text).unwrap_or_else(|| match reply.status {
        200..=299 if is_reported => Class::ProviderError,
        // An unknown zone is a credential problem like a wrong token.
        400 if is_about_zone(reply, text) => Class::BadKey,
        status => Class::of_status(status),
    });
    let is_of_target = known == "http_status";
    Failure::quoting_some(class, reply, words.as_deref())
        .code_some(code.as_deref())
        .target_status(error_status_in(text).filter(|_| is_of_target))
        // The vendor never serves this site to this account.
        .retryable(is_policy(coded).then_some(false))
}

/// Failure class by the vendor's code; `None` for an unknown code.
fn class_of(code: &str, words: &str) -> Option<Class> {
    Some(match code {
        "http_status" => match error_status_in(words) {
            Some(403 | 429) => Class::TargetBlocked,
            _ => Class::TargetFailed,
        },
        "client_10020" | "client_10100" => Class::NoCredit,
        "client_10000" | "client_10002" => Class::BadKey,
        "navigation_timeout" | "proxy_timeout" => Class::ProviderTimeout,
        "proxy_error" if mentions(words, &["resolv", "enotfound", "dns"]) => {
            Class::TargetUnreachable
        }
        "proxy_error" => Class::ProviderError,
        "reject_block" => Class::TargetBlocked,
        // Error types of RFC 9209.
        "destination_ip_prohibited" | "http_request_denied" => Class::TargetBlocked,
        "connection_limit_reached" => Class::RateLimited,
        "connection_refused" | "connection_terminated" | "connection_timeout" => {
            Class::TargetUnreachable
        }
        "destination_ip_unroutable" | "destination_not_found" | "destination_unavailable" => {
            Class::TargetUnreachable
        }
        "dns_error" | "dns_timeout" => Class::TargetUnreachable,
        "connection_read_timeout" | "connection_write_timeout" | "http_response_timeout" => {
            Class::ProviderTimeout
        }
        _ if is_policy(code) || code.contains("captcha") => Class::TargetBlocked,
        _ if code.starts_with("resolve_failed") => Class::TargetUnreachable,
        _ => return None,
    })
}

/// Whether the vendor's rules forbid the site.
fn is_policy(code: &str) -> bool {
    code.starts_with("policy") || code.starts_with("ub_bad_endpoint")
}

/// Whether an error is about the zone. One of validation may just mention it next to the rejected
/// field.
fn is_about_zone(reply: &Reply<'_>, words: &str) -> bool {
    let problem: Value = reply.json().unwrap_or_default();
    let is_mentioned = mentions(words, &["zone"]) || mentions(&reply.text(), &["zone"]);
    is_mentioned && problem["error_code"] != "validation"
}

#[cfg(test)]
mod tests {
    use super::BrightData;

    #[test]
    fn all_cases_hold() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/cases");
        trawl_sdk::testkit::check_cases::<BrightData>(folder);
    }
}
