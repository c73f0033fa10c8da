//! Why a request body is refused.

use trawl_plan::PlanError;

use super::body::WireError;

/// Why a request body is refused. The text begins with the parameter's name where one is to blame.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// The JSON does not have the expected shape.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// A value is not allowed.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The Unlimited plan does not include this parameter.
    #[error("{0}: is not part of the Unlimited plan, which uses no AI: leave it out")]
    NotInPlan(String),
    /// The endpoint needs a plugin that is not loaded.
    #[error("the analyst `{0}` is not loaded")]
    NotLoaded(&'static str),
    /// The decoded content has more bytes than this.
    #[error("the content is larger than {0} bytes")]
    TooLarge(usize),
}
