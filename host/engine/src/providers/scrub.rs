//! Removes credentials from provider replies, in every encoding in which they may be repeated.
//! Decision D87.

use aho_corasick::{AhoCorasick, MatchKind};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use bytes::Bytes;
use url::form_urlencoded::byte_serialize;

/// Shortest secret that is searched for: shorter ones occur in ordinary text by chance.
const SECRET_BYTES_MIN: usize = 8;

/// Its debug text shows nothing.
impl std::fmt::Debug for Scrubber {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Scrubber")
    }
}

/// Looks for credentials, in one pass over what it is given.
pub struct Scrubber {
    /// `None` if there is nothing to search for.
    needles: Option<AhoCorasick>,
}

impl Scrubber {
    /// For these credentials, and for the pairs that `Basic` makes of them.
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a str>) -> Self {
        let secrets: Vec<&str> = secrets.into_iter().collect();
        let mut texts: Vec<String> = secrets.iter().map(|&secret| secret.to_owned()).collect();
        for user in &secrets {
            texts.push(format!("{user}:"));
            texts.push(format!(":{user}"));
            texts.extend(secrets.iter().map(|password| format!("{user}:{password}")));
        }
        let long = texts.iter().filter(|text| text.len() >= SECRET_BYTES_MIN);
        let mut needles: Vec<String> = long.flat_map(|text| forms(text)).collect();
        needles.sort_unstable();
        needles.dedup();
        // The longest first, so that a part never hides the whole. Building fails only beyond
        // millions of needles.
        let needles = (!needles.is_empty()).then(|| {
            AhoCorasick::builder()
                .match_kind(MatchKind::LeftmostLongest)
                .build(needles)
                .expect("credentials are few and short")
        });
        Self { needles }
    }

    /// Whether a credential is in it.
    pub(super) fn finds(&self, bytes: &[u8]) -> bool {
        let mut needles = self.needles.iter();
        needles.any(|needles| needles.is_match(bytes))
    }

    /// The same bytes with asterisks for credentials, so that lengths and the surrounding syntax do
    /// not change.
    pub fn scrub(&self, bytes: Bytes) -> Bytes {
        if !self.finds(&bytes) {
            return bytes;
        }
        let mut bytes = Vec::from(bytes);
        self.cover(&mut bytes);
        bytes.into()
    }

    /// The same for text.
    pub fn text(&self, text: String) -> String {
        if !self.finds(text.as_bytes()) {
            return text;
        }
        let mut bytes = text.into_bytes();
        self.cover(&mut bytes);
        // Replacing whole ASCII characters, or a whole secret, leaves valid UTF-8.
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The same for pairs, names included.
    pub(super) fn pairs(&self, pairs: Vec<(String, String)>) -> Vec<(String, String)> {
        let pairs = pairs.into_iter();
        pairs
            .map(|(name, value)| (self.text(name), self.text(value)))
            .collect()
    }

    fn cover(&self, bytes: &mut [u8]) {
        let Some(needles) = &self.needles else {
            return;
        };
        // Where one secret ends inside another both are found only by looking again.
        while needles.is_match(&*bytes) {
            let matches: Vec<_> = needles
                .find_iter(&*bytes)
                .map(|found| found.range())
                .collect();
            for place in matches {
                bytes[place].fill(b'*');
            }
        }
    }
}

/// A secret verbatim, percent-encoded in the usual variants, escaped as in JSON, and in base64 at
/// every offset.
fn forms(secret: &str) -> Vec<String> {
    let form: String = byte_serialize(secret.as_bytes()).collect();
    let json = secret.replace('\\', "\\\\").replace('"', "\\\"");
    let mut forms = vec![
        secret.to_owned(),
        json.replace('/', "\\/"),
        json,
        form.replace('+', "%20"),
        form,
        // What browsers' `encodeURIComponent` and RFC 3986 section 2.3 leave alone.
        percent_encoded(secret, "-_.!~*'()"),
        percent_encoded(secret, "-_.~"),
    ];
    let lower: Vec<String> = forms[3..]
        .iter()
        .map(|encoded| lower_hex(encoded))
        .collect();
    forms.extend(lower);
    for offset in 0..3 {
        for inside in base64_inside(secret, offset) {
            forms.push(inside.replace('/', "\\/"));
            forms.push(inside);
        }
    }
    forms
}

/// Percent-encoded except letters, digits and `unescaped`.
fn percent_encoded(secret: &str, unescaped: &str) -> String {
    let mut text = String::new();
    for byte in secret.bytes() {
        if byte.is_ascii_alphanumeric() || unescaped.as_bytes().contains(&byte) {
            text.push(char::from(byte))
        } else {
            text.push_str(&format!("%{byte:02X}"))
        }
    }
    text
}

/// Percent-encodings with small letters.
fn lower_hex(encoded: &str) -> String {
    let mut parts = encoded.split('%');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (hex, rest) = part.split_at_checked(2).unwrap_or((part, ""));
        text.push('%');
        text.push_str(&hex.to_lowercase());
        text.push_str(rest);
    }
    text
}

/// The part of a base64 text that is the same whatever precedes (`offset` bytes modulo 3) and
/// follows the secret, in both alphabets.
fn base64_inside(secret: &str, offset: usize) -> Vec<String> {
    let mut padded = vec![0; offset];
    padded.extend_from_slice(secret.as_bytes());
    let (start, end) = ((offset * 8).div_ceil(6), padded.len() * 8 / 6);
    let inside = |text: String| text.get(start..end).map(str::to_owned);
    [STANDARD.encode(&padded), URL_SAFE.encode(&padded)]
        .into_iter()
        .filter_map(inside)
        .filter(|text| text.len() >= SECRET_BYTES_MIN)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "canary/7f3a+b c=\"ü";

    fn scrubber() -> Scrubber {
        Scrubber::new([SECRET])
    }

    #[test]
    fn every_coding_is_covered() {
        let json = serde_json::to_string(SECRET).expect("text");
        let form: String = byte_serialize(SECRET.as_bytes()).collect();
        for text in [
            SECRET.to_owned(),
            json.clone(),
            json.replace('/', "\\/"),
            form.to_lowercase(),
            form.replace('+', "%20"),
            form,
        ] {
            let scrubbed = scrubber().text(format!("before {text} behind"));
            assert!(!scrubbed.contains("7f3a"), "{scrubbed}");
            assert!(
                scrubbed.starts_with("before ") && scrubbed.ends_with(" behind"),
                "{scrubbed}"
            );
            assert!(scrubbed.matches('*').count() >= SECRET.len(), "{scrubbed}");
        }
    }

    #[test]
    fn base64_is_covered_wherever_it_begins() {
        for before in ["", "a", "ab", "abc", "user:"] {
            for behind in ["", "x", "xy", ":password"] {
                let text = STANDARD.encode(format!("{before}{SECRET}{behind}"));
                let scrubbed = scrubber().text(text.clone());
                let stars = scrubbed.matches('*').count();
                // All but the letters that share bits with what is around.
                assert!(stars + 4 >= SECRET.len() * 8 / 6, "{text} {scrubbed}");
                let safe = URL_SAFE.encode(format!("{before}{SECRET}{behind}"));
                assert!(scrubber().text(safe).contains("****"));
            }
        }
    }

    #[test]
    fn other_text_stays_and_lengths_too() {
        let body = Bytes::from_static(b"\xff\x00 nothing here \xc3");
        assert_eq!(scrubber().scrub(body.clone()), body);
        let found = scrubber().scrub(Bytes::from(format!("a{SECRET}b{SECRET}")));
        assert_eq!(found.len(), 2 + 2 * SECRET.len());
        assert!(!scrubber().finds(&found));
    }

    #[test]
    fn short_secrets_are_left_alone() {
        let text = Scrubber::new(["short"]).text("a short text".to_owned());
        assert_eq!(text, "a short text");
    }
}
