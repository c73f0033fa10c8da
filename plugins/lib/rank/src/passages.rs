//! Splits a page into passages: long enough to be informative, short enough to be an answer.

use std::ops::Range;

use super::{Block, BlockKind, Region};

/// Length of a passage in characters, if its section is long enough: shorter paragraphs are joined,
/// longer ones split between sentences.
pub(super) const PASSAGE_CHARS: Range<usize> = 200..800;

/// Fraction of link text from which a block counts as a list of links.
const LINK_SHARE_MAX: f32 = 0.6;
/// Maximum length of an abbreviation whose full stop does not end a sentence, in characters.
const ABBREVIATION_CHARS: usize = 3;

/// A passage of a page.
#[derive(Clone, Debug, PartialEq)]
pub struct Passage {
    /// Its text: consecutive blocks of the page, one per line.
    pub text: String,
    /// Index of its heading among the blocks.
    pub heading: Option<usize>,
    /// Region of the page it is in.
    pub region: Region,
    /// Index of its first block.
    pub block: usize,
}

/// The passages of a page with these blocks. Menus, notices and lists of links yield none; headings
/// are not part of passages.
pub fn passages(blocks: &[Block<'_>]) -> Vec<Passage> {
    let mut passages: Vec<Passage> = Vec::new();
    let mut is_open = false;
    for (at, block) in blocks.iter().enumerate() {
        let is_text = !matches!(block.kind, BlockKind::Heading(_))
            && !matches!(block.region, Region::Nav | Region::Notice)
            && block.link_share <= LINK_SHARE_MAX;
        if !is_text {
            is_open &= block.link_share > LINK_SHARE_MAX;
            continue;
        }
        for piece in pieces(&block.text) {
            let last = passages.last_mut().filter(|last| {
                is_open && last.heading == block.heading && last.region == block.region
            });
            let n_chars = |text: &str| text.chars().count();
            match last {
                Some(last)
                    if n_chars(&last.text) < PASSAGE_CHARS.start
                        && n_chars(&last.text) + n_chars(piece) < PASSAGE_CHARS.end =>
                {
                    last.text.push('\n');
                    last.text.push_str(piece);
                }
                _ => {
                    passages.push(Passage {
                        text: piece.to_owned(),
                        heading: block.heading,
                        region: block.region,
                        block: at,
                    });
                    is_open = true;
                }
            }
        }
    }
    passages
}

/// Splits a text into pieces of a passage's length, between sentences where possible.
fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((most, _)) = rest.char_indices().nth(PASSAGE_CHARS.end) {
        let least = rest
            .char_indices()
            .nth(PASSAGE_CHARS.start)
            .map_or(0, |(at, _)| at);
        let sentence = sentence_ends(&rest[..most])
            .filter(|&end| end >= least)
            .last();
        let word = || rest[..most].rfind(' ').filter(|&end| end >= least);
        let end = sentence.or_else(word).unwrap_or(most);
        pieces.push(rest[..end].trim());
        rest = rest[end..].trim_start();
    }
    if !rest.is_empty() {
        pieces.push(rest);
    }
    pieces
}

/// Byte offsets after the end of each sentence of a text. A full stop does not end a sentence after
/// a number or a short word (`z. B.`, `Dr.`), or before a lower-case letter.
pub(super) fn sentence_ends(text: &str) -> impl Iterator<Item = usize> {
    let mut word_chars = 0;
    let mut is_number = false;
    text.char_indices().filter_map(move |(at, c)| {
        let (chars, number) = (word_chars, is_number);
        if c.is_alphanumeric() {
            word_chars += 1;
            is_number = c.is_numeric();
            return None;
        }
        word_chars = 0;
        let behind = at + c.len_utf8();
        if matches!(c, '。' | '！' | '？' | '｡') {
            return Some(behind);
        }
        if !matches!(c, '.' | '!' | '?' | '…' | '؟' | '।' | ';') || (c == ';' && !is_greek(text))
        {
            return None;
        }
        let closing = text[behind..].trim_start_matches(['"', '\'', '”', '“', '’', '»', ')', ']']);
        let end = text.len() - closing.len();
        let next = closing.trim_start().chars().next();
        let is_spaced = closing.is_empty() || closing.starts_with(char::is_whitespace);
        // A closing quotation mark after the full stop belongs to the sentence.
        let is_abbreviation = c == '.'
            && end == behind
            && !closing.is_empty()
            && chars <= ABBREVIATION_CHARS
            && (number || chars < ABBREVIATION_CHARS || is_title(&text[..at]));
        let is_begun = next.is_none_or(|next| !next.is_lowercase());
        (is_spaced && is_begun && !is_abbreviation).then_some(end)
    })
}

/// Whether a text ends with a title or a three-letter abbreviation that precedes names and numbers.
fn is_title(text: &str) -> bool {
    const TITLES: [&str; 10] = [
        "Mrs", "Dra", "Sra", "Abs", "Art", "Nos", "bzw", "vgl", "Str", "Tel",
    ];
    TITLES.iter().any(|title| text.ends_with(title))
}

/// Whether a text is Greek, where a semicolon is a question mark.
fn is_greek(text: &str) -> bool {
    text.chars()
        .take(40)
        .any(|c| matches!(c, 'α'..='ω' | 'Α'..='Ω'))
}
