//! The frontier: which URL a crawl fetches next. Pure: no network, no store, no clock.
//!
//! Every cap is checked in [`Frontier::lease`] and nowhere else. The order is breadth-first: a
//! URL of depth k is leased only when no page of depth k−2 or less is unfinished. Only such a page
//! could show that k is not the shortest distance, so every depth is exact although pages of two
//! depths may be in flight. In a crawl with `prefer` the preferred URLs go first, whatever their
//! depth, which is then that of the first link to them. Decision D421.

mod caps;
mod folding;
mod folds;
mod hosts;
mod lease;
mod leasing;
mod levels;
mod links;
#[cfg(test)]
mod properties;
mod queues;
mod redirects;
mod scope;
mod seeds;
mod sitemaps;
mod state;
mod stopping;
mod table;
#[cfg(test)]
pub(super) mod tests;
mod texts;
mod traps;

pub use lease::Counts;
pub(super) use lease::{Lease, Leased};
pub(super) use scope::{Scope, Screened, normal};
pub(super) use state::Frontier;
pub(super) use table::{key, with_other_scheme};
