//! Cost of a conversation in the service's own units, which the operator's price table converts to
//! dollars.

/// The unit for dollars.
pub const USD: &str = "usd";
/// One unit in billionths.
const BILLION: u64 = 1_000_000_000;

/// Cost of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Charged quantities, to be added up. Ignored if nothing is charged.
    pub quantities: Vec<Quantity>,
    /// Whether the service charges.
    pub charged: Charged,
    /// Whether the service reported the cost; otherwise the adapter derived it from the price
    /// table.
    pub reported: bool,
}

/// An amount in one unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quantity {
    /// Name of the unit: [`USD`], or one of [`Description::units`](super::Description::units).
    pub unit: String,
    /// The amount in billionths.
    pub billionths: u64,
}

/// Whether the service charges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Charged {
    /// It charges.
    Yes,
    /// It does not charge.
    No,
    /// Not known.
    Unknown,
}

impl Cost {
    /// No charge.
    pub fn free() -> Self {
        Self {
            quantities: Vec::new(),
            charged: Charged::No,
            reported: false,
        }
    }

    /// It is not known whether the service charges.
    pub fn unknown() -> Self {
        let charged = Charged::Unknown;
        Self {
            charged,
            ..Self::free()
        }
    }

    /// One unit, according to the price table.
    pub fn listed(unit: &str) -> Self {
        Self::free().and(unit, BILLION)
    }

    /// An amount that the service reported as decimal text: `5`, `0.25`. `None` if it is not such a
    /// number.
    pub fn reported(unit: &str, amount: &str) -> Option<Self> {
        let mut cost = Self::free().and(unit, billionths(amount)?);
        cost.reported = true;
        if cost.quantities[0].billionths == 0 {
            cost.charged = Charged::No;
        }
        Some(cost)
    }

    /// The [`reported`](Self::reported) amount, or [`unknown`](Self::unknown) if there is none or
    /// it is not a number.
    pub fn reported_or_unknown(unit: &str, amount: Option<&str>) -> Self {
        let cost = amount.and_then(|amount| Self::reported(unit, amount));
        cost.unwrap_or_else(Self::unknown)
    }

    /// Adds billionths of a unit. A cost with quantities is charged.
    #[must_use]
    pub fn and(mut self, unit: &str, billionths: u64) -> Self {
        self.charged = Charged::Yes;
        self.quantities.push(Quantity {
            unit: unit.to_owned(),
            billionths,
        });
        self
    }

    /// Adds a number of units.
    #[must_use]
    pub fn and_units(self, unit: &str, n_units: u64) -> Self {
        self.and(unit, n_units.saturating_mul(BILLION))
    }
}

/// Parses a decimal number (`12`, `0.000456`, `1e-05`) in billionths; truncates further digits.
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
    fn a_reported_zero_is_not_charged() {
        let charged = |amount| Cost::reported("credit", amount).map(|cost| cost.charged);
        assert_eq!(charged("0"), Some(Charged::No));
        assert_eq!(charged("1"), Some(Charged::Yes));
        assert_eq!(charged("none"), None);
    }
}
