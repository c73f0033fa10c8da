//! What a conversation cost, in the service's own units; the operator's price table makes dollars of them.

/// The unit that is a dollar.
pub const USD: &str = "usd";
/// Billionths in one.
const BILLION: u64 = 1_000_000_000;

/// What a conversation cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cost {
    /// What is charged, to be added up. Ignored when nothing is.
    pub quantities: Vec<Quantity>,
    /// Whether it is charged.
    pub charged: Charged,
    /// Whether the service told it, rather than the adapter reckoning by the price table.
    pub reported: bool,
}

/// A number of one unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quantity {
    /// Name of the unit: [`USD`], or one of [`Description::units`](super::Description::units).
    pub unit: String,
    /// How many, in billionths.
    pub billionths: u64,
}

/// Whether the service charges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Charged {
    /// It does.
    Yes,
    /// It does not.
    No,
    /// Nobody knows.
    Unknown,
}

impl Cost {
    /// Nothing is charged.
    pub fn free() -> Self {
        Self {
            quantities: Vec::new(),
            charged: Charged::No,
            reported: false,
        }
    }

    /// Nobody knows whether something is charged.
    pub fn unknown() -> Self {
        let charged = Charged::Unknown;
        Self {
            charged,
            ..Self::free()
        }
    }

    /// One of a unit, by the price table.
    pub fn listed(unit: &str) -> Self {
        Self::free().and(unit, BILLION)
    }

    /// As many of a unit as the service told, in decimal text: `5`, `0.25`. `None` when that is no such number.
    pub fn reported(unit: &str, amount: &str) -> Option<Self> {
        let mut cost = Self::free().and(unit, billionths(amount)?);
        cost.reported = true;
        if cost.quantities[0].billionths == 0 {
            cost.charged = Charged::No;
        }
        Some(cost)
    }

    /// [`reported`](Self::reported) where the service told something, [`unknown`](Self::unknown) where it told nothing or no number.
    pub fn told(unit: &str, amount: Option<&str>) -> Self {
        let cost = amount.and_then(|amount| Self::reported(unit, amount));
        cost.unwrap_or_else(Self::unknown)
    }

    /// Adds billionths of a unit. What has quantities is charged.
    #[must_use]
    pub fn and(mut self, unit: &str, billionths: u64) -> Self {
        self.charged = Charged::Yes;
        self.quantities.push(Quantity {
            unit: unit.to_owned(),
            billionths,
        });
        self
    }

    /// Adds a number of a unit.
    #[must_use]
    pub fn and_units(self, unit: &str, n_units: u64) -> Self {
        self.and(unit, n_units.saturating_mul(BILLION))
    }
}

/// Billionths of a decimal number (`12`, `0.000456`, `1e-05`); digits beyond are cut off.
fn billionths(text: &str) -> Option<u64> {
    let text = text.trim();
    let (digits, exponent) = match text.split_once(['e', 'E']) {
        Some((digits, exponent)) => (digits, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all = format!("{whole}{fraction}");
    if all.is_empty() || !all.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let mut value: u128 = all.parse().ok()?;
    let shift = 9 + exponent.checked_sub(i32::try_from(fraction.len()).ok()?)?;
    let scale = |places: u32| 10_u128.checked_pow(places);
    value = match shift {
        0.. => value.checked_mul(scale(shift.unsigned_abs())?)?,
        _ => scale(shift.unsigned_abs()).map_or(0, |whole| value / whole),
    };
    u64::try_from(value).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimal_text_is_read_exactly() {
        let check = |text: &str, expected| assert_eq!(billionths(text), expected, "{text}");
        check("5", Some(5 * BILLION));
        check(" 0.000456 ", Some(456_000));
        check("1e-05", Some(10_000));
        check("1.5E2", Some(150 * BILLION));
        check("0.00000000049", Some(0));
        check("1e-2147483648", Some(0));
        check("18446744073.709551615", Some(u64::MAX));
        for bad in ["", ".", "-1", "1,5", "x", "1e", "99999999999", "1e99"] {
            check(bad, None);
        }
    }

    #[test]
    fn a_reported_nothing_is_not_charged() {
        let charged = |amount| Cost::reported("credit", amount).map(|cost| cost.charged);
        assert_eq!(charged("0"), Some(Charged::No));
        assert_eq!(charged("1"), Some(Charged::Yes));
        assert_eq!(charged("none"), None);
    }
}
