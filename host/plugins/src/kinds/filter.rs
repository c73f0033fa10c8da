//! Filters: select the nodes of a page that later stages see.

use serde_json::Value;

use crate::call::plugin::{Core, Measured};
use crate::call::trial;
use crate::call::view::PageView;
use crate::error::{Fault, PluginError};
use crate::info::PluginInfo;

/// A filter behind one version of the contract.
pub(crate) trait Keep: Send + Sync {
    fn keep(&self, page: &PageView<'_>, options: &str) -> Measured<Vec<u8>>;
}

/// A loaded filter.
pub struct FilterPlugin {
    pub(crate) core: Core,
    pub(crate) backend: Box<dyn Keep>,
}

impl FilterPlugin {
    /// Selects nodes: a bit mask as `kept` in the contract, of full length. Nodes that an earlier
    /// filter dropped stay dropped.
    ///
    /// # Errors
    /// [`PluginError`] when the plugin fails, misbehaves or exceeds a limit, or returns a mask of
    /// another length.
    pub fn keep(&self, page: &PageView<'_>, options: &str) -> Result<Vec<u8>, PluginError> {
        let size = page.size(self.core.info.needs, options);
        self.core.run(
            size,
            || self.backend.keep(page, options),
            |mask| checked_mask(mask, page),
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
        trial::check(options, |page, options| self.keep(page, options))
    }
}

/// The mask without nodes that were dropped before. An empty mask means all, as in the contract.
fn checked_mask(mut mask: Vec<u8>, page: &PageView<'_>) -> Result<Vec<u8>, Fault> {
    let nodes = page.document.kinds.len();
    let bytes = nodes.div_ceil(8);
    if mask.is_empty() {
        mask = vec![0xff; bytes];
    }
    if mask.len() != bytes {
        return Err(Fault::Lied(format!(
            "a mask of {} bytes for {nodes} nodes, expected {bytes}",
            mask.len()
        )));
    }
    for (byte, before) in mask.iter_mut().zip(page.kept) {
        *byte &= before;
    }
    if let Some(last) = mask.last_mut()
        && !nodes.is_multiple_of(8)
    {
        *last &= (1 << (nodes % 8)) - 1;
    }
    Ok(mask)
}

#[cfg(test)]
mod tests {
    use super::*;
    use trawl_document::Document;

    fn check(nodes: usize, kept: &[u8], mask: &[u8]) -> Result<Vec<u8>, Fault> {
        let document = Document {
            kinds: vec![2; nodes],
            ..Document::default()
        };
        let page = PageView {
            document: &document,
            kept,
            text: "",
            body: &[],
            content_type: "",
            charset: "",
        };
        checked_mask(mask.to_vec(), &page)
    }

    #[test]
    fn dropped_nodes_stay_dropped_and_spare_bits_are_cleared() {
        assert_eq!(check(3, &[], &[0xff]), Ok(vec![0b111]));
        assert_eq!(check(3, &[0b101], &[0b110]), Ok(vec![0b100]));
        assert_eq!(check(9, &[0xf0, 1], &[]), Ok(vec![0xf0, 1]));
        assert_eq!(check(8, &[], &[0xa5]), Ok(vec![0xa5]));
        assert_eq!(check(0, &[], &[]), Ok(vec![]));
    }

    #[test]
    fn a_mask_of_another_length_violates_the_contract() {
        assert!(matches!(check(9, &[], &[0xff]), Err(Fault::Lied(_))));
        assert!(matches!(check(1, &[], &[1, 0]), Err(Fault::Lied(_))));
    }
}
