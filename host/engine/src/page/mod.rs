//! One page from plan to outcome: reserve, serve, extract, price, settle.

mod analysis;
mod compose;
mod context;
mod effects;
mod extraction;
mod run;
mod settle;

#[cfg(test)]
mod tests;

pub use compose::handed_in;
pub use context::{PageEngine, RunContext};
pub use run::{
    charge_unknown, plan_ended, produce, produce_paid, produce_unbilled, refused, run, transform,
};

pub use settle::{Produced, Unpaid, settle, settle_again, try_settle};

pub use crate::page_budget::{PageBudget, PaidBefore, PaidBy, Payer, Unfunded};
pub use crate::routing::{Admission, FailedBy, PageRules};
