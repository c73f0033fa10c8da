//! The plugins in effect, and how changed files replace them.

mod catalog;
mod fingerprint;
pub(crate) mod generation;
pub(crate) mod reload;
pub(crate) mod status;
mod watch;
