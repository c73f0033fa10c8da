//! The fields of the protocol's events that matter to a page, in one record for all of them.

use serde::Deserialize;
use serde_json::{Map, Value};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Request {
    pub(super) url: String,
    pub(super) headers: Option<Map<String, Value>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Response {
    pub(super) url: String,
    pub(super) status: i64,
    pub(super) mime_type: String,
    pub(super) headers: Map<String, Value>,
}

/// The relevant fields of all events.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Fields {
    pub(super) request_id: Option<String>,
    pub(super) network_id: Option<String>,
    pub(super) redirected_request_id: Option<String>,
    pub(super) loader_id: Option<String>,
    pub(super) frame_id: Option<String>,
    #[serde(rename = "type")]
    pub(super) kind: Option<String>,
    pub(super) resource_type: Option<String>,
    pub(super) request: Option<Request>,
    pub(super) response: Option<Response>,
    pub(super) headers: Option<Map<String, Value>>,
    pub(super) status_code: Option<i64>,
    pub(super) url: Option<String>,
    pub(super) data_length: Option<u64>,
    pub(super) frame: Option<Frame>,
    pub(super) auth_challenge: Option<Challenge>,
    pub(super) error_text: Option<String>,
    pub(super) canceled: Option<bool>,
    pub(super) blocked_reason: Option<String>,
    pub(super) has_extra_info: Option<bool>,
    pub(super) redirect_response: Option<Response>,
    pub(super) redirect_has_extra_info: Option<bool>,
    pub(super) session_id: Option<String>,
    pub(super) target_id: Option<String>,
    pub(super) target_info: Option<TargetInfo>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Frame {
    pub(super) parent_id: Option<String>,
    pub(super) loader_id: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TargetInfo {
    pub(super) target_id: String,
    pub(super) r#type: String,
    #[serde(default)]
    pub(super) url: String,
}

#[derive(Deserialize)]
pub(super) struct Challenge {
    pub(super) source: Option<String>,
}
