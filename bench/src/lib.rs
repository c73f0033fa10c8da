//! Measurements on pages that are not ours. Each module is one table.

pub mod parse;
