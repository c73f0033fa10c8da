//! The page as plugins get it.

use trawl_document::Document;

use crate::info::Needs;

/// One page, borrowed for one call. `text` and `body` are copied only to plugins whose description
/// requests them.
#[derive(Clone, Copy, Debug)]
pub struct PageView<'a> {
    /// The parsed page.
    pub document: &'a Document,
    /// Nodes that the filters selected, as `kept` in the contract; empty means all.
    pub kept: &'a [u8],
    /// The page's source decoded to UTF-8.
    pub text: &'a str,
    /// The body as received, content encoding removed.
    pub body: &'a [u8],
    /// The `Content-Type` header as received; empty when there is none.
    pub content_type: &'a str,
    /// Label of the character set the text was decoded from.
    pub charset: &'a str,
}

impl PageView<'_> {
    /// Bytes copied to a plugin with these needs.
    pub(crate) fn size(&self, needs: Needs, options: &str) -> u64 {
        let parts = [
            self.document.arrays(self.kept).n_bytes(),
            self.content_type.len(),
            self.charset.len(),
            if needs.source { self.text.len() } else { 0 },
            if needs.body { self.body.len() } else { 0 },
            options.len(),
        ];
        parts.iter().sum::<usize>() as u64
    }
}
