//! Description of a loaded plugin: its own, checked, and what the operator configured.

use serde::Serialize;
use serde_json::Value;

use trawl_model::PluginKind;

use crate::limits::Limits;

/// Longest summary, in bytes.
const SUMMARY_BYTES_MAX: usize = 500;
/// Longest version text, in bytes.
const VERSION_BYTES_MAX: usize = 64;
/// Largest options schema, in bytes: it is repeated in the OpenAPI document.
const SCHEMA_BYTES_MAX: usize = 256 * 1024;

/// A loaded plugin as in `GET /plugins`.
#[derive(Clone, Debug, Serialize)]
pub struct PluginInfo {
    /// Its kind.
    pub kind: PluginKind,
    /// Name in requests, from the manifest.
    pub name: String,
    /// Name that the author gave it.
    pub plugin: String,
    /// Its own version.
    pub version: String,
    /// One sentence for people.
    pub summary: String,
    /// The contract it was built for: `trawl:format@1.0.0`.
    pub contract: String,
    /// BLAKE3 hash of its file, in hex.
    pub hash: String,
    /// Bytes of its file.
    pub size_bytes: u64,
    /// Whether it is native code rather than a component.
    pub native: bool,
    /// Where its code comes from.
    pub source: PluginSource,
    /// What one call may consume.
    pub limits: Limits,
    /// Hosts that a provider's requests may go to; other plugins send none.
    pub grants: Vec<String>,
    /// Media types of the documents that a decoder reads.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub media_types: Vec<String>,
    /// Parts of a page that it gets in addition to the document.
    pub needs: Needs,
    /// JSON Schema of its options.
    pub options_schema: Value,
}

/// Where a plugin's code comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PluginSource {
    /// A file that the manifest names.
    File,
    /// The server's executable.
    Bundled,
}

/// Parts of a page that a plugin gets only if its description requests them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Needs {
    /// The page's source as text.
    pub source: bool,
    /// The body as received.
    pub body: bool,
}

/// A plugin's description of itself, unchecked.
#[derive(Clone, Debug)]
pub(crate) struct Described {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) summary: String,
    pub(crate) options_schema: String,
    pub(crate) needs: Needs,
}

impl Described {
    /// Checks name, version, summary and schema; returns the schema and its validator.
    ///
    /// # Errors
    /// A message that says what is wrong.
    pub(crate) fn check(&self) -> Result<(Value, jsonschema::Validator), String> {
        check_name(&self.name)
            .map_err(|reason| format!("its `describe` gives a bad name: {reason}"))?;
        if self.version.is_empty() || self.version.len() > VERSION_BYTES_MAX {
            return Err(format!(
                "its `describe` gives a version of {} bytes, allowed 1 to {VERSION_BYTES_MAX}",
                self.version.len()
            ));
        }
        if self.summary.len() > SUMMARY_BYTES_MAX {
            return Err(format!(
                "its `describe` gives a summary of {} bytes, allowed at most {SUMMARY_BYTES_MAX}",
                self.summary.len()
            ));
        }
        compile_schema(&self.options_schema)
            .map_err(|reason| format!("its options schema is not usable: {reason}"))
    }
}

/// Checks a plugin's name: 1 to 64 lower-case ASCII letters, digits and `_`, a letter first.
///
/// # Errors
/// A message that says what is wrong.
pub(crate) fn check_name(name: &str) -> Result<(), String> {
    let is_good = name.len() <= 64
        && name.starts_with(|first: char| first.is_ascii_lowercase())
        && name
            .bytes()
            .all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_'));
    if is_good {
        return Ok(());
    }
    let shown: String = name.chars().take(80).collect();
    Err(format!(
        "`{shown}` is not a name, use 1 to 64 lower-case letters, digits and `_`, a letter first"
    ))
}

/// Parses a JSON Schema (draft 2020-12) and compiles its validator.
///
/// # Errors
/// A message: too large, not JSON, not a schema.
pub(crate) fn compile_schema(text: &str) -> Result<(Value, jsonschema::Validator), String> {
    if text.len() > SCHEMA_BYTES_MAX {
        return Err(format!("{} bytes, allowed {SCHEMA_BYTES_MAX}", text.len()));
    }
    let schema: Value = serde_json::from_str(text).map_err(|error| format!("not JSON: {error}"))?;
    // Patterns are matched against clients' text: linear-time engine only.
    let validator = jsonschema::options()
        .with_draft(jsonschema::Draft::Draft202012)
        .with_pattern_options(jsonschema::PatternOptions::regex())
        .build(&schema)
        .map_err(|error| error.to_string())?;
    Ok((schema, validator))
}
