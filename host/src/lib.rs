//! Trawl: one server that fetches, renders and crawls web pages and returns them in formats made by plugins.
//!
//! The rooms in reading order; each `mod.rs` is a room's front door.

pub mod model;
pub mod plan;

pub mod document;

pub mod plugins;

pub mod page;

pub mod cli;
