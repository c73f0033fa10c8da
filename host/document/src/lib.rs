//! A page's HTML, parsed once into the parallel arrays that plugins receive. The contract is
//! `wit/document`.
//!
//! [`decode`] turns a page's body into text, and [`MediaKind`](trawl_model::MediaKind) chooses
//! between [`parse`], [`plain`] and [`empty`]. In `parse`, `source` tokenizes, `nesting` limits the
//! depth of the tree builder, `sink` and `arena` hold the tree while the HTML algorithm still moves
//! nodes, `shadow` makes shadow trees part of it, and `layout` writes the arrays. `xml` takes the
//! place of `source` for XHTML and for XML that is not a page, and `serialised` for pages of a
//! browser. [`scan`] finds a page's links without a tree.

mod arena;
mod decode;
mod layout;
mod limits;
mod media;
mod names;
mod nesting;
mod page;
mod parse;
mod plain;
mod raw;
mod reference;
mod resolve;
mod scan;
mod serialised;
mod shadow;
mod sink;
mod source;
mod tag;
mod url_attributes;
mod view;
mod xml;

pub use decode::{Decoded, decode};
pub use limits::{ATTRIBUTES_MAX, DEPTH_MAX, NODES_MAX, ParseError, ParseLimits};
pub use media::{media_type, sniff, utf_8_type};
pub use page::Page;
pub use parse::{parse, parse_xml};
pub use plain::{empty, plain};
pub use scan::{LINKS_MAX, Refresh, attribute_value, refresh, scan, scan_with_anchors};
pub use xml::is_xml_type;

/// A parsed page. The arrays and their meaning are defined by the record `document` in
/// `wit/document/1`; the node selection of filters is passed along separately.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Document {
    /// URL of the page after redirects.
    pub url: String,
    /// What relative URLs resolve against: the first `<base href>`, otherwise the same as `url`.
    pub base: String,
    /// Media type, lower case, without parameters.
    pub media_type: String,
    /// Whether the page is in quirks mode.
    pub quirks: bool,
    /// Kind of each node, see [`kind`].
    pub kinds: Vec<u8>,
    /// Index of each node's parent; the document is its own.
    pub parents: Vec<u32>,
    /// Index one past each node's subtree.
    pub ends: Vec<u32>,
    /// Index of an element's name in the name table.
    pub names: Vec<u32>,
    /// First attribute of an element; first byte in `text` of text, comments and processing
    /// instructions.
    pub starts: Vec<u32>,
    /// Number of attributes of an element; bytes of text, comments and processing instructions.
    pub counts: Vec<u32>,
    /// Index of each attribute's name in the name table.
    pub attribute_names: Vec<u32>,
    /// Offset of each attribute's value in `text`.
    pub attribute_starts: Vec<u32>,
    /// Bytes of each attribute's value.
    pub attribute_lengths: Vec<u32>,
    /// All names one after another; entry 0 of the table is the empty name.
    pub name_text: String,
    /// Offset one past each name's last byte in `name_text`.
    pub name_ends: Vec<u32>,
    /// Namespace of each name, see [`namespace`].
    pub name_spaces: Vec<u8>,
    /// Text of text nodes, comments and attribute values.
    pub text: String,
}

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

#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod tests;
