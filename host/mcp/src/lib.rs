//! The tools of the Model Context Protocol (MCP), on top of the HTTP interface.
//!
//! [`serve`] answers a message: it runs tools, which send requests to an [`Interface`] and write
//! what comes back, cut to a budget of tokens. `tools.rs` lists every tool. Nothing is kept between
//! messages. Planning, prices, limits and formats are those of the interface. Decision D490.

mod arguments;
mod ask;
mod budget;
mod crawls;
mod cursor;
#[path = "../../../plugins/chunker-tokens/src/estimate.rs"]
mod estimate;
mod found;
#[path = "../../../plugins/chunker-characters/src/graphemes.rs"]
mod graphemes;
mod indent;
mod interface;
mod own;
mod progress;
mod resources;
mod schema;
mod server;
mod tools;
mod work;
mod write;

#[cfg(test)]
mod tests;

pub use interface::{Answer, Interface, Unanswered};
pub use server::{Message, serve};
