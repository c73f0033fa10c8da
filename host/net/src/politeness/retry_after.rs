//! `Retry-After`, in seconds or as a date. RFC 9110 section 10.2.3.

use std::time::Duration;

use trawl_model::clock::Timestamp;

/// Longest pause that a host can request. A longer one is shortened: by then the operator has
/// looked, or the crawl is over.
pub const PAUSE_MAX: Duration = Duration::from_secs(5 * 60);

/// The pause that a `Retry-After` requests at this moment, at most [`PAUSE_MAX`]; `None` when it is
/// neither a number of seconds nor a date. A date in the past means no pause.
pub(super) fn requested_pause(value: &str, now: Timestamp) -> Option<Duration> {
    let value = value.trim();
    let pause = if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        // More digits than the type holds are a long time too.
        Duration::from_secs(value.parse().unwrap_or(u64::MAX))
    } else {
        let date = Timestamp::from(httpdate::parse_http_date(value).ok()?);
        let millis = date.0.saturating_sub(now.0);
        Duration::from_millis(u64::try_from(millis).unwrap_or(0))
    };
    Some(pause.min(PAUSE_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_are_seconds_or_dates() {
        let now = Timestamp::parse("2026-03-01T10:00:00Z").expect("a moment");
        let check = |value: &str, expected: Option<u64>| {
            assert_eq!(
                requested_pause(value, now),
                expected.map(Duration::from_secs),
                "{value}"
            );
        };
        check("0", Some(0));
        check(" 7 ", Some(7));
        check("3600", Some(PAUSE_MAX.as_secs()));
        check("99999999999999999999999999", Some(PAUSE_MAX.as_secs()));
        check("Sun, 01 Mar 2026 10:00:30 GMT", Some(30));
        check("Sunday, 01-Mar-26 10:00:31 GMT", Some(31));
        check("Sun Mar  1 10:00:32 2026", Some(32));
        check("Sun, 01 Mar 2026 09:00:00 GMT", Some(0));
        check("Mon, 01 Mar 2027 10:00:00 GMT", Some(PAUSE_MAX.as_secs()));
        for bad in ["", "soon", "-1", "1.5", "Sun, 99 Mar 2026 10:00:00 GMT"] {
            check(bad, None);
        }
    }
}
