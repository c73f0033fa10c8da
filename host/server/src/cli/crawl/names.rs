//! File names for URLs: readable, and safe on every file system. No I/O.

use url::Url;

/// Maximum length of a path segment. File systems allow 255 bytes; a suffix and an extension
/// follow.
const SEGMENT_BYTES_MAX: usize = 120;
/// Maximum number of folders below the host. Deeper pages get a suffix.
const SEGMENTS_MAX: usize = 16;
/// Length of the hash suffix that makes a name unique.
const HASH_DIGITS: usize = 8;

/// The file of a page, relative to the folder of the crawl: host, path and extension. `None` if the
/// URL has no host. A name that does not represent the complete URL gets a hash as suffix.
pub(super) fn file(url: &Url, extension: &str) -> Option<String> {
    let mut parts = vec![segment_name(&host(url)?).0];
    let path = url.path();
    let mut is_complete = url.query().is_none();
    let segments: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    is_complete &= segments.len() <= SEGMENTS_MAX && !path.contains("//");
    for segment in segments.iter().take(SEGMENTS_MAX) {
        let (name, is_unchanged) = segment_name(segment);
        is_complete &= is_unchanged;
        parts.push(name);
    }
    if path.ends_with('/') || segments.is_empty() {
        parts.push("index".to_owned());
    }
    let mut file = parts.join("/");
    if !is_complete {
        file = with_hash(&file, url, "");
    }
    let dotted = format!(".{extension}");
    if !file.ends_with(&dotted) {
        file.push_str(&dotted);
    }
    Some(file)
}

/// Another name for a page whose file belongs to another page.
pub(super) fn alternative(file: &str, url: &Url, extension: &str) -> String {
    let dotted = format!(".{extension}");
    with_hash(file.trim_end_matches(&dotted), url, &dotted)
}

fn with_hash(file: &str, url: &Url, extension: &str) -> String {
    let hash = blake3::hash(url.as_str().as_bytes()).to_hex();
    format!("{file}~{}{extension}", &hash[..HASH_DIGITS])
}

fn host(url: &Url) -> Option<String> {
    let host = url.host_str()?;
    Some(match url.port() {
        Some(port) => format!("{host}_{port}"),
        None => host.to_owned(),
    })
}

/// A path segment as a file name, and whether it is unchanged.
fn segment_name(text: &str) -> (String, bool) {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "._-%+,=@!()".contains(char);
    let mut name: String = text
        .chars()
        .map(|char| if is_plain(char) { char } else { '_' })
        .take(SEGMENT_BYTES_MAX)
        .collect();
    // Neither a hidden file nor a path traversal.
    if name.starts_with('.') {
        name.replace_range(..1, "_");
    }
    let is_unchanged = name == text;
    (name, is_unchanged)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name_of(url: &str, extension: &str) -> String {
        let url = Url::parse(url).expect("a URL");
        file(&url, extension).expect("a name")
    }

    #[test]
    fn plain_urls_have_plain_names() {
        let check = |url: &str, expected: &str| {
            assert_eq!(name_of(url, "md"), expected, "{url}");
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
            name_of("https://a.example/b.html", "html"),
            "a.example/b.html"
        );
    }

    #[test]
    fn incomplete_names_have_a_hash() {
        let of = |url: &str| name_of(url, "txt");
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
    fn names_stay_in_the_folder_and_are_not_too_long() {
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
            let file = name_of(&format!("https://a.example{path}"), "md");
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
    fn an_alternative_name_has_the_same_extension() {
        let url = Url::parse("https://a.example/b").expect("a URL");
        let other = alternative("a.example/b.html", &url, "html");
        assert!(
            other.starts_with("a.example/b~") && other.ends_with(".html"),
            "{other}"
        );
    }
}
