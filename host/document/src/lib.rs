//! A page's HTML, parsed once into the parallel arrays that plugins receive. The contract is
//! `wit/document`.
//!
//! [`decode`] turns a page's body into text, and [`MediaKind`](trawl_model::MediaKind) chooses
//! between [`parse`], [`plain`] and [`empty`]. In `parse`, `source` tokenizes, `nesting` limits the
//! depth of the tree builder, `sink` and `arena` hold the tree while the HTML algorithm still moves
//! nodes, `shadow` makes shadow trees part of it, and `layout` writes the arrays. `xml` takes the
//! place of `source` for XHTML and for XML that is not a page, and `serialised` for pages of a
//! browser. [`scan`] finds a page's links without a tree, and [`head_statements`] what its head
//! says about its use.

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
pub use scan::{
    HeadStatements, LINKS_MAX, Refresh, attribute_value, head_statements, refresh, scan,
    scan_with_anchors,
};
pub use xml::is_xml_type;

pub use trawl_contract::document::{kind, namespace};

use trawl_contract::document_fields;

macro_rules! document {
    ($($(#[$doc:meta])* $name:ident: $slice:tt,)*) => {
        /// A parsed page. The arrays and their meaning are defined by the record `document` in
        /// `wit/document/1`; the node selection of filters is passed along separately.
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct Document {
            /// Whether the page is in quirks mode.
            pub quirks: bool,
            $($(#[$doc])* pub $name: <$slice as ToOwned>::Owned,)*
        }
    };
}

document_fields! { each document }

#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod tests;
