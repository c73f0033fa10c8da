//! What every call of a plugin needs: its options as text, and failures of pages.

use serde_json::Value;

use trawl_model::{Cause, PageFailure};
use trawl_plugins::PluginError;

/// The options object as the contract wants it.
pub(super) fn options_text(options: &Value) -> String {
    match options {
        Value::Null => "{}".to_owned(),
        options => options.to_string(),
    }
}

/// The failure of a page whose plan names a plugin that is not loaded.
pub(super) fn not_loaded(kind: &str, name: &str) -> PageFailure {
    PageFailure::new(
        Cause::PluginMissing,
        format!("the {kind} `{name}` is not loaded; see GET /plugins"),
    )
}

/// The failure of a page whose plugin failed.
pub(super) fn failure_of(error: PluginError) -> PageFailure {
    PageFailure::new(Cause::PluginFailed, error.to_string())
}
