//! The format of an image by its first bytes, and its size by its header.
//!
//! Sources: PNG (W3C, third edition), 11.2.1; JPEG (ITU-T T.81), B.2.2; GIF89a, 18; WebP container
//! specification; BMP (Microsoft, bitmap header types); ICO.

use crate::boxes;

/// Size in pixels, as stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) width: u32,
    pub(crate) height: u32,
}

/// The format of an image; `None` if the bytes are of none that is known.
pub(crate) fn format(bytes: &[u8]) -> Option<&'static str> {
    const SIGNATURES: [(&[u8], &str); 8] = [
        (b"\x89PNG\r\n\x1A\n", "png"),
        (b"\xFF\xD8\xFF", "jpeg"),
        (b"GIF87a", "gif"),
        (b"GIF89a", "gif"),
        (b"BM", "bmp"),
        (b"II*\0", "tiff"),
        (b"MM\0*", "tiff"),
        (b"\0\0\x01\0", "ico"),
    ];
    if has(bytes, 0, b"RIFF") && has(bytes, 8, b"WEBP") {
        return Some("webp");
    }
    if has(bytes, 4, b"ftyp") {
        return match bytes.get(8..12)? {
            b"avif" | b"avis" => Some("avif"),
            b"heic" | b"heix" | b"heim" | b"heis" | b"hevc" | b"mif1" | b"msf1" => Some("heic"),
            _ => None,
        };
    }
    let mut signatures = SIGNATURES.iter();
    let known = signatures.find(|(signature, _)| bytes.starts_with(signature));
    known.map(|(_, name)| *name)
}

/// The size in the header of an image of this format; `None` if it is damaged, or a TIFF, whose
/// size is a tag.
pub(crate) fn of(bytes: &[u8], format: &str) -> Option<Size> {
    let size = match format {
        "png" => png(bytes),
        "jpeg" => jpeg(bytes),
        "gif" => Some(sized(le16(bytes, 6)?, le16(bytes, 8)?)),
        "webp" => webp(bytes),
        "bmp" => bmp(bytes),
        "ico" => ico(bytes),
        "avif" | "heic" => boxes::size(bytes).map(|(width, height)| sized(width, height)),
        _ => None,
    };
    size.filter(|size| size.width > 0 && size.height > 0)
}

fn sized(width: u32, height: u32) -> Size {
    Size { width, height }
}

fn png(bytes: &[u8]) -> Option<Size> {
    let size = sized(be32(bytes, 16)?, be32(bytes, 20)?);
    has(bytes, 12, b"IHDR").then_some(size)
}

/// The frame header is behind other segments, of which each has its length.
fn jpeg(bytes: &[u8]) -> Option<Size> {
    let mut at = 2;
    loop {
        let &[0xFF, marker] = bytes.get(at..)?.first_chunk::<2>()? else {
            return None;
        };
        match marker {
            0xFF => at += 1,
            0x01 | 0xD0..=0xD8 => at += 2,
            0xD9 | 0xDA => return None,
            0xC0..=0xC3 | 0xC5..=0xC7 | 0xC9..=0xCB | 0xCD..=0xCF => {
                return Some(sized(be16(bytes, at + 7)?, be16(bytes, at + 5)?));
            }
            _ => at += 2 + be16(bytes, at + 2).filter(|length| *length >= 2)? as usize,
        }
    }
}

fn webp(bytes: &[u8]) -> Option<Size> {
    match bytes.get(12..16)? {
        b"VP8 " if has(bytes, 23, b"\x9D\x01\x2A") => {
            Some(sized(le16(bytes, 26)? & 0x3FFF, le16(bytes, 28)? & 0x3FFF))
        }
        b"VP8L" if has(bytes, 20, b"\x2F") => {
            let bits = le32(bytes, 21)?;
            Some(sized((bits & 0x3FFF) + 1, ((bits >> 14) & 0x3FFF) + 1))
        }
        b"VP8X" => Some(sized(le24(bytes, 24)? + 1, le24(bytes, 27)? + 1)),
        _ => None,
    }
}

/// A negative height means that rows are stored from the top.
fn bmp(bytes: &[u8]) -> Option<Size> {
    match le32(bytes, 14)? {
        12 => Some(sized(le16(bytes, 18)?, le16(bytes, 20)?)),
        _ => {
            let height = le32(bytes, 22)?.cast_signed();
            Some(sized(le32(bytes, 18)?, height.unsigned_abs()))
        }
    }
}

/// The largest of its images. A zero stands for 256.
fn ico(bytes: &[u8]) -> Option<Size> {
    let n_images = le16(bytes, 4)? as usize;
    let edge = |byte: &u8| match byte {
        0 => 256,
        edge => u32::from(*edge),
    };
    let entries = bytes.get(6..)?.chunks_exact(16).take(n_images);
    let sizes = entries.map(|entry| sized(edge(&entry[0]), edge(&entry[1])));
    sizes.max_by_key(|size| size.width * size.height)
}

fn has(bytes: &[u8], at: usize, text: &[u8]) -> bool {
    bytes.get(at..).is_some_and(|rest| rest.starts_with(text))
}

fn be16(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..)?.first_chunk::<2>()?;
    Some(u32::from(u16::from_be_bytes(*bytes)))
}

fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..)?.first_chunk::<4>()?;
    Some(u32::from_be_bytes(*bytes))
}

fn le16(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..)?.first_chunk::<2>()?;
    Some(u32::from(u16::from_le_bytes(*bytes)))
}

fn le24(bytes: &[u8], at: usize) -> Option<u32> {
    let &[low, middle, high] = bytes.get(at..)?.first_chunk::<3>()?;
    Some(u32::from_le_bytes([low, middle, high, 0]))
}

fn le32(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..)?.first_chunk::<4>()?;
    Some(u32::from_le_bytes(*bytes))
}
