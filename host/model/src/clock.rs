//! Time as a type: the wall clock, or one that a test advances.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The source of the time of day. Clones share it.
#[derive(Clone, Debug)]
pub struct Clock(TimeSource);

#[derive(Clone, Debug)]
enum TimeSource {
    Wall,
    Fake(Arc<AtomicI64>),
}

impl Clock {
    /// The machine's clock.
    pub const fn wall() -> Self {
        Self(TimeSource::Wall)
    }

    /// A clock that only [`Clock::advance`] moves.
    pub fn fake(start: Timestamp) -> Self {
        Self(TimeSource::Fake(Arc::new(AtomicI64::new(start.0))))
    }

    /// The time of day.
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that asks the machine for the time of day"
    )]
    pub fn now(&self) -> Timestamp {
        match &self.0 {
            TimeSource::Wall => Timestamp::from(SystemTime::now()),
            TimeSource::Fake(millis) => Timestamp(millis.load(Ordering::SeqCst)),
        }
    }

    /// Moves a fake clock forward. Has no effect on the machine's clock.
    pub fn advance(&self, by: Duration) {
        if let TimeSource::Fake(millis) = &self.0 {
            millis.fetch_add(whole_millis(by), Ordering::SeqCst);
        }
    }
}

/// Milliseconds of a day.
pub const DAY_MS: i64 = 86_400_000;

/// A moment: milliseconds since 1970-01-01 00:00 UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// Before every moment that is ever stored.
    pub const MIN: Self = Self(i64::MIN);
    /// After every moment that is ever stored.
    pub const MAX: Self = Self(i64::MAX);

    /// Whole seconds since 1970.
    pub const fn unix_seconds(self) -> i64 {
        self.0.div_euclid(1000)
    }

    /// This much earlier; saturates.
    #[must_use]
    pub fn before(self, by: Duration) -> Self {
        Self(self.0.saturating_sub(whole_millis(by)))
    }

    /// This much later; saturates.
    #[must_use]
    pub fn after(self, by: Duration) -> Self {
        Self(self.0.saturating_add(whole_millis(by)))
    }

    /// The same time of day this many calendar months later, or on the month's last day if it has
    /// no such day.
    #[must_use]
    pub fn months_later(self, months: u32) -> Self {
        let (days, time) = (self.0.div_euclid(DAY_MS), self.0.rem_euclid(DAY_MS));
        let (year, month, day) = civil_from_days(days);
        let months = month - 1 + i64::from(months);
        let (year, month) = (year + months.div_euclid(12), months.rem_euclid(12) + 1);
        let day = day.min(days_in_month(year, month));
        Self(days_from_civil(year, month, day) * DAY_MS + time)
    }

    /// The beginning of its calendar month (UTC).
    #[must_use]
    pub fn month_begin(self) -> Self {
        let (year, month, _) = civil_from_days(self.0.div_euclid(DAY_MS));
        Self(days_from_civil(year, month, 1).saturating_mul(DAY_MS))
    }

    /// Whole days from this moment to a later one, rounded up; 0 if the other is not later.
    pub const fn days_until(self, later: Self) -> i64 {
        let millis = later.0.saturating_sub(self.0);
        if millis <= 0 {
            return 0;
        }
        (millis - 1) / DAY_MS + 1
    }

    /// Reads `2026-01-31` (midnight UTC) or `2026-01-31T10:20:30Z`, with up to nine digits after
    /// the seconds, three of them count; `None` if the text is neither.
    pub fn parse(text: &str) -> Option<Self> {
        let (date, time) = match text.strip_suffix('Z') {
            Some(text) => text.split_once('T')?,
            None => (text, "00:00:00"),
        };
        let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
        let moment = Self::of_date(numbers(date, '-')?, numbers(time, ':')?)?;
        let is_fraction =
            (1..=9).contains(&fraction.len()) && fraction.bytes().all(|byte| byte.is_ascii_digit());
        let millis = format!("{fraction:0<3.3}").parse::<i64>().ok()?;
        let is_valid = is_fraction && moment >= Self::default();
        is_valid.then_some(Self(moment.0 + millis))
    }

    /// The moment of a date (year, month, day) and a time of day (hour, minute, second) in UTC;
    /// `None` if there is no such date or time, or the year has more than four digits.
    pub fn of_date([year, month, day]: [i64; 3], [hour, minute, second]: [i64; 3]) -> Option<Self> {
        let is_valid = (0..=9999).contains(&year)
            && (1..=12).contains(&month)
            && (1..=days_in_month(year, month)).contains(&day)
            && (0..24).contains(&hour)
            && (0..60).contains(&minute)
            && (0..60).contains(&second);
        is_valid.then(|| {
            let seconds = hour * 3600 + minute * 60 + second;
            Self(days_from_civil(year, month, day) * DAY_MS + seconds * 1000)
        })
    }
}

/// A text that is not a time; the message shows valid ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("write a time like `2026-01-31` or `2026-01-31T10:20:30Z`")]
pub struct NotATime;

impl FromStr for Timestamp {
    type Err = NotATime;

    /// [`Timestamp::parse`] with an error for people.
    fn from_str(text: &str) -> Result<Self, NotATime> {
        Self::parse(text.trim()).ok_or(NotATime)
    }
}

impl From<SystemTime> for Timestamp {
    fn from(time: SystemTime) -> Self {
        match time.duration_since(UNIX_EPOCH) {
            Ok(since) => Self(whole_millis(since)),
            Err(earlier) => Self(-whole_millis(earlier.duration())),
        }
    }
}

/// RFC 3339 in UTC with milliseconds: `2026-01-31T10:20:30.123Z`.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, millis) = (self.0.div_euclid(1000), self.0.rem_euclid(1000));
        let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
        let (year, month, day) = civil_from_days(days);
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        write!(
            f,
            "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z"
        )
    }
}

fn whole_millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

fn numbers(text: &str, separator: char) -> Option<[i64; 3]> {
    let mut parts = text.split(separator);
    let mut next = || {
        let part = parts.next()?;
        part.bytes()
            .all(|byte| byte.is_ascii_digit())
            .then(|| part.parse().ok())?
    };
    let numbers = [next()?, next()?, next()?];
    parts.next().is_none().then_some(numbers)
}

fn days_in_month(year: i64, month: i64) -> i64 {
    let (next_year, next_month) = if month == 12 {
        (year + 1, 1)
    } else {
        (year, month + 1)
    };
    days_from_civil(next_year, next_month, 1) - days_from_civil(year, month, 1)
}

/// Days since 1970-01-01 of a date of the Gregorian calendar. Years are counted from March, so that
/// the leap day is the last day of a year; 400 years have 146,097 days.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// The reverse of [`days_from_civil`]: year, month, day.
fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_and_read() {
        let check = |millis: i64, text: &str| assert_eq!(Timestamp(millis).to_string(), text);
        check(0, "1970-01-01T00:00:00.000Z");
        check(951_782_399_999, "2000-02-28T23:59:59.999Z");
        check(951_782_400_000, "2000-02-29T00:00:00.000Z");
        check(4_107_542_400_000, "2100-03-01T00:00:00.000Z");
        check(-1, "1969-12-31T23:59:59.999Z");
        assert_eq!(
            Timestamp::parse("2000-02-29"),
            Some(Timestamp(951_782_400_000))
        );
        assert_eq!(
            Timestamp::parse("2000-02-29T00:00:01Z"),
            Some(Timestamp(951_782_401_000))
        );
        for (fraction, millis) in [("5", 500), ("041", 41), ("123456789", 123)] {
            let text = format!("1970-01-01T00:00:00.{fraction}Z");
            assert_eq!(Timestamp::parse(&text), Some(Timestamp(millis)));
        }
        for text in [
            "",
            "2100-02-29",
            "2026-13-01",
            "1969-12-31",
            "10000-01-01",
            "99999999999999999-01-01",
            "9223372036854775807-12-31",
            "2026-1",
            "x-1-1",
            "2026-01-01T25:00:00Z",
            "+026-01-01",
            "2026-01-01T00:00:00.Z",
            "2026-01-01T00:00:00.1aZ",
            "2026-01-01T00:00:00.1234567890Z",
        ] {
            assert_eq!(Timestamp::parse(text), None, "{text}");
        }
    }

    #[test]
    fn every_day_of_four_centuries_survives_the_round_trip() {
        for days in 0..146_097 {
            let (year, month, day) = civil_from_days(days);
            assert_eq!(days_from_civil(year, month, day), days);
        }
    }

    #[test]
    fn months_end_where_the_calendar_has_them_end() {
        let check = |from: &str, months: u32, to: &str| {
            let read = |text| Timestamp::parse(text).expect("a time");
            assert_eq!(
                read(from).months_later(months),
                read(to),
                "{from} + {months}"
            );
        };
        check("2026-01-31", 0, "2026-01-31");
        check("2026-01-31", 1, "2026-02-28");
        check("2026-01-31", 2, "2026-03-31");
        check("2028-01-31", 1, "2028-02-29");
        check("2026-12-15T10:20:30Z", 1, "2027-01-15T10:20:30Z");
        check("2026-03-30T23:59:59Z", 11, "2027-02-28T23:59:59Z");
        check("2026-06-30", 25, "2028-07-30");
    }

    #[test]
    fn months_begin_at_midnight_of_their_first_day() {
        let check = |at: &str, begin: &str| {
            let read = |text| Timestamp::parse(text).expect("a time");
            assert_eq!(read(at).month_begin(), read(begin), "{at}");
        };
        check("1970-01-01", "1970-01-01");
        check("2026-01-31T23:59:59.999Z", "2026-01-01");
        check("2026-02-01", "2026-02-01");
        check("2028-02-29T10:20:30Z", "2028-02-01");
        check("2026-12-31", "2026-12-01");
    }

    #[test]
    fn days_are_counted_when_they_have_begun() {
        let check = |millis: i64, days: i64| {
            assert_eq!(Timestamp(7).days_until(Timestamp(7 + millis)), days);
        };
        check(-5, 0);
        check(0, 0);
        check(1, 1);
        check(DAY_MS, 1);
        check(DAY_MS + 1, 2);
        check(30 * DAY_MS, 30);
    }

    #[test]
    fn a_fake_clock_moves_for_all_its_clones() {
        let clock = Clock::fake(Timestamp(1_000));
        let other = clock.clone();
        clock.advance(Duration::from_secs(2));
        assert_eq!(other.now(), Timestamp(3_000));
        assert_eq!(other.now().unix_seconds(), 3);
    }
}
