//! gzip: one compressed file with its name. Source: RFC 1952.

use std::io::Read;

use flate2::read::MultiGzDecoder;
use trawl_sdk::decoder::Failure;

use crate::dates;

/// First bytes of gzip with the one method that it has.
pub(crate) const SIGNATURE: &[u8] = b"\x1F\x8B\x08";
/// Most bytes of an expanded file.
const EXPANDED_BYTES_MAX: u64 = 96 << 20;

/// What was compressed.
pub(crate) struct Expanded {
    /// Its bytes.
    pub(crate) bytes: Vec<u8>,
    /// Its name, if the header has it.
    pub(crate) name: Option<String>,
    /// When it was changed, ISO 8601; empty if the header does not say.
    pub(crate) modified: String,
}

/// Expands a file within the limit.
pub(crate) fn expand(body: &[u8]) -> Result<Expanded, Failure> {
    let decoder = MultiGzDecoder::new(body);
    let header = decoder.header();
    let name = header.and_then(|it| it.filename());
    let name = name.map(|name| String::from_utf8_lossy(name).into_owned());
    let modified = dates::of(header.map_or(0, |it| u64::from(it.mtime())));
    let mut bytes = Vec::new();
    let read = decoder.take(EXPANDED_BYTES_MAX + 1).read_to_end(&mut bytes);
    read.map_err(|error| Failure::Damaged(format!("gzip cannot be expanded: {error}")))?;
    if bytes.len() as u64 > EXPANDED_BYTES_MAX {
        let mib = EXPANDED_BYTES_MAX >> 20;
        return Err(Failure::Limit(format!(
            "it has more than {mib} MiB expanded"
        )));
    }
    Ok(Expanded {
        bytes,
        name: name.filter(|name| !name.is_empty()),
        modified,
    })
}
