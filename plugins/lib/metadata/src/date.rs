//! Normalizes dates: `2024-05-17`, or `2024-05-17T10:00:00+02:00` if the time is known.

use trawl_sdk::calendar::civil;

use crate::months::month_of;

/// Plausible years.
const YEARS: std::ops::RangeInclusive<u32> = 1980..=2099;

/// Maximum length of a text searched for a date, in bytes.
pub(crate) const TEXT_BYTES_MAX: usize = 200;

/// Interpretation of `05/06/2024`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// 5 June.
    DayFirst,
    /// May 6.
    MonthFirst,
}

/// Parses a machine-readable date in one of many formats, or else one for people.
pub(crate) fn machine(text: &str) -> Option<String> {
    let text = text.trim();
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return of_digits(text);
    }
    of_iso(text).or_else(|| visible(text, Order::MonthFirst))
}

/// `20240517`, seconds or milliseconds since 1970, `20240517100000`.
fn of_digits(digits: &str) -> Option<String> {
    match digits.len() {
        8 | 12 | 14 => {
            let date = day(
                digits[..4].parse().ok()?,
                digits[4..6].parse().ok()?,
                digits[6..8].parse().ok()?,
            )?;
            Some(date)
        }
        10 => of_unix(digits.parse().ok()?),
        13 => of_unix(digits.parse::<u64>().ok()? / 1_000),
        _ => None,
    }
}

/// Date and time of a Unix timestamp.
fn of_unix(seconds: u64) -> Option<String> {
    const DAY_SECONDS: u64 = 86_400;
    let (days, time) = (seconds / DAY_SECONDS, seconds % DAY_SECONDS);
    let (year, month, date) = civil(days.cast_signed());
    let date = day(year as u32, month as u32, date as u32)?;
    let (hours, minutes, seconds) = (time / 3_600, time / 60 % 60, time % 60);
    Some(format!("{date}T{hours:02}:{minutes:02}:{seconds:02}Z"))
}

/// `2024-05-17`, `2024/5/17 10:00`, `2024-05-17T10:00:00.000+0200`.
fn of_iso(text: &str) -> Option<String> {
    let (year, rest) = number(text, 4, 4)?;
    let mark = rest
        .chars()
        .next()
        .filter(|mark| matches!(mark, '-' | '/' | '.'))?;
    let (month, rest) = number(&rest[1..], 1, 2)?;
    let (day_of_month, rest) = number(rest.strip_prefix(mark)?, 1, 2)?;
    let date = day(year, month, day_of_month)?;
    let time = rest
        .strip_prefix(['T', 't'])
        .unwrap_or(rest.trim_ascii_start());
    Some(match time_of(time) {
        Some(time) => format!("{date}T{time}"),
        None => date,
    })
}

/// `10:00`, `10:00:00.000Z`, `10:00:00 +0200`.
fn time_of(text: &str) -> Option<String> {
    let (hours, rest) = number(text, 1, 2)?;
    let (minutes, rest) = number(rest.strip_prefix(':')?, 2, 2)?;
    let (seconds, rest) = match rest.strip_prefix(':').and_then(|rest| number(rest, 2, 2)) {
        Some(found) => found,
        None => (0, rest),
    };
    if hours > 23 || minutes > 59 || seconds > 60 {
        return None;
    }
    let rest = match rest.strip_prefix(['.', ',']) {
        Some(fraction) => fraction.trim_start_matches(|c: char| c.is_ascii_digit()),
        None => rest,
    };
    let zone = zone_of(rest.trim_ascii()).unwrap_or_default();
    Some(format!("{hours:02}:{minutes:02}:{seconds:02}{zone}"))
}

fn zone_of(text: &str) -> Option<String> {
    if ["Z", "z", "UTC", "GMT"].contains(&text) {
        return Some("Z".to_owned());
    }
    let sign = text
        .chars()
        .next()
        .filter(|sign| matches!(sign, '+' | '-'))?;
    let (hours, minutes) = match number(&text[1..], 4, 4) {
        Some((both, _)) => (both / 100, both % 100),
        None => {
            let (hours, rest) = number(&text[1..], 2, 2)?;
            let minutes = rest.strip_prefix(':').and_then(|rest| number(rest, 2, 2));
            (hours, minutes.map_or(0, |(minutes, _)| minutes))
        }
    };
    Some(format!("{sign}{hours:02}:{minutes:02}"))
}

/// The number of `min` to `max` digits at the start of the text, and the rest.
fn number(text: &str, min: usize, max: usize) -> Option<(u32, &str)> {
    let n_digits = text.bytes().take_while(u8::is_ascii_digit).count();
    (min..=max).contains(&n_digits).then_some(())?;
    Some((text[..n_digits].parse().ok()?, &text[n_digits..]))
}

/// The date as text, if it exists.
fn day(year: u32, month: u32, day: u32) -> Option<String> {
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let n_days = match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    let is_day = YEARS.contains(&year) && (1..=n_days).contains(&day);
    is_day.then(|| format!("{year:04}-{month:02}-{day:02}"))
}

/// A token of a text.
#[derive(Clone, Copy, Debug)]
enum Part<'a> {
    /// A number and its number of digits.
    Number(u32, usize),
    /// A word.
    Word(&'a str),
    /// A mark used in dates.
    Mark(char),
}

/// The first complete date in visible text: day, month (a number, or a name in one of many
/// languages) and year.
pub(crate) fn visible(text: &str, order: Order) -> Option<String> {
    let text = &text[..text.floor_char_boundary(TEXT_BYTES_MAX)];
    let parts = parts(text);
    (0..parts.len()).find_map(|at| date_at(&parts[at..], order))
}

/// The date in a byline: not one that a sentence tells, nor one in brackets that tell of something
/// else (`Rust 1.90.0 (released 2025-09-18)`).
pub(crate) fn of_byline(text: &str, order: Order) -> Option<String> {
    if is_sentence(text) {
        return None;
    }
    visible(&without_asides(text), order)
}

/// Lower-case words of a text from which on it is prose.
const PROSE_WORDS_MIN: usize = 9;
/// The same for a text that ends like a sentence.
const SENTENCE_WORDS_MIN: usize = 4;

fn is_sentence(text: &str) -> bool {
    let text = text.trim_end();
    let is_lower = |word: &&str| word.chars().all(char::is_lowercase) && word.len() > 1;
    let words = text.split(|c: char| !c.is_alphanumeric());
    let n_lower = words.filter(is_lower).count();
    // Not the end of an hour: `10 a.m.`
    let is_ended = text.ends_with(['.', '!', '?']) && !text.ends_with("m.");
    n_lower >= PROSE_WORDS_MIN || is_ended && n_lower >= SENTENCE_WORDS_MIN
}

/// The text without brackets that begin with a word, unless that says that the page was published.
fn without_asides(text: &str) -> String {
    const PUBLISHED: [&str; 2] = ["publi", "post"];
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, inside)) = rest.split_once('(')
        && let Some((aside, after)) = inside.split_once(')')
    {
        let is_word = aside.starts_with(char::is_lowercase);
        let is_published = PUBLISHED.iter().any(|start| aside.starts_with(start));
        kept.push_str(before);
        if !is_word || is_published || before.trim().is_empty() {
            kept.push('(');
            kept.push_str(aside);
            kept.push(')');
        }
        rest = after;
    }
    kept + rest
}

fn parts(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_digit = |c: char| c.is_ascii_digit();
        let is_letter =
            |c: char| c.is_alphabetic() && !matches!(c, '年' | '月' | '日' | '년' | '월' | '일');
        let after = match first {
            _ if is_digit(first) => rest.trim_start_matches(is_digit),
            _ if is_letter(first) => rest.trim_start_matches(is_letter),
            _ => &rest[first.len_utf8()..],
        };
        let part = &rest[..rest.len() - after.len()];
        match first {
            _ if is_digit(first) => {
                parts.push(Part::Number(part.parse().unwrap_or(u32::MAX), part.len()))
            }
            _ if is_letter(first) => parts.push(Part::Word(part)),
            '-' | '/' | '.' | '年' | '月' | '년' | '월' => parts.push(Part::Mark(first)),
            '\u{2010}' | '\u{2011}' | '\u{2013}' => parts.push(Part::Mark('-')),
            _ => {}
        }
        rest = after;
    }
    parts
}

fn date_at(parts: &[Part<'_>], order: Order) -> Option<String> {
    use Part::{Mark, Number, Word};
    match *parts {
        [
            Number(year, 4),
            Mark('年' | '년'),
            Number(month, 1..=2),
            Mark('月' | '월'),
            Number(date, 1..=2),
            ..,
        ] => day(year, month, date),
        [
            Number(year, 4),
            Mark(a),
            Number(month, 1..=2),
            Mark(b),
            Number(date, 1..=2),
            ..,
        ] if a == b => day(year, month, date),
        [
            Number(first, 1..=2),
            Mark(a),
            Number(second, 1..=2),
            Mark(b),
            Number(year, n_digits @ (2 | 4)),
            ..,
        ] if a == b => {
            let year = if n_digits == 2 { 2000 + year } else { year };
            let is_day_first = a != '/' || first > 12 || (order == Order::DayFirst && second <= 12);
            if is_day_first {
                day(year, second, first)
            } else {
                day(year, first, second)
            }
        }
        [Number(date, 1..=2), ref rest @ ..] => after_day(date, rest),
        [Word(name), ref rest @ ..] => after_month(name, rest),
        _ => None,
    }
}

/// The date of a day and what follows it: `17 May 2024`, `17th of May, 2024`, `17 de mayo de 2024`.
fn after_day(date: u32, rest: &[Part<'_>]) -> Option<String> {
    const BEFORE_MONTH: [&str; 12] = [
        ".", "-", "/", "st", "nd", "rd", "th", "er", "º", "de", "of", "d",
    ];
    let rest = without_words(rest, &BEFORE_MONTH);
    let [Part::Word(name), rest @ ..] = rest else {
        return None;
    };
    let rest = without_words(rest, &[".", "-", "/", "de", "del", "of", "г"]);
    let [Part::Number(year, 4), ..] = *rest else {
        return None;
    };
    day(year, month_of(name)?, date)
}

/// The date of a month and what follows it: `May 17, 2024`.
fn after_month(name: &str, rest: &[Part<'_>]) -> Option<String> {
    let rest = without_words(rest, &[".", "-"]);
    let [Part::Number(date, 1..=2), rest @ ..] = rest else {
        return None;
    };
    let rest = without_words(rest, &[".", "-", "st", "nd", "rd", "th"]);
    let [Part::Number(year, 4), ..] = *rest else {
        return None;
    };
    day(year, month_of(name)?, *date)
}

/// Skips up to two of these words and marks.
fn without_words<'p, 't>(mut parts: &'p [Part<'t>], words: &[&str]) -> &'p [Part<'t>] {
    for _ in 0..2 {
        let is_left_out = match parts.first() {
            Some(Part::Word(word)) => words.iter().any(|known| word.eq_ignore_ascii_case(known)),
            Some(Part::Mark(mark)) => words.contains(&&*mark.encode_utf8(&mut [0; 4])),
            _ => false,
        };
        if !is_left_out {
            break;
        }
        parts = &parts[1..];
    }
    parts
}

/// The date in a URL path: `/2024/05/17/`, `/2024-05-17-name`, `/20240517/`.
pub(crate) fn of_path(path: &str) -> Option<String> {
    let mut segments = path.split('/').skip(1);
    let triple = path
        .split('/')
        .zip(path.split('/').skip(1))
        .zip(path.split('/').skip(2));
    let of_triple = |((year, month), date): ((&str, &str), &str)| {
        let (year, rest) = number(year, 4, 4)?;
        let (month, more) = number(month, 1, 2)?;
        let (date, _) = number(date, 1, 2)?;
        (rest.is_empty() && more.is_empty()).then(|| day(year, month, date))?
    };
    triple.into_iter().find_map(of_triple).or_else(|| {
        segments.find_map(|segment| {
            let head = segment
                .get(..8)
                .filter(|head| head.bytes().all(|byte| byte.is_ascii_digit()));
            let is_whole = !segment.as_bytes().get(8).is_some_and(u8::is_ascii_digit);
            match head.filter(|_| is_whole) {
                Some(digits) => of_digits(digits),
                None => segment
                    .get(..10)
                    .filter(|head| head.contains('-'))
                    .and_then(of_iso),
            }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::{Order, machine, of_byline, of_path, visible};

    #[test]
    fn dates_for_machines_are_read_in_their_forms() {
        for (text, expected) in [
            ("2024-05-17", "2024-05-17"),
            ("2024-05-17T10:00:00+02:00", "2024-05-17T10:00:00+02:00"),
            ("2024-05-17T10:00:00.123Z", "2024-05-17T10:00:00Z"),
            ("2024-05-17 10:00", "2024-05-17T10:00:00"),
            ("2024-05-17T10:00:00-0530", "2024-05-17T10:00:00-05:30"),
            ("2024/5/7", "2024-05-07"),
            ("20240517", "2024-05-17"),
            ("1715940000", "2024-05-17T10:00:00Z"),
            ("1715940000000", "2024-05-17T10:00:00Z"),
            ("1709164800", "2024-02-29T00:00:00Z"),
            ("Fri, 17 May 2024 10:00:00 GMT", "2024-05-17"),
            ("05/17/2024", "2024-05-17"),
        ] {
            assert_eq!(machine(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn invalid_days_are_not_dates() {
        for text in [
            "",
            "2024-13-01",
            "2023-02-29",
            "1024-01-01",
            "today",
            "2024",
            "2024-05",
            "99999999999",
            "12.5.3",
            "1/2",
        ] {
            assert_eq!(machine(text), None, "{text}");
        }
    }

    #[test]
    fn dates_for_people_are_read_in_many_languages() {
        for text in [
            "Published May 17th, 2024 by A",
            "17 May 2024",
            "Fri 17-May-2024",
            "17. Mai 2024",
            "17 mai 2024",
            "17 de mayo de 2024",
            "17 maggio 2024",
            "17 de maio de 2024",
            "17 mei 2024",
            "17 maja 2024",
            "17 мая 2024 г.",
            "17 maj 2024",
            "17 Mayıs 2024",
            "17. května 2024",
            "2024年5月17日",
            "2024년 5월 17일",
            "17.05.2024",
            "2024/05/17",
            "2024. 5. 17",
            "17/5/2024",
            "le 17 mai 2024 à 10h",
            "MAY 17 2024",
        ] {
            assert_eq!(
                visible(text, Order::DayFirst).as_deref(),
                Some("2024-05-17"),
                "{text}"
            );
        }
    }

    #[test]
    fn the_order_of_day_and_month_depends_on_the_locale() {
        assert_eq!(
            visible("05/06/2024", Order::MonthFirst).as_deref(),
            Some("2024-05-06")
        );
        assert_eq!(
            visible("05/06/2024", Order::DayFirst).as_deref(),
            Some("2024-06-05")
        );
        assert_eq!(
            visible("25/06/2024", Order::MonthFirst).as_deref(),
            Some("2024-06-25")
        );
        assert_eq!(
            visible("06/25/24", Order::DayFirst).as_deref(),
            Some("2024-06-25")
        );
    }

    #[test]
    fn numbers_next_to_words_are_not_dates() {
        for text in [
            "in May 2024",
            "5 comments",
            "version 1.2.3",
            "Mark 17 2024x",
            "10:30",
            "12 of 2024",
        ] {
            assert_eq!(visible(text, Order::DayFirst), None, "{text}");
        }
    }

    #[test]
    fn dates_that_sentences_tell_are_not_those_of_the_page() {
        for text in [
            "This version of the text assumes you\u{2019}re using Rust 1.90.0 (released 2025-09-18) or later with",
            "Rust 1.90.0 (released 2025-09-18)",
            "The town was founded here on 3 May 2019.",
        ] {
            assert_eq!(of_byline(text, Order::DayFirst), None, "{text}");
        }
        for text in [
            "17 May 2024",
            "(17 May 2024)",
            "Ada Person (17 May 2024)",
            "News (published 17 May 2024)",
            "Published on 17 May 2024 at 10 a.m.",
            "By Ada Person, updated on 17 May 2024, 5 minutes to read",
            "Veröffentlicht am 17. Mai 2024 von Ada",
        ] {
            let found = of_byline(text, Order::DayFirst);
            assert_eq!(found.as_deref(), Some("2024-05-17"), "{text}");
        }
    }

    #[test]
    fn the_path_of_a_url_may_contain_the_date() {
        for (path, expected) in [
            ("/2024/05/17/title", Some("2024-05-17")),
            ("/news/2024-05-17-title", Some("2024-05-17")),
            ("/a/20240517/b", Some("2024-05-17")),
            ("/2024/05/title", None),
            ("/product/202405171", None),
            ("/1/2/3/", None),
            ("/é/2024é-05-17", None),
        ] {
            assert_eq!(of_path(path).as_deref(), expected, "{path}");
        }
    }
}
