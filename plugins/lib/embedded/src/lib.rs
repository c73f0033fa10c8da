//! Reads JSON embedded in a page: in scripts, and as object literals in JavaScript.
//!
//! Such JSON is often written by hand or by templates, and much of it is malformed. Parsing is
//! strict first. Text that the strict parser rejects is parsed leniently, accepting trailing
//! commas, comments, raw line breaks in strings, single quotes, unquoted keys, character references
//! instead of quotes, wrappers, several consecutive values, and truncation. Parsing takes time
//! linear in the length of the text, and a [`Budget`] limits the memory.
//!
//! ```
//! use serde_json::json;
//!
//! assert_eq!(trawl_embedded::read("{a: 'x', /* b */ c: [1,],"), [json!({"a": "x", "c": [1]})]);
//! ```
#![cfg_attr(test, allow(clippy::unwrap_used, reason = "tests may panic"))]

mod budget;
mod code;
mod entities;
mod items;
mod literal;
mod reader;
mod scripts;
#[cfg(test)]
mod tests;
mod text;

pub use budget::Budget;
pub use code::{after_group, after_token, is_word_byte};
pub use entities::decode_entities;
pub use items::{Items, first_of_type, has_type, items, string, types};
pub use reader::{DEPTH_MAX, Names, Prefix, prefix, prefix_with};
pub use scripts::{json_ld, script_text, script_type};
pub use text::{TEXT_BYTES_MAX, read, read_json_ld, read_within};
