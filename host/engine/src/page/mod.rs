//! One page from plan to outcome: reserve, serve, extract, price, settle.

mod analysis;
mod compose;
mod context;
mod extraction;
mod run;
mod settle;

pub use compose::handed_in;
pub use context::{PageEngine, Payer, RunContext};
pub use run::{ceiling, produce, refused, run, transform};
pub use settle::{Produced, settle};
