//! How much memory values may take.

/// What a new [`Budget`] has, in bytes: fits, with the page and the answer, into what a guest may use.
pub const BUDGET_BYTES: usize = 48 << 20;

/// What an array slot, a string's header and its allocation take about, in bytes.
const VALUE_BYTES: usize = 48;
/// What an object takes for every [`OBJECT_SLOTS`] keys, in bytes: its map keeps them in nodes of that size.
const OBJECT_BYTES: usize = 640;
/// Keys that fit into one node of a map.
const OBJECT_SLOTS: usize = 11;

/// Memory that is left for values, shared by everything that one call reads. Once it is used up nothing more is read: a value is
/// there as a whole or not at all.
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
    /// A budget of this many bytes.
    pub fn of(bytes: usize) -> Self {
        Self { left: bytes }
    }

    /// Takes `bytes` out; `false` when there are not so many, and then nothing is left.
    pub fn take(&mut self, bytes: usize) -> bool {
        let left = self.left.checked_sub(bytes);
        self.left = left.unwrap_or(0);
        left.is_some()
    }

    /// Takes out what a value of JSON text will need; `false` when that is too much, and then the budget stays as it is.
    pub(super) fn take_json(&mut self, text: &str) -> bool {
        let left = self.left.checked_sub(json_bytes(text));
        self.left = left.unwrap_or(self.left);
        left.is_some()
    }
}

/// Bytes that a value takes whose text (string or number) has this length.
pub(super) const fn scalar_bytes(text_length: usize) -> usize {
    VALUE_BYTES + text_length
}

/// Bytes that one more key takes in an object that has `n_keys`, the key's text included.
pub(super) const fn key_bytes(n_keys: usize, key_length: usize) -> usize {
    let node = if n_keys.is_multiple_of(OBJECT_SLOTS) {
        OBJECT_BYTES
    } else {
        0
    };
    node + VALUE_BYTES + key_length
}

/// The most that the values of a JSON text can take; more than there is when that cannot be counted.
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
