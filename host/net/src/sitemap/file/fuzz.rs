//! Fuzzing of sitemap files: XML, RSS, Atom, text, indexes, gzip.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::*;

/// Bytes of the shortest entry, `http://` and an end of line.
const ENTRY_BYTES_MIN: usize = 8;
/// Steps after which any of these small files must have ended.
const STEPS_MAX: usize = 100_000;

#[test]
fn sitemap() {
    trawl_fuzz::fuzz!("sitemap", check);
}

fn check(body: &[u8]) {
    let found = entries(body, 1_000);
    for entry in &found {
        let url = match entry {
            SitemapEntry::Page(page) => &page.url,
            SitemapEntry::Sitemap(url) => url,
        };
        assert!(
            !url.is_empty() && url.len() <= URL_BYTES_MAX,
            "{} bytes",
            url.len()
        );
        assert_eq!(*url, url.trim());
        if let SitemapEntry::Page(page) = entry {
            assert!(page.alternates.len() <= ALTERNATES_MAX);
        }
    }
    assert_eq!(found, entries(body, 1), "in steps of one");
    if body.starts_with(&[0x1f, 0x8b]) {
        return;
    }
    assert!(found.len() <= body.len() / ENTRY_BYTES_MIN + 1);
    assert_eq!(found, entries(&gzip(body), 7), "compressed");
    if let Ok(text) = std::str::from_utf8(body)
        && !text.starts_with(['\u{feff}', '\u{fffe}'])
        && !text.starts_with("<?xml")
    {
        let marked = ["\u{feff}", text].concat();
        assert_eq!(found, entries(marked.as_bytes(), 7), "with a mark");
        let wide: Vec<u8> = marked.encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(found, entries(&wide, 7), "in UTF-16");
    }
}

fn entries(body: &[u8], step: usize) -> Vec<SitemapEntry> {
    let mut file = File::new(Bytes::copy_from_slice(body));
    let steps = std::iter::from_fn(|| file.step(step));
    let mut n_steps = 0;
    let steps = steps.inspect(|found| {
        n_steps += 1;
        assert!(found.len() <= step.max(2) && n_steps < STEPS_MAX);
    });
    steps.flatten().collect()
}

fn gzip(body: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(body).expect("memory");
    encoder.finish().expect("memory")
}
