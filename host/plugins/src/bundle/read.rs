//! Reading a bundle: footer and index when it is opened, blobs when they are needed.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::BundleError;
use super::footer::{FOOTER_BYTES, Footer};
use super::index::{Blob, BundledComponent, Index, damaged};

/// The plugins in an executable file.
///
/// The file stays open: replacing the executable does not affect a running server.
#[derive(Debug)]
pub struct Bundle {
    path: PathBuf,
    file: File,
    archive_at: u64,
    index: Index,
}

/// Native code from this server's own executable, or from one that `embed` is about to replace.
///
/// The type is the argument for deserialising it: only [`Bundle::native_code`] makes one.
pub(crate) struct NativeCode(Vec<u8>);

impl NativeCode {
    /// The code as wasmtime serialised it.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl Bundle {
    /// The bundle of the running program; `None` when it has none.
    ///
    /// # Errors
    /// [`BundleError`] when it has one that is damaged.
    pub fn own() -> Result<Option<Arc<Self>>, BundleError> {
        static OWN: OnceLock<Result<Option<Arc<Bundle>>, BundleError>> = OnceLock::new();
        let open = || match std::env::current_exe() {
            Ok(program) => Self::open(&program).map(|bundle| bundle.map(Arc::new)),
            Err(_) => Ok(None),
        };
        OWN.get_or_init(open).clone()
    }

    /// The executable. Given as the manifest's path it means the bundled manifest.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the bundle of an executable; `None` when it has none.
    ///
    /// # Errors
    /// [`BundleError`] when the file cannot be read or its bundle is damaged.
    pub(crate) fn open(path: &Path) -> Result<Option<Self>, BundleError> {
        Self::read(path).map_err(|reason| BundleError {
            path: path.to_owned(),
            reason,
        })
    }

    fn read(path: &Path) -> Result<Option<Self>, String> {
        let file = File::open(path).map_err(unreadable)?;
        let file_bytes = file.metadata().map_err(unreadable)?.len();
        let Some(footer_at) = file_bytes.checked_sub(FOOTER_BYTES as u64) else {
            return Ok(None);
        };
        let mut footer = [0; FOOTER_BYTES];
        file.read_exact_at(&mut footer, footer_at)
            .map_err(unreadable)?;
        let Some(footer) = Footer::decode(&footer, file_bytes)? else {
            return Ok(None);
        };
        let index = read_at(&file, footer_at - footer.index_bytes, footer.index_bytes)?;
        if blake3::hash(&index) != footer.index_hash {
            return Err(damaged("the index has another hash"));
        }
        let index = Index::decode(&index, footer.archive_bytes - footer.index_bytes)?;
        Ok(Some(Self {
            path: path.to_owned(),
            file,
            archive_at: footer_at - footer.archive_bytes,
            index,
        }))
    }

    /// Text of the manifest.
    pub(crate) fn manifest(&self) -> &str {
        &self.index.manifest
    }

    /// Names of the components.
    pub(super) fn component_names(&self) -> impl Iterator<Item = &str> {
        self.index
            .components
            .iter()
            .map(|component| component.name.as_str())
    }

    /// The component of this name.
    ///
    /// # Errors
    /// A sentence: there is none, or it is damaged.
    pub(crate) fn component(&self, name: &str) -> Result<Vec<u8>, String> {
        let mut components = self.index.components.iter();
        let component = components
            .find(|component| component.name == name)
            .ok_or_else(|| format!("`{name}` is not among the bundled components"))?;
        self.content(&component.component)
    }

    /// The native code of the component with this hash; `None` when that is not bundled.
    ///
    /// # Errors
    /// A sentence when it is damaged.
    pub(crate) fn native_code(&self, hash: &blake3::Hash) -> Result<Option<NativeCode>, String> {
        self.by_hash(hash)
            .map(|component| self.content(&component.code).map(NativeCode))
            .transpose()
    }

    /// Bytes of the executable without the bundle.
    pub(crate) fn program_bytes(&self) -> u64 {
        self.archive_at
    }

    /// The blobs of the component with this hash as they are stored: the component, its code.
    pub(crate) fn stored(&self, hash: &blake3::Hash) -> Option<[(Vec<u8>, u64); 2]> {
        let component = self.by_hash(hash)?;
        let stored = |blob: &Blob| Some((self.frame(blob).ok()?, blob.bytes));
        Some([stored(&component.component)?, stored(&component.code)?])
    }

    #[cfg(test)]
    pub(super) fn index(&self) -> &Index {
        &self.index
    }

    fn by_hash(&self, hash: &blake3::Hash) -> Option<&BundledComponent> {
        let hash = hash.to_hex();
        let mut components = self.index.components.iter();
        components.find(|component| component.hash == hash.as_str())
    }

    fn content(&self, blob: &Blob) -> Result<Vec<u8>, String> {
        let frame = self.frame(blob)?;
        let bytes = usize::try_from(blob.bytes).unwrap_or(usize::MAX);
        zstd::bulk::decompress(&frame, bytes)
            .ok()
            .filter(|content| content.len() == bytes)
            .ok_or_else(|| damaged("a blob has another length"))
    }

    fn frame(&self, blob: &Blob) -> Result<Vec<u8>, String> {
        let frame = read_at(&self.file, self.archive_at + blob.offset, blob.stored_bytes)?;
        if blake3::hash(&frame).to_hex().as_str() != blob.hash {
            return Err(damaged("a blob has another hash"));
        }
        Ok(frame)
    }
}

/// Reads a part of the file whose length has been checked against the file's.
fn read_at(file: &File, at: u64, bytes: u64) -> Result<Vec<u8>, String> {
    let mut part = vec![0; usize::try_from(bytes).unwrap_or(usize::MAX)];
    file.read_exact_at(&mut part, at).map_err(unreadable)?;
    Ok(part)
}

fn unreadable(error: io::Error) -> String {
    format!("cannot be read: {error}")
}
