//! Formats: a page becomes content.

use serde_json::Value;

use crate::call::plugin::{Core, Measured};
use crate::call::trial;
use crate::call::view::PageView;
use crate::error::PluginError;
use crate::info::PluginInfo;

/// Content rendered by a format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rendered {
    /// Text: a string in the entry.
    Text(String),
    /// Bytes: a list of integers in the entry.
    Bytes(Vec<u8>),
}

/// A format behind one version of the contract.
pub(crate) trait Render: Send + Sync {
    fn render(&self, page: &PageView<'_>, options: &str) -> Measured<Rendered>;
}

/// A loaded format.
pub struct FormatPlugin {
    pub(crate) core: Core,
    pub(crate) backend: Box<dyn Render>,
}

impl FormatPlugin {
    /// Renders the kept nodes of a page. `options` is a JSON object that passed
    /// [`Self::check_options`].
    ///
    /// # Errors
    /// [`PluginError`] when the plugin fails, misbehaves or exceeds a limit.
    pub fn render(&self, page: &PageView<'_>, options: &str) -> Result<Rendered, PluginError> {
        let size = page.size(self.core.info.needs, options);
        self.core.run(
            size,
            || self.backend.render(page, options),
            |rendered| {
                let bytes = match &rendered {
                    Rendered::Text(text) => text.len(),
                    Rendered::Bytes(bytes) => bytes.len(),
                };
                self.core.check_output(bytes).map(|()| rendered)
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
        trial::check(options, |page, options| self.render(page, options))
    }
}
