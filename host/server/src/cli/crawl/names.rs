//! File names from addresses: safe on every file system, and readable. Pure.

use url::Url;

/// Bytes of one part of a path; file systems allow 255, and a number and an ending come after it.
const PART_BYTES_MAX: usize = 120;
/// Folders below that of the host. Deeper pages are told apart by a number.
const PARTS_MAX: usize = 16;
/// Digits of the number that tells apart what the name alone does not.
const HASH_DIGITS: usize = 8;

/// The file for a page, relative to the folder of the crawl: host, path and ending. `None` when the address has no host.
/// Addresses whose path says all have a name without a number; what a name leaves out stands in a number behind it.
pub(super) fn file(url: &Url, ending: &str) -> Option<String> {
    let mut parts = vec![part(&host(url)?).0];
    let path = url.path();
    let mut is_whole = url.query().is_none();
    let segments: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    is_whole &= segments.len() <= PARTS_MAX && !path.contains("//");
    for segment in segments.iter().take(PARTS_MAX) {
        let (name, is_same) = part(segment);
        is_whole &= is_same;
        parts.push(name);
    }
    if path.ends_with('/') || segments.is_empty() {
        parts.push("index".to_owned());
    }
    let mut file = parts.join("/");
    if !is_whole {
        file = numbered(&file, url, "");
    }
    let dotted = format!(".{ending}");
    if !file.ends_with(&dotted) {
        file.push_str(&dotted);
    }
    Some(file)
}

/// Another name for a page whose file is taken by another page.
pub(super) fn other(file: &str, url: &Url, ending: &str) -> String {
    let dotted = format!(".{ending}");
    numbered(file.trim_end_matches(&dotted), url, &dotted)
}

fn numbered(file: &str, url: &Url, ending: &str) -> String {
    let hash = blake3::hash(url.as_str().as_bytes()).to_hex();
    format!("{file}~{}{ending}", &hash[..HASH_DIGITS])
}

fn host(url: &Url) -> Option<String> {
    let host = url.host_str()?;
    Some(match url.port() {
        Some(port) => format!("{host}_{port}"),
        None => host.to_owned(),
    })
}

/// One part of a path as a file system takes it, and whether it says the same as before.
fn part(text: &str) -> (String, bool) {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "._-%+,=@!()".contains(char);
    let mut name: String = text
        .chars()
        .map(|char| if is_plain(char) { char } else { '_' })
        .take(PART_BYTES_MAX)
        .collect();
    // Neither hidden nor a way out of the folder.
    if name.starts_with('.') {
        name.replace_range(..1, "_");
    }
    let is_same = name == text;
    (name, is_same)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(address: &str, ending: &str) -> String {
        let url = Url::parse(address).expect("an address");
        file(&url, ending).expect("a name")
    }

    #[test]
    fn plain_addresses_have_plain_names() {
        let check = |address: &str, expected: &str| {
            assert_eq!(named(address, "md"), expected, "{address}");
        };
        check("https://a.example/", "a.example/index.md");
        check("https://a.example", "a.example/index.md");
        check("https://a.example/b/c", "a.example/b/c.md");
        check("https://a.example/b/c/", "a.example/b/c/index.md");
        check("https://a.example/b.html", "a.example/b.html.md");
        check("https://a.example/b.md", "a.example/b.md");
        check("http://127.0.0.1:8080/x", "127.0.0.1_8080/x.md");
        check("http://[::1]/x", "___1_/x.md");
        assert_eq!(
            named("https://a.example/b.html", "html"),
            "a.example/b.html"
        );
    }

    #[test]
    fn what_a_name_leaves_out_is_in_its_number() {
        let of = |address: &str| named(address, "txt");
        let first = of("https://a.example/search?q=1");
        assert!(
            first.starts_with("a.example/search~") && first.ends_with(".txt"),
            "{first}"
        );
        assert_ne!(first, of("https://a.example/search?q=2"));
        assert_ne!(of("https://a.example/a:b"), of("https://a.example/a_b"));
        assert_ne!(of("https://a.example/a//b"), of("https://a.example/a/b"));
        let long = "x".repeat(300);
        assert_ne!(
            of(&format!("https://a.example/{long}y")),
            of(&format!("https://a.example/{long}z"))
        );
        let deep = "d/".repeat(50);
        assert_ne!(
            of(&format!("https://a.example/{deep}y")),
            of(&format!("https://a.example/{deep}z"))
        );
    }

    #[test]
    fn no_name_leads_out_of_the_folder_or_is_too_long() {
        for path in [
            "/../../etc/passwd",
            "/%2e%2e/%2e%2e/x",
            "/..%2f..%2fx",
            "/.hidden",
            "/a\\..\\b",
            "/%00",
            "/..../...",
            "/~root/x",
            "/C:/x",
        ] {
            let file = named(&format!("https://a.example{path}"), "md");
            for part in file.split('/') {
                assert!(!part.starts_with('.') && !part.is_empty(), "{path}: {file}");
                assert!(part.len() <= 200, "{path}: {file}");
            }
            assert!(
                file.bytes()
                    .all(|byte| byte.is_ascii_graphic() && byte != b'\\'),
                "{file}"
            );
        }
    }

    #[test]
    fn another_name_keeps_the_ending() {
        let url = Url::parse("https://a.example/b").expect("an address");
        let other = other("a.example/b.html", &url, "html");
        assert!(
            other.starts_with("a.example/b~") && other.ends_with(".html"),
            "{other}"
        );
    }
}
