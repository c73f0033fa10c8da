//! Checks that the answers of a model occur on the page: whole words in the same order.

use analyst_base::lists;

use crate::emails::obfuscated::with_signs;
use crate::emails::text::{is_domain, is_local, is_word};
use crate::phones;
use crate::words::{ATS, DOTS};

/// The text of a page in the forms used for comparison.
pub(crate) struct Text {
    /// The text in lower case, with signs for the words for `@` and dots in e-mail addresses.
    signs: String,
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
        Self {
            signs: text.to_lowercase().lines().map(spelled).collect(),
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

    /// Whether an e-mail address occurs in the text as a whole, its signs written or spelled out.
    pub(crate) fn has_address(&self, address: &str) -> bool {
        let address = address.to_lowercase();
        let is_address = address.contains('@') && address.contains('.');
        is_address
            && self.signs.match_indices(&address).any(|(at, _)| {
                let (before, after) = (&self.signs[..at], &self.signs[at + address.len()..]);
                // `acme.com` does not occur in `acme.com.au`, but before a full stop.
                let after = after.strip_prefix('.').unwrap_or(after);
                !before.ends_with(is_local) && !after.starts_with(is_domain)
            })
    }
}

/// A line with signs for the words for `@` and the dot, which is a sign between words as well:
/// `info at acme dot de`.
fn spelled(line: &str) -> String {
    let line = with_signs(line, '@').unwrap_or_else(|| line.to_owned());
    let mut out = String::with_capacity(line.len() + 1);
    let mut is_joined = true;
    for word in line.split_whitespace() {
        // A single letter is a sign in brackets only.
        let is_word = word.chars().count() > 1;
        let sign = match word {
            word if is_word && lists(ATS, word) => "@",
            word if is_word && lists(DOTS, word) => ".",
            _ => "",
        };
        if sign.is_empty() && !is_joined {
            out.push(' ');
        }
        out.push_str(if sign.is_empty() { word } else { sign });
        is_joined = !sign.is_empty();
    }
    out.push('\n');
    out
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
    fn addresses_occur_as_a_whole() {
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
    fn parts_occur_in_whole_words() {
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
