//! Checks that the answers of a model occur on the page: whole words in the same order.

use std::ops::Range;

use analyst_base::lists;

use crate::emails::text::is_word;
use crate::phones;
use crate::words::{ATS, DOTS};

/// Maximum bytes between two words of an e-mail address: blanks, brackets and a sign.
const GAP_BYTES_MAX: usize = 12;

/// The text of a page in the forms used for comparison.
pub(crate) struct Text {
    /// The text in lower case.
    lower: String,
    /// Ranges of its words.
    words: Vec<Range<usize>>,
    letters: Letters,
    digits: String,
}

impl Text {
    /// Prepares a text.
    pub(crate) fn of(text: &str) -> Self {
        let digits = text
            .lines()
            .map(|line| phones::digits_of(line) + "\n")
            .collect();
        let lower = text.to_lowercase();
        Self {
            words: words(&lower),
            lower,
            letters: Letters::of(text),
            digits,
        }
    }

    /// Whether a part occurs in the text from word boundary to word boundary, ignoring everything
    /// but letters and digits.
    pub(crate) fn has(&self, part: &str) -> bool {
        let part = Letters::of(part).letters;
        let is_edge = |at: usize| self.letters.is_edge[at];
        !part.is_empty()
            && self
                .letters
                .letters
                .match_indices(&part)
                .any(|(at, _)| is_edge(at) && is_edge(at + part.len()))
    }

    /// Whether the digits occur in one line.
    pub(crate) fn has_digits(&self, digits: &str) -> bool {
        self.digits.contains(digits.trim_start_matches('0'))
    }

    /// Whether an e-mail address occurs in the text: its words in order, joined by `@` and dots or
    /// by words for them.
    pub(crate) fn has_address(&self, address: &str) -> bool {
        let address = address.to_lowercase();
        let Some((_, domain)) = address.split_once('@') else {
            return false;
        };
        if !domain.contains('.') {
            return false;
        }
        let parts = words(&address);
        // The separators between the words of the e-mail address.
        let joints: Vec<&str> = parts
            .windows(2)
            .map(|pair| &address[pair[0].end..pair[1].start])
            .collect();
        let Some(first) = parts.first().map(|part| &address[part.clone()]) else {
            return false;
        };
        (0..self.words.len()).any(|start| {
            self.word(start) == Some(first)
                && !self.is_joined_before(start)
                && self.goes_on(start, &address, &parts, &joints)
        })
    }

    fn word(&self, at: usize) -> Option<&str> {
        self.words.get(at).map(|word| &self.lower[word.clone()])
    }

    /// The text between a word and the next one.
    fn gap(&self, at: usize) -> Option<&str> {
        let (word, next) = (self.words.get(at)?, self.words.get(at + 1)?);
        Some(&self.lower[word.end..next.start])
    }

    /// Whether the word continues a longer local part: `sales.info@`.
    fn is_joined_before(&self, start: usize) -> bool {
        start
            .checked_sub(1)
            .and_then(|before| self.gap(before))
            .is_some_and(|gap| matches!(gap, "." | "-" | "_" | "+" | "'"))
    }

    /// Whether the remaining words of an e-mail address follow the first one.
    fn goes_on(
        &self,
        start: usize,
        address: &str,
        parts: &[Range<usize>],
        joints: &[&str],
    ) -> bool {
        let mut at = start;
        for (joint, part) in joints.iter().zip(&parts[1..]) {
            let Some(next) = self.after_joint(at, joint) else {
                return false;
            };
            if self.word(next) != Some(&address[part.clone()]) {
                return false;
            }
            at = next;
        }
        // `acme.com` does not occur in `acme.com.au`.
        !self
            .gap(at)
            .is_some_and(|gap| matches!(gap, "." | "-" | "@"))
    }

    /// The word after a separator, which may be a word.
    fn after_joint(&self, at: usize, joint: &str) -> Option<usize> {
        let gap = self.gap(at)?;
        if gap.len() > GAP_BYTES_MAX {
            return None;
        }
        let is_written = match joint {
            "@" | "." => {
                let signs = gap.trim_matches(|c: char| c.is_whitespace() || is_bracket(c));
                matches!((joint, signs), ("@", "@" | "＠") | (".", "."))
            }
            joint => gap.trim() == joint,
        };
        if is_written {
            return Some(at + 1);
        }
        let (name, after) = (self.word(at + 1)?, self.gap(at + 1)?);
        let is_apart = is_empty(gap) && is_empty(after) && after.len() <= GAP_BYTES_MAX;
        let is_bracketed = gap.contains(is_bracket) && after.contains(is_bracket);
        // A single letter is a sign in brackets only.
        let is_sign = is_bracketed || name.len() > 1;
        let is_named = match joint {
            "@" => lists(ATS, name),
            "." => lists(DOTS, name),
            _ => false,
        };
        (is_apart && is_sign && is_named).then_some(at + 2)
    }
}

fn is_bracket(character: char) -> bool {
    "()[]{}<>«»（）|*_".contains(character)
}

/// Whether a gap consists of blanks and brackets.
fn is_empty(gap: &str) -> bool {
    !gap.is_empty() && gap.chars().all(|c| c.is_whitespace() || is_bracket(c))
}

/// Ranges of the words of a text: runs of letters and digits, split where a script that separates
/// words meets one that does not.
fn words(text: &str) -> Vec<Range<usize>> {
    let mut words: Vec<Range<usize>> = Vec::new();
    let mut is_western = None;
    for (at, character) in text.char_indices() {
        if !character.is_alphanumeric() {
            is_western = None;
            continue;
        }
        let (end, is_own) = (at + character.len_utf8(), is_word(character));
        match words.last_mut() {
            Some(word) if is_western == Some(is_own) => word.end = end,
            _ => words.push(at..end),
        }
        is_western = Some(is_own);
    }
    words
}

/// The letters and digits of a text in lower case.
struct Letters {
    letters: String,
    /// For each byte offset, including the end, whether it is a word boundary.
    is_edge: Vec<bool>,
}

impl Letters {
    fn of(text: &str) -> Self {
        let (mut letters, mut is_edge) = (String::new(), Vec::new());
        let mut last: Option<char> = None;
        for character in text.chars() {
            if !character.is_alphanumeric() {
                last = None;
                continue;
            }
            let begins = last.is_none_or(|last| {
                !is_word(last) || !is_word(character) || last.is_numeric() != character.is_numeric()
            });
            is_edge.push(begins);
            letters.extend(character.to_lowercase());
            is_edge.resize(letters.len(), false);
            last = Some(character);
        }
        is_edge.push(true);
        Self { letters, is_edge }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_stand_in_whole_words() {
        for (text, address, expected) in [
            (
                "Information about Acme Communications",
                "info@acme.com",
                false,
            ),
            ("info at Acme Communications", "info@acme.com", false),
            ("info about acme.com", "info@acme.com", false),
            ("info acme com", "info@acme.com", false),
            ("info@acme.com", "info@acme.com", true),
            ("Write to INFO@Acme.COM.", "info@acme.com", true),
            ("sales.info@acme.com", "info@acme.com", false),
            ("info@acme.com.au", "info@acme.com", false),
            ("info at acme dot com", "info@acme.com", true),
            ("info (ät) acme (punkt) de", "info@acme.de", true),
            ("info a acme.com", "info@acme.com", false),
            ("info [a] acme.com", "info@acme.com", true),
            (
                "ann dot lee at my-acme dot com",
                "ann.lee@my-acme.com",
                true,
            ),
            ("ann_lee@acme.com", "ann_lee@acme.com", true),
            ("ann lee at acme.com", "ann.lee@acme.com", false),
            ("邮箱info@acme.cn请", "info@acme.cn", true),
            ("acme.com", "@", false),
        ] {
            assert_eq!(
                Text::of(text).has_address(address),
                expected,
                "{text} {address}"
            );
        }
    }

    #[test]
    fn parts_stand_in_whole_words() {
        for (text, part, expected) in [
            ("We need it", "Ed", false),
            ("Ask Ed.", "Ed", true),
            ("Jo Vance, who", "jo vance", true),
            ("DE 123 456 789", "DE123456789", true),
            ("12345", "234", false),
            ("代表取締役山田太郎です", "山田太郎", true),
            ("İzmir Ed", "ed", true),
            ("x", "-", false),
        ] {
            assert_eq!(Text::of(text).has(part), expected, "{text} {part}");
        }
    }
}
