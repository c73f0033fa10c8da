//! Matches names with the local parts of e-mail addresses.

use super::fold::plain_word;
use crate::found::Email;

/// Maximum number of e-mail addresses that are compared with names.
const LOCALS_MAX: usize = 100;

/// The local parts of the e-mail addresses of a page, split into words.
pub(super) struct LocalParts {
    parts: Vec<Vec<String>>,
    /// Letters of the host name: words in it name the site, not a person.
    host: String,
}

impl LocalParts {
    /// Splits the local parts of the first e-mail addresses; `url` is the URL of the page.
    pub(super) fn of(emails: &[Email], url: &str) -> Self {
        let parts = emails.iter().take(LOCALS_MAX).map(|email| {
            let local = email.value.split('@').next().unwrap_or_default();
            plain_word(local)
                .split(|c: char| !c.is_alphabetic())
                .filter(|part| !part.is_empty())
                .map(str::to_owned)
                .collect()
        });
        let host = url.split('/').nth(2).unwrap_or_default();
        Self {
            parts: parts.collect(),
            host: host.chars().filter(|c| c.is_alphabetic()).collect(),
        }
    }

    /// Whether a local part derives from the name: `ann.lee`, `alee`, `ann`.
    pub(super) fn name(&self, name: &str) -> bool {
        if self.parts.is_empty() {
            return false;
        }
        let words: Vec<String> = name
            .split(|c: char| !c.is_alphabetic() && c != '\'' && c != '’')
            .map(|word| plain_word(word.trim_end_matches('.')))
            .filter(|word| !word.is_empty())
            .collect();
        let spelled: Vec<String> = words.iter().map(|word| spelled_out(word)).collect();
        if words
            .iter()
            .any(|word| word.len() > 3 && self.host.contains(word.as_str()))
            && words.len() < 3
            && words.iter().all(|word| self.host.contains(word.as_str()))
        {
            return false;
        }
        self.parts
            .iter()
            .any(|parts| self.is_of(parts, &words) || self.is_of(parts, &spelled))
    }

    fn is_of(&self, parts: &[String], words: &[String]) -> bool {
        let (Some(first), Some(last)) = (words.first(), words.last()) else {
            return false;
        };
        let initial = |word: &str| word.chars().take(1).collect::<String>();
        match parts {
            [one] => {
                let is_alone = one.len() > 2 && (one == first || one == last && one.len() > 3);
                is_alone && !self.host.contains(one.as_str())
                    || *one == initial(first) + last
                    || *one == format!("{first}{}", initial(last))
                    || *one == initial(last) + first
                    || *one == format!("{last}{}", initial(first))
                    || *one == format!("{first}{last}") && !self.host.contains(one.as_str())
                    || *one == format!("{last}{first}") && !self.host.contains(one.as_str())
            }
            parts => {
                let fits = |part: &String| {
                    words.contains(part)
                        || part.len() == 1 && words.iter().any(|word| initial(word) == *part)
                };
                parts
                    .iter()
                    .filter(|part| part.len() > 2 && words.contains(part))
                    .count()
                    >= 1
                    && parts.iter().all(fits)
                    || parts.len() == 2
                        && parts[0].len() > 1
                        && parts[1].len() > 2
                        && parts.iter().all(|part| words.contains(part))
            }
        }
    }
}

/// A word without characters that local parts do not have: `O'Neill` is `oneill`.
fn spelled_out(word: &str) -> String {
    word.replace(['\'', '’'], "")
}
