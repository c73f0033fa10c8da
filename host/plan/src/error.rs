//! Why a request makes no sense.

/// A request that is refused as a whole. It becomes a 400 that names the field.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {reason}")]
pub struct PlanError {
    /// Wire name of the parameter.
    pub field: &'static str,
    /// What is wrong and what to do; no secret.
    pub reason: String,
}

impl PlanError {
    /// A refusal of this field.
    pub fn new(field: &'static str, reason: impl Into<String>) -> Self {
        Self {
            field,
            reason: reason.into(),
        }
    }
}
