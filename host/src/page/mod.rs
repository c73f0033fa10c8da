//! One page from plan to outcome: hold, serve, extract, price, settle.

mod outcome;

pub use outcome::{Content, PageOutcome, Piece, VendorPart};
