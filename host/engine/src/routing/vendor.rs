//! Third-party providers in a page's outcome.

use serde_json::{Value, json};

use trawl_model::Nanodollars;

use crate::providers::{Payment, RouteCounters};

/// The provider that served a page. Spec S16.
#[derive(Clone, Debug)]
pub struct Vendor {
    /// Name in requests.
    pub provider: String,
    /// What ran: `provider_2.js`.
    pub route: String,
    /// What the provider charged for it.
    pub cost: Nanodollars,
    /// Whether the caller's key paid.
    pub byok: bool,
    /// Its place among the providers that were preferred, asked or left out; 1 is the first choice.
    pub attempts: u32,
    /// Where to count what is billed for it.
    pub counters: RouteCounters,
}

/// The outcome of a provider that the site blocked. Decision D177.
pub(super) const TURNED_AWAY: &str = "turned_away";
/// Its name from the next version on.
const BLOCKED: &str = "blocked";

/// One entry of `metadata.provider_attempts`.
pub(super) fn attempt(provider: &str, payment: Payment, outcome: &str, reason: &str) -> Value {
    let key = match payment {
        Payment::Own => "own",
        Payment::Pooled => "pooled",
    };
    let mut entry = json!({"provider": provider, "key": key, "outcome": outcome, "reason": reason});
    if outcome == TURNED_AWAY {
        entry["class"] = BLOCKED.into();
    }
    entry
}
