//! The `rtf` decoder: Rich Text Format as headings, paragraphs, lists, tables, links and footnotes.
//!
//! Source: Microsoft, Rich Text Format Specification, version 1.9.1. Tracked changes count as
//! accepted. Hidden text, headers, footers, pictures and embedded objects are left out, and
//! comments unless they are asked for.

mod blocks;
mod options;
mod reader;
mod styles;
mod tables;
mod tokens;
mod write;

use trawl_sdk::decoder::{Decoded, Decoder, Failure, File, Html};
use trawl_sdk::{Info, Needs};

pub use options::Options;

/// Decodes Rich Text Format.
pub struct Rtf;

trawl_sdk::export!(decoder: Rtf);

impl Decoder for Rtf {
    type Options = Options;

    fn info() -> Info {
        Info::new(
            "rtf",
            env!("CARGO_PKG_VERSION"),
            "RTF: text with headings, lists, tables, links and footnotes",
        )
        .options_schema(
            r#"{"type": "object", "additionalProperties": false, "properties": {
                "comments": {"type": "boolean", "description": "Whether comments are written after the text."}
            }}"#,
        )
        .needs(Needs::BODY)
    }

    fn decode(file: &File<'_>, options: Options) -> Result<Decoded, Failure> {
        if !file.body.starts_with(b"{\\rtf") {
            let reason = "it does not begin with `{\\rtf`".to_owned();
            return Err(Failure::Unsupported(reason));
        }
        let document = reader::read(&file.body, options)?;
        let own = document.info.get("title").map(|title| title.trim());
        let own = own.filter(|title| !title.is_empty());
        let title = own.or(file.name()).unwrap_or("document");
        let mut html = Html::new(title, None);
        write::blocks(&mut html, &document.blocks);
        write::notes(&mut html, &document.notes);
        write::comments(&mut html, &document.comments);
        let info = |name: &str| document.info.get(name).map(|text| text.trim().to_owned());
        let authors: Vec<String> = info("author").into_iter().collect();
        let decoded = Decoded::new(html.finish())
            .with("title", title)
            .with("authors", authors)
            .with("description", info("subject"))
            .with("keywords", info("keywords"));
        Ok(match document.is_cut {
            true => decoded.warn("the file is cut off"),
            false => decoded,
        })
    }
}

#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod tests;
