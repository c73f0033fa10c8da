//! Why a request body is refused.

use trawl_plan::PlanError;

use super::body::{WireError, is_array};

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

impl RequestError {
    /// The error of an item of a parameter that is a list of request objects, counted from 0: the
    /// parameter and the number precede the path.
    pub(crate) fn in_item(self, list: &str, number: usize) -> Self {
        match self {
            Self::Wire(error) => Self::Wire(error.in_object(number).in_list(list)),
            Self::Plan(error) => Self::Plan(PlanError {
                object: format!("{list}[{number}]."),
                ..error
            }),
            other @ (Self::NotInPlan(_) | Self::NotLoaded(_) | Self::TooLarge(_)) => other,
        }
    }

    /// The error of one of the request objects of this body, counted from 0: if the body is an
    /// array, the number precedes the path. Decision D258.
    pub(crate) fn in_object(self, body: &[u8], number: usize) -> Self {
        if !is_array(body) {
            return self;
        }
        match self {
            Self::Wire(error) => Self::Wire(error.in_object(number)),
            Self::Plan(error) => Self::Plan(error.in_object(number)),
            other @ (Self::NotInPlan(_) | Self::NotLoaded(_) | Self::TooLarge(_)) => other,
        }
    }
}
