//! Whole numbers with a decimal point or an exponent. JSON Schema takes `876.0` for an integer, and
//! some encoders write integers so. Decision D238.

use std::borrow::Cow;

/// Largest whole number that a float can hold with all its neighbours.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

/// JSON in which such numbers are written as integers: `876.0` as `876`, `1e2` as `100`. Strings
/// and other numbers stay as they are.
pub(crate) fn with_integers(json: &str) -> Cow<'_, str> {
    let mut rewritten = String::new();
    let mut done = 0;
    let mut at = 0;
    let bytes = json.as_bytes();
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => at = end_of_string(bytes, at + 1),
            b'-' | b'0'..=b'9' => {
                let length = bytes[at..].iter().take_while(|byte| is_of_number(**byte));
                let end = at + length.count();
                if let Some(integer) = integer(&json[at..end]) {
                    rewritten.push_str(&json[done..at]);
                    rewritten.push_str(&integer.to_string());
                    done = end;
                }
                at = end;
            }
            _ => at += 1,
        }
    }
    if done == 0 {
        return Cow::Borrowed(json);
    }
    rewritten.push_str(&json[done..]);
    Cow::Owned(rewritten)
}

/// The position behind a string whose content begins here.
fn end_of_string(bytes: &[u8], mut at: usize) -> usize {
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

fn is_of_number(byte: u8) -> bool {
    byte.is_ascii_digit() || b"+-.eE".contains(&byte)
}

/// The integer that a text with a point or an exponent stands for, if it is one.
fn integer(number: &str) -> Option<i64> {
    if !number.contains(['.', 'e', 'E']) {
        return None;
    }
    let value: f64 = number.parse().ok()?;
    let is_whole = value.fract() == 0.0 && value.abs() <= EXACT_MAX;
    is_whole.then_some(value as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_numbers_outside_of_strings_change() {
        let check = |json: &str, expected: &str| {
            assert_eq!(with_integers(json), expected);
        };
        check(
            r#"{"limit": 876.0, "b": [1e2, -2.50e1]}"#,
            r#"{"limit": 876, "b": [100, -25]}"#,
        );
        check("1.0", "1");
        check("-0.0", "0");
        for same in [
            r#"{"a": 1.5, "b": "1.0", "c": 10, "d": -3, "e": 1e-1}"#,
            r#"{"a": "\"1.0", "b\\": 2}"#,
            "1e999",
            "1e300",
            "\"open 1.0",
            "\"\\",
            "[1.2.3, 1-2, -]",
            "",
        ] {
            let read = with_integers(same);
            assert!(
                matches!(read, Cow::Borrowed(text) if text == same),
                "{read}"
            );
        }
    }
}
