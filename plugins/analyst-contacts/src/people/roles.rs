//! Recognises roles: as labels in front of names and as texts next to them.

use super::runs;
use crate::words::{ROLE_LABELS, ROLES};

/// Whether a label such as `CEO` in `CEO: Ann Lee` names a role.
pub(super) fn is_role_label(label: &str) -> bool {
    let label = label.to_lowercase();
    let plain = label
        .replace("(in)", "")
        .replace(":in", "")
        .replace("*in", "");
    let plain = plain.trim();
    ROLES.has(plain) || ROLE_LABELS.has(plain)
}

/// Whether a text is a role.
pub(super) fn is_role(text: &str) -> bool {
    ROLES.has(&text.to_lowercase()) || runs::is_role(text)
}
