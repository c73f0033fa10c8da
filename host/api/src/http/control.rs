//! Requests of the control protocol, as `/admin` and owners of accounts make them.

use trawl_control::{Reply, Request};

use super::error::ApiError;
use crate::Api;

/// Performs a request of the control protocol.
pub(crate) async fn ask(api: &Api, request: Request) -> Result<Reply, ApiError> {
    Ok(trawl_control::perform(&api.rooms.billing, request).await?)
}

/// The error for a reply of the wrong kind.
pub(crate) fn unexpected(_: &Reply) -> ApiError {
    // Not logged: a reply may contain a key.
    tracing::error!("a request about accounts or keys got a reply of another kind");
    ApiError::Internal
}
