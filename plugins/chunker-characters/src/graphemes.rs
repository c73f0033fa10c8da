//! Where the characters of a text begin.

use unicode_segmentation::UnicodeSegmentation;

/// The offsets at which grapheme clusters begin. ASCII is its own cluster, but for a carriage return with its line feed, so tables
/// are asked only about what stands next to other characters.
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
