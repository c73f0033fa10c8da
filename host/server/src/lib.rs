//! The `trawl` program: configuration, the server, and the command line.
#![warn(
    clippy::print_stderr,
    reason = "it panics where standard error cannot be written: trawl_telemetry::say"
)]

pub mod app;
pub mod cli;
pub mod config;
mod listener;
