//! Canaries: values in the places of secrets that are searched in everything that the server
//! writes, in every encoding that it could have given them.

use std::path::Path;

use memchr::memmem;

use crate::vendors::to_base64;

/// Characters of a percent-encoded text that stay as they are: RFC 3986 section 2.3.
fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}

/// A text as URLs contain it.
pub fn percent_encoded(text: &str) -> String {
    let encoded = text.bytes().map(|byte| match byte {
        byte if is_unreserved(byte) => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    });
    encoded.collect()
}

/// Every form of a secret that must not occur: verbatim, percent-encoded, escaped as JSON (once
/// and twice, slashes too), as base64 at any offset of a longer text, and in hexadecimal.
pub fn forms(secret: &str) -> Vec<String> {
    let mut forms = vec![secret.to_owned(), secret.replace('/', "\\/")];
    let percent = percent_encoded(secret);
    forms.extend([percent.to_lowercase(), percent]);
    let mut escaped = secret.to_owned();
    for _ in 0..2 {
        let quoted = serde_json::to_string(&escaped).expect("a text");
        quoted[1..quoted.len() - 1].clone_into(&mut escaped);
        forms.push(escaped.clone());
    }
    for before in ["", "a", "ab"] {
        let text = to_base64(format!("{before}{secret}").as_bytes());
        // Without the letters that depend on what precedes and follows it.
        let start = (before.len() * 8).div_ceil(6);
        let end = (before.len() + secret.len()) * 8 / 6;
        let text = &text[start..end];
        forms.extend([text.to_owned(), text.replace('+', "-").replace('/', "_")]);
    }
    let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
    forms.extend([hex.to_uppercase(), hex]);
    forms.sort();
    forms.dedup();
    forms
}

/// Where one of the secrets occurs in some bytes, with the bytes around it.
pub fn found(bytes: &[u8], secrets: &[String]) -> Option<String> {
    for secret in secrets {
        for form in forms(secret) {
            let Some(place) = memmem::find(bytes, form.as_bytes()) else {
                continue;
            };
            let from = place.saturating_sub(200);
            let to = bytes.len().min(place + form.len() + 60);
            let around = String::from_utf8_lossy(&bytes[from..to]);
            return Some(format!("`{secret}` in …{around}…"));
        }
    }
    None
}

/// Checks that none of the secrets occurs.
///
/// # Panics
/// When one does; `what` names the place.
pub fn assert_clean(what: &str, bytes: &[u8], secrets: &[String]) {
    if let Some(found) = found(bytes, secrets) {
        panic!("{what}: {found}");
    }
}

/// Checks all files below a folder; links are not followed.
///
/// # Panics
/// When a secret occurs in one of them.
pub fn assert_folder_clean(folder: &Path, secrets: &[String]) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let entry = entry.expect("an entry");
        let kind = entry.file_type().expect("a kind");
        if kind.is_dir() {
            assert_folder_clean(&entry.path(), secrets);
        } else if kind.is_file() {
            // A temporary file may be gone by now.
            let bytes = std::fs::read(entry.path()).unwrap_or_default();
            assert_clean(&entry.path().display().to_string(), &bytes, secrets);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_found_in_every_encoding() {
        let secrets = ["cn/hidden+1=\"x".to_owned()];
        let base64 = to_base64(b"user:cn/hidden+1=\"x:more");
        for text in [
            "a cn/hidden+1=\"x b",
            "a=cn%2Fhidden%2B1%3D%22x",
            "cn%2fhidden%2b1%3d%22x",
            "{\"a\":\"cn/hidden+1=\\\"x\"}",
            "{\"a\":\"{\\\"b\\\":\\\"cn/hidden+1=\\\\\\\"x\\\"}\"}",
            &base64,
        ] {
            assert!(found(text.as_bytes(), &secrets).is_some(), "{text}");
        }
        assert!(found(b"cn/hidden+1", &secrets).is_none());
    }
}
