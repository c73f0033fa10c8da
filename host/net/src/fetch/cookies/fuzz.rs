//! Fuzzing of the dates of cookies, against a strict reader of the one form that the standard has
//! servers write.

use std::time::UNIX_EPOCH;

use super::*;

/// Years that the strict reader writes: up to 9999.
const MILLIS_MAX: i64 = 253_402_300_799_000;

/// Any text as a date, and any moment written as one.
#[test]
fn cookie_dates() {
    trawl_fuzz::fuzz!("cookie_dates", check);
}

fn check(input: &[u8]) {
    if let Some(moment) = date::parse(input) {
        check_moment(moment);
        // The names of days and zones around it change nothing.
        let around = [b"\"Thu, ", input, b" GMT\""].concat();
        assert_eq!(date::parse(&around), Some(moment), "in quotes");
        assert_eq!(
            date::parse(&input.to_ascii_uppercase()),
            Some(moment),
            "case"
        );
    }
    if let Some(bytes) = input.first_chunk() {
        let millis = i64::from_le_bytes(*bytes).rem_euclid(MILLIS_MAX);
        check_moment(Timestamp(millis / 1000 * 1000));
    }
}

/// A moment from 1970 on comes back from its usual form, and the strict reader agrees.
fn check_moment(moment: Timestamp) {
    assert!(moment.0 % 1000 == 0 && moment.0 <= MILLIS_MAX, "{moment:?}");
    let Ok(millis) = u64::try_from(moment.0) else {
        return;
    };
    let written = httpdate::fmt_http_date(UNIX_EPOCH + std::time::Duration::from_millis(millis));
    assert_eq!(date::parse(written.as_bytes()), Some(moment), "{written}");
}
