//! Tests of the whole crate: invariants, a store that fails, a process that is killed.

mod accounts;
mod crash;
mod faults;
mod keys;
mod kills;
mod model;
mod properties;
pub(crate) mod world;
