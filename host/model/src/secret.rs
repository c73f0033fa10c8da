//! Secrets as a type: wiped when dropped, never printed, compared in constant time.

use std::fmt;

use zeroize::Zeroizing;

/// A key or password. It has no `Display`, its `Debug` shows nothing, and its memory is wiped when
/// it is dropped.
#[derive(Clone)]
pub struct Secret(Zeroizing<Box<str>>);

impl Secret {
    /// Takes ownership of a value.
    pub fn new(value: impl Into<String>) -> Self {
        // Spare capacity would be cut off by a copy that leaves the first buffer unwiped.
        let value = Zeroizing::new(value.into());
        Self(Zeroizing::new(Box::from(value.as_str())))
    }

    /// The value itself, for the code that sends it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Takes the same time for equal and different values of any length: BLAKE3 hashes are compared.
impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        // `blake3::Hash` compares in constant time.
        blake3::hash(self.0.as_bytes()) == blake3::hash(other.0.as_bytes())
    }
}

impl Eq for Secret {}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

impl From<String> for Secret {
    fn from(value: String) -> Self {
        Self::new(value)
    }
}

impl From<&str> for Secret {
    fn from(value: &str) -> Self {
        Self::new(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_not_printed() {
        let secret = Secret::new("tr_canary");
        assert_eq!(format!("{secret:?}"), "Secret");
        assert_eq!(secret.expose(), "tr_canary");
    }

    #[test]
    fn secrets_compare_by_value() {
        assert_eq!(Secret::new("a"), Secret::from("a"));
        assert_ne!(Secret::new("a"), Secret::new("ab"));
    }
}
