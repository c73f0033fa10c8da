//! Candidates for phone numbers in a text, checked for the form in which phone numbers are written.

use super::labels::{self, Label};
use super::number::Number;
use super::region::Region;
use super::shapes::{
    Group, is_book, is_date, is_decimal, is_joined_after, is_joined_before, is_machine,
    is_thousands, is_years, joined, lengths,
};
use crate::words::EXTENSIONS;

/// Maximum digits of a number with its calling code. Source: ITU E.164; some plans exceed it.
const DIGITS_MAX: usize = 17;
/// Minimum digits of a number without and with a label.
const DIGITS_MIN: usize = 7;
const DIGITS_LABELLED_MIN: usize = 6;
/// Maximum characters between two digits of a number.
const GAP_MAX: usize = 4;
/// Maximum digits of one run: two numbers and their extensions.
const RUN_DIGITS_MAX: usize = 40;
/// Maximum digits of an extension.
const EXTENSION_DIGITS_MAX: usize = 6;
/// Number of countries that are tried for a number without a label: its form is weak evidence.
const HOMES_UNLABELLED: usize = 2;

/// The evidence that digits are a phone number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trust {
    /// A `tel:` link or structured data.
    Declared,
    /// A label next to the number.
    Labelled,
    /// Only its form.
    Bare,
}

/// Digits that may be a phone number.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    groups: Vec<Group>,
    trust: Trust,
    pub(super) kind: Option<&'static str>,
    extension: Option<String>,
}

impl Candidate {
    /// A candidate from a link or structured data.
    pub(super) fn declared(text: &str, kind: Option<&'static str>) -> Option<Self> {
        let text = text.trim();
        let text = text.strip_prefix("tel:").unwrap_or(text);
        let (number, extension) =
            split_extension(text.split([';', '?']).next().unwrap_or_default());
        // The parameter of RFC 3966: `;ext=12`.
        let parameter = text.split(';').find_map(|part| part.strip_prefix("ext="));
        let start = number.char_indices().find(|(_, c)| digit(*c).is_some())?.0;
        let (groups, _) = run(number, start_with_plus(number, start));
        let candidate = Self {
            groups,
            trust: Trust::Declared,
            kind,
            extension: extension.or(parameter.map(str::to_owned)),
        };
        (!candidate.groups.is_empty()).then_some(candidate)
    }

    /// The numbers of the candidate; the extension belongs to the last.
    pub(super) fn numbers(&self, homes: &[Region]) -> Vec<(Number, Option<String>)> {
        let all = self.groups.as_slice();
        if let Some(number) = self.number(all, homes) {
            return vec![(number, self.extension.clone())];
        }
        let mut numbers = Vec::new();
        let parts: Vec<&[Group]> = split_at_gaps(all);
        if parts.len() > 1 {
            for part in parts {
                let number = self.number(part, homes);
                numbers.extend(number.map(|number| (number, None)));
            }
        }
        if let Some(last) = numbers.last_mut() {
            last.1.clone_from(&self.extension);
        }
        numbers
    }

    fn number(&self, groups: &[Group], homes: &[Region]) -> Option<Number> {
        let digits = joined(groups);
        let n_digits = digits.trim_start_matches('+').len();
        let least = match self.trust {
            Trust::Bare => DIGITS_MIN,
            _ => DIGITS_LABELLED_MIN,
        };
        if !(least..=DIGITS_MAX).contains(&n_digits)
            || (self.trust != Trust::Declared && self.is_no_phone(groups))
        {
            return None;
        }
        if digits.starts_with('+') {
            let number = Number::read(&digits, homes.first().copied())?;
            return self.is_taken(&number).then_some(number);
        }
        let homes = match self.trust {
            Trust::Bare => &homes[..homes.len().min(HOMES_UNLABELLED)],
            _ => homes,
        };
        let read = |home: &Region| Some((*home, Number::read(&digits, Some(*home))?));
        let numbers: Vec<(Region, Number)> = homes.iter().filter_map(read).collect();
        let valid = numbers.iter().find(|(_, number)| number.kind.is_some());
        let (home, number) = valid.or(numbers
            .first()
            .filter(|_| groups.len() > 1 || self.trust == Trust::Declared))?;
        let is_good = match self.trust {
            Trust::Bare => {
                number.kind.is_some() && is_written_there(groups, &digits, number, *home)
            }
            _ => self.is_taken(number),
        };
        is_good.then(|| number.clone())
    }

    fn is_taken(&self, number: &Number) -> bool {
        number.kind.is_some() || self.trust.takes_possible()
    }

    /// Whether the groups are a date, a price, an IP address or the like.
    fn is_no_phone(&self, groups: &[Group]) -> bool {
        is_date(groups)
            || is_years(groups)
            || is_book(groups)
            || (self.trust == Trust::Bare
                && (is_machine(groups) || is_thousands(groups) || is_decimal(groups)))
    }
}

/// The candidates of a text.
pub(super) fn of_text(text: &str) -> impl Iterator<Item = Candidate> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let start = at + text.get(at..)?.find(|c: char| digit(c).is_some())?;
            let begin = start_with_plus(text, start);
            let (groups, end) = run(text, begin);
            at = end.max(start + 1);
            let n_digits: usize = groups.iter().map(|group| group.digits.len()).sum();
            if n_digits < DIGITS_LABELLED_MIN {
                continue;
            }
            if let Some(candidate) = in_context(text, begin, end, groups) {
                return Some(candidate);
            }
        }
    })
}

/// Number of characters after a candidate that are searched for a mark such as `(fax`.
const MARK_CHARACTERS: usize = 8;

/// A candidate with its context; `None` if the context rules out a phone number.
fn in_context(text: &str, begin: usize, end: usize, groups: Vec<Group>) -> Option<Candidate> {
    let (before, after) = (&text[..begin], &text[end..]);
    if is_joined_before(before) {
        return None;
    }
    let (extension, rest) = extension_at(after);
    let is_joined = extension.is_none() && is_joined_after(after);
    let after = rest;
    if is_joined
        || labels::is_measure(after)
        || before.ends_with(['€', '$', '£', '¥', '₹', '#', '№'])
    {
        return None;
    }
    let is_international = groups
        .first()
        .is_some_and(|group| group.digits.starts_with('+'));
    let label = label_before(before, is_international);
    let kind_after: String = after.trim_start().chars().take(MARK_CHARACTERS).collect();
    let kind_after = kind_after.to_lowercase();
    let is_fax_after = ["(fax", "(f)", "fax)", "（fax"]
        .iter()
        .any(|mark| kind_after.starts_with(mark));
    let (trust, kind) = match label {
        Some(Label::Other) => return None,
        _ if is_fax_after => (Trust::Labelled, Some("fax")),
        Some(Label::Phone(kind)) => (Trust::Labelled, kind),
        None => (Trust::Bare, None),
    };
    Some(Candidate {
        groups,
        trust,
        kind,
        extension,
    })
}

/// The label of a number: in its line, or alone in the line above.
fn label_before(before: &str, is_international: bool) -> Option<Label> {
    let start = before.ceil_char_boundary(before.len().saturating_sub(labels::LABEL_BYTES_MAX));
    let near = &before[start..];
    let line_start = near.rfind('\n').map_or(0, |at| at + 1);
    let line = &near[line_start..];
    if line.chars().any(char::is_alphanumeric) {
        return labels::before(line, is_international);
    }
    let above = near[..line_start].trim_end();
    let above = above.rsplit('\n').next().unwrap_or_default();
    labels::before(above, false)
}

/// The offset of `+`, `(` or `(+` in front of the first digit.
fn start_with_plus(text: &str, start: usize) -> usize {
    let mut begin = start;
    for (at, character) in text[..start].char_indices().rev().take(4) {
        match character {
            '+' | '＋' | '(' | '（' => begin = at,
            ' ' | '\u{a0}' if begin < start || at + 1 == start => {}
            _ => break,
        }
    }
    begin
}

/// The groups of digits from `begin`, and their end.
fn run(text: &str, begin: usize) -> (Vec<Group>, usize) {
    let mut groups: Vec<Group> = Vec::new();
    let (mut gap, mut end, mut n_digits) = (String::new(), begin, 0);
    let mut is_open = false;
    for (at, character) in text[begin..].char_indices() {
        if let Some(digit) = digit(character) {
            match groups.last_mut().filter(|_| is_open) {
                Some(group) => group.digits.push(digit),
                None => {
                    let plus = if gap.contains('+') { "+" } else { "" };
                    groups.push(Group {
                        digits: format!("{plus}{digit}"),
                        gap: std::mem::take(&mut gap),
                    });
                }
            }
            (is_open, end) = (true, begin + at + character.len_utf8());
            n_digits += 1;
            if n_digits > RUN_DIGITS_MAX {
                break;
            }
            continue;
        }
        let Some(separator) = separator(character) else {
            break;
        };
        if is_open && separator == '+' || gap.chars().count() >= GAP_MAX {
            // The next number begins.
            break;
        }
        let is_sentence_end = separator == ' ' && gap == "." && n_digits >= DIGITS_LABELLED_MIN;
        let is_list = character == '\u{b7}' && gap.ends_with(' ');
        if is_sentence_end || is_list {
            break;
        }
        is_open = false;
        gap.push(separator);
        if separator == '+' && !groups.is_empty() {
            break;
        }
    }
    (groups, end)
}

/// The ASCII digit for a digit of any supported script.
fn digit(character: char) -> Option<char> {
    let zero = match character {
        '0'..='9' => return Some(character),
        '\u{ff10}'..='\u{ff19}' => 0xff10,
        '\u{660}'..='\u{669}' => 0x660,
        '\u{6f0}'..='\u{6f9}' => 0x6f0,
        '\u{966}'..='\u{96f}' => 0x966,
        _ => return None,
    };
    char::from_digit(character as u32 - zero, 10)
}

/// The digits of a text in ASCII.
pub(crate) fn digits_of(text: &str) -> String {
    text.chars().filter_map(digit).collect()
}

/// The class of a separator between digits; `None` for a character that ends a number.
fn separator(character: char) -> Option<char> {
    Some(match character {
        ' ' | '\u{a0}' | '\u{2009}' | '\u{202f}' | '\u{2007}' | '\u{3000}' => ' ',
        '-' | '\u{2010}' | '\u{2011}' | '\u{2012}' | '\u{2013}' | '\u{2014}' | '\u{ff0d}'
        | '\u{30fc}' | '\u{2212}' => '-',
        '(' | '（' | '[' => '(',
        ')' | '）' | ']' => ')',
        '+' | '＋' => '+',
        '.' | '/' => character,
        '\u{b7}' => '.',
        '\u{200b}' | '\u{200e}' | '\u{202a}' | '\u{202c}' | '\u{ad}' => '\u{200b}',
        _ => return None,
    })
}

/// Splits a run of adjacent numbers at its wide gaps.
fn split_at_gaps(groups: &[Group]) -> Vec<&[Group]> {
    let mut parts = Vec::new();
    let mut start = 0;
    for (at, group) in groups.iter().enumerate().skip(1) {
        let gap = group.gap.as_str();
        let is_full = || {
            let digits = groups[start..at].iter().map(|group| group.digits.len());
            digits.sum::<usize>() >= DIGITS_MIN
        };
        let is_wide = gap.contains('/')
            || gap.contains(" (") && is_full()
            || gap.contains(" - ")
            || gap.contains("  ")
            || group.digits.starts_with('+');
        if is_wide {
            parts.push(&groups[start..at]);
            start = at;
        }
    }
    parts.push(&groups[start..]);
    parts
}

/// Splits off the extension of a number.
fn split_extension(text: &str) -> (&str, Option<String>) {
    let last_digit = |text: &str| text.rfind(|c: char| digit(c).is_some());
    for (at, _) in text
        .char_indices()
        .filter(|(_, c)| c.is_alphabetic() || *c == '#')
    {
        if last_digit(&text[..at]).is_some()
            && let (Some(extension), _) = extension_at(&text[at..])
        {
            return (&text[..at], Some(extension));
        }
    }
    (text, None)
}

/// The extension after a number, and the rest of the text.
fn extension_at(after: &str) -> (Option<String>, &str) {
    let trimmed = after.trim_start_matches([' ', '\u{a0}', ',', ';', '(', '-']);
    let word = EXTENSIONS.split(' ').find(|word| {
        trimmed
            .get(..word.len())
            .is_some_and(|head| head.to_lowercase() == *word)
    });
    let rest = match word {
        Some(word) => &trimmed[word.len()..],
        None if trimmed.starts_with('#') => &trimmed[1..],
        None => return (None, after),
    };
    let number = rest.trim_start_matches([' ', '\u{a0}', '.', ':', '-']);
    let length = number.bytes().take_while(u8::is_ascii_digit).count();
    match length {
        1..=EXTENSION_DIGITS_MAX => (Some(number[..length].to_owned()), &number[length..]),
        _ => (None, after),
    }
}

/// Whether an unlabelled number is written as its numbering plan writes numbers: in the same groups
/// or with the national prefix.
fn is_written_there(groups: &[Group], digits: &str, number: &Number, home: Region) -> bool {
    let own = lengths(groups);
    let is_premium = number.kind == Some("premium_rate");
    if groups.len() < 2 {
        // A mobile number without separators is recognised by prefix and length.
        return home.national_prefix() == "0"
            && digits.starts_with('0')
            && number.kind == Some("mobile")
            && digits.len() > 9;
    }
    if home.calling_code() == "1" {
        return own.ends_with(&[3, 3, 4]) && own.len() <= 4 && !is_premium;
    }
    let is_prefixed = match home.national_prefix() {
        "" => digits.starts_with('0'),
        prefix => digits.starts_with(prefix),
    };
    let is_calm = groups[1..]
        .iter()
        .all(|group| group.gap.chars().count() <= 3)
        && own.iter().all(|&length| length <= 8);
    // With a leading zero, two groups suffice.
    let is_sufficient = is_prefixed && digits.starts_with('0');
    if is_sufficient && is_calm && !own.iter().all(|&length| length == 1) {
        return true;
    }
    let written: Vec<usize> = number
        .written()
        .split(|c: char| !c.is_ascii_digit())
        .filter(|group| !group.is_empty())
        .map(str::len)
        .collect();
    let is_even = groups[1..].iter().all(|group| group.gap == groups[1].gap);
    let is_threes = own == [3, 3, 3] && home.national_prefix().is_empty();
    !is_premium
        && (own == written || is_even && is_threes)
        && groups.iter().skip(1).all(|group| group.gap != "/")
}
