//! The price of seats: graduated by their number, for a month or for the rest of one.

use trawl_model::clock::Timestamp;
use trawl_model::{Nanodollars, money::PER_DOLLAR};

use crate::price::share;

/// Maximum seats per account. Decision D99: a server has far fewer connections than ten times this.
pub const SEATS_MAX: u32 = 10_000;

/// Monthly price per seat by the number of seats, smallest first. Each step applies to the whole
/// purchase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeatPrices(Vec<(u32, Nanodollars)>);

impl Default for SeatPrices {
    /// Spec S25. Decision D99.
    fn default() -> Self {
        let dollars = |cents: i64| Nanodollars(cents * PER_DOLLAR / 100);
        Self(vec![
            (1, dollars(2_000)),
            (10, dollars(1_800)),
            (25, dollars(1_600)),
            (50, dollars(1_450)),
            (100, dollars(1_300)),
        ])
    }
}

impl SeatPrices {
    /// Prices by the number of seats from which on they apply.
    ///
    /// # Errors
    /// What is wrong with the list, for the operator.
    pub fn new(steps: Vec<(u32, Nanodollars)>) -> Result<Self, &'static str> {
        let is_rising = steps.windows(2).all(|pair| pair[0].0 < pair[1].0);
        match steps.first() {
            None => Err("there is no step: leave the list out to have the usual prices"),
            Some((from, _)) if *from != 1 => Err("the first step does not begin at 1 seat"),
            _ if !is_rising => Err("the steps do not rise"),
            _ if steps.iter().any(|(_, price)| *price < Nanodollars::ZERO) => {
                Err("a price is less than zero")
            }
            _ => Ok(Self(steps)),
        }
    }

    /// The price of a month. Saturates at the limit of the type.
    pub fn month(&self, seats: u32) -> Nanodollars {
        let mut steps = self.0.iter().rev();
        let step = steps.find(|(from, _)| *from <= seats);
        let price = step.map(|(_, price)| *price).unwrap_or_default();
        Nanodollars(price.0.saturating_mul(seats.into()))
    }

    /// The price of more seats for the rest of a period, by the day; a started day counts.
    ///
    /// Decision D100: the prorated difference of both monthly prices. Where a step makes more seats
    /// cheaper than fewer, it is zero, never a refund.
    pub fn difference(
        &self,
        seats: (u32, u32),
        period: (Timestamp, Timestamp),
        now: Timestamp,
    ) -> Nanodollars {
        let (from, to) = period;
        let (fewer, more) = (self.month(seats.0), self.month(seats.1));
        let month = Nanodollars(more.0.saturating_sub(fewer.0));
        let whole = from.days_until(to).max(1);
        let days_left = now.days_until(to).clamp(0, whole);
        share(
            month,
            days_left.unsigned_abs().into(),
            whole.unsigned_abs().into(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dollars(text: &str) -> Nanodollars {
        Nanodollars::parse_dollars(text).expect("dollars")
    }

    #[test]
    fn each_step_applies_to_the_whole_purchase() {
        let prices = SeatPrices::default();
        let check = |seats: u32, expected: &str| {
            assert_eq!(prices.month(seats), dollars(expected), "{seats} seats");
        };
        check(0, "0");
        check(1, "20");
        check(9, "180");
        check(10, "180");
        check(24, "432");
        check(25, "400");
        check(49, "784");
        check(50, "725");
        check(99, "1435.5");
        check(100, "1300");
        check(10_000, "130000");
    }

    #[test]
    fn more_seats_are_prorated_by_the_day() {
        let prices = SeatPrices::default();
        let check = |seats: (u32, u32), now: &str, expected: &str| {
            let read = |text| Timestamp::parse(text).expect("a time");
            let june = (read("2026-06-10T08:00:00Z"), read("2026-07-10T08:00:00Z"));
            let charge = prices.difference(seats, june, read(now));
            assert_eq!(charge, dollars(expected), "{seats:?} at {now}");
        };
        check((2, 5), "2026-06-10T08:00:00Z", "60");
        check((2, 5), "2026-06-10T09:00:00Z", "60");
        check((2, 5), "2026-06-11T08:00:00Z", "58");
        check((2, 5), "2026-06-25T07:00:00Z", "32");
        check((2, 5), "2026-07-10T07:59:59Z", "2");
        check((2, 5), "2026-07-10T08:00:00Z", "0");
        check((1, 2), "2026-06-11T08:00:00Z", "19.333333333");
        check((9, 10), "2026-06-10T08:00:00Z", "0");
        check((24, 25), "2026-06-10T08:00:00Z", "0");
        check((5, 2), "2026-06-10T08:00:00Z", "0");
    }

    #[test]
    fn invalid_price_lists_are_refused() {
        let check = |steps: &[(u32, i64)], expected: &str| {
            let steps = steps
                .iter()
                .map(|(from, price)| (*from, Nanodollars(*price)));
            let refusal = SeatPrices::new(steps.collect()).expect_err("refused");
            assert!(refusal.contains(expected), "{refusal}");
        };
        check(&[], "no step");
        check(&[(2, 1)], "begin at 1");
        check(&[(1, 1), (1, 2)], "rise");
        check(&[(1, 1), (9, 2), (5, 3)], "rise");
        check(&[(1, -1)], "less than zero");
        let own = SeatPrices::new(vec![(1, Nanodollars(7)), (3, Nanodollars(0))]);
        let own = own.expect("a list");
        assert_eq!((own.month(2).0, own.month(3).0), (14, 0));
        let expensive = SeatPrices::new(vec![(1, Nanodollars::MAX)]).expect("a list");
        assert_eq!(expensive.month(SEATS_MAX), Nanodollars::MAX);
    }
}
