//! Why a request makes no sense.

/// A request that is refused as a whole. It becomes a 400 that names the field.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{object}{field}{below}: {reason}")]
pub struct PlanError {
    /// Which request object of an array it is: `[1].`; empty for a request without an array.
    pub object: String,
    /// Wire name of the parameter.
    pub field: &'static str,
    /// Where in the parameter's value it is: `./login[2].Click`; empty for the value as a whole.
    pub below: String,
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
        Self {
            object: String::new(),
            field,
            below: String::new(),
            reason,
        }
    }

    /// The refusal of a part of the field's value: `[3].url`, `./login[2]`. Decision D258.
    #[must_use]
    pub fn below(self, below: impl Into<String>) -> Self {
        Self {
            below: below.into(),
            ..self
        }
    }

    /// The refusal in the request object with this number, from 0. Decision D258.
    #[must_use]
    pub fn in_object(self, number: usize) -> Self {
        Self {
            object: format!("[{number}]."),
            ..self
        }
    }
}

/// A JSON Pointer (RFC 6901) as a path of requests: `/labels/3` as `.labels[3]`. Each key is cut
/// where it is long.
pub fn path_of_pointer(pointer: &str) -> String {
    const KEY_CHARS_MAX: usize = 40;
    let keys = pointer.split('/').skip(1);
    let keys = keys.map(|key| key.replace("~1", "/").replace("~0", "~"));
    keys.map(|key| {
        let is_number = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_digit());
        if is_number {
            format!("[{key}]")
        } else {
            format!(".{}", key.chars().take(KEY_CHARS_MAX).collect::<String>())
        }
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_begins_with_the_path() {
        let error = PlanError::new("data", "is empty");
        assert_eq!(error.to_string(), "data: is empty");
        let error = error.below("[3].url").in_object(1);
        assert_eq!(error.to_string(), "[1].data[3].url: is empty");
    }

    #[test]
    fn pointers_are_paths() {
        let check = |pointer: &str, path: &str| assert_eq!(path_of_pointer(pointer), path);
        check("", "");
        check("/labels/3", ".labels[3]");
        check("/~1a~1b~0/0/selectors", "./a/b~[0].selectors");
        check("/", ".");
    }
}
