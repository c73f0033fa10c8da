//! Endpoints that report on the server.

mod documented;
pub(crate) mod health;
pub(crate) mod key_directory;
pub(crate) mod metrics;
pub(crate) mod plugins;
pub(crate) mod providers;
pub(crate) mod start;

pub(crate) use documented::PluginList;
