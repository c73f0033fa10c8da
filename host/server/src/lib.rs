//! Trawl: one server that fetches, renders and crawls web pages and returns them in formats made by plugins.

pub mod app;
pub mod cli;
pub mod config;
