//! The forms of postal codes.

/// Where the town stands.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Town {
    /// `04109 Leipzig`.
    After,
    /// `Portland, ME 04101`.
    Before,
}

/// The form of a country's postal codes: `9` a digit, `A` a letter, `X` either, ` ` an optional blank, everything else itself.
pub(super) struct Form {
    pub(super) countries: &'static [&'static str],
    pub(super) code: &'static str,
    pub(super) town: Town,
}

pub(super) const FORMS: [Form; 29] = [
    Form {
        countries: &[
            "DE", "FR", "IT", "ES", "FI", "TR", "UA", "HR", "EE", "RS", "MC", "LT", "ME", "BA",
            "MA", "DZ", "EG", "KE", "MY", "SM", "VA", "CR", "GT", "PE", "UY", "CU", "IQ", "JO",
            "KW", "SN", "RE", "GP", "MQ", "GF", "SA", "TW",
        ],
        code: "99999",
        town: Town::After,
    },
    Form {
        countries: &[
            "AT", "CH", "BE", "DK", "NO", "HU", "LU", "SI", "BG", "LI", "MK", "AL", "GE", "AM",
            "CY", "TN", "PH", "VE", "PY",
        ],
        code: "9999",
        town: Town::After,
    },
    Form {
        countries: &["NL"],
        code: "9999 AA",
        town: Town::After,
    },
    Form {
        countries: &["PL"],
        code: "99-999",
        town: Town::After,
    },
    Form {
        countries: &["PT"],
        code: "9999-999",
        town: Town::After,
    },
    Form {
        countries: &["CZ", "SK", "SE", "GR"],
        code: "999 99",
        town: Town::After,
    },
    Form {
        countries: &["RO"],
        code: "999999",
        town: Town::After,
    },
    Form {
        countries: &["MX", "KR"],
        code: "99999",
        town: Town::After,
    },
    Form {
        countries: &["RU", "KZ", "BY", "KG", "UZ", "VN"],
        code: "999999",
        town: Town::After,
    },
    Form {
        countries: &["US"],
        code: "99999-9999",
        town: Town::Before,
    },
    Form {
        countries: &[
            "US", "KR", "MY", "TH", "ID", "PK", "SA", "LK", "NP", "PE", "UY",
        ],
        code: "99999",
        town: Town::Before,
    },
    Form {
        countries: &["CA"],
        code: "A9A 9A9",
        town: Town::Before,
    },
    Form {
        countries: &["AU", "NZ", "ZA", "BD", "PH", "CY", "LU"],
        code: "9999",
        town: Town::Before,
    },
    Form {
        countries: &["IN", "SG", "CN", "RU", "VN", "EC", "CO", "KZ", "BY"],
        code: "999999",
        town: Town::Before,
    },
    Form {
        countries: &["IN"],
        code: "999 999",
        town: Town::Before,
    },
    Form {
        countries: &["BR"],
        code: "99999-999",
        town: Town::Before,
    },
    Form {
        countries: &["BR"],
        code: "99999-999",
        town: Town::After,
    },
    Form {
        countries: &["IS"],
        code: "999",
        town: Town::After,
    },
    Form {
        countries: &["LV"],
        code: "LV-9999",
        town: Town::Before,
    },
    Form {
        countries: &["MT"],
        code: "AAA 9999",
        town: Town::Before,
    },
    Form {
        countries: &["IL"],
        code: "9999999",
        town: Town::After,
    },
    Form {
        countries: &["IL"],
        code: "9999999",
        town: Town::Before,
    },
    Form {
        countries: &["AR"],
        code: "A9999AAA",
        town: Town::After,
    },
    Form {
        countries: &["CL"],
        code: "9999999",
        town: Town::After,
    },
    Form {
        countries: &["GB"],
        code: "A9 9AA",
        town: Town::Before,
    },
    Form {
        countries: &["GB"],
        code: "A99 9AA",
        town: Town::Before,
    },
    Form {
        countries: &["GB"],
        code: "AA9 9AA",
        town: Town::Before,
    },
    Form {
        countries: &["GB"],
        code: "AA99 9AA",
        town: Town::Before,
    },
    Form {
        countries: &["IE"],
        code: "A99 XXXX",
        town: Town::Before,
    },
];
/// Places where a code of this form stands for itself.
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
