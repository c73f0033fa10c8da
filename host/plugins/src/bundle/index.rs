//! The index of a bundle: the manifest, and where each component and its native code is.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::limits::{COMPONENT_BYTES_MAX, ENTRIES_MAX};

/// Most native code of one component. Usually it is two to three times as large as the component.
const CODE_BYTES_MAX: u64 = 512 << 20;

/// Everything about a bundle except the blobs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Index {
    /// Text of the manifest; its components are names of [`Self::components`].
    pub(super) manifest: String,
    /// The components, each once.
    pub(super) components: Vec<BundledComponent>,
}

/// One component.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BundledComponent {
    /// Its file name.
    pub(super) name: String,
    /// BLAKE3 hash of the component, in hex.
    pub(super) hash: String,
    /// The component.
    pub(super) component: Blob,
    /// The native code compiled from it.
    pub(super) code: Blob,
}

/// One zstd frame in the archive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Blob {
    /// Offset from the start of the archive.
    pub(super) offset: u64,
    /// Length of the frame.
    pub(super) stored_bytes: u64,
    /// Length of the content.
    pub(super) bytes: u64,
    /// BLAKE3 hash of the frame, in hex.
    pub(super) hash: String,
}

impl Index {
    /// Reads the index of an archive whose blobs have `blobs_bytes` together.
    ///
    /// # Errors
    /// A sentence that says what is damaged.
    pub(super) fn decode(json: &[u8], blobs_bytes: u64) -> Result<Self, String> {
        let index: Self =
            serde_json::from_slice(json).map_err(|_| damaged("the index is not readable"))?;
        if index.components.len() > ENTRIES_MAX {
            return Err(damaged("too many components"));
        }
        for component in &index.components {
            let is_good = is_file_name(&component.name)
                && component
                    .component
                    .is_within(blobs_bytes, COMPONENT_BYTES_MAX)
                && component.code.is_within(blobs_bytes, CODE_BYTES_MAX);
            if !is_good {
                return Err(damaged("impossible names or lengths in the index"));
            }
        }
        Ok(index)
    }
}

impl Blob {
    fn is_within(&self, blobs_bytes: u64, bytes_max: u64) -> bool {
        let end = self.offset.checked_add(self.stored_bytes);
        end.is_some_and(|end| end <= blobs_bytes) && self.bytes <= bytes_max
    }
}

/// Whether a name is of a file in one folder, not a path.
pub(crate) fn is_file_name(name: &str) -> bool {
    Path::new(name).file_name().is_some_and(|file| file == name)
}

/// The sentence about damage to a bundle.
pub(super) fn damaged(what: &str) -> String {
    format!("the bundled plugins are damaged ({what}), copy or build the program again")
}
