//! Dates of cookies in any form that browsers take. RFC 6265bis section 5.1.1: the parts are in
//! any order, with anything between them, and the zone is ignored.

use trawl_model::clock::Timestamp;

const MONTHS: [&[u8]; 12] = [
    b"jan", b"feb", b"mar", b"apr", b"may", b"jun", b"jul", b"aug", b"sep", b"oct", b"nov", b"dec",
];
/// The first year that browsers take.
const YEAR_MIN: i64 = 1601;

/// The moment that a text names; `None` if it is not a date.
pub(super) fn parse(text: &[u8]) -> Option<Timestamp> {
    let (mut time, mut day, mut month, mut year) = (None, None, None, None);
    // Each part is the first token that has its form and is not another part.
    for token in text.split(|byte| is_delimiter(*byte)) {
        if token.is_empty() {
            continue;
        }
        if time.is_none()
            && let Some(found) = time_of(token)
        {
            time = Some(found);
        } else if day.is_none()
            && let Some((found, _)) = number(token, 1, 2)
        {
            day = Some(found);
        } else if month.is_none()
            && let Some(found) = month_of(token)
        {
            month = Some(found);
        } else if year.is_none()
            && let Some((found, _)) = number(token, 2, 4)
        {
            year = Some(found);
        }
    }
    let year = match year? {
        year @ 70..=99 => year + 1900,
        year @ 0..=69 => year + 2000,
        year => year,
    };
    let moment = Timestamp::of_date([year, month?, day?], time?);
    moment.filter(|_| year >= YEAR_MIN)
}

fn is_delimiter(byte: u8) -> bool {
    matches!(byte, b'\t' | 0x20..=0x2f | 0x3b..=0x40 | 0x5b..=0x60 | 0x7b..=0x7e)
}

/// A number of so many digits at the beginning of a token, and what follows it, which is not a
/// digit.
fn number(token: &[u8], digits_min: usize, digits_max: usize) -> Option<(i64, &[u8])> {
    let n_digits = token
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    if !(digits_min..=digits_max).contains(&n_digits) {
        return None;
    }
    let (digits, rest) = token.split_at(n_digits);
    let value = digits
        .iter()
        .fold(0, |value, digit| value * 10 + i64::from(digit - b'0'));
    Some((value, rest))
}

/// `hours:minutes:seconds` at the beginning of a token.
fn time_of(token: &[u8]) -> Option<[i64; 3]> {
    let (hour, rest) = number(token, 1, 2)?;
    let (minute, rest) = number(rest.strip_prefix(b":")?, 1, 2)?;
    let (second, _) = number(rest.strip_prefix(b":")?, 1, 2)?;
    Some([hour, minute, second])
}

/// The number of a month, from 1, by its first three letters.
fn month_of(token: &[u8]) -> Option<i64> {
    let start = token.get(..3)?;
    let is_it = |name: &&[u8]| start.eq_ignore_ascii_case(name);
    let place = MONTHS.iter().position(is_it)?;
    i64::try_from(place + 1).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_read_in_any_form() {
        const EPOCH: Option<i64> = Some(0);
        for (text, expected) in [
            ("Thu, 01 Jan 1970 00:00:00 GMT", EPOCH),
            ("Thu, 01 Jan 1970 00:00:00 UTC", EPOCH),
            ("Thu, 01 Jan 1970 00:00:00", EPOCH),
            ("Thu, 01 Jan 1970 00:00:00 +0000", EPOCH),
            ("thu, 01 jan 1970 00:00:00 gmt", EPOCH),
            ("\"Thu, 01 Jan 1970 00:00:00 GMT\"", EPOCH),
            ("Thursday, 01-January-70 0:0:0 GMT", EPOCH),
            ("Thu Jan  1 00:00:00 1970", EPOCH),
            ("1970 jan 1st 0:00:00x", EPOCH),
            ("70 jan 1st 0:00:00", None),
            ("jan 1st 1970 0:00:00x", EPOCH),
            ("Wed, 09 Jun 2021 10:18:14 GMT", Some(1_623_233_894_000)),
            ("Sun, 29 Feb 2032 23:59:59 GMT", Some(1_961_711_999_000)),
            ("Fri, 31 Dec 9999 23:59:59 GMT", Some(253_402_300_799_000)),
            ("Fri, 01 Jan 69 00:00:00 GMT", Some(3_124_224_000_000)),
            ("Mon, 01 Jan 1601 00:00:00 GMT", Some(-11_644_473_600_000)),
            ("Mon, 01 Jan 1600 00:00:00 GMT", None),
            ("Sun, 29 Feb 2031 00:00:00 GMT", None),
            ("Thu, 00 Jan 1970 00:00:00 GMT", None),
            ("Thu, 01 Jan 1970 24:00:00 GMT", None),
            ("Thu, 01 Jan 1970", None),
            ("01 Foo 1970 00:00:00", None),
            ("0", None),
            ("", None),
        ] {
            let read = parse(text.as_bytes()).map(|moment| moment.0);
            assert_eq!(read, expected, "{text}");
        }
    }
}
