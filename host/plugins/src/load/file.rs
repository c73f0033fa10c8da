//! Reads the files of plugins.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::limits::COMPONENT_BYTES_MAX;

/// Reads a plugin's file.
///
/// # Errors
/// A message: it cannot be read, or is too large.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, String> {
    let shown = path.display();
    let file = File::open(path).map_err(|error| {
        format!("`{shown}` cannot be read: {error}, build it or correct the path")
    })?;
    let mut bytes = Vec::new();
    file.take(COMPONENT_BYTES_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| format!("`{shown}` cannot be read: {error}"))?;
    if bytes.len() as u64 > COMPONENT_BYTES_MAX {
        return Err(format!(
            "`{shown}` is larger than {COMPONENT_BYTES_MAX} bytes, the limit of a plugin"
        ));
    }
    Ok(bytes)
}
