//! The contract between the host and its plugins as Rust types, for both sides.
//!
//! The contract itself is `wit/`. The host and the SDK each generate bindings from it, because one
//! lowers what the other lifts; between the bindings and everything else, both use the types of
//! this crate: the arrays of a [`document`], the conversation with a [`provider`] adapter, the
//! query and the results of a [`search`] adapter, the limits and messages of an [`analyst`], the C
//! interface of native plugins (`abi`). Plugin authors find them in `trawl-sdk`, which exports them
//! again.

#[cfg(not(target_arch = "wasm32"))]
pub mod abi;
pub mod analyst;
pub mod document;
pub mod provider;
pub mod search;
#[cfg(test)]
mod tests;
