//! Numbers of spreadsheets as their formats show them: dates, percentages, decimals.

use trawl_sdk::calendar::civil;

/// What a number format makes of a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct NumberFormat {
    date: bool,
    time: bool,
    is_percent: bool,
    has_thousands: bool,
    decimals: Option<usize>,
}

impl NumberFormat {
    /// The built-in format of this number. Source: ECMA-376 part 1, section 18.8.30.
    pub(crate) fn built_in(id: u32) -> Self {
        match id {
            1 => Self::of("0"),
            2 => Self::of("0.00"),
            3 => Self::of("#,##0"),
            4 => Self::of("#,##0.00"),
            9 => Self::of("0%"),
            10 => Self::of("0.00%"),
            14..=17 | 27..=31 | 36 | 50..=58 => Self::of("yyyy-mm-dd"),
            18..=21 | 32..=35 | 45..=47 => Self::of("hh:mm:ss"),
            22 => Self::of("yyyy-mm-dd hh:mm"),
            37 | 38 => Self::of("#,##0"),
            39 | 40 => Self::of("#,##0.00"),
            _ => Self::default(),
        }
    }

    /// The format that this code describes.
    pub(crate) fn of(code: &str) -> Self {
        // The first section is that of positive numbers.
        let plain = without_literals(code.split(';').next().unwrap_or_default());
        let has = |letters: &str| plain.contains(|c| letters.contains(c));
        let is_general = plain.contains("general");
        let time = !is_general && has("hs");
        let date = !is_general && (has("yd") || has("m") && !time);
        let digits = has("0#?");
        let decimals = plain
            .split_once('.')
            .map(|(_, rest)| rest.chars().take_while(|c| "0#?".contains(*c)).count());
        Self {
            date,
            time,
            is_percent: plain.contains('%'),
            has_thousands: plain.contains("#,#") || plain.contains("0,0"),
            decimals: digits.then(|| decimals.unwrap_or(0)),
        }
    }

    /// A number as it is shown. Days count from the end of 1899, or from 1904.
    pub(crate) fn show(self, number: f64, is_1904: bool) -> String {
        if (self.date || self.time) && (0.0..2_958_466.0).contains(&number) {
            return self.show_date(if is_1904 { number + 1462.0 } else { number });
        }
        let (number, sign) = if self.is_percent {
            (number * 100.0, "%")
        } else {
            (number, "")
        };
        let text = match self.decimals {
            Some(decimals) => format!("{number:.*}", decimals.min(15)),
            None => general(number),
        };
        let text = if self.has_thousands {
            with_thousands(&text)
        } else {
            text
        };
        text + sign
    }

    fn show_date(self, number: f64) -> String {
        // Rounded with its day: the last moment of a day is the first second of the next one.
        let seconds = (number * 86_400.0).round() as i64;
        let (day, of_day) = (seconds / 86_400, seconds % 86_400);
        let time = format!(
            "{:02}:{:02}:{:02}",
            of_day / 3600,
            of_day / 60 % 60,
            of_day % 60
        );
        let time = time.strip_suffix(":00").map_or(time.clone(), str::to_owned);
        if !self.date {
            return time;
        }
        if self.time {
            format!("{} {time}", date_of(day))
        } else {
            date_of(number as i64)
        }
    }
}

/// A format's code in lower case without quoted texts, escaped characters and brackets.
fn without_literals(code: &str) -> String {
    let mut plain = String::new();
    let mut characters = code.chars();
    while let Some(character) = characters.next() {
        match character {
            '"' => drop(characters.by_ref().find(|c| *c == '"')),
            '[' => {
                let inside: String = characters.by_ref().take_while(|c| *c != ']').collect();
                // `[h]` counts hours.
                if inside
                    .chars()
                    .all(|c| "hms".contains(c.to_ascii_lowercase()))
                {
                    plain += &inside.to_lowercase();
                }
            }
            '\\' | '_' | '*' => drop(characters.next()),
            other => plain.extend(other.to_lowercase()),
        }
    }
    plain
}

/// A number without a format: at most 15 digits, as spreadsheets have them.
fn general(number: f64) -> String {
    if number == 0.0 {
        return "0".to_owned();
    }
    let magnitude = number.abs().log10().floor();
    if !(-9.0..15.0).contains(&magnitude) {
        return format!("{number:E}");
    }
    let decimals = (14.0 - magnitude).clamp(0.0, 15.0) as usize;
    let text = format!("{number:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

fn with_thousands(text: &str) -> String {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text),
    };
    let (whole, rest) = digits.split_at(digits.find('.').unwrap_or(digits.len()));
    let mut grouped = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    format!("{sign}{grouped}{rest}")
}

/// The date of a day of a spreadsheet in ISO 8601. Day 60 is 29 February 1900, which never was.
fn date_of(day: i64) -> String {
    let days = if day < 60 { day + 1 } else { day } - 25_569;
    let (year, month, date) = civil(days);
    format!("{year:04}-{month:02}-{date:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shown_as_in_a_spreadsheet() {
        let check = |code: &str, number: f64, expected: &str| {
            assert_eq!(
                NumberFormat::of(code).show(number, false),
                expected,
                "{code} {number}"
            );
        };
        check("General", 0.1 + 0.2, "0.3");
        check("General", 1e20, "1E20");
        check("General", -1234.5, "-1234.5");
        check("General", 0.0, "0");
        check("0.00", 1.0, "1.00");
        check("#,##0.0;[Red]-#,##0.0", 1_234_567.0, "1,234,567.0");
        check("#,##0", -1234.0, "-1,234");
        check("0%", 0.256, "26%");
        check("\"day\" 0", 3.0, "3");
        check("yyyy\\-mm\\-dd", 45_292.0, "2024-01-01");
        check("dd/mm/yyyy hh:mm", 45_292.5, "2024-01-01 12:00");
        check("[h]:mm:ss", 0.25, "06:00");
        check("mmm yy", 36_526.0, "2000-01-01");
        check("yyyy-mm-dd hh:mm:ss", 45_292.999_999_9, "2024-01-02 00:00");
        check("hh:mm", 0.999_999_9, "00:00");
        check("yyyy-mm-dd", 45_292.999_999_9, "2024-01-01");
        check("yyyy", 59.0, "1900-02-28");
        check("yyyy", 61.0, "1900-03-01");
    }

    #[test]
    fn days_may_count_from_1904() {
        assert_eq!(NumberFormat::built_in(14).show(0.0, true), "1904-01-01");
        assert_eq!(NumberFormat::built_in(0).show(2.5, true), "2.5");
        assert_eq!(NumberFormat::built_in(10).show(0.5, true), "50.00%");
    }
}
