//! The forms of postal codes.

use crate::phones::Region;

/// The forms of all countries in the order in which they are tried; lines with `#` are comments.
const FORMS: &str = include_str!("../../data/postal_codes.txt");

/// What stands for a code in the forms of countries that have none: a post office box.
pub(super) const BOX: &str = "box";

/// Where the town of an address is.
#[derive(Clone, Copy)]
pub(super) enum Town {
    /// `04109 Leipzig`.
    AfterCode,
    /// `Portland, ME 04101`.
    BeforeCode,
    /// In front of the street: `01001, м. Київ, вул. Хрещатик, 22`.
    BeforeStreet,
}

/// The form of the postal codes of a country.
#[derive(Clone, Copy)]
pub(super) struct Form {
    pub(super) country: &'static str,
    /// `9` is a digit, `A` a capital letter, `X` either, a blank an optional blank; everything else
    /// is itself. Or [`BOX`].
    pub(super) code: &'static str,
    pub(super) town: Town,
    /// Whether the form is tried although nothing says that the page is about the country.
    pub(super) is_foreign: bool,
}

/// The forms of these countries, and the British ones, which hardly any other text has.
pub(super) fn forms(homes: &[Region]) -> Vec<Form> {
    let is_british = homes.iter().any(|home| home.code() == "GB");
    let mut forms = Vec::new();
    for home in homes {
        forms.extend(forms_of(home.code(), false));
    }
    if !is_british {
        forms.extend(forms_of("GB", true));
    }
    forms
}

fn forms_of(country: &'static str, is_foreign: bool) -> impl Iterator<Item = Form> {
    let rows = FORMS.lines().filter(|line| !line.starts_with('#'));
    rows.filter_map(move |line| {
        let mut columns = line.split(" | ");
        let (code, town, countries) = (columns.next()?, columns.next()?, columns.next()?);
        countries
            .split(' ')
            .any(|own| own == country)
            .then_some(Form {
                country,
                code,
                town: match town {
                    "after" => Town::AfterCode,
                    "first" => Town::BeforeStreet,
                    _ => Town::BeforeCode,
                },
                is_foreign,
            })
    })
}

/// The ranges of a line that are postal codes of a form, set apart from other text.
pub(super) fn codes<'t>(line: &'t str, form: &'t str) -> impl Iterator<Item = (usize, usize)> + 't {
    line.char_indices().filter_map(move |(at, _)| {
        let before = line[..at].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '.' | '/' | '+' | '#')) {
            return None;
        }
        let is_after_dash = before == Some('-');
        let end = at + code_length(&line[at..], form)?;
        let after = line[end..].chars().next();
        let is_number = line[end..]
            .trim_start()
            .starts_with(|c: char| c.is_ascii_digit());
        let is_apart = !is_number
            && after.is_none_or(|c| !(c.is_alphanumeric() || matches!(c, '-' | '/' | '@')));
        let is_country = is_after_dash
            && line[..at - 1]
                .chars()
                .rev()
                .take_while(|c| c.is_ascii_uppercase())
                .count()
                > 0;
        (is_apart && (!is_after_dash || is_country)).then_some((at, end))
    })
}

fn code_length(text: &str, form: &str) -> Option<usize> {
    let mut bytes = text.bytes().enumerate().peekable();
    let mut length = 0;
    for wanted in form.bytes() {
        let next = bytes.peek().map(|&(_, byte)| byte);
        let fits = match wanted {
            b'9' => next.is_some_and(|byte| byte.is_ascii_digit()),
            b'X' => next.is_some_and(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit()),
            b'A' => next.is_some_and(|byte| byte.is_ascii_uppercase()),
            b' ' if next != Some(b' ') => continue,
            literal => next == Some(literal),
        };
        if !fits {
            return None;
        }
        length = bytes.next()?.0 + 1;
    }
    Some(length)
}
