//! The `markdown` format: a page as GitHub Flavored Markdown.
//!
//! A single walk over the page writes the output front to back. `walk` handles the elements,
//! `lines` the containers around a line, `inline` the text within a block; the other modules answer
//! single questions. The output ends with exactly one line feed, an empty page yields an empty
//! text, and a page that is not HTML is returned as plain text.

mod code;
mod escape;
mod flanking;
mod inline;
mod lines;
mod lists;
mod math;
mod media;
mod options;
mod table;
mod url;
mod visible;
mod walk;

use trawl_sdk::{Document, Failure, Format, Info, Output, Source};

pub use options::{Links, Options};

/// The `markdown` format.
#[derive(Clone, Copy, Debug)]
pub struct Markdown;

impl Format for Markdown {
    type Options = Options;

    fn info() -> Info {
        Info::new(
            "markdown",
            env!("CARGO_PKG_VERSION"),
            "The page as GitHub Flavored Markdown",
        )
        .options_schema(options::SCHEMA)
    }

    fn render(document: &Document, _: Source, options: Options) -> Result<Output, Failure> {
        if !document.is_html() {
            return Ok(document.root().text().into());
        }
        let mut text = walk::render(document, options, false);
        // Some pages have only a `<noscript>`, others are hidden until their scripts run.
        if text.is_empty() {
            text = walk::render(document, options, true);
        }
        if text.is_empty() && !options.hidden {
            let with_hidden = Options {
                hidden: true,
                ..options
            };
            text = walk::render(document, with_hidden, false);
        }
        Ok(text.into())
    }
}

trawl_sdk::export!(format: Markdown);
