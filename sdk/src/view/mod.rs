//! The parsed page in the author's view: a [`Document`] of [`Node`]s and [`Element`]s.
//!
//! It shows only what filters have left: a removed node is invisible, and if a removed element has
//! remaining descendants, they take its place.

pub mod arrays;
mod base;
mod document;
mod element;
mod hidden;
mod iter;
mod mask;
mod matching;
mod names;
mod node;
mod selector;
mod shown;
mod states;
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
pub use shown::{Edges, Line};
pub use steps::Steps;
pub use style::{Declaration, Declarations};
pub use tag::Tag;
pub use text::TextOptions;
