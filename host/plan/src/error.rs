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

/// Most characters of a reason.
const REASON_CHARS_MAX: usize = 800;

impl PlanError {
    /// A refusal of this field. A reason may repeat what was sent, so it is cut where that is long.
    pub fn new(field: &'static str, reason: impl Into<String>) -> Self {
        let mut reason = reason.into();
        if let Some((end, _)) = reason.char_indices().nth(REASON_CHARS_MAX) {
            reason.truncate(end);
        }
        Self { field, reason }
    }
}
