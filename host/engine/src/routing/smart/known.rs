//! Cached verdicts on cached pages, so that a page is judged once.

use std::sync::Arc;

use trawl_model::lru::Lru;

use super::{PageSignals, Verdict, judge};

/// Bytes of all: about 16,000 pages.
const BYTES_MAX: u64 = 4 * 1024 * 1024;

/// Verdicts of [`judge`] by the hash of the body. One for the whole server.
#[derive(Debug)]
pub(crate) struct KnownVerdicts(Lru<blake3::Hash, Verdict>);

impl Default for KnownVerdicts {
    fn default() -> Self {
        Self(Lru::new(BYTES_MAX, 1))
    }
}

impl KnownVerdicts {
    /// [`judge`], for a page whose body has this hash.
    pub(crate) fn judge(&self, signals: &PageSignals<'_>, body: &blake3::Hash) -> Verdict {
        let name = name(signals, body);
        if let Some(known) = self.0.get(&name) {
            return *known;
        }
        let verdict = judge(signals);
        self.0
            .insert(name, Arc::new(verdict), size_of::<Verdict>() as u64);
        verdict
    }
}

/// Everything that a verdict depends on, each part behind its length.
fn name(signals: &PageSignals<'_>, body: &blake3::Hash) -> blake3::Hash {
    let PageSignals {
        status,
        headers,
        content_type,
        body: _,
    } = signals;
    let mut named = Vec::with_capacity(1024);
    let mut part = |bytes: &[u8]| {
        named.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        named.extend_from_slice(bytes);
    };
    part(body.as_bytes());
    part(&status.to_le_bytes());
    part(content_type.as_bytes());
    for (name, value) in *headers {
        part(name.as_bytes());
        part(value.as_bytes());
    }
    blake3::hash(&named)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_is_remembered_for_the_same_page_only() {
        let known = KnownVerdicts::default();
        let judge = |status: u16, headers: &[(String, String)], content_type: &str, body: &[u8]| {
            let signals = PageSignals {
                status,
                headers,
                content_type,
                body,
            };
            let verdict = known.judge(&signals, &blake3::hash(body));
            assert_eq!(verdict, super::judge(&signals));
            verdict
        };
        let shell = b"<!DOCTYPE html><html><body><div id=\"root\"></div><script src=\"/a.js\"></script></body></html>";
        let wall = [("cf-mitigated".to_owned(), "challenge".to_owned())];
        for _ in 0..2 {
            let needed = judge(200, &[], "text/html", shell);
            assert!(matches!(needed, Verdict::NeedsBrowser(_)), "{needed:?}");
            assert_eq!(judge(200, &[], "text/plain", shell), Verdict::Enough);
            judge(403, &wall, "text/html", shell);
            judge(403, &[], "text/html", shell);
            judge(200, &[], "text/html", b"<p>text");
        }
        assert_eq!(known.0.bytes() / 256, 5);
    }
}
