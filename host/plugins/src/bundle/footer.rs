//! The last 64 bytes of an executable with a bundle; numbers are little-endian.
//!
//! | bytes | content |
//! |---|---|
//! | 0..32 | BLAKE3 hash of the index |
//! | 32..40 | length of the archive: the blobs and the index |
//! | 40..48 | length of the index |
//! | 48..52 | version of the format |
//! | 52..56 | zero |
//! | 56..64 | `TRAWLBND` |

/// Length of a footer.
pub(super) const FOOTER_BYTES: usize = 64;
/// Largest index: the manifest's text and a few hundred bytes per component.
const INDEX_BYTES_MAX: u64 = 8 << 20;
const MAGIC: &[u8; 8] = b"TRAWLBND";
const VERSION: u32 = 1;

/// What the footer says of the archive before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Footer {
    /// Hash of the index.
    pub(super) index_hash: blake3::Hash,
    /// Bytes of the archive: the blobs and the index.
    pub(super) archive_bytes: u64,
    /// Bytes of the index, at the end of the archive.
    pub(super) index_bytes: u64,
}

impl Footer {
    /// Encodes the footer.
    pub(super) fn encode(&self) -> [u8; FOOTER_BYTES] {
        let mut bytes = [0; FOOTER_BYTES];
        bytes[..32].copy_from_slice(self.index_hash.as_bytes());
        bytes[32..40].copy_from_slice(&self.archive_bytes.to_le_bytes());
        bytes[40..48].copy_from_slice(&self.index_bytes.to_le_bytes());
        bytes[48..52].copy_from_slice(&VERSION.to_le_bytes());
        bytes[56..].copy_from_slice(MAGIC);
        bytes
    }

    /// Decodes the footer of a file of `file_bytes`; `None` when the bytes are not a footer.
    ///
    /// # Errors
    /// A sentence: another version, or lengths that cannot be.
    pub(super) fn decode(
        bytes: &[u8; FOOTER_BYTES],
        file_bytes: u64,
    ) -> Result<Option<Self>, String> {
        if !bytes.ends_with(MAGIC) {
            return Ok(None);
        }
        let version = u32::from_le_bytes(part(bytes, 48));
        if version != VERSION {
            return Err(format!(
                "the bundled plugins have the format {version}, this server reads {VERSION}, \
                 embed them again"
            ));
        }
        let footer = Self {
            index_hash: blake3::Hash::from_bytes(part(bytes, 0)),
            archive_bytes: u64::from_le_bytes(part(bytes, 32)),
            index_bytes: u64::from_le_bytes(part(bytes, 40)),
        };
        let before_footer = file_bytes.saturating_sub(FOOTER_BYTES as u64);
        let fits = footer.archive_bytes <= before_footer
            && footer.index_bytes <= footer.archive_bytes
            && footer.index_bytes <= INDEX_BYTES_MAX;
        if !fits {
            return Err(super::index::damaged("impossible lengths in the footer"));
        }
        Ok(Some(footer))
    }
}

/// `N` bytes of the footer from `at` on.
fn part<const N: usize>(bytes: &[u8; FOOTER_BYTES], at: usize) -> [u8; N] {
    let mut part = [0; N];
    part.copy_from_slice(&bytes[at..at + N]);
    part
}
