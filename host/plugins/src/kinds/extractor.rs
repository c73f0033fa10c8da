//! Extractors: fields read out of a page.

use serde_json::Value;

use crate::call::plugin::{Core, Measured};
use crate::call::trial;
use crate::call::view::PageView;
use crate::error::{Fault, PluginError};
use crate::info::PluginInfo;

/// An extractor in the words of one contract version.
pub(crate) trait Extract: Send + Sync {
    fn extract(&self, page: &PageView<'_>, options: &str) -> Measured<String>;
}

/// A loaded extractor.
pub struct ExtractorPlugin {
    pub(crate) core: Core,
    pub(crate) backend: Box<dyn Extract>,
}

impl ExtractorPlugin {
    /// Extracts from a page. The answer is any JSON value, its keys in the plugin's order.
    ///
    /// # Errors
    /// [`PluginError`] when the plugin fails, misbehaves or exceeds a limit, or answers with something that is not JSON.
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

    /// What is known of it.
    pub fn info(&self) -> &PluginInfo {
        &self.core.info
    }

    /// Checks options against the plugin's schema, then asks the plugin itself. A call unless they are empty: make it on a thread
    /// that may block.
    ///
    /// # Errors
    /// A sentence with what is wrong, and where.
    pub fn check_options(&self, options: &Value) -> Result<(), String> {
        self.core.check_options(options)?;
        trial::ask(options, |page, options| self.extract(page, options))
    }
}
