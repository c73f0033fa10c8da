//! Finds the markdown link around a place of a text.

use std::ops::Range;

/// Bytes on either side of the place that belong to its link. Real links are shorter.
const REACH: usize = 1_000;
/// Bytes that may be read again, since destinations of links may overlap in broken text.
const REREAD_MAX: usize = 4 * REACH;

/// The outermost link (`[text](URL)`) or image that has `at` inside, on one line.
pub(super) fn link_around(text: &str, at: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let from = at.saturating_sub(REACH);
    let until = bytes.len().min(at + REACH);
    let start = memchr::memrchr(b'\n', &bytes[from..at]).map_or(from, |line| from + line + 1);
    let end = memchr::memchr(b'\n', &bytes[at..until]).map_or(until, |line| at + line);
    let line = &bytes[start..end];
    memchr::memmem::find(line, b"](")?;
    let (mut open, mut around, mut left) = (Vec::new(), None, REREAD_MAX);
    let mut place = 0;
    while let Some(&byte) = line.get(place) {
        match byte {
            b'\\' => place += 1,
            b'[' => open.push(place),
            b']' => {
                let link = open.pop().filter(|_| line.get(place + 1) == Some(&b'('));
                let close = link.and_then(|_| destination_end(line, place + 1, &mut left));
                if let (Some(first), Some(close)) = (link, close) {
                    let is_image = first > 0 && line[first - 1] == b'!';
                    let whole = start + first - usize::from(is_image)..start + close + 1;
                    if whole.start < at && at < whole.end {
                        around = Some(whole);
                    }
                }
            }
            _ => {}
        }
        place += 1;
    }
    around
}

/// The bracket that closes the one at `open`.
fn destination_end(line: &[u8], open: usize, left: &mut usize) -> Option<usize> {
    let mut depth = 0_usize;
    let mut is_escaped = false;
    for (at, &byte) in line.iter().enumerate().skip(open) {
        *left = left.checked_sub(1)?;
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'(' => depth += 1,
            b')' if depth == 1 => return Some(at),
            b')' => depth -= 1,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::link_around;

    #[track_caller]
    fn check(text: &str, expected: Option<&str>) {
        let at = text.find('|').expect("a place");
        let text = text.replace('|', "");
        let found = link_around(&text, at).map(|link| text[link].to_owned());
        assert_eq!(found.as_deref(), expected, "{text:?} at {at}");
    }

    #[test]
    fn the_link_around_a_place_is_found() {
        check("a [b |c](d) e", Some("[b c](d)"));
        check("a [b c](d/|e) f", Some("[b c](d/e)"));
        check("a [b](c_(|d)) e", Some("[b](c_(d))"));
        check("a [![b| c](d)](e) f", Some("[![b c](d)](e)"));
        check("![b| c](d)", Some("![b c](d)"));
        check(r"[b \] |c](d)", Some(r"[b \] c](d)"));
        check("[a](b) [c|](d)", Some("[c](d)"));
    }

    #[test]
    fn elsewhere_is_no_link() {
        for text in [
            "a |[b](c)",
            "[b](c)| d",
            "[a |b] (c)",
            "[a |b](c",
            "[a\n|b](c)",
            r"\[a |b](c)",
            "a| b",
            "|",
        ] {
            check(text, None);
        }
    }

    #[test]
    fn broken_links_are_read_in_time() {
        for part in ["[](", "[", "](", "[[]((", "\\"] {
            let text = part.repeat(100_000);
            for at in (0..text.len()).step_by(997) {
                link_around(&text, at);
            }
        }
    }
}
