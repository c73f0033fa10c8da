//! Which lines are headings, and of which level: by their size and weight, what stands around them,
//! and the document's outline.

use std::collections::{HashMap, HashSet};

use crate::furniture::PageLines;
use crate::lines::{Line, order};

/// A heading is larger than the text by this factor.
const HEADING_SIZE: f32 = 1.12;
/// Likewise, if it is bold.
const BOLD_HEADING_SIZE: f32 = 1.06;
/// Titles of an outline that say which large lines are headings, at least.
const OUTLINE_MIN: usize = 10;
/// Titles of an outline that is a part of a document's structure, at least.
const TITLES_MIN: usize = 3;
/// How far what stands apart is from the text, in distances of lines.
const APART: f32 = 1.15;
/// How often a large line that is no heading stands in a document outside its outline: `Note`.
const REPEATED_MIN: usize = 3;
/// Longest heading, in characters.
const HEADING_CHARACTERS_MAX: usize = 200;

/// Which sizes are text and which are headings, and what the outline calls a heading.
#[derive(Debug, Default)]
pub(crate) struct Looks {
    pub(crate) body: f32,
    /// From the largest; at most six.
    headings: Vec<f32>,
    /// Levels of the outline's titles, by their letters and digits.
    outline: HashMap<String, u8>,
    /// Large and bold lines that say what stands below them again and again, likewise.
    repeated: HashSet<String>,
    /// Raised numbers within the text, which refer to notes.
    raised: HashSet<String>,
}

impl Looks {
    pub(crate) fn of(
        pages: &[PageLines],
        outline: impl IntoIterator<Item = (String, usize)>,
    ) -> Self {
        let mut n_characters: HashMap<i32, usize> = HashMap::new();
        for piece in pages
            .iter()
            .flat_map(|page| &page.columns)
            .flatten()
            .flat_map(|line| &line.pieces)
        {
            *n_characters
                .entry((piece.size * 2.0).round() as i32)
                .or_default() += piece.n_characters();
        }
        let all: usize = n_characters.values().sum();
        let body = n_characters
            .iter()
            .max_by_key(|(size, count)| (**count, **size))
            .map_or(10, |(size, _)| *size);
        let body = body as f32 / 2.0;
        let mut sizes: Vec<f32> = n_characters
            .iter()
            .filter(|(size, count)| **size as f32 / 2.0 > body * HEADING_SIZE && **count * 4 < all)
            .map(|(size, _)| *size as f32 / 2.0)
            .collect();
        sizes.sort_by(|one, other| order(*other, *one));
        sizes.dedup_by(|one, other| *one > *other * 0.94);
        sizes.truncate(6);
        let titles = outline
            .into_iter()
            .map(|(title, level)| (letters(&title), level.clamp(1, 6) as u8));
        let outline = titles.filter(|(title, _)| !title.is_empty()).collect();
        let mut looks = Self {
            body,
            headings: sizes,
            outline,
            repeated: HashSet::new(),
            raised: raised(pages),
        };
        looks.repeated = looks.repeated(pages);
        looks
    }

    /// The large and bold lines that come again and again, but not in the outline, if it is long.
    fn repeated(&self, pages: &[PageLines]) -> HashSet<String> {
        let mut counts: HashMap<String, usize> = HashMap::new();
        if self.outline.len() < OUTLINE_MIN {
            return HashSet::new();
        }
        for line in pages.iter().flat_map(|page| &page.columns).flatten() {
            if self.is_large(line.size) || line.is_all(|style| style.is_bold) {
                *counts.entry(letters(&line.text())).or_default() += 1;
            }
        }
        counts.retain(|text, count| *count >= REPEATED_MIN && !self.outline.contains_key(text));
        counts.into_keys().collect()
    }

    /// Whether text of this size is larger than the text of the document, as headings are.
    pub(crate) fn is_large(&self, size: f32) -> bool {
        size > self.body * HEADING_SIZE
    }

    /// Whether a text is a title of the outline.
    pub(crate) fn is_listed(&self, text: &str) -> bool {
        self.outline.contains_key(&letters(text))
    }

    /// Whether a raised number within the text refers to the note with this number.
    pub(crate) fn refers(&self, label: &str) -> bool {
        self.raised.contains(label)
    }

    /// The level of a heading of these lines; `None` if they are none.
    pub(crate) fn level(&self, lines: &[Line], space: Space) -> Option<u8> {
        let text: String = lines.iter().map(Line::text).collect::<Vec<_>>().join(" ");
        let n_characters = text.chars().count();
        if n_characters > HEADING_CHARACTERS_MAX || !text.chars().any(char::is_alphabetic) {
            return None;
        }
        let size = lines[0].size;
        if let Some(level) = self.outline.get(&letters(&text)) {
            return Some(*level);
        }
        let n_letters = text.chars().filter(|c| c.is_alphanumeric()).count();
        if self.repeated.contains(&letters(&text)) || n_letters == 1 {
            return None;
        }
        let is_bold = lines.iter().all(|line| line.is_all(|style| style.is_bold));
        // Authors and a date are large as well on the first page, below the title.
        if size < 0.95 * space.title && self.outline.len() >= TITLES_MIN {
            return None;
        }
        if self.is_large(size) || is_bold && size > self.body * BOLD_HEADING_SIZE {
            let at = self.headings.iter().position(|known| size > known * 0.95);
            let level = at.map_or(self.headings.len().max(1), |at| at + 1);
            return Some(level.min(6) as u8);
        }
        let ends_open = text.trim_end().ends_with(['.', ',', ';', ':']);
        let is_title = is_bold
            && begins_as_title(&text)
            && !ends_open
            && lines.len() <= 2
            && n_characters <= 120
            && size > self.body * 0.9;
        // Outlines often lack the deepest level. Text follows a term at once, a title later.
        let has_outline = self.outline.len() >= TITLES_MIN;
        let stands_apart = space.above > APART
            && (space.below > APART || !has_outline && space.below >= 0.9 || is_numbered(&text));
        (is_title && stands_apart && !space.is_term)
            .then(|| (self.headings.len() + 1).clamp(2, 6) as u8)
    }
}

/// The distances of a text from what is above and below, in those of the lines of its column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Space {
    pub(crate) above: f32,
    pub(crate) below: f32,
    /// The size of the title, on the first page.
    pub(crate) title: f32,
    /// Whether what is below begins further to the right, as what is said of a term.
    pub(crate) is_term: bool,
}

/// The numbers within the text that are raised.
fn raised(pages: &[PageLines]) -> HashSet<String> {
    let lines = pages.iter().flat_map(|page| &page.columns).flatten();
    let pieces = lines.flat_map(|line| line.pieces.iter().skip(1));
    let runs = pieces.flat_map(|piece| &piece.runs);
    let numbers = runs
        .filter(|run| run.style.is_raised)
        .map(|run| run.text.trim());
    let is_number = |text: &&str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    numbers.filter(is_number).map(str::to_owned).collect()
}

/// Whether a text begins with the number of a section: `2.1`, `B.4.7`.
fn is_numbered(text: &str) -> bool {
    let word = text.split_whitespace().next().unwrap_or_default();
    let mut parts = word.trim_end_matches('.').split('.');
    let first = parts.next().unwrap_or_default();
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let is_letter = first.len() == 1 && first.bytes().all(|byte| byte.is_ascii_uppercase());
    let mut rest = parts.peekable();
    (is_digits(first) || is_letter) && rest.peek().is_some() && rest.all(is_digits)
}

/// Whether a text begins as titles do, and not as options of a command or names in code.
fn begins_as_title(text: &str) -> bool {
    let first = text.trim_start().chars().next();
    first.is_some_and(|c| c.is_alphanumeric() && !c.is_lowercase() || "¿¡«“\"".contains(c))
}

/// A title by which texts are compared: its letters and digits.
fn letters(text: &str) -> String {
    let kept = text
        .chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase);
    let kept: String = kept.collect();
    // The number of a chapter stands in one of the two only.
    kept.trim_start_matches(|c: char| c.is_ascii_digit())
        .to_owned()
}
