//! The `data` decoder: JSON, YAML, TOML, XML and source code.
//!
//! A list of like records (JSON, JSON Lines, TOML, XML) becomes a table, beside the plain values
//! around it. Everything else becomes code with its language, unchanged.

mod language;
mod records;
mod value;

use trawl_sdk::decoder::{Decoded, Decoder, Failure, File, Html};
use trawl_sdk::{Info, Needs, xml};

use language::Language;
use records::Records;
use value::Data;

/// Longest text that is searched for records, in bytes: its values take several times as much
/// memory. A longer one is code.
const TEXT_BYTES_MAX: usize = 8 << 20;

/// Decodes data and source code.
pub struct DataFiles;

trawl_sdk::export!(decoder: DataFiles);

impl Decoder for DataFiles {
    type Options = ();

    fn info() -> Info {
        Info::new(
            "data",
            env!("CARGO_PKG_VERSION"),
            "JSON, YAML, TOML, XML and source code: a table of like records, or code with its language",
        )
        .needs(Needs::SOURCE)
    }

    fn decode(file: &File<'_>, (): ()) -> Result<Decoded, Failure> {
        let language = language::of(&file.media_type).ok_or_else(|| {
            Failure::Unsupported(format!("`{}` is not a type of data", file.media_type))
        })?;
        let title = file.name().unwrap_or(&file.url);
        let (data, fault) = match read(&file.text, language) {
            Ok(data) => (data, None),
            Err(fault) => (None, Some(fault)),
        };
        let mut html = Html::new(title, None);
        let records = data.as_ref().and_then(Records::of);
        let n_left_out = match &records {
            Some(records) => records.write(&mut html),
            None => {
                html.code(&file.text, language.name());
                0
            }
        };
        let decoded = Decoded::new(html.finish())
            .with("title", title)
            .with("data_format", language.name())
            .with("item_count", records.map(|records| records.rows.len()));
        let decoded = match fault {
            Some(fault) => decoded.warn(fault),
            None => decoded,
        };
        Ok(match n_left_out {
            0 => decoded,
            count => decoded.warn(format!("{count} records are left out of the table")),
        })
    }
}

/// The values of a text; `None` if its language has none, or the text is too long.
fn read(text: &str, language: Language) -> Result<Option<Data>, String> {
    if text.len() > TEXT_BYTES_MAX {
        return Ok(None);
    }
    match language {
        Language::Json => value::of_json(text).map(Some),
        Language::JsonLines => value::of_json_lines(text).map(Some),
        Language::Toml => value::of_toml(text).map(Some),
        Language::Xml => match xml::read(text) {
            Ok((root, None)) => Ok(value::of_xml(&root)),
            Ok((_, Some(fault))) => Err(format!("the XML is invalid: {fault}")),
            Err(failure) => Err(failure.to_string()),
        },
        Language::Code(_) => Ok(None),
    }
}

#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod tests;
