//! Dates of members.

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
    // Days since 1 March of the year 0, in eras of 400 years. Source: Howard Hinnant,
    // "chrono-Compatible Low-Level Date Algorithms", civil_from_days.
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = year + era * 400 + u64::from(month <= 2);
    let (hours, minutes, seconds) = (rest / 3_600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02}T{hours:02}:{minutes:02}:{seconds:02}")
}
