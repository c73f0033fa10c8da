//! The parsed page as an author sees it: a [`Document`] of [`Node`]s and [`Element`]s.
//!
//! All of it shows only what filters have kept: a dropped node is nowhere to be seen, and when a dropped element has kept
//! descendants, they stand in its place.

pub mod arrays;
mod base;
mod document;
mod element;
mod hidden;
mod iter;
mod mask;
mod matching;
mod node;
mod selector;
mod steps;
mod style;
mod tag;
#[cfg(all(test, feature = "testkit"))]
mod tests;
mod text;

pub use document::Document;
pub use element::{Attributes, Element, Namespace};
pub use hidden::HiddenBy;
pub use iter::{ChildElements, Children, Descendants, Select, Step, Walk};
pub use mask::Mask;
pub use node::{Kind, Node};
pub use selector::{Selector, SelectorError};
pub use steps::Steps;
pub use style::{Declaration, Declarations};
pub use tag::Tag;
pub use text::TextOptions;
