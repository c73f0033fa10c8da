//! Paying in, with the bonus for large amounts.

use super::price::share;
use trawl_model::{Nanodollars, money::PER_DOLLAR};

/// Largest single top-up. Keeps every sum of an account far inside the type.
pub const TOP_UP_MAX: Nanodollars = Nanodollars(1_000_000 * PER_DOLLAR);
/// Largest balance: half of what the type holds.
pub(super) const BALANCE_MAX: Nanodollars = Nanodollars(i64::MAX / 2);

/// What a top-up came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopUp {
    /// Its id.
    pub id: String,
    /// What was paid in.
    pub amount: Nanodollars,
    /// What was added to it.
    pub bonus: Nanodollars,
    /// Whether a top-up with this id was made before, so that nothing was paid in now.
    pub is_repeat: bool,
}

/// The bonus on a top-up, rounded like a charge. Spec S13.
pub fn bonus(amount: Nanodollars) -> Nanodollars {
    let percent = match amount.0 / PER_DOLLAR {
        2_000.. => 12,
        500.. => 5,
        _ => 0,
    };
    share(amount, percent, 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_top_ups_earn_a_bonus() {
        let check = |amount: &str, expected: &str| {
            let read = |text| Nanodollars::parse_dollars(text).expect("dollars");
            assert_eq!(bonus(read(amount)), read(expected), "{amount}");
        };
        check("0", "0");
        check("499.999999999", "0");
        check("500", "25");
        check("1999.99", "99.9995");
        check("2000", "240");
        check("2000.000000001", "240");
        check("2000.000000005", "240.000000001");
    }
}
