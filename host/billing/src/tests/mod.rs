//! Tests of the whole crate: properties, a store that fails, a process that is killed.

mod crash;
mod faults;
mod properties;
