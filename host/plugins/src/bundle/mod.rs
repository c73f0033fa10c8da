//! The bundle: a plugin manifest with its components, appended to the server's executable file.
//!
//! Components and server are built independently; `trawl plugin embed` joins them afterwards. The
//! kernel and the dynamic loader ignore bytes after the ELF image, so the file stays executable.
//! `strip` removes the bundle: strip first, embed afterwards.
//!
//! # Format, version 1
//!
//! ```text
//! executable │ blob … blob │ index │ footer
//!            └──── archive ───────┘  64 bytes, the end of the file
//! ```
//!
//! A blob is one zstd frame. Every component has two: the component itself, and the native code
//! that wasmtime made of it ([`wasmtime::Engine::precompile_component`]). The index is JSON: the
//! text of the manifest, in which every component is a bare file name, and for each component its
//! name, its BLAKE3 hash and both blobs by offset, length and hash. The [footer](footer) has the
//! lengths and the hash of the index.
//!
//! Every length is checked before anything is allocated, every hash before anything is used. The
//! hashes detect damage, not malice: a user who can change the executable can change the server.
//!
//! # Which code runs
//!
//! The bundled manifest names components of the bundle. The native code serves any manifest: it is
//! looked up by the hash of the component's bytes. wasmtime refuses native code of another version
//! of itself, of other settings, or for CPU features that this machine lacks; then the component is
//! compiled.

mod eject;
mod footer;
mod index;
mod read;
mod rewrite;
#[cfg(test)]
mod tests;
mod write;

use std::path::PathBuf;

pub use eject::eject;
pub(crate) use index::is_file_name;
pub use read::Bundle;
pub(crate) use read::NativeCode;
pub(crate) use rewrite::rewrite;
pub(crate) use write::{Frame, Packed, write};

/// A bundle that cannot be read or written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{}`: {reason}", path.display())]
pub struct BundleError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it and what to do.
    pub reason: String,
}
