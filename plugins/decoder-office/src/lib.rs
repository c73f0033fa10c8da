//! The `office` decoder: text documents, spreadsheets and presentations of Office Open XML and
//! OpenDocument, and EPUB.
//!
//! What the file is, its parts say, not its media type: sites mix these up. A text document becomes
//! headings, paragraphs, lists, tables and notes, a spreadsheet a table for each sheet, a
//! presentation a section for each slide, a book a section for each chapter.

mod book;
mod cells;
mod comments;
mod contents;
mod document;
mod inline;
mod lists;
mod number;
mod open_document;
mod options;
mod package;
mod sheets;
mod slides;
mod styles;
mod tables;

use trawl_sdk::decoder::{Decoded, Decoder, Failure, File};
use trawl_sdk::{Info, Needs};

use package::Package;

pub use options::Options;

/// Decodes Office files and e-books.
pub struct Office;

trawl_sdk::export!(decoder: Office);

impl Decoder for Office {
    type Options = Options;

    fn info() -> Info {
        Info::new(
            "office",
            env!("CARGO_PKG_VERSION"),
            "DOCX, XLSX, PPTX, ODT, ODS, ODP and EPUB: text, tables, slides and chapters",
        )
        .options_schema(
            r#"{"type": "object", "additionalProperties": false, "properties": {
                "comments": {"type": "boolean", "description": "Whether comments of DOCX and ODT are written after the text."},
                "hidden_sheets": {"type": "boolean", "description": "Whether hidden sheets of XLSX and ODS are written."},
                "notes": {"type": "boolean", "description": "Whether the notes of slides are written after each."}
            }}"#,
        )
        .needs(Needs::BODY)
    }

    fn decode(file: &File<'_>, options: Options) -> Result<Decoded, Failure> {
        let mut package = Package::open(&file.body)?;
        if package.has("META-INF/container.xml") {
            return book::read(&mut package, file);
        }
        if package.has("content.xml") {
            return open_document::read(&mut package, file, &options);
        }
        let Some(main) = package.main_part()? else {
            let reason = "it is an archive, but no Office file and no e-book".to_owned();
            return Err(Failure::Unsupported(reason));
        };
        let root = package.xml(&main)?;
        match root.local_name() {
            "document" => document::read(&mut package, &main, &root, &options),
            "workbook" => sheets::read(&mut package, &main, &root, &options),
            "presentation" => slides::read(&mut package, &main, &root, (file, &options)),
            other => {
                let shown: String = other.chars().take(40).collect();
                Err(Failure::Unsupported(format!("its main part is `{shown}`")))
            }
        }
    }
}

#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod tests;
