//! The workers of a page: each is attached to before its script begins, so that what it requests
//! counts as what the page requests does.

use chromiumoxide::cdp::browser_protocol::emulation::SetUserAgentOverrideParams;
use chromiumoxide::cdp::browser_protocol::network;
use chromiumoxide::cdp::browser_protocol::target::{
    FilterEntry, SetAutoAttachParams, TargetFilter,
};
use chromiumoxide::cdp::js_protocol::runtime::RunIfWaitingForDebuggerParams;

use super::cdp::Connection;
use super::page_setup::network_events;

/// The kind of target that no page is attached to: other pages of its origin may use it as well.
pub(super) const SHARED: &str = "shared_worker";

/// Attaches a session to the workers that it starts, and has them wait until they are set up.
pub(super) fn auto_attach() -> SetAutoAttachParams {
    let kinds = ["worker", "service_worker"];
    let kinds = kinds.map(|kind| FilterEntry {
        exclude: None,
        r#type: Some(kind.to_owned()),
    });
    let mut params = SetAutoAttachParams::new(true, true);
    params.flatten = Some(true);
    params.filter = Some(TargetFilter::new(kinds.to_vec()));
    params
}

/// Sets up the worker of a session, which may start workers of its own, and lets it begin.
pub(super) fn start(connection: &Connection, session: &str, agent: &SetUserAgentOverrideParams) {
    let events = network::EnableParams {
        // Nothing is read of their bodies; 0 would be no limit.
        max_total_buffer_size: Some(1),
        max_resource_buffer_size: Some(1),
        ..network_events()
    };
    connection.post(session, &events);
    connection.post(session, agent);
    connection.post(session, &auto_attach());
    connection.post(session, &RunIfWaitingForDebuggerParams::default());
}
