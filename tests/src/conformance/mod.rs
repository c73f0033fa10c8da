//! Conformance cases of the provider adapters: one list for all of them, and a driver that runs an
//! adapter against a fake vendor without a socket. The lists do not depend on the driver, so that
//! the server is tested with the same cases over HTTP.

mod cases;
mod check;
mod driver;
mod features;

use trawl_sdk::provider::{Cost, Task};

pub use cases::{Bill, Body, CASES, Case, Expected};
pub use check::check;
pub use driver::{Adapter, Conversation, Native, ORIGIN, asked, converse};
pub use features::{ECHO, FEATURES, Feature, INEXPRESSIBLE, echo_differences};

use crate::vendors::price;

/// The vendor's price of a page.
pub fn usual_cost(provider: &str, task: &Task) -> Cost {
    let price = price(provider);
    let kind = 2 * usize::from(task.is_residential()) + usize::from(task.javascript);
    let amount = &price.by_kind[kind];
    let cost = match &price.unit {
        Some(unit) => reported(unit, amount),
        None => Cost::listed(amount),
    };
    match &price.screenshot {
        Some(unit) if task.screenshot.is_some() => cost.and_units(unit, 1),
        _ => cost,
    }
}

fn reported(unit: &str, amount: &str) -> Cost {
    Cost::reported(unit, amount).expect("amounts here are numbers")
}
