//! `pages`: which pages of a document are decoded.

use serde::{Deserialize, Serialize};

use super::PlanError;

/// Most pages and ranges of one request.
const RANGES_MAX: usize = 100;
/// Most characters of an invalid range that its error repeats.
const CHARS_SHOWN: usize = 40;

/// Pages of a document, counted from 1; both ends are included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageRange {
    /// The first page.
    pub first: u32,
    /// The last page; at least `first`, and `u32::MAX` for a range without an end.
    pub last: u32,
}

/// Reads pages and ranges that commas separate: `1-5,9` or `3-`. They come in ascending order,
/// those that touch as one. A page that the document lacks is no error.
///
/// # Errors
/// A range is no number and no two, is zero, or ends before it begins; or there are too many.
pub fn read(text: &str) -> Result<Vec<PageRange>, PlanError> {
    let parts: Vec<&str> = text.split(',').take(RANGES_MAX + 1).collect();
    if parts.len() > RANGES_MAX {
        let reason = format!("has more than {RANGES_MAX} ranges, join those that touch");
        return Err(PlanError::new("pages", reason));
    }
    let mut ranges = parts
        .into_iter()
        .map(|part| range(part.trim()))
        .collect::<Result<Vec<PageRange>, PlanError>>()?;
    ranges.sort_by_key(|range| range.first);
    let mut joined: Vec<PageRange> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match joined.last_mut() {
            Some(before) if range.first <= before.last.saturating_add(1) => {
                before.last = before.last.max(range.last);
            }
            _ => joined.push(range),
        }
    }
    Ok(joined)
}

fn range(part: &str) -> Result<PageRange, PlanError> {
    let (first, last) = match part.split_once('-') {
        Some((first, "")) => (number(first), Some(u32::MAX)),
        Some((first, last)) => (number(first), number(last)),
        None => (number(part), number(part)),
    };
    match (first, last) {
        (Some(first), Some(last)) if first <= last => Ok(PageRange { first, last }),
        _ => {
            let shown: String = part.chars().take(CHARS_SHOWN).collect();
            let reason = format!(
                "`{shown}` is not a page or a range of pages; count from 1 and write `1-5,9` or `3-`"
            );
            Err(PlanError::new("pages", reason))
        }
    }
}

/// A page number; `None` if it is none, or zero.
fn number(text: &str) -> Option<u32> {
    let digits = text.trim();
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    let number = digits.parse::<u32>().ok().filter(|_| is_number)?;
    (number > 0).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_in_order_and_joined() {
        let check = |text: &str, expected: &[(u32, u32)]| {
            let ranges = read(text).expect("ranges");
            let ranges: Vec<_> = ranges.iter().map(|it| (it.first, it.last)).collect();
            assert_eq!(ranges, expected, "{text}");
        };
        check("1-5,9", &[(1, 5), (9, 9)]);
        check(" 9 , 1 - 5 ", &[(1, 5), (9, 9)]);
        check("4,2,3", &[(2, 4)]);
        check("1-10,3", &[(1, 10)]);
        check("3-,1", &[(1, 1), (3, u32::MAX)]);
        check("3-,7", &[(3, u32::MAX)]);
    }

    #[test]
    fn what_is_no_range_is_refused() {
        for text in [
            "",
            "0",
            "a",
            "1,",
            "5-1",
            "-3",
            "1-2-3",
            "+1",
            "1.5",
            "99999999999",
        ] {
            let error = read(text).expect_err(text).to_string();
            assert!(error.starts_with("pages: "), "{error}");
        }
        let many = vec!["1"; 101].join(",");
        let error = read(&many).expect_err("too many").to_string();
        assert!(error.contains("more than 100 ranges"), "{error}");
    }
}
