//! Attacks on a real server with few descriptors, while an innocent account asks for small pages:
//! its answers stay right and quick, memory stays bounded, and afterwards nothing is left over.
//!
//! Every test is one attack by a caller with a valid key, unless it says otherwise. They run one
//! after the other, but for those that leave the processors idle: two of these run at once.
//! `cargo xtask siege --long` repeats many of them at once for an hour.
#![allow(
    clippy::unwrap_used,
    reason = "a test panics when an expectation is not met"
)]

mod bodies;
mod browser;
mod connections;
mod crawls;
mod doors;
mod expressions;
mod field;
mod figures;
mod hang_ups;
mod held;
mod innocent;
mod long;
mod trouble;
mod turns;
