//! The server against judges that are not ours: Chromium, libxml2, Google's robots.txt parser, a
//! published extractor of structured data, the data of the standards' own tests, and itself, where
//! two answers must agree.
//!
//! Each judge is a file with its inputs, the judge, what is compared, and the exceptions as rows
//! with a reason. A quick draw, the same each time, is part of the tests, except for judges that
//! are ignored until their differences are sorted out; `cargo xtask conformance --minutes 60` draws
//! anew and longer, with all judges. Each judge prints the seed and what it compared;
//! `TRAWL_CONFORMANCE_SEED` or `--seed` draws the same again.
#![allow(
    clippy::unwrap_used,
    reason = "a test panics when an expectation is not met"
)]

mod accounts;
mod characters;
mod chromium;
mod cookies;
mod css;
mod delivery;
mod draw;
mod html_trees;
mod items;
mod libxml2;
mod links;
mod pages;
mod parsed;
mod python;
mod redirects;
mod relations;
mod robots;
mod site;
mod text;
mod trial;
mod urls;
mod world;
