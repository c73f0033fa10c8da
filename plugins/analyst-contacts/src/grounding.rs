//! Whether what a model says stands in the page: whole words, in their order.

use std::ops::Range;

use crate::emails::spoken::{AT, AT_ALONE, DOT, DOT_ALONE, OPENING};
use crate::emails::text::is_word;
use crate::phones;

/// Words for the signs inside a local part or a label: `ann minus lee`.
const JOINTS: [&str; 12] = [
    "minus",
    "dash",
    "hyphen",
    "bindestrich",
    "strich",
    "tiret",
    "guion",
    "guión",
    "trattino",
    "underscore",
    "unterstrich",
    "plus",
];
/// Most bytes between two words of an address: blanks, brackets and a sign.
const GAP_BYTES_MAX: usize = 12;

/// The page's text in forms to compare with.
pub(crate) struct Text {
    /// The text in lower case.
    lower: String,
    /// Where its words stand.
    words: Vec<Range<usize>>,
    letters: Letters,
    digits: String,
}

impl Text {
    /// Reads a text.
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

    /// Whether a part stands in the text, from the begin of a word to the end of one, whatever signs and blanks are in it.
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

    /// Whether the digits stand in one line.
    pub(crate) fn has_digits(&self, digits: &str) -> bool {
        self.digits.contains(digits.trim_start_matches('0'))
    }

    /// Whether an address stands in the text: its words in their order, an `@` or a word for it between local part and domain, and a
    /// dot or a word for it between labels.
    pub(crate) fn has_address(&self, address: &str) -> bool {
        let address = address.to_lowercase();
        let Some((_, domain)) = address.split_once('@') else {
            return false;
        };
        if !domain.contains('.') {
            return false;
        }
        let parts = words(&address);
        // What joins each word of the address to the one before it.
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

    /// What stands between a word and the next one.
    fn gap(&self, at: usize) -> Option<&str> {
        let (word, next) = (self.words.get(at)?, self.words.get(at + 1)?);
        Some(&self.lower[word.end..next.start])
    }

    /// Whether the word is only the end of a longer local part: `sales.info@`.
    fn is_joined_before(&self, start: usize) -> bool {
        start
            .checked_sub(1)
            .and_then(|before| self.gap(before))
            .is_some_and(|gap| matches!(gap, "." | "-" | "_" | "+" | "'"))
    }

    /// Whether the other words of an address follow on its first one.
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
        // `acme.com` is not what `acme.com.au` says.
        !self
            .gap(at)
            .is_some_and(|gap| matches!(gap, "." | "-" | "@"))
    }

    /// The word behind the sign of an address, when that sign follows on a word: written, or said in a word or two.
    fn after_joint(&self, at: usize, joint: &str) -> Option<usize> {
        let gap = self.gap(at)?;
        if gap.len() > GAP_BYTES_MAX {
            return None;
        }
        let signs = gap.trim_matches(|c: char| c.is_whitespace() || is_bracket(c));
        let is_written = match joint {
            "@" => matches!(
                signs,
                "@" | "＠" | "★" | "☆" | "◎" | "●" | "■" | "◆" | "#" | "＃"
            ),
            "." => matches!(signs, "." | "．"),
            // `_` is a bracket too.
            joint => signs == joint || gap.trim() == joint,
        };
        if is_written {
            return Some(at + 1);
        }
        // One word, or two as in `snabel-a` and `at sign`.
        for n_words in [2, 1] {
            let Some(behind) = self.gap(at + n_words) else {
                continue;
            };
            let said = self.words[at + 1].start..self.words[at + n_words].end;
            let name = self.lower[said].replace(' ', "-");
            if !signs.is_empty() || behind.len() > GAP_BYTES_MAX || !is_empty(behind) {
                continue;
            }
            let is_bracketed = gap.contains(is_bracket) && behind.contains(is_bracket);
            let is_apart = is_bracketed || (!gap.is_empty() && !behind.is_empty());
            let name = name.as_str();
            let is_said = match joint {
                "@" => {
                    name == "at"
                        || name == "at-sign"
                        || AT_ALONE.contains(&name)
                        || is_bracketed && AT.contains(&name)
                }
                "." => DOT_ALONE.contains(&name) || is_bracketed && DOT.contains(&name),
                _ => JOINTS.contains(&name),
            };
            if is_apart && is_said {
                return Some(at + n_words + 1);
            }
        }
        None
    }
}

fn is_bracket(character: char) -> bool {
    OPENING.contains(&character) || matches!(character, ')' | ']' | '}' | '>' | '»' | '）')
}

/// Whether there are only blanks and brackets.
fn is_empty(gap: &str) -> bool {
    gap.chars().all(|c| c.is_whitespace() || is_bracket(c))
}

/// Where the words of a text stand: runs of letters and digits; scripts that set no words apart are runs of their own.
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

/// The letters and digits of a text in lower case, without anything between them.
struct Letters {
    letters: String,
    /// For each byte, and for the end: whether a word may begin or end there.
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
            ("info snabel-a acme punkt dk", "info@acme.dk", true),
            ("info at sign acme.dk", "info@acme.dk", true),
            (
                "ann dot lee at my-acme dot com",
                "ann.lee@my-acme.com",
                true,
            ),
            ("ann_lee@acme.com", "ann_lee@acme.com", true),
            ("ann minus lee at acme.com", "ann-lee@acme.com", true),
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
