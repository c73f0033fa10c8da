//! A page's tree as arrays. The contract is `wit/document/1`, which describes their relations.

/// The one list of a document's texts and arrays, each with its name and what it borrows, in the
/// order of the record `document` of `wit/document/1`. What is not in the list is `quirks`, a flag,
/// and `kept`, which belongs to a call and not to the page.
///
/// - `document_fields!(borrow owner, kept)` borrows a value that owns these fields and `quirks` as
///   [`Arrays`](crate::document::Arrays).
/// - `document_fields!(each make)` invokes the macro `make` with all of them, each as `name: str`,
///   `name: [u8]` or `name: [u32]` after its documentation.
#[macro_export]
macro_rules! document_fields {
    (borrow $owner:expr, $kept:expr) => {
        $crate::document_fields! { @list @borrow [$owner, $kept] }
    };
    (each $make:ident) => {
        $crate::document_fields! { @list @each $make }
    };
    (@borrow [$owner:expr, $kept:expr] $($(#[$doc:meta])* $name:ident: $slice:tt,)*) => {
        $crate::document::Arrays {
            quirks: $owner.quirks,
            $($name: &$owner.$name,)*
            kept: $kept,
        }
    };
    (@each $make:ident $($fields:tt)*) => {
        $make! { $($fields)* }
    };
    (@list $($then:tt)*) => {
        $crate::document_fields! {
            $($then)*
            /// URL of the page after redirects.
            url: str,
            /// What relative URLs resolve against: the first `<base href>`, otherwise the same as
            /// `url`.
            base: str,
            /// Media type, lower case, without parameters.
            media_type: str,
            /// Kind of each node, see `kind`.
            kinds: [u8],
            /// Index of each node's parent; the document is its own.
            parents: [u32],
            /// Index one past each node's subtree.
            ends: [u32],
            /// Index of an element's or doctype's name in the name table.
            names: [u32],
            /// First attribute of an element; first byte in `text` of text, comments and processing
            /// instructions.
            starts: [u32],
            /// Number of attributes of an element; bytes of text, comments and processing
            /// instructions.
            counts: [u32],
            /// Index of each attribute's name in the name table.
            attribute_names: [u32],
            /// Offset of each attribute's value in `text`.
            attribute_starts: [u32],
            /// Bytes of each attribute's value.
            attribute_lengths: [u32],
            /// All names one after another; entry 0 of the table is the empty name.
            name_text: str,
            /// Offset one past each name's last byte in `name_text`.
            name_ends: [u32],
            /// Namespace of each name, see `namespace`.
            name_spaces: [u8],
            /// Text of text nodes, comments and attribute values.
            text: str,
        }
    };
}

macro_rules! arrays {
    ($($(#[$doc:meta])* $name:ident: $slice:tt,)*) => {
        /// A page's arrays, borrowed: the record `document` of `wit/document/1`, under its rules.
        #[derive(Clone, Copy, Debug, Default)]
        pub struct Arrays<'a> {
            /// Whether the page is in quirks mode.
            pub quirks: bool,
            $($(#[$doc])* pub $name: &'a $slice,)*
            /// Bit mask of the nodes that remain after filtering; empty means all.
            pub kept: &'a [u8],
        }
    };
}

document_fields! { each arrays }

/// Node kinds, as numbered by the contract.
pub mod kind {
    /// The document itself, node 0.
    pub const DOCUMENT: u8 = 0;
    /// A doctype.
    pub const DOCTYPE: u8 = 1;
    /// An element.
    pub const ELEMENT: u8 = 2;
    /// A text node.
    pub const TEXT: u8 = 3;
    /// A comment.
    pub const COMMENT: u8 = 4;
    /// The contents of a `<template>`, child of that element.
    pub const TEMPLATE_CONTENTS: u8 = 5;
    /// A processing instruction.
    pub const PROCESSING_INSTRUCTION: u8 = 6;
}

/// Namespaces of names, as numbered by the contract.
pub mod namespace {
    /// HTML elements, and attributes without a namespace.
    pub const HTML: u8 = 0;
    /// SVG.
    pub const SVG: u8 = 1;
    /// MathML.
    pub const MATHML: u8 = 2;
    /// Anything else.
    pub const OTHER: u8 = 3;
}

impl<'a> Arrays<'a> {
    /// Bytes of all texts and arrays together.
    #[must_use]
    pub fn n_bytes(&self) -> usize {
        let arrays = self;
        macro_rules! sum {
            ($($(#[$doc:meta])* $name:ident: $slice:tt,)*) => {
                [size_of_val(arrays.kept), $(size_of_val(arrays.$name)),*]
            };
        }
        document_fields!(each sum).into_iter().sum()
    }

    /// Whether a node is left after filtering.
    #[inline]
    #[must_use]
    pub fn is_kept(&self, node: u32) -> bool {
        node == 0 || self.kept.is_empty() || self.kept[node as usize / 8] & (1 << (node % 8)) != 0
    }

    /// The name with this index in the name table.
    #[inline]
    #[must_use]
    pub fn name(&self, entry: u32) -> &'a str {
        let entry = entry as usize;
        let start = match entry {
            0 => 0,
            _ => self.name_ends[entry - 1] as usize,
        };
        &self.name_text[start..self.name_ends[entry] as usize]
    }

    /// The part of `text` from `start`, in bytes.
    #[inline]
    #[must_use]
    pub fn text_of(&self, start: u32, length: u32) -> &'a str {
        &self.text[start as usize..(start + length) as usize]
    }

    /// The nearest ancestor of `node` that has not been removed; ultimately the document.
    #[inline]
    #[must_use]
    pub fn parent(&self, node: u32) -> u32 {
        let mut parent = self.parents[node as usize];
        while !self.is_kept(parent) {
            parent = self.parents[parent as usize];
        }
        parent
    }

    /// The first remaining node in `from..end`, without descending into remaining nodes.
    #[inline]
    #[must_use]
    pub fn first_kept(&self, from: u32, end: u32) -> Option<u32> {
        if self.kept.is_empty() {
            return (from < end).then_some(from);
        }
        (from..end).find(|&node| self.is_kept(node))
    }
}

#[cfg(test)]
mod tests {
    use super::Arrays;

    const CONTRACT: &str = include_str!("../../wit/document/1/document.wit");

    /// Name and type of each field of the record in the contract, as this crate has them.
    fn fields() -> Vec<(String, &'static str)> {
        let (_, rest) = CONTRACT.split_once("record document {").expect("a record");
        let (body, _) = rest.split_once('}').expect("its end");
        let lines = body.lines().map(str::trim);
        let fields = lines.filter_map(|line| line.trim_end_matches(',').split_once(": "));
        let fields = fields.filter(|(name, _)| !name.starts_with("///"));
        fields
            .map(|(name, form)| {
                let slice = match form {
                    "string" => "str",
                    "list<u8>" => "[u8]",
                    "list<u32>" => "[u32]",
                    other => other,
                };
                (name.replace('-', "_"), slice)
            })
            .collect()
    }

    #[test]
    fn the_list_is_the_record_of_the_contract() {
        macro_rules! listed {
            ($($(#[$doc:meta])* $name:ident: $slice:tt,)*) => {
                [$((stringify!($name).to_owned(), stringify!($slice))),*]
            };
        }
        let listed = document_fields!(each listed);
        let (apart, of_contract): (Vec<_>, Vec<_>) = fields()
            .into_iter()
            .partition(|(name, _)| ["quirks", "kept"].contains(&name.as_str()));
        assert_eq!(listed.as_slice(), of_contract);
        let flag_and_mask = [("quirks".to_owned(), "bool"), ("kept".to_owned(), "[u8]")];
        assert_eq!(apart, flag_and_mask);
    }

    #[test]
    fn every_array_counts() {
        let arrays = Arrays {
            url: "ab",
            kinds: &[0, 2],
            ends: &[2, 2],
            kept: &[3],
            ..Arrays::default()
        };
        assert_eq!(arrays.n_bytes(), 2 + 2 + 8 + 1);
    }
}
