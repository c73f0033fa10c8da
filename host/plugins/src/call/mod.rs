//! Calls of components: the engine, instances, and the page as they get it.

pub(crate) mod engine;
pub(crate) mod instance;
pub(crate) mod plugin;
pub(crate) mod state;
pub(crate) mod stats;
pub(crate) mod trial;
pub(crate) mod view;
mod wasi;
