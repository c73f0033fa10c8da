//! `costs`: the only place where money is a float. Spec S15.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use trawl_model::outcome::VendorPart;
use trawl_model::{Charge, Nanodollars, money};

/// What a page costs, in dollars. Always these six numbers.
#[derive(Debug, Deserialize, Serialize, ToSchema)]
#[schema(example = json!({
    "ai_cost": 0.0, "compute_cost": 0.000000012, "file_cost": 0.0, "bytes_transferred_cost": 0.000047,
    "transform_cost": 0.000000002, "total_cost": 0.000047014,
}))]
pub struct Costs {
    /// Charge for AI work.
    pub ai_cost: f64,
    /// Charge for CPU other than transformations.
    pub compute_cost: f64,
    /// Charge for stored files. Always 0: what is stored for an account (entries of crawls for 7
    /// days, answers of idempotent requests for 24 hours, contacts) is included in the price of its
    /// pages, and limited by `stored_bytes` of `GET /account`.
    pub file_cost: f64,
    /// Charge for transferred content.
    pub bytes_transferred_cost: f64,
    /// Charge for the CPU of plugins.
    pub transform_cost: f64,
    /// Whole charge of the page.
    pub total_cost: f64,
    /// Only when a provider served the page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vendor: Option<VendorCosts>,
}

// Spec S16.
/// The provider that served a page.
#[derive(Debug, Deserialize, Serialize, ToSchema)]
pub struct VendorCosts {
    /// Provider that served the page.
    provider: String,
    /// Route that ran.
    route: String,
    /// What the provider charged.
    vendor_cost: f64,
    /// What the service charged.
    billed_cost: f64,
    /// Whether the caller's own key paid.
    byok: bool,
    /// Routes tried before one served the page.
    attempts: u32,
}

impl Costs {
    /// The wire form of a charge.
    pub fn new(charge: &Charge, vendor: Option<&VendorPart>) -> Self {
        Self {
            ai_cost: dollars(charge.ai),
            compute_cost: dollars(charge.compute),
            file_cost: dollars(charge.file),
            bytes_transferred_cost: dollars(charge.bytes_transferred),
            transform_cost: dollars(charge.transform),
            total_cost: dollars(charge.total()),
            vendor: vendor.map(|vendor| VendorCosts {
                provider: vendor.provider.clone(),
                route: vendor.route.clone(),
                vendor_cost: dollars(vendor.vendor_cost),
                billed_cost: dollars(vendor.billed_cost),
                byok: vendor.byok,
                attempts: vendor.attempts,
            }),
        }
    }
}

/// The nearest float to an amount; it is printed as the exact decimal up to nine million dollars.
pub fn dollars(amount: Nanodollars) -> f64 {
    amount.0 as f64 / money::PER_DOLLAR as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_written_as_exact_decimals() {
        for nanodollars in [
            0,
            1,
            47_000,
            123_456_789,
            1_000_000_001,
            999_999_999_999_999,
            -5,
        ] {
            let text = serde_json::to_string(&dollars(Nanodollars(nanodollars))).expect("a number");
            let parsed: f64 = text.parse().expect("a number");
            assert_eq!((parsed * 1e9).round() as i64, nanodollars, "{text}");
        }
    }

    #[test]
    fn the_total_includes_the_vendor_charge() {
        let charge = Charge {
            compute: Nanodollars(1),
            bytes_transferred: Nanodollars(47_000),
            vendor_billed: Nanodollars(500_000),
            ..Charge::default()
        };
        let vendor = VendorPart {
            provider: "provider_1".to_owned(),
            route: "provider_1/http".to_owned(),
            vendor_cost: Nanodollars(400_000),
            billed_cost: Nanodollars(500_000),
            byok: false,
            attempts: 1,
        };
        let json = serde_json::to_value(Costs::new(&charge, Some(&vendor))).expect("an object");
        assert_eq!(json["total_cost"], 0.000547001);
        assert_eq!(json["vendor"]["billed_cost"], 0.0005);
        let json = serde_json::to_value(Costs::new(&charge, None)).expect("an object");
        assert_eq!(json.as_object().map(|costs| costs.len()), Some(6));
    }
}
