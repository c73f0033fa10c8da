//! The `trawl` program: configuration, the server, and the command line.

pub mod app;
pub mod cli;
pub mod config;
mod listener;
