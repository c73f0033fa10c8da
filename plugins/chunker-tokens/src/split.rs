//! How the published tokenizers split a text before they merge: by a regular expression, whose
//! alternatives are the functions here, in its order. Each takes the rest of a text and gives the
//! length of what it matches at its start, in bytes; zero if it does not match.

/// Ranges of characters, in order.
struct CharClass(&'static [(char, char)]);

include!(concat!(env!("OUT_DIR"), "/classes.rs"));

impl CharClass {
    fn contains(&self, c: char) -> bool {
        let after = self.0.partition_point(|&(first, _)| first <= c);
        after > 0 && c <= self.0[after - 1].1
    }
}

/// Digits of a number that are one part.
const DIGITS_MAX: usize = 3;

/// The first part of a text that is not empty, by `o200k_base`.
pub(crate) fn o200k(rest: &str) -> usize {
    let prefix = word_prefix(rest);
    let words: [fn(&str) -> usize; 2] = [capitalized, upper_case];
    let words = words
        .into_iter()
        .flat_map(|word| [(word, prefix), (word, 0)]);
    let mut lengths = words.map(|(word, prefix)| match word(&rest[prefix..]) {
        0 => 0,
        len => {
            let end = prefix + len;
            end + contraction(&rest[end..])
        }
    });
    let word = lengths.find(|&len| len > 0).unwrap_or_default();
    first_of(rest, word, |c| matches!(c, '\r' | '\n' | '/'), false)
}

/// The first part of a text that is not empty, by `cl100k_base`.
pub(crate) fn cl100k(rest: &str) -> usize {
    let word = match contraction(rest) {
        0 => {
            let prefix = word_prefix(rest);
            match run(&rest[prefix..], |c| LETTER.contains(c)) {
                0 => 0,
                len => prefix + len,
            }
        }
        len => len,
    };
    first_of(rest, word, |c| matches!(c, '\r' | '\n'), true)
}

/// The word, if there is one, or a number, marks or white space. `ends_marks` are the characters
/// that belong to the marks before them; `ends_text` is whether white space at the end of the text
/// is one part, though it has line breaks.
fn first_of(rest: &str, word: usize, ends_marks: fn(char) -> bool, ends_text: bool) -> usize {
    if word > 0 {
        return word;
    }
    let number = rest.chars().take(DIGITS_MAX);
    let number: usize = number
        .take_while(|&c| NUMBER.contains(c))
        .map(char::len_utf8)
        .sum();
    if number > 0 {
        return number;
    }
    let blank = usize::from(rest.starts_with(' '));
    let marks = run(&rest[blank..], |c| {
        !c.is_whitespace() && !LETTER.contains(c) && !NUMBER.contains(c)
    });
    if marks > 0 {
        let end = blank + marks;
        return end + run(&rest[end..], ends_marks);
    }
    white_space(rest, ends_text)
}

/// White space: to its last line break, or else all but the character before a word.
fn white_space(rest: &str, ends_text: bool) -> usize {
    let whole = run(rest, char::is_whitespace);
    if ends_text && whole == rest.len() {
        return whole;
    }
    let space = &rest[..whole];
    if let Some(line_break) = space.rfind(['\r', '\n']) {
        return line_break + 1;
    }
    let last = space.chars().next_back().map_or(0, char::len_utf8);
    if whole < rest.len() && last < whole {
        whole - last
    } else {
        whole
    }
}

/// The character that may come before the letters of a word.
fn word_prefix(rest: &str) -> usize {
    let first = rest.chars().next();
    let is_prefix =
        |c: &char| !matches!(c, '\r' | '\n') && !LETTER.contains(*c) && !NUMBER.contains(*c);
    first.filter(is_prefix).map_or(0, char::len_utf8)
}

/// A word whose last letters are small, or have no case.
fn capitalized(rest: &str) -> usize {
    let upper = run(rest, |c| UPPER.contains(c));
    let lower = run(&rest[upper..], |c| LOWER.contains(c));
    if lower > 0 {
        return upper + lower;
    }
    // The capitals give back up to the last character that is of both classes.
    let mut both = rest[..upper].char_indices().rev();
    let last = both.find(|&(_, c)| LOWER.contains(c));
    last.map_or(0, |(at, c)| at + c.len_utf8())
}

/// A word that begins with capitals, or letters without case.
fn upper_case(rest: &str) -> usize {
    match run(rest, |c| UPPER.contains(c)) {
        0 => 0,
        upper => upper + run(&rest[upper..], |c| LOWER.contains(c)),
    }
}

/// The end of an English contraction: `'s`, `'t`, `'re`, `'ve`, `'m`, `'ll` or `'d`.
fn contraction(rest: &str) -> usize {
    let mut chars = rest.chars();
    if chars.next() != Some('\'') {
        return 0;
    }
    // `ſ` is a small s.
    let mut next = || {
        chars.next().map(|c| {
            if c == 'ſ' {
                's'
            } else {
                c.to_ascii_lowercase()
            }
        })
    };
    let first = next();
    match (first, next()) {
        (Some('s'), _) if rest[1..].starts_with('ſ') => 1 + 'ſ'.len_utf8(),
        (Some('s' | 'd' | 'm' | 't'), _) => 2,
        (Some('l'), Some('l')) | (Some('v' | 'r'), Some('e')) => 3,
        _ => 0,
    }
}

/// Length of the characters at the start of a text that are like this.
fn run(text: &str, is_like: impl Fn(char) -> bool) -> usize {
    text.find(|c: char| !is_like(c)).unwrap_or(text.len())
}
