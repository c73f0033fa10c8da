//! Writing a copy of an executable with a bundle.

use std::fs::{self, File, Permissions};
use std::io::{self, BufWriter, Read, Seek, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::footer::Footer;
use super::index::{Blob, BundledComponent, Index};

/// Compression level: components and native code shrink to two fifths, at some 30 MB a second.
const LEVEL: i32 = 9;

/// A component with its native code, both compressed.
pub(crate) struct Packed {
    pub(crate) name: String,
    pub(crate) hash: blake3::Hash,
    pub(crate) component: Frame,
    pub(crate) code: Frame,
}

/// One compressed blob.
pub(crate) struct Frame {
    pub(crate) stored: Vec<u8>,
    pub(crate) bytes: u64,
}

impl Frame {
    /// Compresses a blob.
    ///
    /// # Errors
    /// A sentence when there is not enough memory.
    pub(crate) fn compress(content: &[u8]) -> Result<Self, String> {
        let stored = zstd::bulk::compress(content, LEVEL)
            .map_err(|error| format!("cannot be compressed: {error}"))?;
        Ok(Self {
            stored,
            bytes: content.len() as u64,
        })
    }
}

/// Writes everything to a file next to `output` and renames it; gives the length of the bundle.
pub(crate) fn write(
    program: &Path,
    program_bytes: u64,
    output: &Path,
    manifest: String,
    components: Vec<Packed>,
) -> io::Result<u64> {
    let folder = match output.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    fs::create_dir_all(folder)?;
    let mut temporary = tempfile::NamedTempFile::new_in(folder)?;
    let mut out = BufWriter::new(temporary.as_file_mut());
    io::copy(&mut File::open(program)?.take(program_bytes), &mut out)?;
    let archive_at = out.stream_position()?;
    let mut index = Index {
        manifest,
        components: Vec::new(),
    };
    let mut offset = 0;
    for packed in components {
        index.components.push(BundledComponent {
            name: packed.name,
            hash: packed.hash.to_hex().to_string(),
            component: append(&mut out, &mut offset, &packed.component)?,
            code: append(&mut out, &mut offset, &packed.code)?,
        });
    }
    let index = serde_json::to_vec(&index)?;
    out.write_all(&index)?;
    let footer = Footer {
        index_hash: blake3::hash(&index),
        archive_bytes: offset + index.len() as u64,
        index_bytes: index.len() as u64,
    };
    out.write_all(&footer.encode())?;
    let bytes = out.stream_position()? - archive_at;
    out.flush()?;
    drop(out);
    temporary
        .as_file()
        .set_permissions(Permissions::from_mode(0o755))?;
    temporary.persist(output)?;
    Ok(bytes)
}

fn append(out: &mut impl Write, offset: &mut u64, frame: &Frame) -> io::Result<Blob> {
    out.write_all(&frame.stored)?;
    let blob = Blob {
        offset: *offset,
        stored_bytes: frame.stored.len() as u64,
        bytes: frame.bytes,
        hash: blake3::hash(&frame.stored).to_hex().to_string(),
    };
    *offset += blob.stored_bytes;
    Ok(blob)
}
