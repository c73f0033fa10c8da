//! JSON that stands inside a page: in scripts, and as object literals in JavaScript.
//!
//! Pages write it by hand and by template, so much of it is broken. Reading is strict first; what strict reading refuses is read
//! leniently: trailing commas, comments, raw line breaks in strings, single quotes, bare keys, character references instead of quotes,
//! wrappers, several values one after another, a missing end. Time is linear in the text whatever it holds, and a [`Budget`] bounds
//! the memory.
//!
//! ```
//! use serde_json::json;
//! use trawl_sdk::embedded;
//!
//! assert_eq!(embedded::read("{a: 'x', /* b */ c: [1,],"), [json!({"a": "x", "c": [1]})]);
//! ```

mod budget;
mod code;
mod entities;
mod items;
mod literal;
mod reader;
mod scripts;
#[cfg(all(test, feature = "testkit"))]
mod tests;
mod text;

pub use budget::{BUDGET_BYTES, Budget};
pub use code::{after_token, is_word_byte};
pub use entities::decode_entities;
pub use items::{Items, first_of_type, has_type, items, string, types};
pub use reader::{DEPTH_MAX, Names, Prefix, prefix, prefix_with};
pub use scripts::{json_ld, json_ld_within, script_text, script_type};
pub use text::{TEXT_BYTES_MAX, read, read_within};
