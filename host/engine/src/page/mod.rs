//! One page from plan to outcome: reserve, serve, extract, price, settle.

mod analysis;
mod compose;
mod run;
mod settle;

pub use compose::handed_in;
pub use run::{PageEngine, Payer, RunContext, ceiling, produce, refused, run, transform};
pub use settle::{Produced, settle};
