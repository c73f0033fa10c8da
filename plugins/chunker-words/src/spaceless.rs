//! Word segmentation of scripts without spaces, by longest match against a word list.
//!
//! The list is derived from ICU4X, without rare and very long words, and stored as an
//! [`xor filter`](crate::filter): 0.8 MB, queried in place. The ICU4X dictionaries would add 3.1 MB
//! to the component, and its neural models take 6 µs per byte of text.

use crate::filter::{WordHash, fingerprint, slots};

/// The word list: 16 bits per slot, little-endian.
static TABLE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/words.bin"));

/// Maximum word length in the list, in characters.
const IDEOGRAPHS_MAX: usize = 5;
const LETTERS_MAX: usize = 16;

/// Kind of a character in a script without spaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Letter {
    /// Chinese characters and hiragana: a word each, unless the list has a longer one.
    Ideograph,
    /// Katakana: a run is a word.
    Katakana,
    /// Thai, Lao, Khmer, Burmese: a word has several letters.
    Southern,
    /// A mark that belongs to the preceding letter: a vowel, a tone, a variant.
    Sign,
}

impl Letter {
    /// Classifies `c`; `None` for other scripts.
    pub(crate) fn of(c: char) -> Option<Self> {
        Some(match c {
            ..'\u{e01}' => return None,
            '\u{4e00}'..='\u{9fff}' | '\u{3400}'..='\u{4dbf}' | '\u{3041}'..='\u{3096}' => {
                Self::Ideograph
            }
            '\u{30a1}'..='\u{30fa}' | '\u{30fc}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' => {
                Self::Katakana
            }
            '\u{ff66}'..='\u{ff9d}' => Self::Katakana,
            '\u{3005}'..='\u{3007}' | '\u{3021}'..='\u{3029}' | '\u{303b}' => Self::Ideograph,
            '\u{309d}'..='\u{309f}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}' => {
                Self::Ideograph
            }
            '\u{e31}' | '\u{e33}'..='\u{e3a}' | '\u{e47}'..='\u{e4e}' => Self::Sign,
            '\u{eb1}' | '\u{eb3}'..='\u{ebc}' | '\u{ec8}'..='\u{ece}' => Self::Sign,
            '\u{102b}'..='\u{103e}' | '\u{1056}'..='\u{1059}' | '\u{1062}'..='\u{1064}' => {
                Self::Sign
            }
            '\u{17b4}'..='\u{17d3}' | '\u{17dd}' => Self::Sign,
            '\u{3099}' | '\u{309a}' | '\u{ff9e}' | '\u{ff9f}' => Self::Sign,
            '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' => {
                Self::Sign
            }
            '\u{e01}'..='\u{e30}' | '\u{e32}' | '\u{e40}'..='\u{e46}' => Self::Southern,
            '\u{e81}'..='\u{eb0}' | '\u{eb2}' | '\u{ebd}'..='\u{ec6}' | '\u{edc}'..='\u{edf}' => {
                Self::Southern
            }
            '\u{1000}'..='\u{102a}' | '\u{103f}' | '\u{1050}'..='\u{108f}' => Self::Southern,
            '\u{aa60}'..='\u{aa7f}' | '\u{a9e0}'..='\u{a9ef}' => Self::Southern,
            '\u{1780}'..='\u{17b3}' | '\u{17d7}' | '\u{17dc}' => Self::Southern,
            _ => return None,
        })
    }
}

/// Whether `c` starts a word of such a script.
pub(crate) fn begins(c: char) -> bool {
    Letter::of(c).is_some_and(|letter| letter != Letter::Sign)
}

/// Length of the word at the start of a text in such a script.
pub(crate) fn word_len(text: &str) -> usize {
    match text.chars().next().and_then(Letter::of) {
        Some(Letter::Katakana) => katakana_len(text),
        Some(Letter::Southern) => {
            listed_len(text, LETTERS_MAX).unwrap_or_else(|| unlisted_len(text))
        }
        _ => listed_len(text, IDEOGRAPHS_MAX).unwrap_or_else(|| letter_len(text)),
    }
}

fn katakana_len(text: &str) -> usize {
    let is_other = |c| !matches!(Letter::of(c), Some(Letter::Katakana | Letter::Sign));
    text.find(is_other).unwrap_or(text.len())
}

/// Length of the first letter with its marks.
fn letter_len(text: &str) -> usize {
    let first = text.chars().next().map_or(0, char::len_utf8);
    let is_other = |c| Letter::of(c) != Some(Letter::Sign);
    text[first..]
        .find(is_other)
        .map_or(text.len(), |len| first + len)
}

/// Length of the letters before the next listed word or a different script.
fn unlisted_len(text: &str) -> usize {
    let mut len = letter_len(text);
    for _ in 1..LETTERS_MAX {
        let rest = &text[len..];
        let is_southern = rest.chars().next().and_then(Letter::of) == Some(Letter::Southern);
        if !is_southern || listed_len(rest, LETTERS_MAX).is_some() {
            break;
        }
        len += letter_len(rest);
    }
    len
}

/// Length of the longest listed word at the start of a text, of at most `chars_max` characters.
fn listed_len(text: &str, chars_max: usize) -> Option<usize> {
    let mut hash = WordHash::EMPTY;
    let mut listed = None;
    let mut chars = text.char_indices().peekable();
    let mut n_chars = 0;
    while n_chars < chars_max
        && let Some((at, c)) = chars.next()
    {
        let letter = Letter::of(c);
        if letter.is_none() {
            break;
        }
        hash = hash.and(c);
        n_chars += 1;
        let is_whole = chars
            .peek()
            .is_none_or(|&(_, next)| Letter::of(next) != Some(Letter::Sign));
        if n_chars > 1 && is_whole && is_listed(hash.mixed()) {
            listed = Some(at + c.len_utf8());
        }
    }
    listed
}

fn is_listed(hash: u64) -> bool {
    let slot = |slot: usize| u16::from_le_bytes([TABLE[2 * slot], TABLE[2 * slot + 1]]);
    let [a, b, c] = slots(hash, TABLE.len() / 2);
    slot(a) ^ slot(b) ^ slot(c) == fingerprint(hash)
}
