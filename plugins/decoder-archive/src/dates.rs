//! Dates of members.

use trawl_sdk::calendar::civil;

/// Seconds of a day.
const DAY: u64 = 86_400;
/// The last second of the year 9999.
const SECONDS_MAX: u64 = 253_402_300_799;

/// Seconds since 1970 as ISO 8601; empty for zero and for years of five digits.
pub(crate) fn of(seconds: u64) -> String {
    if seconds == 0 || seconds > SECONDS_MAX {
        return String::new();
    }
    let (days, rest) = (seconds / DAY, seconds % DAY);
    let (year, month, day) = civil(days.cast_signed());
    let (hours, minutes, seconds) = (rest / 3_600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02}T{hours:02}:{minutes:02}:{seconds:02}")
}
