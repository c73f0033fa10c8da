//! Hyphens at the ends of lines: those of words that the document writes with a hyphen stay, all
//! others divide words.

use std::collections::HashSet;

use crate::blocks::{self, Block};
use crate::furniture::PageLines;
use crate::lines::{KEPT_HYPHEN, Line};

/// Marks the hyphens that stay. `titles` are those of the outline, which are not divided.
pub(crate) fn keep<'a>(pages: &mut [PageLines], titles: impl Iterator<Item = &'a str>) {
    let mut known = Known::default();
    titles.for_each(|title| known.add(title));
    for line in pages.iter().flat_map(|page| &page.columns).flatten() {
        known.add(&line.text());
    }
    if known.with_hyphen.is_empty() {
        return;
    }
    let mut next = String::new();
    let columns = pages.iter_mut().flat_map(|page| &mut page.columns);
    let columns: Vec<&mut Vec<Line>> = columns.collect();
    for line in columns
        .into_iter()
        .rev()
        .flat_map(|column| column.iter_mut().rev())
    {
        let text = line.text();
        if known.keeps(&text, &next)
            && let Some(run) = line
                .pieces
                .last_mut()
                .and_then(|piece| piece.runs.last_mut())
            && run.text.ends_with('-')
        {
            run.text.pop();
            run.text.push(KEPT_HYPHEN);
        }
        next = text;
    }
}

/// Writes the marked hyphens as they are elsewhere.
pub(crate) fn restore(blocks: &mut [Block]) {
    let texts = blocks.iter_mut().flat_map(blocks::texts);
    for run in texts.flatten().filter(|run| run.text.contains(KEPT_HYPHEN)) {
        run.text = run.text.replace(KEPT_HYPHEN, "-");
    }
}

/// The words of a document, in lower case.
#[derive(Debug, Default)]
struct Known {
    /// Words with a hyphen, two parts each.
    with_hyphen: HashSet<String>,
    /// Words without one.
    whole: HashSet<String>,
}

impl Known {
    fn add(&mut self, text: &str) {
        for word in text.split_whitespace() {
            let parts: Vec<&str> = word.split('-').collect();
            for pair in parts.windows(2) {
                let (before, after) = (last_part(pair[0]), first_part(pair[1]));
                if !before.is_empty() && !after.is_empty() {
                    self.with_hyphen
                        .insert(format!("{before}-{after}").to_lowercase());
                }
            }
            if parts.len() == 1 {
                let word = word.trim_matches(|c: char| !c.is_alphanumeric());
                self.whole.insert(word.to_lowercase());
            }
        }
    }

    /// Whether the hyphen that ends a line stays before the next.
    fn keeps(&self, text: &str, next: &str) -> bool {
        let Some(text) = text.trim_end().strip_suffix('-') else {
            return false;
        };
        let word = text.rsplit(char::is_whitespace).next().unwrap_or_default();
        let (before, after) = (last_part(text), first_part(next.trim_start()));
        let is_known = |joint: &str, words: &HashSet<String>| {
            words.contains(&format!("{before}{joint}{after}").to_lowercase())
        };
        !word.contains("://")
            && !before.is_empty()
            && !after.is_empty()
            && is_known("-", &self.with_hyphen)
            && !is_known("", &self.whole)
    }
}

/// The letters and digits that a text ends with.
fn last_part(text: &str) -> &str {
    let end = text.trim_end_matches(char::is_alphanumeric).len();
    &text[end..]
}

/// The letters and digits that a text begins with.
fn first_part(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric());
    &text[..end.unwrap_or(text.len())]
}

#[cfg(test)]
mod tests {
    use super::Known;

    #[test]
    fn hyphens_stay_in_words_that_have_one_elsewhere() {
        let mut known = Known::default();
        known.add("A low-water mark, (x86-64-linux-gnu) and the spring tides.");
        for (text, next, expected) in [
            ("the low-", "water", true),
            ("x86-64-linux-", "gnu/", true),
            ("Low-", "Water.", true),
            ("the num-", "ber", false),
            ("spr-", "ing", false),
            ("low", "water", false),
            ("https://a.example/low-", "water", false),
        ] {
            assert_eq!(known.keeps(text, next), expected, "{text}{next}");
        }
    }
}
