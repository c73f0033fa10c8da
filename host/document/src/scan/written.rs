//! Links by how a page writes them. Most links of a page are written many times, with other
//! fragments or none: they are resolved once.

use super::join::is_trimmed;

/// Places for links; one that comes to the place of another takes it.
const PLACES: usize = 256;
/// Bytes of written links that are kept for a page.
const TEXT_BYTES_MAX: usize = 32 * 1024;

/// Links by how they are written, without their fragments.
pub(super) struct Written {
    text: String,
    /// Where each is in the text, and the number of its link.
    known: Vec<(usize, usize, usize)>,
    /// One more than an index in `known`; 0 for none.
    places: [u16; PLACES],
}

impl Default for Written {
    fn default() -> Self {
        Self {
            text: String::new(),
            known: Vec::new(),
            places: [0; PLACES],
        }
    }
}

impl Written {
    /// The number of the link that is written like this.
    pub(super) fn find(&self, stem: &str) -> Option<usize> {
        let at = usize::from(self.places[place(stem)]).checked_sub(1)?;
        let (start, end, number) = self.known[at];
        (self.text[start..end] == *stem).then_some(number)
    }

    /// Notes how a link is written.
    pub(super) fn note(&mut self, stem: &str, number: usize) {
        let (start, end) = (self.text.len(), self.text.len() + stem.len());
        let Ok(next) = u16::try_from(self.known.len() + 1) else {
            return;
        };
        if end <= TEXT_BYTES_MAX {
            self.text.push_str(stem);
            self.known.push((start, end, number));
            self.places[place(stem)] = next;
        }
    }
}

/// The part of a link that its URL depends on, if it is known: all before the fragment. `None` if
/// there may be white space to cut off, which depends on the fragment.
pub(super) fn stem(href: &str) -> Option<&str> {
    let hash = memchr::memchr(b'#', href.as_bytes());
    let stem = &href[..hash.unwrap_or(href.len())];
    is_trimmed(stem).then_some(stem)
}

/// Where a link belongs. A page that has many links for one place only resolves them again.
fn place(stem: &str) -> usize {
    // FNV-1a.
    let mut hash = 0x811c_9dc5_u32;
    for byte in stem.as_bytes() {
        hash = (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
    }
    (hash ^ (hash >> 16)) as usize % PLACES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_found_by_how_they_are_written() {
        let mut written = Written::default();
        let names: Vec<String> = (0..3_000).map(|n| format!("struct.{n}.html")).collect();
        for (number, name) in names.iter().enumerate() {
            assert_eq!(written.find(name), None, "{name}");
            written.note(name, number);
        }
        let found = names.iter().enumerate().filter(|(number, name)| {
            let found = written.find(name);
            assert!(found.is_none_or(|found| found == *number), "{name}");
            found.is_some()
        });
        assert!((100..=PLACES).contains(&found.count()));
        assert!(written.text.len() <= TEXT_BYTES_MAX);
    }

    #[test]
    fn a_stem_is_what_a_url_depends_on() {
        for (href, expected) in [
            ("a.html#b", Some("a.html")),
            ("a.html", Some("a.html")),
            ("a?b#c#d", Some("a?b")),
            ("../é", Some("../é")),
            ("#b", None),
            ("", None),
            (" a", None),
            ("ab ", None),
            ("ab #c", None),
        ] {
            assert_eq!(stem(href), expected, "{href}");
        }
    }
}
