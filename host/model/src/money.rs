//! Money as integers. Floats exist only where JSON is written.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Neg, Sub};
use std::str::FromStr;

/// Nanodollars in one dollar.
pub const PER_DOLLAR: i64 = 1_000_000_000;
/// Nanodollars in one credit. Spec S13.
pub const PER_CREDIT: i64 = 100_000;
/// Nanodollars in one cent.
pub const PER_CENT: i64 = 10_000_000;

/// An amount of money in billionths of a dollar. At one dollar per gigabyte (10^9 bytes) a byte
/// costs exactly one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanodollars(pub i64);

impl Nanodollars {
    /// Nothing.
    pub const ZERO: Self = Self(0);
    /// More than any account holds: "no ceiling".
    pub const MAX: Self = Self(i64::MAX);

    /// An amount given in whole credits; saturates.
    pub const fn from_credits(credits: i64) -> Self {
        Self(credits.saturating_mul(PER_CREDIT))
    }

    /// Whole credits in this amount, rounded towards minus infinity.
    pub const fn whole_credits(self) -> i64 {
        self.0.div_euclid(PER_CREDIT)
    }

    /// Credits as exact decimal text without trailing zeros: `1250.5`.
    pub fn credits_text(self) -> String {
        decimal_text(self.0, PER_CREDIT, 5)
    }

    /// Dollars as exact decimal text without trailing zeros: `0.000047`.
    pub fn dollars_text(self) -> String {
        decimal_text(self.0, PER_DOLLAR, 9)
    }

    /// Reads an amount of dollars such as `25`, `0.5` or `12.345678901`.
    ///
    /// # Errors
    /// `None` if the text is not a decimal number, has more than nine decimals or does not fit.
    pub fn parse_dollars(text: &str) -> Option<Self> {
        let (sign, digits) = match text.strip_prefix('-') {
            Some(rest) => (-1, rest),
            None => (1, text),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || fraction.len() > 9 || !is_number(whole) || !is_number(fraction) {
            return None;
        }
        let whole: i64 = whole.parse().ok()?;
        let fraction: i64 = format!("{fraction:0<9}").parse().ok()?;
        let total = whole.checked_mul(PER_DOLLAR)?.checked_add(fraction)?;
        Some(Self(sign * total))
    }

    /// The sum; saturates.
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

/// A text that is not an amount; the message shows a valid one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("write dollars like `25` or `0.50`, with at most nine decimals")]
pub struct NotDollars;

impl FromStr for Nanodollars {
    type Err = NotDollars;

    /// [`Nanodollars::parse_dollars`] with an error for people; a leading `$` is allowed.
    fn from_str(text: &str) -> Result<Self, NotDollars> {
        let text = text.trim();
        Self::parse_dollars(text.strip_prefix('$').unwrap_or(text)).ok_or(NotDollars)
    }
}

fn decimal_text(amount: i64, unit: i64, decimals: usize) -> String {
    let sign = if amount < 0 { "-" } else { "" };
    let (whole, rest) = (
        amount.unsigned_abs() / unit.unsigned_abs(),
        amount.unsigned_abs() % unit.unsigned_abs(),
    );
    let fraction = format!("{rest:0decimals$}");
    match fraction.trim_end_matches('0') {
        "" => format!("{sign}{whole}"),
        fraction => format!("{sign}{whole}.{fraction}"),
    }
}

impl fmt::Display for Nanodollars {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "${}", self.dollars_text())
    }
}

impl Add for Nanodollars {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Nanodollars {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Sub for Nanodollars {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl Neg for Nanodollars {
    type Output = Self;
    fn neg(self) -> Self {
        Self(-self.0)
    }
}

impl Sum for Nanodollars {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::ZERO, Add::add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In every profile: a sum that wraps around would be paid out.
    #[test]
    fn sums_that_do_not_fit_are_a_panic() {
        let one = Nanodollars(1);
        for sum in [
            (|one| Nanodollars::MAX + one) as fn(Nanodollars) -> Nanodollars,
            |one| Nanodollars(i64::MIN) - one,
            |one| -(Nanodollars(i64::MIN + 1) - one),
            |one| [Nanodollars::MAX, one].into_iter().sum(),
        ] {
            let one = std::hint::black_box(one);
            assert!(std::panic::catch_unwind(|| sum(one)).is_err());
        }
    }

    #[test]
    fn dollars_are_read_and_written_exactly() {
        for text in ["0", "1", "0.000000001", "12.5", "-3.25"] {
            assert_eq!(
                Nanodollars::parse_dollars(text)
                    .map(Nanodollars::dollars_text)
                    .as_deref(),
                Some(text)
            );
        }
        for text in [
            "",
            ".",
            "1e3",
            "1.0000000001",
            "abc",
            "9999999999999",
            "1.2.3",
        ] {
            assert_eq!(Nanodollars::parse_dollars(text), None, "{text}");
        }
    }

    #[test]
    fn credits_are_a_ten_thousandth_of_a_dollar() {
        assert_eq!(
            Nanodollars::parse_dollars("0.12505")
                .expect("a number")
                .credits_text(),
            "1250.5"
        );
        assert_eq!(Nanodollars::from_credits(10_000), Nanodollars(PER_DOLLAR));
        assert_eq!(Nanodollars(PER_CREDIT * 3 + 1).whole_credits(), 3);
    }
}
