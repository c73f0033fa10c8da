//! Errors of the vendor. Its code decides before the HTTP status: several statuses share a cause,
//! and one status several causes.

use serde_json::Value;
use trawl_sdk::provider::{Class, Cost, Failure, ProxyStatus, Reply, Task};

use super::REQUEST;

/// Starts of the names that the vendor's proxies have in `Proxy-Status`.
const PROXY_NAMES: [&str; 2] = ["brd", "bright"];

/// An error as the vendor reports it: in its own headers, or in `Proxy-Status` (RFC 9209).
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Report {
    /// The vendor's error code, or the error type of the RFC.
    code: Option<String>,
    /// Its message.
    words: Option<String>,
}

impl Report {
    /// The error in a response; `None` if it reports none.
    pub(crate) fn of(reply: &Reply<'_>) -> Option<Self> {
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

/// Whether one of the vendor's proxies wrote this `Proxy-Status` header.
pub(crate) fn is_of_vendor(line: &str) -> bool {
    ProxyStatus::list(line).iter().any(is_vendor)
}

/// The target may have proxies of its own.
fn is_vendor(entry: &ProxyStatus) -> bool {
    let proxy = entry.proxy.to_lowercase();
    proxy.is_empty() || PROXY_NAMES.iter().any(|name| proxy.starts_with(name))
}

/// Classifies a response without a page. With custom headers or cookies every attempt at the target
/// is charged.
pub(crate) fn failure(task: &Task, reply: &Reply<'_>, report: Option<Report>) -> Failure {
    let is_refused = matches!(reply.status, 400..=499);
    let has_tried = report.as_ref().is_some_and(|report| {
        let code = report.code.as_deref().unwrap_or_default();
        !is_refused && !is_of_account(code) && !is_policy(code)
    });
    let is_charged = has_tried && !(task.headers.is_empty() && task.cookies.is_empty());
    let failure = vendor_failure(reply, report);
    if is_charged {
        failure.cost(Cost::listed(REQUEST))
    } else {
        failure
    }
}

/// Classifies a response without a page that costs nothing.
pub(crate) fn vendor_failure(reply: &Reply<'_>, report: Option<Report>) -> Failure {
    let is_reported = report.is_some();
    let Report { code, words } = report.unwrap_or_default();
    let coded = code.as_deref().unwrap_or_default();
    let text = words.as_deref().unwrap_or_default();
    let known = class_of(&coded.replace('-', "_").to_lowercase(), text);
    let (class, status) = known.unwrap_or_else(|| {
        let class = match reply.status {
            200..=299 if is_reported => Class::ProviderError,
            _ => class_of_status(reply, text),
        };
        (class, None)
    });
    Failure::quoting_some(class, reply, words.as_deref())
        .code_some(code.as_deref())
        .target_status(status)
        // The vendor never serves this site to this account.
        .retryable(is_policy(coded).then_some(false))
}

/// Failure class by the vendor's code, and the target's status if the vendor reports it; `None` for
/// an unknown code.
fn class_of(code: &str, words: &str) -> Option<(Class, Option<u16>)> {
    let words = words.to_lowercase();
    let mentions = |some: &[&str]| some.iter().any(|word| words.contains(word));
    let class = match code {
        "http_status" => match status_in(&words) {
            status @ Some(403 | 429) => return Some((Class::TargetBlocked, status)),
            status => return Some((Class::TargetFailed, status)),
        },
        "client_10020" | "client_10100" => Class::NoCredit,
        "client_10000" | "client_10002" => Class::BadKey,
        "navigation_timeout" | "proxy_timeout" => Class::ProviderTimeout,
        "proxy_error" if mentions(&["resolv", "enotfound", "dns"]) => Class::TargetUnreachable,
        "proxy_error" => Class::ProviderError,
        "reject_block" => Class::TargetBlocked,
        // Error types of RFC 9209.
        "destination_ip_prohibited" | "http_request_denied" => Class::TargetBlocked,
        "connection_limit_reached" => Class::RateLimited,
        "connection_refused"
        | "connection_terminated"
        | "connection_timeout"
        | "destination_ip_unroutable"
        | "destination_not_found"
        | "destination_unavailable"
        | "dns_error"
        | "dns_timeout" => Class::TargetUnreachable,
        "connection_read_timeout" | "connection_write_timeout" | "http_response_timeout" => {
            Class::ProviderTimeout
        }
        _ if is_policy(code) || code.contains("captcha") => Class::TargetBlocked,
        _ if code.starts_with("resolve_failed") => Class::TargetUnreachable,
        _ => return None,
    };
    Some((class, None))
}

/// Whether the vendor's rules forbid the site.
fn is_policy(code: &str) -> bool {
    code.starts_with("policy") || code.starts_with("ub_bad_endpoint")
}

/// Whether the cause is the account or the request, so that the target was not contacted.
fn is_of_account(code: &str) -> bool {
    code.starts_with("client")
}

/// The first number in a text that is an HTTP error status.
fn status_in(text: &str) -> Option<u16> {
    let mut numbers = text.split(|one: char| !one.is_ascii_digit());
    numbers.find_map(|digits| digits.parse().ok().filter(|n| (400..600).contains(n)))
}

/// Failure class of a response whose code says nothing.
fn class_of_status(reply: &Reply<'_>, words: &str) -> Class {
    let is_about_zone = |text: &str| text.to_lowercase().contains("zone");
    match reply.status {
        // An unknown zone is a credential problem like a wrong token, but a validation error may
        // just mention the zone next to the rejected field.
        400 if !is_validation_error(reply)
            && (is_about_zone(words) || is_about_zone(&reply.text())) =>
        {
            Class::BadKey
        }
        status => Class::of_status(status),
    }
}

/// Whether the vendor rejected a field of the request.
fn is_validation_error(reply: &Reply<'_>) -> bool {
    let problem: Value = reply.json().unwrap_or_default();
    problem["error_code"] == "validation"
}
