//! Character boundaries of a text.

use unicode_segmentation::UnicodeSegmentation;

/// Start offsets of grapheme clusters. Each ASCII character is a cluster, except for CR LF, so the
/// Unicode tables are only consulted next to other characters.
pub(crate) struct Graphemes<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Graphemes<'t> {
    pub(crate) fn of(text: &'t str) -> Self {
        Self { text, at: 0 }
    }
}

impl Iterator for Graphemes<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        let start = self.at;
        let bytes = self.text.as_bytes();
        let byte = *bytes.get(start)?;
        let is_next_ascii = bytes.get(start + 1).is_none_or(u8::is_ascii);
        self.at += if byte.is_ascii() && byte != b'\r' && is_next_ascii {
            1
        } else {
            let mut graphemes = self.text[start..].graphemes(true);
            graphemes.next().map_or(1, str::len)
        };
        Some(start)
    }
}
