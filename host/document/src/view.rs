//! The few lookups in a document that the host needs itself.

use trawl_contract::document::Arrays;
use trawl_contract::document_fields;
use url::Url;

use super::resolve::join;
use super::{Document, kind};

impl Document {
    /// The page as plugins get it, with the mask of the nodes that filters left; empty means all.
    #[must_use]
    pub fn arrays<'a>(&'a self, kept: &'a [u8]) -> Arrays<'a> {
        document_fields!(borrow self, kept)
    }

    /// Name of an element or doctype; empty for other nodes.
    ///
    /// # Panics
    /// If there is no node with this index.
    #[must_use]
    pub fn name(&self, node: usize) -> &str {
        self.table_name(self.names[node])
    }

    /// Text of a text node or comment; empty for other nodes.
    ///
    /// # Panics
    /// If there is no node with this index.
    #[must_use]
    pub fn node_text(&self, node: usize) -> &str {
        match self.kinds[node] {
            kind::TEXT | kind::COMMENT | kind::PROCESSING_INSTRUCTION => {
                self.text_at(self.starts[node], self.counts[node])
            }
            _ => "",
        }
    }

    /// An element's attributes in order, name and value.
    ///
    /// # Panics
    /// If there is no node with this index.
    pub fn attributes(&self, node: usize) -> impl Iterator<Item = (&str, &str)> {
        let range = match self.kinds[node] {
            kind::ELEMENT => {
                let start = self.starts[node] as usize;
                start..start + self.counts[node] as usize
            }
            _ => 0..0,
        };
        range.map(|attribute| {
            (
                self.table_name(self.attribute_names[attribute]),
                self.text_at(
                    self.attribute_starts[attribute],
                    self.attribute_lengths[attribute],
                ),
            )
        })
    }

    /// Indices of the HTML elements with a name, in document order, without those inside templates,
    /// which are inert.
    pub fn elements_named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = usize> + 'a {
        let mut node = 0;
        std::iter::from_fn(move || {
            while node < self.kinds.len() {
                let here = node;
                node += 1;
                match self.kinds[here] {
                    kind::TEMPLATE_CONTENTS => node = self.ends[here] as usize,
                    kind::ELEMENT
                        if self.name_spaces[self.names[here] as usize] == 0
                            && self.name(here) == name =>
                    {
                        return Some(here);
                    }
                    _ => {}
                }
            }
            None
        })
    }

    /// The base URL: of the first `base` with an `href`. Source: WHATWG HTML, "Set the frozen
    /// base URL".
    pub(super) fn find_base(&self, url: &Url) -> String {
        let href = self.elements_named("base").find_map(|node| {
            self.attributes(node)
                .find_map(|(name, value)| (name == "href").then_some(value))
        });
        href.and_then(|href| base_of(url, href))
            .map_or_else(|| url.as_str().to_owned(), String::from)
    }

    fn table_name(&self, number: u32) -> &str {
        let number = number as usize;
        let start = match number {
            0 => 0,
            _ => self.name_ends[number - 1] as usize,
        };
        &self.name_text[start..self.name_ends[number] as usize]
    }

    fn text_at(&self, start: u32, length: u32) -> &str {
        &self.text[start as usize..(start + length) as usize]
    }
}

/// The base URL that `<base href>` sets on the page `url`; `None` when it is not valid. Source: as
/// [`Document::find_base`].
pub(super) fn base_of(url: &Url, href: &str) -> Option<Url> {
    join(url, href).filter(|base| !matches!(base.scheme(), "data" | "javascript"))
}
