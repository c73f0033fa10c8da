//! A phone number: parsed, validated against the numbering plan of its region, and formatted.

use super::pattern::{groups_of, is_full, n_groups, prefix_of};
use super::region::Region;

/// Digits of a number without its calling code (15 with it in ITU E.164; some plans have 17).
const NATIONAL_DIGITS_MAX: usize = 17;
const NATIONAL_DIGITS_MIN: usize = 4;

/// A number of a numbering plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Number {
    /// Calling code without `+`.
    pub(crate) calling_code: &'static str,
    /// Digits after the calling code.
    pub(crate) national: String,
    /// ISO 3166 code of the region, or `001`.
    pub(crate) region: &'static str,
    /// Type (see [`super::region::KINDS`], or `fixed_line_or_mobile`); `None` if the length is
    /// possible but no type of the plan matches.
    pub(crate) kind: Option<&'static str>,
}

impl Number {
    /// Reads digits with an optional `+` in front; a number without it belongs to `home`.
    ///
    /// `None` if the digits cannot be a number; a number whose [`kind`](Self::kind) is `None` is
    /// possible by its length only.
    pub(crate) fn read(digits: &str, home: Option<Region>) -> Option<Self> {
        if let Some(international) = digits.strip_prefix('+') {
            return Self::abroad(international, home);
        }
        let home = home?;
        if let Some((length, _)) = prefix_of(home.international_prefix(), digits)
            && digits.as_bytes().get(length) != Some(&b'0')
            && let Some(number) = Self::abroad(&digits[length..], Some(home))
            && number.kind.is_some()
        {
            return Some(number);
        }
        let number = Self::inside(digits, home);
        if number.as_ref().is_some_and(|number| number.kind.is_some()) {
            return number;
        }
        // Written with the calling code but without `+`.
        let bare = digits.strip_prefix(home.calling_code());
        let bare = bare.and_then(|national| Self::inside(national, home));
        bare.filter(|bare| bare.kind.is_some()).or(number)
    }

    fn abroad(digits: &str, home: Option<Region>) -> Option<Self> {
        for length in 1..=3 {
            let calling_code = digits.get(..length)?;
            let regions = Region::of_calling_code(calling_code);
            let Some(&main) = regions.first() else {
                continue;
            };
            // The home region knows its own short forms; otherwise the main region of the code is
            // used.
            let reader = home.filter(|home| home.calling_code() == calling_code);
            return Self::inside_of(&digits[length..], reader.unwrap_or(main), &regions);
        }
        None
    }

    fn inside(digits: &str, home: Region) -> Option<Self> {
        Self::inside_of(digits, home, &Region::of_calling_code(home.calling_code()))
    }

    fn inside_of(digits: &str, reader: Region, regions: &[Region]) -> Option<Self> {
        let national = without_prefix(digits, reader);
        if !(NATIONAL_DIGITS_MIN..=NATIONAL_DIGITS_MAX).contains(&national.len()) {
            return None;
        }
        let owner = regions.iter().find_map(|&region| {
            let is_led = match region.leading() {
                "" => true,
                leading => prefix_of(leading, &national).is_some(),
            };
            let kind = is_led.then(|| kind_of(&national, region))??;
            Some((region, kind))
        });
        let is_possible = owner.is_some() || has_possible_length(&national, reader);
        is_possible.then(|| Self {
            calling_code: reader.calling_code(),
            region: owner.map_or(reader, |(region, _)| region).code(),
            kind: owner.map(|(_, kind)| kind),
            national,
        })
    }

    /// The number in E.164 format: `+4930901820`.
    pub(crate) fn e164(&self) -> String {
        format!("+{}{}", self.calling_code, self.national)
    }

    /// The number in national format: `030 901820`.
    pub(crate) fn written(&self) -> String {
        let regions = Region::of_calling_code(self.calling_code);
        // Formats are listed with the main region of a calling code.
        let forms = regions
            .first()
            .into_iter()
            .flat_map(|region| region.forms());
        for form in forms {
            let is_led =
                form.leading.is_empty() || prefix_of(form.leading, &self.national).is_some();
            if !is_led {
                continue;
            }
            if let Some(groups) = groups_of(form.pattern, &self.national) {
                return fill(form.form, &self.national, &groups);
            }
        }
        self.national.clone()
    }
}

/// The digits without national prefix, unless only the digits with it are a valid number.
fn without_prefix(digits: &str, region: Region) -> String {
    let pattern = region.prefix_pattern();
    let Some((length, groups)) = prefix_of(pattern, digits) else {
        return digits.to_owned();
    };
    let is_number = |digits: &str| is_full(region.general(), digits);
    let form = region.prefix_form();
    let last = n_groups(pattern)
        .checked_sub(1)
        .and_then(|last| groups[last]);
    let cut = match (form, last) {
        ("", _) | (_, None) => digits[length..].to_owned(),
        _ => fill(form, digits, &groups) + &digits[length..],
    };
    if is_number(digits) && !is_number(&cut) {
        return digits.to_owned();
    }
    cut
}

/// A format such as `$1 $2` with the groups filled in.
fn fill(form: &str, digits: &str, groups: &super::pattern::Groups) -> String {
    let mut filled = String::with_capacity(form.len() + digits.len());
    let mut characters = form.chars();
    while let Some(character) = characters.next() {
        if character != '$' {
            filled.push(character);
            continue;
        }
        let index = characters.next().and_then(|digit| digit.to_digit(10));
        let group = index.and_then(|index| *groups.get((index as usize).checked_sub(1)?)?);
        if let Some((start, end)) = group {
            filled.push_str(&digits[start..end]);
        }
    }
    filled
}

fn kind_of(national: &str, region: Region) -> Option<&'static str> {
    if !is_full(region.general(), national) {
        return None;
    }
    let fits = |(_, lengths, pattern): &(&str, &str, &str)| {
        has_length(lengths, national) && is_full(pattern, national)
    };
    // In some plans special types are subsets of the ordinary ranges, and more specific.
    let mut special = region.kinds().filter(|(name, ..)| !is_ordinary(name));
    if let Some((name, ..)) = special.find(|kind| fits(kind)) {
        return Some(name);
    }
    let mut ordinary = region
        .kinds()
        .filter(|(name, ..)| is_ordinary(name))
        .filter(|kind| fits(kind));
    match (ordinary.next(), ordinary.next()) {
        (Some(_), Some(_)) => Some("fixed_line_or_mobile"),
        (one, _) => one.map(|(name, ..)| name),
    }
}

fn is_ordinary(kind: &str) -> bool {
    matches!(kind, "fixed_line" | "mobile")
}

fn has_length(lengths: &str, national: &str) -> bool {
    lengths
        .split(',')
        .any(|length| length.parse() == Ok(national.len()))
}

fn has_possible_length(national: &str, region: Region) -> bool {
    region
        .kinds()
        .take(2)
        .any(|(_, lengths, _)| has_length(lengths, national))
}
