//! The visible words of a page with little text, and whether they say anything.

use memchr::memmem;

use super::text::{char_length, is_space};

/// Bytes that are collected: more than a refusal's plenty in any script, and a bound all the same.
const PROSE_BYTES_MAX: usize = 8 * 1024;
/// Longest text that can be a mere waiting message, `If nothing happens, click here.` and similar
/// included.
const WAITING_BYTES_MAX: usize = 100;

/// Phrases of pages whose content is still loading.
const WAITING: [&str; 18] = [
    "loading",
    "please wait",
    "just a moment",
    "one moment",
    "initializing",
    "initialising",
    "redirecting",
    "not redirected",
    "verifying",
    "checking your browser",
    "chargement",
    "wird geladen",
    "cargando",
    "carregando",
    "caricamento",
    "загрузка",
    "読み込み",
    "加载",
];

/// Phrases of pages that do nothing without scripts.
const APPEALS: [&str; 14] = [
    "enable javascript",
    "enable js",
    "javascript enabled",
    "javascript is disabled",
    "javascript is not enabled",
    "javascript is required",
    "javascript must be enabled",
    "javascript to be enabled",
    "requires javascript",
    "without javascript",
    "turn on javascript",
    "activate javascript",
    "activer javascript",
    "javascript aktivieren",
];

/// Visible words: ASCII letters in lower case, white space as single spaces, template placeholders
/// (`{{ name }}`) left out.
#[derive(Default)]
pub(super) struct Prose {
    bytes: Vec<u8>,
    is_in_gap: bool,
}

impl Prose {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether there is more text than is collected.
    pub(super) fn is_full(&self) -> bool {
        self.bytes.len() >= PROSE_BYTES_MAX
    }

    /// Tags separate words here, which is right for all but letters in bold.
    pub(super) fn add_gap(&mut self) {
        self.is_in_gap = true;
    }

    pub(super) fn add(&mut self, text: &[u8]) {
        let mut rest = text;
        while !rest.is_empty() && !self.is_full() {
            let length = match rest {
                [b'{', b'{', ..] => memmem::find(rest, b"}}").map_or(rest.len(), |end| end + 2),
                _ => self.add_char(rest),
            };
            rest = &rest[length..];
        }
    }

    /// Adds the first character and returns its length.
    fn add_char(&mut self, text: &[u8]) -> usize {
        let length = char_length(text);
        let shown = match &text[..length] {
            b"&nbsp;" | b"&#160;" | b"&#xa0;" | b"&#xA0;" | b"\xC2\xA0" => b" ",
            [b'&', _, ..] => b"*".as_slice(),
            char => char,
        };
        if is_space(shown[0]) {
            self.is_in_gap = true;
            return length;
        }
        if self.is_in_gap && !self.bytes.is_empty() {
            self.bytes.push(b' ');
        }
        self.is_in_gap = false;
        self.bytes.extend(shown.iter().map(u8::to_ascii_lowercase));
        length
    }
}

/// Whether there is no word in it.
pub(super) fn is_silent(words: &[u8]) -> bool {
    !words
        .iter()
        .any(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii())
}

/// Whether it is empty or a mere loading message.
pub(super) fn is_waiting(words: &[u8]) -> bool {
    is_silent(words) || (words.len() <= WAITING_BYTES_MAX && has_any(words, &WAITING))
}

/// Whether it asks the reader to enable JavaScript.
pub(super) fn is_appeal(words: &[u8]) -> bool {
    has_any(words, &APPEALS)
}

/// Whether one of the marks is in it, letter by letter.
pub(super) fn has_any(source: &[u8], marks: &[&str]) -> bool {
    marks
        .iter()
        .any(|mark| memmem::find(source, mark.as_bytes()).is_some())
}
