//! Fonts with their character sets, and styles that are headings.

use std::collections::HashMap;

use encoding_rs::{Encoding, WINDOWS_1252};

/// What control words refer to by number.
pub(crate) struct Styles {
    /// The character set of text without a font that has one of its own.
    pub(crate) default: &'static Encoding,
    fonts: HashMap<i32, &'static Encoding>,
    /// Levels of headings, 1 to 6, by style.
    headings: HashMap<i32, u8>,
}

impl Default for Styles {
    fn default() -> Self {
        Self {
            default: WINDOWS_1252,
            fonts: HashMap::new(),
            headings: HashMap::new(),
        }
    }
}

impl Styles {
    /// The character set of a font.
    pub(crate) fn encoding(&self, font: Option<i32>) -> &'static Encoding {
        let own = font.and_then(|font| self.fonts.get(&font));
        own.copied().unwrap_or(self.default)
    }

    /// Sets the character set of a font by the number of `\fcharset`.
    pub(crate) fn set_charset(&mut self, font: i32, charset: i32) {
        let page = match charset {
            0 => 1252,
            77 => 10_000,
            128 => 932,
            129 => 949,
            134 => 936,
            136 => 950,
            161 => 1253,
            162 => 1254,
            163 => 1258,
            177 => 1255,
            178 => 1256,
            186 => 1257,
            204 => 1251,
            222 => 874,
            238 => 1250,
            _ => return,
        };
        if let Some(encoding) = of_code_page(page) {
            self.fonts.insert(font, encoding);
        }
    }

    /// Sets whether a style is a heading, by its name: `heading 2`.
    pub(crate) fn set_style(&mut self, style: i32, name: &str) {
        let name = name.trim().trim_end_matches(';').to_ascii_lowercase();
        let level = match name.strip_prefix("heading ") {
            Some(level) => level.trim().parse::<u8>().ok(),
            None => (name == "title").then_some(1),
        };
        if let Some(level) = level.filter(|level| (1..=9).contains(level)) {
            self.headings.insert(style, level.min(6));
        }
    }

    /// The level of a heading, 1 to 6; `None` for other styles.
    pub(crate) fn level(&self, style: i32) -> Option<u8> {
        self.headings.get(&style).copied()
    }
}

/// The encoding of a code page of Windows; `None` if it is not known.
pub(crate) fn of_code_page(page: i32) -> Option<&'static Encoding> {
    let label = match page {
        932 => "shift_jis".to_owned(),
        936 => "gbk".to_owned(),
        949 => "euc-kr".to_owned(),
        950 => "big5".to_owned(),
        10_000 => "macintosh".to_owned(),
        65_001 => "utf-8".to_owned(),
        page => format!("windows-{page}"),
    };
    Encoding::for_label(label.as_bytes())
}
