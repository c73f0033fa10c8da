//! Days of the calendar.

/// Year, month and day of the month of a day in the Gregorian calendar, which is counted from
/// 1 January 1970. Source: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms",
/// `civil_from_days`.
pub fn civil(days: i64) -> (i64, i64, i64) {
    // Days since 1 March of the year 0, in eras of 400 years.
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::civil;

    #[test]
    fn days_before_and_after_1970_are_dates() {
        assert_eq!(civil(0), (1970, 1, 1));
        assert_eq!(civil(-1), (1969, 12, 31));
        assert_eq!(civil(19_782), (2024, 2, 29));
        assert_eq!(civil(-25_567), (1900, 1, 1));
    }
}
