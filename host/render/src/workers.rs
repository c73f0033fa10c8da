//! The workers of a page: each is attached to before its script begins, so that what it requests
//! counts as what the page requests does, and it says of the browser what the page says. Requests of
//! shared workers and service workers get no headers of the caller, and cookies by their port alone
//! (`caller_cookies`).

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
/// may use it as well. Its requests are not seen.
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

/// Attaches one to the shared workers of a browser, likewise.
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
        connection.post(session, &intercepted(&worker.url));
    }
    connection.post(session, &RunIfWaitingForDebuggerParams::default());
}

/// Sends the request for the script of a service worker in the name of the page.
pub(super) fn send(
    connection: &Connection,
    session: &str,
    fields: Fields,
    agent: &SetUserAgentOverrideParams,
) {
    let Some(id) = fields.request_id else { return };
    let present = fields.request.and_then(|request| request.headers);
    let present = present.unwrap_or_default();
    let others = present
        .iter()
        .filter(|(name, _)| !name.eq_ignore_ascii_case(USER_AGENT))
        .filter_map(|(name, value)| Some(HeaderEntry::new(name.as_str(), value.as_str()?)));
    let own = HeaderEntry::new(USER_AGENT, agent.user_agent.as_str());
    let mut proceed = ContinueRequestParams::new(id);
    proceed.headers = Some(others.chain([own]).collect());
    connection.post(session, &proceed);
}

/// The request for a script is intercepted.
fn intercepted(script: &str) -> fetch::EnableParams {
    let pattern = RequestPattern {
        url_pattern: Some(literal(script)),
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

    #[test]
    fn the_script_of_a_service_worker_is_intercepted_whatever_its_url() {
        for (script, pattern) in [
            ("https://a.example/sw.js", "https://a.example/sw.js"),
            (
                r"https://a.example/sw.js?v=\1*",
                r"https://a.example/sw.js\?v=\\1\*",
            ),
        ] {
            let patterns = intercepted(script).patterns.unwrap_or_default();
            assert_eq!(patterns[0].url_pattern.as_deref(), Some(pattern));
        }
    }
}
