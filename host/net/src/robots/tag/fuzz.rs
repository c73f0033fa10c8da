//! Fuzzing of `X-Robots-Tag`.

use super::*;

/// Any text: what names no directive forbids nothing, and a line of its own always counts.
#[test]
fn robots_tag() {
    trawl_fuzz::fuzz!("robots_tag", |input| {
        let text = String::from_utf8_lossy(input).into_owned();
        let lower = text.to_ascii_lowercase();
        let has_word = lower.contains("nofollow") || lower.contains("none");
        let forbids = forbids_following(std::slice::from_ref(&text), "Trawl");
        assert!(has_word || !forbids, "{text}");
        assert!(forbids_following(&[text, "none".to_owned()], "tRAWL"));
    });
}
