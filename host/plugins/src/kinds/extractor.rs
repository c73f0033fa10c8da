//! Extractors: structured data from a page.

use serde_json::Value;

use crate::call::plugin::{Core, Measured};
use crate::call::trial;
use crate::call::view::PageView;
use crate::error::{Fault, PluginError};
use crate::info::PluginInfo;

/// An extractor behind one version of the contract.
pub(crate) trait Extract: Send + Sync {
    fn extract(&self, page: &PageView<'_>, options: &str) -> Measured<String>;
}

/// A loaded extractor.
pub struct ExtractorPlugin {
    pub(crate) core: Core,
    pub(crate) backend: Box<dyn Extract>,
}

impl ExtractorPlugin {
    /// Extracts data from a page: any JSON value, its keys in the plugin's order.
    ///
    /// # Errors
    /// [`PluginError`] when the plugin fails, misbehaves or exceeds a limit, or returns something
    /// that is not JSON.
    pub fn extract(&self, page: &PageView<'_>, options: &str) -> Result<Value, PluginError> {
        let size = page.size(self.core.info.needs, options);
        self.core.run(
            size,
            || self.backend.extract(page, options),
            |text| {
                self.core.check_output(text.len())?;
                serde_json::from_str(&text)
                    .map_err(|error| Fault::Lied(format!("not one JSON value: {error}")))
            },
        )
    }

    /// Its description and limits.
    pub fn info(&self) -> &PluginInfo {
        &self.core.info
    }

    /// Validates options against the plugin's schema, then with a trial call unless they are empty.
    /// Call it on a thread that may block.
    ///
    /// # Errors
    /// A message with what is wrong, and where.
    pub fn check_options(&self, options: &Value) -> Result<(), String> {
        self.core.check_options(options)?;
        trial::check(options, |page, options| self.extract(page, options))
    }
}
