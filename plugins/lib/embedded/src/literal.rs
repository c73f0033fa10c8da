//! String and number literals of JSON and JavaScript.

use serde_json::{Number, Value};

use super::code::is_word_byte;

/// Where a string ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// At the first unescaped quote: in code and for keys.
    First,
    /// At the first quote followed by what may follow a value in an object; other quotes should
    /// have been escaped.
    InObject,
    /// Likewise, in an array.
    InArray,
}

/// Parses the string whose opening quote is at `at`. Returns its text and its end; no end if it is
/// unterminated and goes on to the end of the text.
pub(super) fn quoted(text: &str, at: usize, ending: Ending) -> (String, Option<usize>) {
    let bytes = text.as_bytes();
    let quote = bytes[at];
    let mut value = String::new();
    let mut start = at + 1;
    let mut end = start;
    while let Some(&byte) = bytes.get(end) {
        if byte == b'\\' {
            value.push_str(&text[start..end]);
            end = unescape(text, end + 1, &mut value);
            start = end;
        } else if byte == quote && is_closed(bytes, end + 1, ending) {
            value.push_str(&text[start..end]);
            return (value, Some(end + 1));
        } else {
            end += 1;
        }
    }
    value.push_str(&text[start..]);
    (value, None)
}

/// Whether the quote before `after` ends its string, judging by what follows.
fn is_closed(bytes: &[u8], after: usize, ending: Ending) -> bool {
    if ending == Ending::First {
        return true;
    }
    let next = after_blanks(bytes, after);
    match bytes.get(next) {
        None | Some(b'}' | b']') => true,
        Some(b',') => {
            let then = after_blanks(bytes, next + 1);
            match (bytes.get(then), ending) {
                (None | Some(b'"' | b'\'' | b'}' | b']' | b'/' | b','), _) => true,
                (Some(b'{' | b'[' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n'), Ending::InArray) => {
                    true
                }
                (Some(_), Ending::InObject) => is_bare_key(&bytes[then..]),
                _ => false,
            }
        }
        // A missing comma between two lines, or a comment.
        Some(b'"') => bytes[after..next].contains(&b'\n'),
        Some(b'/') => matches!(bytes.get(next + 1), Some(b'/' | b'*')),
        _ => false,
    }
}

/// Whether the bytes start with an unquoted key and a colon.
fn is_bare_key(bytes: &[u8]) -> bool {
    let n_word = bytes.iter().take_while(|&&byte| is_word_byte(byte)).count();
    n_word > 0 && bytes.get(n_word) == Some(&b':')
}

fn after_blanks(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    let n_blanks = rest.iter().take_while(|byte| byte.is_ascii_whitespace());
    at + n_blanks.count()
}

/// Decodes the escape sequence after a backslash into `value` and returns its end.
fn unescape(text: &str, at: usize, value: &mut String) -> usize {
    let Some(escaped) = text[at..].chars().next() else {
        return text.len();
    };
    let end = at + escaped.len_utf8();
    match escaped {
        'n' => value.push('\n'),
        't' => value.push('\t'),
        'r' => value.push('\r'),
        'b' => value.push('\u{8}'),
        'f' => value.push('\u{c}'),
        'v' => value.push('\u{b}'),
        '0' => value.push('\0'),
        '\n' => {}
        'x' => {
            let Some(code) = hex(text, end, 2) else {
                value.push('x');
                return end;
            };
            value.extend(char::from_u32(code));
            return end + 2;
        }
        'u' => return unescape_unicode(text, end, value),
        other => value.push(other),
    }
    end
}

/// Decodes `\u0041`, `\ud83d\ude00` or `\u{1f600}`; `at` is the position of the digits.
fn unescape_unicode(text: &str, at: usize, value: &mut String) -> usize {
    const DIGITS_MAX: usize = 8;
    let rest = &text.as_bytes()[at..];
    if rest.first() == Some(&b'{')
        && let Some(length) = rest.iter().take(DIGITS_MAX).position(|&byte| byte == b'}')
    {
        let code = u32::from_str_radix(&text[at + 1..at + length], 16).ok();
        value.push(
            code.and_then(char::from_u32)
                .unwrap_or(char::REPLACEMENT_CHARACTER),
        );
        return at + length + 1;
    }
    let Some(first) = hex(text, at, 4) else {
        value.push('u');
        return at;
    };
    let second = match text.get(at + 4..at + 6) {
        Some("\\u") if (0xd800..0xdc00).contains(&first) => hex(text, at + 6, 4),
        _ => None,
    };
    match second {
        Some(second) if (0xdc00..0xe000).contains(&second) => {
            let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
            value.extend(char::from_u32(code));
            at + 10
        }
        _ => {
            value.push(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER));
            at + 4
        }
    }
}

fn hex(text: &str, at: usize, n_digits: usize) -> Option<u32> {
    let digits = text.get(at..at + n_digits)?;
    let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hex.then(|| u32::from_str_radix(digits, 16).ok())?
}

/// Parses a JavaScript number: `-1.5e3`, `.5`, `+1`, `0x1F`, `1_000`, `10n`. Null if it is invalid
/// or too large.
pub(super) fn number(text: &str) -> Value {
    if let Ok(number) = text.parse::<Number>() {
        return Value::Number(number);
    }
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let digits = digits.strip_suffix('n').unwrap_or(digits).replace('_', "");
    let radix = match digits.get(..2) {
        Some("0x" | "0X") => 16,
        Some("0o" | "0O") => 8,
        Some("0b" | "0B") => 2,
        _ => 10,
    };
    let whole = match radix {
        10 => digits.parse().ok(),
        _ => i64::from_str_radix(&digits[2..], radix).ok(),
    };
    if let Some(whole) = whole {
        return Value::from(if is_negative { -whole } else { whole });
    }
    let is_decimal = digits.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    let number = digits
        .parse::<f64>()
        .ok()
        .filter(|_| is_decimal && radix == 10);
    number
        .and_then(|number| Number::from_f64(if is_negative { -number } else { number }))
        .map_or(Value::Null, Value::Number)
}

#[cfg(test)]
mod tests {
    use super::{Ending, number, quoted};
    use serde_json::{Value, json};

    #[test]
    fn escapes_of_json_and_javascript_are_read() {
        for (text, expected) in [
            (r#""a\n\t\"\\\/""#, "a\n\t\"\\/"),
            (r#"'\x3cb\x3E\'"'"#, "<b>'\""),
            (
                r#""\u00e9\ud83d\ude00\u{1f600}""#,
                "\u{e9}\u{1f600}\u{1f600}",
            ),
            (r#""\ud83dx\uzz\xq\q""#, "\u{fffd}xuzzxqq"),
            (r#""\u{zz}\u{110000}""#, "\u{fffd}\u{fffd}"),
            ("\"a\\\nb\"", "ab"),
            ("`a\nb`", "a\nb"),
        ] {
            assert_eq!(
                quoted(text, 0, Ending::First),
                (expected.to_owned(), Some(text.len()))
            );
        }
        for text in ["\"open", "\"open\\"] {
            assert_eq!(quoted(text, 0, Ending::First), ("open".to_owned(), None));
        }
    }

    #[track_caller]
    fn check_end(text: &str, ending: Ending, expected: &str) {
        assert_eq!(quoted(text, 0, ending).0, expected, "{text}");
    }

    #[test]
    fn unescaped_quotes_stay_in_the_string() {
        check_end(r#""5" screen", "b": 1"#, Ending::InObject, "5\" screen");
        check_end(
            r#""say "hi", she said" }"#,
            Ending::InObject,
            "say \"hi\", she said",
        );
        check_end(r#""a", 1]"#, Ending::InArray, "a");
        check_end("\"a\"\n \"b\": 1", Ending::InObject, "a");
        check_end(r#""a" // b"#, Ending::InObject, "a");
    }

    #[test]
    fn numbers_of_javascript_are_read() {
        for (text, expected) in [
            ("12", json!(12)),
            ("-1.5e3", json!(-1500.0)),
            (".5", json!(0.5)),
            ("+7", json!(7)),
            ("007", json!(7)),
            ("5.", json!(5.0)),
            ("0x1F", json!(31)),
            ("-0b11", json!(-3)),
            ("1_000", json!(1000)),
            ("10n", json!(10)),
            ("18446744073709551615", json!(u64::MAX)),
            ("1e999", Value::Null),
            ("-inf", Value::Null),
            ("0x", Value::Null),
            ("1.2.3", Value::Null),
            ("-9223372036854775808", json!(i64::MIN)),
        ] {
            assert_eq!(number(text), expected, "{text}");
        }
    }
}
