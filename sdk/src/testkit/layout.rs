//! Converts a tree to the contract's arrays.

use std::collections::HashMap;

use html5ever::{Attribute, QualName, ns};
use trawl_contract::document_fields;

use super::tree::{Data, Handle};
use crate::view::arrays::{Arrays, kind, namespace};

macro_rules! layout {
    ($($(#[$doc:meta])* $name:ident: $slice:tt,)*) => {
        /// The arrays of a page, owned.
        #[derive(Debug, Default)]
        pub(super) struct Layout {
            quirks: bool,
            $($(#[$doc])* $name: <$slice as ToOwned>::Owned,)*
            pub(super) kept: Vec<u8>,
            name_table: HashMap<(String, u8), u32>,
        }
    };
}

document_fields! { each layout }

impl Layout {
    /// An empty page: the document node alone.
    pub(super) fn empty(url: &str, media_type: &str) -> Self {
        let mut layout = Self {
            url: url.to_owned(),
            base: url.to_owned(),
            media_type: media_type.to_owned(),
            ..Self::default()
        };
        layout.name(String::new(), 0);
        layout.push(kind::DOCUMENT, 0, [0, 0, 0]);
        layout.ends[0] = 1;
        layout
    }

    /// A document for text that is not HTML, in a single `pre` element as the host builds it.
    pub(super) fn plain(text: &str, url: &str, media_type: &str) -> Self {
        let mut layout = Self::empty(url, media_type);
        for (parent, name) in ["html", "body", "pre"].into_iter().enumerate() {
            let name = layout.name(name.to_owned(), 0);
            layout.push(kind::ELEMENT, parent as u32, [name, 0, 0]);
        }
        layout.push_text(kind::TEXT, layout.kinds.len() as u32 - 1, text);
        let n_nodes = layout.kinds.len() as u32;
        layout.ends.fill(n_nodes);
        layout
    }

    /// Converts this tree.
    pub(super) fn of(document: &Handle, quirks: bool, url: &str, media_type: &str) -> Self {
        let mut layout = Self {
            quirks,
            ..Self::empty(url, media_type)
        };
        for child in document.children.borrow().iter() {
            layout.add(child, 0);
        }
        layout.ends[0] = layout.kinds.len() as u32;
        if let Some(base) = layout.base_href() {
            layout.base = base;
        }
        layout
    }

    pub(super) fn arrays(&self) -> Arrays<'_> {
        document_fields!(borrow self, &self.kept)
    }

    /// The first `<base>` whose `href` resolves to a URL.
    fn base_href(&self) -> Option<String> {
        let document = crate::Document::new(self.arrays());
        let mut bases = document
            .elements()
            .filter(|base| base.tag() == crate::Tag::Base);
        let href = bases.find_map(|base| base.attr("href"))?;
        document.resolve(href)
    }

    fn add(&mut self, node: &Handle, parent: u32) {
        let own = self.kinds.len() as u32;
        match &node.data {
            Data::Document => self.push(kind::DOCUMENT, parent, [0, 0, 0]),
            Data::TemplateContents => self.push(kind::TEMPLATE_CONTENTS, parent, [0, 0, 0]),
            Data::Doctype(name) => {
                let name = self.name(name.to_string(), 0);
                self.push(kind::DOCTYPE, parent, [name, 0, 0]);
            }
            Data::Text(text) => self.push_text(kind::TEXT, parent, &text.borrow()),
            Data::Comment(text) => self.push_text(kind::COMMENT, parent, text),
            Data::ProcessingInstruction(text) => {
                self.push_text(kind::PROCESSING_INSTRUCTION, parent, text);
            }
            Data::Element {
                name,
                attributes,
                template_contents,
            } => {
                self.push_element(name, &attributes.borrow(), parent);
                if let Some(contents) = template_contents {
                    self.add(contents, own);
                }
            }
        }
        for child in node.children.borrow().iter() {
            self.add(child, own);
        }
        self.ends[own as usize] = self.kinds.len() as u32;
    }

    fn push(&mut self, kind: u8, parent: u32, [name, start, count]: [u32; 3]) {
        self.kinds.push(kind);
        self.parents.push(parent);
        self.ends.push(0);
        self.names.push(name);
        self.starts.push(start);
        self.counts.push(count);
    }

    fn push_text(&mut self, kind: u8, parent: u32, text: &str) {
        let start = self.text.len() as u32;
        self.text.push_str(text);
        self.push(kind, parent, [0, start, text.len() as u32]);
    }

    fn push_element(&mut self, name: &QualName, attributes: &[Attribute], parent: u32) {
        let name = self.name(name.local.to_string(), space(name));
        let first = self.attribute_names.len() as u32;
        for attribute in attributes {
            let prefix = attribute.name.prefix.as_ref();
            let name = match prefix.filter(|prefix| !prefix.is_empty()) {
                Some(prefix) => format!("{prefix}:{}", attribute.name.local),
                None => attribute.name.local.to_string(),
            };
            let name = self.name(name, space(&attribute.name));
            self.attribute_names.push(name);
            self.attribute_starts.push(self.text.len() as u32);
            self.attribute_lengths.push(attribute.value.len() as u32);
            self.text.push_str(&attribute.value);
        }
        self.push(
            kind::ELEMENT,
            parent,
            [name, first, attributes.len() as u32],
        );
    }

    fn name(&mut self, name: String, space: u8) -> u32 {
        let entry = self.name_ends.len() as u32;
        if let Some(&known) = self.name_table.get(&(name.clone(), space)) {
            return known;
        }
        self.name_text.push_str(&name);
        self.name_ends.push(self.name_text.len() as u32);
        self.name_spaces.push(space);
        self.name_table.insert((name, space), entry);
        entry
    }
}

fn space(name: &QualName) -> u8 {
    match name.ns {
        ns!(html) | ns!() => namespace::HTML,
        ns!(svg) => namespace::SVG,
        ns!(mathml) => namespace::MATHML,
        _ => namespace::OTHER,
    }
}
