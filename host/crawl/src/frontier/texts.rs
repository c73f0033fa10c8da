//! Texts of some of the URLs of a crawl, within a bound.

use std::collections::HashMap;

/// Most bytes of all texts; beyond them, URLs have none.
const BYTES_MAX: usize = 64 << 20;

/// Texts by the number of their URL.
#[derive(Debug, Default)]
pub(super) struct Texts {
    by_number: HashMap<u32, Box<str>>,
    n_bytes: usize,
}

impl Texts {
    /// The text of a URL.
    pub(super) fn get(&self, n: u32) -> Option<String> {
        self.by_number.get(&n).map(|text| text.to_string())
    }

    /// Replaces the text of a URL.
    pub(super) fn set(&mut self, n: u32, text: Option<&str>) {
        if let Some(before) = self.by_number.remove(&n) {
            self.n_bytes -= before.len();
        }
        if let Some(text) = text
            && self.n_bytes + text.len() <= BYTES_MAX
        {
            self.n_bytes += text.len();
            self.by_number.insert(n, text.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_bounded() {
        let mut texts = Texts::default();
        let half = "x".repeat(BYTES_MAX / 2);
        for n in 0..3 {
            texts.set(n, Some(&half));
        }
        let known = [0, 1, 2].map(|n| texts.get(n).is_some());
        assert_eq!(known, [true, true, false]);
        texts.set(0, Some("short"));
        texts.set(2, Some("there is room again"));
        assert_eq!(texts.get(0).as_deref(), Some("short"));
        assert!(texts.get(2).is_some());
        texts.set(0, None);
        assert_eq!(texts.get(0), None);
    }
}
