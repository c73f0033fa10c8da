//! Which documents a decoder reads: the keys `media_types` and `starts_with` of its entry.

use serde::Deserialize;

use crate::kinds::decoder::UNTYPED;

/// Most media types or signatures of one decoder.
const LIST_MAX: usize = 128;
/// Longest media type, in bytes. Source: RFC 6838, twice 127 and the slash.
const MEDIA_TYPE_BYTES_MAX: usize = 255;
/// Longest signature, in bytes.
const SIGNATURE_BYTES_MAX: usize = 64;
/// Begins a signature that is written in hex digits.
const HEX: &str = "hex:";
/// What the host parses itself.
const OF_THE_HOST: [&str; 2] = ["text/html", "application/xhtml+xml"];

/// The documents that a decoder reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Media {
    /// Media types, lower case, without parameters.
    pub(crate) types: Vec<String>,
    /// First bytes of such documents, for responses whose media type says nothing.
    pub(crate) signatures: Vec<Vec<u8>>,
}

#[derive(Deserialize)]
struct MediaToml {
    #[serde(default)]
    media_types: Vec<String>,
    #[serde(default)]
    starts_with: Vec<String>,
}

impl Media {
    /// Takes the keys out of a decoder's entry.
    ///
    /// # Errors
    /// A message: no media type, or one that is malformed or not for decoders.
    pub(crate) fn take(table: &mut toml::Table) -> Result<Self, String> {
        let mut own = toml::Table::new();
        for key in ["media_types", "starts_with"] {
            if let Some(value) = table.remove(key) {
                own.insert(key.to_owned(), value);
            }
        }
        let read: MediaToml = own
            .try_into()
            .map_err(|error: toml::de::Error| error.message().replace('\n', " "))?;
        if read.media_types.is_empty() {
            return Err(
                "it has no `media_types`, list the types of the documents that it reads".to_owned(),
            );
        }
        for (key, length) in [
            ("media_types", read.media_types.len()),
            ("starts_with", read.starts_with.len()),
        ] {
            if length > LIST_MAX {
                return Err(format!("`{key}` has {length} items, allowed {LIST_MAX}"));
            }
        }
        for media_type in &read.media_types {
            check_type(media_type)?;
        }
        let signatures = read.starts_with.iter().map(|text| signature(text));
        Ok(Self {
            signatures: signatures.collect::<Result<_, _>>()?,
            types: read.media_types,
        })
    }
}

fn check_type(media_type: &str) -> Result<(), String> {
    let shown: String = media_type.chars().take(80).collect();
    let is_name = |name: &str| {
        let is_good = |byte: u8| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"!#$&-^_.+".contains(&byte)
        };
        !name.is_empty() && name.bytes().all(is_good)
    };
    let is_good = media_type.len() <= MEDIA_TYPE_BYTES_MAX
        && media_type
            .split_once('/')
            .is_some_and(|(kind, subtype)| is_name(kind) && is_name(subtype));
    if !is_good {
        return Err(format!(
            "`{shown}` is not a media type, write one in lower case without parameters, like \
             `application/pdf`"
        ));
    }
    if OF_THE_HOST.contains(&media_type) {
        return Err(format!("`{shown}` is read by the server itself, remove it"));
    }
    if UNTYPED.contains(&media_type) {
        return Err(format!(
            "`{shown}` says nothing about a document, list its first bytes in `starts_with`"
        ));
    }
    Ok(())
}

/// The bytes of a signature: its text, or hex digits after `hex:`.
fn signature(text: &str) -> Result<Vec<u8>, String> {
    let shown: String = text.chars().take(80).collect();
    let bytes = match text.strip_prefix(HEX) {
        Some(digits) => from_hex(digits).ok_or_else(|| {
            format!("`{shown}` in `starts_with` is not made of pairs of hex digits")
        })?,
        None => text.as_bytes().to_vec(),
    };
    if bytes.is_empty() || bytes.len() > SIGNATURE_BYTES_MAX {
        return Err(format!(
            "`{shown}` in `starts_with` has {} bytes, allowed 1 to {SIGNATURE_BYTES_MAX}",
            bytes.len()
        ));
    }
    Ok(bytes)
}

fn from_hex(digits: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    let digit = |byte: u8| (byte as char).to_digit(16);
    let byte = |pair: &[u8; 2]| u8::try_from(digit(pair[0])? * 16 + digit(pair[1])?).ok();
    if rest.is_empty() {
        pairs.iter().map(byte).collect()
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(text: &str) -> Result<Media, String> {
        let mut table: toml::Table = toml::from_str(text).expect("TOML");
        Media::take(&mut table)
    }

    #[test]
    fn types_and_first_bytes_are_read() {
        let media = take(
            "media_types = [\"application/pdf\", \"application/rss+xml\"]\n\
             starts_with = [\"%PDF-\", \"hex:1f8B\"]",
        );
        let expected = Media {
            types: vec![
                "application/pdf".to_owned(),
                "application/rss+xml".to_owned(),
            ],
            signatures: vec![b"%PDF-".to_vec(), vec![0x1F, 0x8B]],
        };
        assert_eq!(media, Ok(expected));
    }

    #[test]
    fn refusals_name_the_value() {
        let check = |text: &str, expected: &str| {
            let reason = take(text).expect_err(text);
            assert!(reason.contains(expected), "{text}: {reason}");
        };
        check("", "`media_types`");
        check("media_types = []", "`media_types`");
        check("media_types = 3", "expected");
        check("media_types = [\"Application/PDF\"]", "`Application/PDF`");
        check("media_types = [\"pdf\"]", "`pdf` is not a media type");
        check("media_types = [\"a/b; c\"]", "not a media type");
        check("media_types = [\"text/html\"]", "by the server itself");
        check(
            "media_types = [\"application/octet-stream\"]",
            "`starts_with`",
        );
        let with = |first: &str| format!("media_types = [\"a/b\"]\nstarts_with = [\"{first}\"]");
        check(&with("hex:1"), "`hex:1`");
        check(&with("hex:zz"), "`hex:zz`");
        check(&with(""), "0 bytes");
        check(&with(&"x".repeat(65)), "65 bytes");
    }
}
