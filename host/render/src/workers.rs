//! The workers of a page: each is attached to before its script begins, so that what it requests
//! counts as what the page requests does, and it says of the browser what the page says.
//!
//! Requests of dedicated workers are intercepted with those of their page. Those of shared workers
//! and service workers are where the caller has cookies, which go to the page's origin alone.

use chromiumoxide::cdp::browser_protocol::emulation::SetUserAgentOverrideParams;
use chromiumoxide::cdp::browser_protocol::fetch::{
    self, ContinueRequestParams, HeaderEntry, RequestPattern,
};
use chromiumoxide::cdp::browser_protocol::network::{self, Headers, SetExtraHttpHeadersParams};
use chromiumoxide::cdp::browser_protocol::target::{
    FilterEntry, SetAutoAttachParams, TargetFilter,
};
use chromiumoxide::cdp::js_protocol::runtime::{EvaluateParams, RunIfWaitingForDebuggerParams};
use serde_json::json;

use super::cdp::Connection;
use super::fields::{Fields, TargetInfo};
use super::page_setup::network_events;

/// The kind of target that no page is attached to but the browser itself: other pages of its origin
/// may use it as well. What its requests bring is not seen.
pub(super) const SHARED: &str = "shared_worker";
const DEDICATED: &str = "worker";
/// The kind whose script the browser requests in its own name.
const SERVICE: &str = "service_worker";

const USER_AGENT: &str = "User-Agent";

/// Overrides what `navigator` of a worker reports: the protocol cannot set all of it there.
const OVERRIDE: &str = "(values) => {
  for (const name in values) {
    if (navigator[name] === values[name]) continue;
    const own = Object.getOwnPropertyDescriptor(WorkerNavigator.prototype, name);
    const apply = (get, at) => { Reflect.apply(get, at, []); return values[name]; };
    own.get = new Proxy(own.get, { apply });
    Object.defineProperty(WorkerNavigator.prototype, name, own);
  }
}";

/// Attaches a session to the workers that a page or a worker starts, and has them wait until they
/// are set up.
pub(super) fn auto_attach() -> SetAutoAttachParams {
    attach_to(&[DEDICATED, SERVICE])
}

/// Attaches a session to the shared workers of a browser, which wait in the same way.
pub(super) fn auto_attach_shared() -> SetAutoAttachParams {
    attach_to(&[SHARED])
}

fn attach_to(kinds: &[&str]) -> SetAutoAttachParams {
    let kinds = kinds.iter().map(|kind| FilterEntry {
        exclude: None,
        r#type: Some((*kind).to_owned()),
    });
    let mut params = SetAutoAttachParams::new(true, true);
    params.flatten = Some(true);
    params.filter = Some(TargetFilter::new(kinds.collect::<Vec<_>>()));
    params
}

/// Sets up the worker of a session, which may start workers of its own, and lets it begin.
pub(super) fn start(
    connection: &Connection,
    session: &str,
    worker: &TargetInfo,
    agent: &SetUserAgentOverrideParams,
    has_cookies: bool,
) {
    if worker.r#type != SHARED {
        let events = network::EnableParams {
            // Nothing is read of their bodies; 0 would be no limit.
            max_total_buffer_size: Some(1),
            max_resource_buffer_size: Some(1),
            ..network_events()
        };
        connection.post(session, &events);
        connection.post(session, &auto_attach());
    }
    connection.post(session, agent);
    connection.post(session, &overriding(agent));
    if worker.r#type == SERVICE {
        let headers = Headers::new(json!({ USER_AGENT: agent.user_agent }));
        connection.post(session, &SetExtraHttpHeadersParams::new(headers));
    }
    if let Some(pattern) = pattern(worker, has_cookies) {
        connection.post(session, &intercepted(pattern));
    }
    connection.post(session, &RunIfWaitingForDebuggerParams::default());
}

/// Sends a request of a worker in the name of the page, with these headers if they are not those
/// that the browser sends.
pub(super) fn send(
    connection: &Connection,
    session: &str,
    fields: Fields,
    headers: Option<Vec<HeaderEntry>>,
    agent: &SetUserAgentOverrideParams,
) {
    let Some(id) = fields.request_id else { return };
    let present = fields.request.and_then(|request| request.headers);
    let headers = headers.unwrap_or_else(|| {
        let present = present.iter().flatten();
        let entries =
            present.filter_map(|(name, value)| Some(HeaderEntry::new(name, value.as_str()?)));
        entries.collect()
    });
    let is_other = |entry: &HeaderEntry| !entry.name.eq_ignore_ascii_case(USER_AGENT);
    let others = headers.into_iter().filter(is_other);
    let own = HeaderEntry::new(USER_AGENT, agent.user_agent.as_str());
    let mut proceed = ContinueRequestParams::new(id);
    proceed.headers = Some(others.chain([own]).collect());
    connection.post(session, &proceed);
}

/// Which requests of a worker are intercepted in its own session: all that may carry cookies of the
/// caller, which its page does not see, and the one for the script of a service worker.
fn pattern(worker: &TargetInfo, has_cookies: bool) -> Option<String> {
    match worker.r#type.as_str() {
        SERVICE | SHARED if has_cookies => Some("*".to_owned()),
        SERVICE => Some(literal(&worker.url)),
        _ => None,
    }
}

/// Requests that match are intercepted.
fn intercepted(pattern: String) -> fetch::EnableParams {
    let pattern = RequestPattern {
        url_pattern: Some(pattern),
        resource_type: None,
        request_stage: None,
    };
    fetch::EnableParams {
        patterns: Some(vec![pattern]),
        handle_auth_requests: None,
    }
}

/// A URL as a pattern that matches it alone.
fn literal(url: &str) -> String {
    let mut pattern = String::with_capacity(url.len());
    for character in url.chars() {
        if matches!(character, '*' | '?' | '\\') {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern
}

/// Has a worker report the browser that its page reports.
fn overriding(agent: &SetUserAgentOverrideParams) -> EvaluateParams {
    let user_agent = agent.user_agent.as_str();
    // HTML, section "Client identification".
    let version = user_agent.split_once('/');
    let version = version.map_or(user_agent, |(_, version)| version);
    let mut values = json!({"userAgent": user_agent, "appVersion": version});
    if let Some(platform) = &agent.platform {
        values["platform"] = json!(platform);
    }
    EvaluateParams::new(format!("({OVERRIDE})({values})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_report_the_browser_of_their_page() {
        let mut agent = SetUserAgentOverrideParams::new("Mozilla/5.0 (\"x\") Chrome/1");
        agent.platform = Some("Win32".to_owned());
        let script = overriding(&agent).expression;
        for part in [
            r#""userAgent":"Mozilla/5.0 (\"x\") Chrome/1""#,
            r#""appVersion":"5.0 (\"x\") Chrome/1""#,
            r#""platform":"Win32""#,
        ] {
            assert!(script.contains(part), "{script}");
        }
        agent.platform = None;
        assert!(!overriding(&agent).expression.contains("Win32"));
    }

    fn worker(kind: &str, url: &str) -> TargetInfo {
        TargetInfo {
            target_id: "w".to_owned(),
            r#type: kind.to_owned(),
            url: url.to_owned(),
        }
    }

    #[test]
    fn the_script_of_a_service_worker_is_intercepted_whatever_its_url() {
        for (script, expected) in [
            ("https://a.example/sw.js", "https://a.example/sw.js"),
            (
                r"https://a.example/sw.js?v=\1*",
                r"https://a.example/sw.js\?v=\\1\*",
            ),
        ] {
            let found = pattern(&worker(SERVICE, script), false);
            assert_eq!(found.as_deref(), Some(expected));
        }
    }

    #[test]
    fn requests_that_may_carry_cookies_are_intercepted() {
        for (kind, has_cookies, expected) in [
            (SERVICE, true, Some("*")),
            (SHARED, true, Some("*")),
            (SHARED, false, None),
            // With those of its page.
            (DEDICATED, true, None),
        ] {
            let found = pattern(&worker(kind, "https://a.example/w.js"), has_cookies);
            assert_eq!(found.as_deref(), expected, "{kind}");
        }
    }
}
