//! The visible words of a page with little text, and whether they say anything.

use std::sync::LazyLock;

use memchr::memmem;

use super::marks::Marks;
use super::text::{char_length, is_space};

/// Bytes that are collected: more than a refusal's plenty in any script, and a bound all the same.
const PROSE_BYTES_MAX: usize = 8 * 1024;
/// Longest text that can be a mere waiting message, `If nothing happens, click here.` and similar
/// included.
const WAITING_BYTES_MAX: usize = 100;

/// Phrases of pages whose content is still loading.
static WAITING: LazyLock<Marks> = LazyLock::new(|| {
    Marks::new([
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
    ])
});

/// Words of a text with such a phrase from which it must be about the waiting.
const WAITING_WORDS_MIN: usize = 8;

/// Words that sentences about waiting consist of, in English. Such sentences of other languages are
/// short.
const WAITING_WORDS: [&str; 47] = [
    "automatically",
    "before",
    "being",
    "browser",
    "button",
    "checking",
    "click",
    "connection",
    "content",
    "continue",
    "do",
    "don't",
    "few",
    "follow",
    "happens",
    "here",
    "if",
    "just",
    "link",
    "loading",
    "loads",
    "moment",
    "moments",
    "not",
    "nothing",
    "now",
    "one",
    "page",
    "please",
    "redirect",
    "redirected",
    "redirecting",
    "request",
    "second",
    "seconds",
    "site",
    "this",
    "to",
    "verified",
    "verifying",
    "wait",
    "we",
    "website",
    "while",
    "will",
    "you",
    "your",
];

/// Phrases of pages that do nothing without scripts.
static APPEALS: LazyLock<Marks> = LazyLock::new(|| {
    Marks::new([
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
    ])
});

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

/// Whether it is empty or a mere loading message. A sentence about something else may have such a
/// phrase: `Loading bay 4 is closed on Monday from nine to five.`
pub(super) fn is_waiting(words: &[u8]) -> bool {
    is_silent(words)
        || (words.len() <= WAITING_BYTES_MAX && WAITING.are_in(words) && is_about_waiting(words))
}

/// Whether a text is short, or at least half of its words are of sentences about waiting.
fn is_about_waiting(words: &[u8]) -> bool {
    let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || !byte.is_ascii() || *byte == b'\'';
    let (mut n_words, mut n_known) = (0, 0);
    for word in words.split(|byte| !is_letter(byte)) {
        if !word.is_empty() {
            n_words += 1;
            let is_known = |known: &&str| known.as_bytes() == word;
            n_known += usize::from(WAITING_WORDS.iter().any(is_known));
        }
    }
    n_words < WAITING_WORDS_MIN || 2 * n_known >= n_words
}

/// Whether it asks the reader to enable JavaScript.
pub(super) fn is_appeal(words: &[u8]) -> bool {
    APPEALS.are_in(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_about_something_else_is_not_about_waiting() {
        for words in [
            "loading...",
            "harbour desk loading",
            "please wait while your request is being verified...",
            "if you are not redirected automatically within 5 seconds, click here",
            "checking your browser before accessing site.example",
            "wird geladen, bitte warten sie einen moment",
            "chargement en cours, veuillez patienter",
            "加载中,请稍候",
            "",
        ] {
            assert!(is_waiting(words.as_bytes()), "{words}");
        }
        for words in [
            "loading bay 4 is closed on monday from nine to five.",
            "the crane is good for loading eight containers an hour.",
            "closed on monday",
        ] {
            assert!(!is_waiting(words.as_bytes()), "{words}");
        }
    }
}
