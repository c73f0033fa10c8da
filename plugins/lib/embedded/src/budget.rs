//! Memory limit for parsed values.

/// Size of the default [`Budget`] in bytes. Together with the page and the answer it fits into a
/// plugin's memory limit.
const BUDGET_BYTES: usize = 48 << 20;

/// Approximate size of an array slot, a string header and its allocation, in bytes.
const VALUE_BYTES: usize = 48;
/// Size of a map node with [`OBJECT_SLOTS`] keys, in bytes.
const OBJECT_BYTES: usize = 640;
/// Keys per map node.
const OBJECT_SLOTS: usize = 11;

/// Memory left for values, shared by everything that one call reads. A value that does not fit is
/// dropped as a whole, and nothing more is read once the budget is used up.
#[derive(Debug)]
pub struct Budget {
    left: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self::of(BUDGET_BYTES)
    }
}

impl Budget {
    /// Creates a budget of this many bytes.
    pub fn of(bytes: usize) -> Self {
        Self { left: bytes }
    }

    /// Takes `bytes` from the budget. Returns `false` if they do not fit; nothing is left then.
    pub fn take(&mut self, bytes: usize) -> bool {
        let left = self.left.checked_sub(bytes);
        self.left = left.unwrap_or(0);
        left.is_some()
    }

    /// Takes what the values of a JSON text need at most. Returns `false`, and takes nothing, if
    /// they do not fit.
    pub(super) fn take_json(&mut self, text: &str) -> bool {
        let left = self.left.checked_sub(json_bytes(text));
        self.left = left.unwrap_or(self.left);
        left.is_some()
    }
}

/// Memory of a string or number with a text of this length, in bytes.
pub(super) const fn scalar_bytes(text_length: usize) -> usize {
    VALUE_BYTES + text_length
}

/// Memory of one more key in an object with `n_keys` keys, including the key's text, in bytes.
pub(super) const fn key_bytes(n_keys: usize, key_length: usize) -> usize {
    let node = if n_keys.is_multiple_of(OBJECT_SLOTS) {
        OBJECT_BYTES
    } else {
        0
    };
    node + VALUE_BYTES + key_length
}

/// Upper bound for the memory of a JSON text's values; saturates on overflow.
fn json_bytes(text: &str) -> usize {
    let (mut n_values, mut n_objects) = (1_usize, 0_usize);
    for byte in text.bytes() {
        match byte {
            b',' | b'[' => n_values += 1,
            b'{' => {
                n_values += 1;
                n_objects += 1;
            }
            _ => {}
        }
    }
    let values = n_values.saturating_mul(2 * VALUE_BYTES);
    let objects = n_objects.saturating_mul(OBJECT_BYTES);
    text.len().saturating_add(values).saturating_add(objects)
}
