//! Top-ups, with the bonus for large amounts.

use trawl_model::{Nanodollars, money::PER_DOLLAR};

use crate::price::share;

/// Maximum amount of a single top-up. Keeps every sum far below the limit of the type.
pub const TOP_UP_MAX: Nanodollars = Nanodollars(1_000_000 * PER_DOLLAR);
/// Maximum balance: half the limit of the type.
pub(crate) const BALANCE_MAX: Nanodollars = Nanodollars(i64::MAX / 2);

/// The result of a top-up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopUp {
    /// Id of the top-up.
    pub id: String,
    /// Amount paid in.
    pub amount: Nanodollars,
    /// Bonus on it.
    pub bonus: Nanodollars,
    /// Whether a top-up with this id was made before, so that nothing was added now.
    pub is_repeat: bool,
}

/// The bonus for a top-up, rounded like a charge. Spec S13.
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
