//! Bracketed groups of JavaScript.

use trawl_embedded::after_token;

/// End of the bracketed group at `at`.
pub(crate) fn after_group(text: &str, at: usize) -> usize {
    let bytes = text.as_bytes();
    let (mut end, mut depth) = (at, 0_usize);
    while let Some(&byte) = bytes.get(end) {
        match byte {
            b'{' | b'[' | b'(' => depth += 1,
            b'}' | b']' | b')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        end = after_token(text, end).unwrap_or(end + 1);
        if depth == 0 {
            break;
        }
    }
    end
}
