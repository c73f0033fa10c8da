//! The price of usage: a pure function with one rounding rule.
//!
//! Each component of a charge is rounded to whole nanodollars, half a nanodollar up, and the total
//! is the sum of the rounded components. So the charges of the pages add up to the bill exactly.

use std::time::Duration;

use trawl_model::{Charge, Nanodollars, Usage, VendorUse};

const BYTES_PER_GIGABYTE: u128 = 1_000_000_000;
const NANOSECONDS_PER_MINUTE: u128 = 60_000_000_000;

/// How a run is billed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tariff {
    /// By the usage of each page.
    PayAsYouGo(Prices),
    /// Monthly: pages cost nothing. Spec S23.
    FlatRate,
}

impl Default for Tariff {
    fn default() -> Self {
        Self::PayAsYouGo(Prices::default())
    }
}

/// Prices of usage. The defaults are the specification's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prices {
    /// Per gigabyte (10^9 bytes) of content. Spec S14.
    pub gigabyte: Nanodollars,
    /// Per CPU minute. Spec S14.
    pub cpu_minute: Nanodollars,
    /// Provider pages on the caller's own key: percentage of the provider's list price.
    pub own_key_percent: u32,
    /// Minimum for such a page.
    pub own_key_least: Nanodollars,
    /// Provider pages on the operator's credentials: percentage on top of the provider's charge.
    pub pooled_percent: u32,
}

impl Default for Prices {
    fn default() -> Self {
        Self {
            gigabyte: Nanodollars(1_000_000_000),
            cpu_minute: Nanodollars(100_000),
            // Decision D83.
            own_key_percent: 10,
            own_key_least: Nanodollars(100_000),
            pooled_percent: 20,
        }
    }
}

/// The charge for this usage under this tariff. Amounts saturate at the limit of the type.
pub fn price(usage: &Usage, tariff: &Tariff) -> Charge {
    let prices = match tariff {
        Tariff::PayAsYouGo(prices) => prices,
        Tariff::FlatRate => return Charge::default(),
    };
    // Decision D83: a provider page costs the provider's part and compute, no bandwidth.
    let content_bytes = match usage.vendor {
        Some(_) => 0,
        None => usage.content_bytes,
    };
    Charge {
        compute: cpu(usage.compute, prices.cpu_minute),
        transform: cpu(usage.transform, prices.cpu_minute),
        bytes_transferred: bytes(content_bytes, plus(prices.gigabyte, usage.pool_price)),
        // Decision D81: what is stored is included in the price of a page.
        file: Nanodollars::ZERO,
        ai: usage.ai,
        vendor_billed: usage
            .vendor
            .map_or(Nanodollars::ZERO, |used| vendor(used, prices)),
    }
}

/// The charge for a provider page: a markup if the provider invoices the caller, cost plus markup
/// if it invoices the operator.
fn vendor(used: VendorUse, prices: &Prices) -> Nanodollars {
    let percent = |percent: u32| share(used.cost, percent.into(), 100);
    if used.byok {
        percent(prices.own_key_percent).max(prices.own_key_least)
    } else {
        plus(used.cost, percent(prices.pooled_percent))
    }
}

/// Maximum bytes of content that an amount pays for, through a pool of this price; `u64::MAX` if
/// they are free.
pub fn bytes_for(money: Nanodollars, tariff: &Tariff, pool_price: Nanodollars) -> u64 {
    let per_gigabyte = match tariff {
        Tariff::PayAsYouGo(prices) => plus(prices.gigabyte, pool_price).0.max(0),
        Tariff::FlatRate => 0,
    };
    if per_gigabyte == 0 {
        return u64::MAX;
    }
    let bytes = u128::from(money.0.max(0).unsigned_abs()) * BYTES_PER_GIGABYTE
        / u128::from(per_gigabyte.unsigned_abs());
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

/// The sum, saturating at the limit of the type.
fn plus(a: Nanodollars, b: Nanodollars) -> Nanodollars {
    Nanodollars(a.0.saturating_add(b.0))
}

fn cpu(time: Duration, per_minute: Nanodollars) -> Nanodollars {
    share(per_minute, time.as_nanos(), NANOSECONDS_PER_MINUTE)
}

fn bytes(n_bytes: u64, per_gigabyte: Nanodollars) -> Nanodollars {
    share(per_gigabyte, u128::from(n_bytes), BYTES_PER_GIGABYTE)
}

/// `amount * part / whole`, half a nanodollar rounded up. A negative amount counts as zero.
pub(crate) fn share(amount: Nanodollars, part: u128, whole: u128) -> Nanodollars {
    let amount = u128::from(amount.0.max(0).unsigned_abs());
    // The product saturates, and so does the result.
    let scaled = amount.saturating_mul(part).saturating_add(whole / 2) / whole;
    Nanodollars(i64::try_from(scaled).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_amount_pays_for_the_bytes_that_cost_it() {
        let tariff = Tariff::default();
        let none = Nanodollars::ZERO;
        assert_eq!(bytes_for(Nanodollars(5_000), &tariff, none), 5_000);
        let expensive = Nanodollars(4_000_000_000);
        assert_eq!(bytes_for(Nanodollars(5_000), &tariff, expensive), 1_000);
        assert_eq!(bytes_for(none, &tariff, none), 0);
        assert_eq!(bytes_for(Nanodollars::MAX, &tariff, none), i64::MAX as u64);
        assert_eq!(bytes_for(none, &Tariff::FlatRate, none), u64::MAX);
    }

    fn usage(content_bytes: u64, compute: Duration, transform: Duration) -> Usage {
        Usage {
            content_bytes,
            compute,
            transform,
            ..Usage::default()
        }
    }

    #[test]
    fn the_price_of_a_proxy_pool_is_added() {
        let page = Usage {
            pool_price: Nanodollars(8_500_000_000),
            ..usage(1_000, Duration::ZERO, Duration::ZERO)
        };
        let charge = price(&page, &Tariff::default());
        assert_eq!(charge.bytes_transferred, Nanodollars(9_500));
        assert_eq!(charge.total(), Nanodollars(9_500));
        let saturated = Usage {
            pool_price: Nanodollars::MAX,
            ..page
        };
        assert_eq!(price(&saturated, &Tariff::FlatRate), Charge::default());
        assert!(price(&saturated, &Tariff::default()).total() > charge.total());
    }

    #[test]
    fn a_byte_costs_one_nanodollar() {
        let charge = price(
            &usage(47_001, Duration::ZERO, Duration::ZERO),
            &Tariff::default(),
        );
        assert_eq!(charge.bytes_transferred, Nanodollars(47_001));
        assert_eq!(charge.total(), Nanodollars(47_001));
    }

    #[test]
    fn a_cpu_minute_costs_a_hundredth_of_a_cent() {
        let check = |time: Duration, nanodollars: i64| {
            let charge = price(&usage(0, time, time), &Tariff::default());
            assert_eq!(charge.compute, Nanodollars(nanodollars), "{time:?}");
            assert_eq!(charge.transform, Nanodollars(nanodollars), "{time:?}");
        };
        check(Duration::from_secs(60), 100_000);
        check(Duration::from_micros(600), 1);
        check(Duration::from_nanos(300_000), 1);
        check(Duration::from_nanos(299_999), 0);
        check(Duration::from_nanos(899_999), 1);
        check(Duration::ZERO, 0);
    }

    #[test]
    fn model_costs_are_passed_on() {
        let page = Usage {
            ai: Nanodollars(1_234),
            ..usage(10, Duration::ZERO, Duration::ZERO)
        };
        let charge = price(&page, &Tariff::default());
        assert_eq!(
            (charge.ai, charge.total()),
            (Nanodollars(1_234), Nanodollars(1_244))
        );
        assert_eq!(price(&page, &Tariff::FlatRate), Charge::default());
    }

    #[test]
    fn a_provider_page_costs_the_provider_charge_and_no_bandwidth() {
        let check = |cost: i64, byok: bool, billed: i64| {
            let cost = Nanodollars(cost);
            let served = Usage {
                vendor: Some(VendorUse { cost, byok }),
                ..usage(47_000, Duration::from_secs(60), Duration::ZERO)
            };
            let charge = price(&served, &Tariff::default());
            assert_eq!(charge.vendor_billed, Nanodollars(billed), "{cost:?} {byok}");
            let total = billed.saturating_add(100_000);
            assert_eq!(charge.total(), Nanodollars(total));
            assert_eq!(price(&served, &Tariff::FlatRate), Charge::default());
        };
        check(5_000_000, true, 500_000);
        check(196_000, true, 100_000);
        check(0, true, 100_000);
        check(196_000, false, 235_200);
        check(3, false, 4);
        check(0, false, 0);
        check(i64::MAX - 100_000, false, i64::MAX);
    }

    #[test]
    fn the_flat_rate_charges_no_page() {
        let much = usage(u64::MAX, Duration::MAX, Duration::MAX);
        assert_eq!(price(&much, &Tariff::FlatRate), Charge::default());
    }

    #[test]
    fn huge_usage_saturates() {
        let prices = Prices {
            gigabyte: Nanodollars::MAX,
            ..Prices::default()
        };
        let much = usage(u64::MAX, Duration::ZERO, Duration::ZERO);
        assert_eq!(
            price(&much, &Tariff::PayAsYouGo(prices)).bytes_transferred,
            Nanodollars::MAX
        );
    }

    proptest! {
        #[test]
        fn more_usage_never_costs_less(a in 0..u64::MAX / 2, more in 0..u64::MAX / 2) {
            let total = |n: u64| {
                price(&usage(n >> 32, Duration::from_nanos(n), Duration::ZERO), &Tariff::default()).total()
            };
            prop_assert!(total(a) <= total(a + more));
        }

        #[test]
        fn rounding_is_off_by_half_a_nanodollar_at_most(nanos in 0..u64::MAX) {
            let charge = cpu(Duration::from_nanos(nanos), Nanodollars(100_000));
            let exact_times_whole = u128::from(nanos) * 100_000;
            let charged_times_whole = u128::from(charge.0.unsigned_abs()) * NANOSECONDS_PER_MINUTE;
            prop_assert!(exact_times_whole.abs_diff(charged_times_whole) * 2 <= NANOSECONDS_PER_MINUTE);
        }
    }
}
