//! One page from plan to outcome: hold, serve, extract, price, settle.

mod analysis;
mod compose;
mod outcome;
mod run;

pub use outcome::{PageOutcome, VendorPart};
pub use run::{PageEngine, Payer, RunContext, ceiling, produce, run, settle, transform};
