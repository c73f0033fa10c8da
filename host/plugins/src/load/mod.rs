//! Loading: from an entry of the manifest to a plugin that can be called.

mod contract;
pub(crate) mod embed;
mod file;
#[cfg(test)]
mod fuzz;
pub(crate) mod inspect;
pub(crate) mod loaded;
pub(crate) mod loader;
pub(crate) mod manifest;
pub(crate) mod media;
mod native;
mod opened;
mod sample;
