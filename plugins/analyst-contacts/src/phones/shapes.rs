//! Groups of digits, and forms of groups and characters next to them that are not phone numbers.

/// Consecutive digits.
#[derive(Clone, Debug)]
pub(super) struct Group {
    /// ASCII digits, with the `+` in front of them.
    pub(super) digits: String,
    /// The separators between the previous group and this one, including brackets.
    pub(super) gap: String,
}

/// The digits of all groups. The zero of `(0)` after a calling code stays: the numbering plan
/// handles it.
pub(super) fn joined(groups: &[Group]) -> String {
    groups.iter().map(|group| group.digits.as_str()).collect()
}

pub(super) fn lengths(groups: &[Group]) -> Vec<usize> {
    groups
        .iter()
        .map(|group| group.digits.trim_start_matches('+').len())
        .collect()
}

pub(super) fn value(group: &Group) -> u32 {
    group
        .digits
        .trim_start_matches('+')
        .parse()
        .unwrap_or(u32::MAX)
}

pub(super) fn is_year(group: &Group) -> bool {
    group.digits.len() == 4 && (1900..2100).contains(&value(group))
}

/// Whether the groups are a date, maybe with a time or a number after it: `12.03.2024`,
/// `2024-03-12`, `3/7/2025`.
pub(super) fn is_date(groups: &[Group]) -> bool {
    let [first, second, third, ..] = groups else {
        return false;
    };
    let is_tight = |group: &Group| matches!(group.gap.as_str(), "." | "-" | "/" | ". ");
    let fits =
        |group: &Group, most: u32| group.digits.len() <= 2 && (1..=most).contains(&value(group));
    let is_year_last = is_year(third) && fits(first, 31) && fits(second, 31);
    let is_year_first = is_year(first) && fits(second, 12) && fits(third, 31);
    is_tight(second) && is_tight(third) && (is_year_last || is_year_first)
}

/// Whether the groups are a range of years: `1990-2020`.
pub(super) fn is_years(groups: &[Group]) -> bool {
    groups.len() == 2 && groups.iter().all(is_year)
}

/// Whether the groups are an ISBN-13.
pub(super) fn is_book(groups: &[Group]) -> bool {
    let digits = joined(groups);
    digits.len() == 13 && (digits.starts_with("978") || digits.starts_with("979"))
}

/// Whether the groups are an IP address or a version: `192.168.10.24`.
pub(super) fn is_machine(groups: &[Group]) -> bool {
    let is_short = |group: &Group| group.digits.len() <= 3 && value(group) < 256;
    groups.len() == 4
        && groups.iter().all(is_short)
        && groups[1..].iter().all(|group| group.gap == ".")
}

/// Whether the groups are a number with thousands separators: `1.250.000`, `1 250 000`.
pub(super) fn is_thousands(groups: &[Group]) -> bool {
    let first = &groups[0];
    let is_first = (1..=3).contains(&first.digits.len())
        && !first.digits.starts_with(['0', '+'])
        && first.gap.is_empty();
    let is_tight = |group: &Group| {
        group.digits.len() == 3
            && group.gap == groups[1].gap
            && matches!(group.gap.as_str(), "." | " ")
    };
    groups.len() > 1
        && is_first
        && groups[1..].iter().all(is_tight)
        && (groups[1].gap == "." || first.digits.len() < 3)
}

/// Whether the groups are a decimal number: `47.26921`.
pub(super) fn is_decimal(groups: &[Group]) -> bool {
    groups.len() == 2
        && groups[1].gap == "."
        && groups[0].digits.trim_start_matches('+').len() <= 3
        && groups[1].digits.len() > 3
}

/// Whether the digits continue a word, a path or a decimal number on their left.
pub(super) fn is_joined_before(before: &str) -> bool {
    let mut characters = before.chars().rev();
    let Some(last) = characters.next() else {
        return false;
    };
    let second = characters.next();
    if last.is_alphanumeric() {
        return is_latin(last);
    }
    let is_glue = matches!(
        last,
        '@' | '_' | '=' | '&' | '%' | '\\' | '/' | '-' | '.' | ',' | '–' | '*' | '~' | '$'
    );
    is_glue
        && second.is_some_and(|second| second.is_ascii_alphanumeric())
        && !(last == '.' && second.is_some_and(char::is_alphabetic))
}

/// Whether the digits continue a word, a path or a decimal number on their right.
pub(super) fn is_joined_after(after: &str) -> bool {
    let mut characters = after.chars();
    let (first, second) = (characters.next(), characters.next());
    let is_digit = second.is_some_and(|second| second.is_ascii_digit());
    match first {
        Some('@' | '_' | '%' | '=') => true,
        Some(':' | ',' | '*') if is_digit => true,
        Some('-' | '/' | '\\') => second.is_some_and(|second| second.is_ascii_alphanumeric()),
        Some(first) => first.is_alphanumeric() && is_latin(first),
        None => false,
    }
}

/// Whether a character is of a script that separates words by spaces.
pub(super) fn is_latin(character: char) -> bool {
    (character as u32) < 0x0530
}
