//! Groups of digits, and forms of groups that are no phone numbers.

/// Consecutive digits.
#[derive(Clone, Debug)]
pub(super) struct Group {
    /// ASCII digits, with the `+` in front of them.
    pub(super) digits: String,
    /// The separators between the previous group and this one, including brackets.
    pub(super) gap: String,
    /// End offset in the text.
    pub(super) end: usize,
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

/// Whether the groups are opening hours: `9.00-17.30`.
pub(super) fn is_hours(groups: &[Group]) -> bool {
    let [from, from_minutes, to, to_minutes] = groups else {
        return false;
    };
    let is_time = |hour: &Group, minutes: &Group| {
        hour.digits.len() <= 2
            && value(hour) <= 24
            && minutes.digits.len() == 2
            && value(minutes) < 60
            && minutes.gap == "."
    };
    is_time(from, from_minutes) && is_time(to, to_minutes) && to.gap.contains('-')
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
