//! Dates and times. Source: RFC 5545, 3.3.4 and 3.3.5; RFC 6350, 4.3.

/// `20240102T030405Z` as `2024-01-02T03:04:05Z`, `20240102` as `2024-01-02`; anything else as it
/// is.
pub(crate) fn iso(text: &str) -> String {
    let (date, time) = text.split_once('T').unwrap_or((text, ""));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if date.len() != 8 || !is_number(date) {
        return text.to_owned();
    }
    let date = format!("{}-{}-{}", &date[..4], &date[4..6], &date[6..]);
    let (digits, zone) = match time.strip_suffix('Z') {
        Some(digits) => (digits, "Z"),
        None => (time, ""),
    };
    if digits.len() != 6 || !is_number(digits) {
        return match time {
            "" => date,
            _ => text.to_owned(),
        };
    }
    let (hours, minutes, seconds) = (&digits[..2], &digits[2..4], &digits[4..]);
    format!("{date}T{hours}:{minutes}:{seconds}{zone}")
}
