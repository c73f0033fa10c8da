//! The files of the console against each other and against its policy.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

use super::files::{FILES, FRAME, INDEX, media_type};
use super::{FRAME_POLICY, POLICY};

/// Most bytes of all files, compressed.
const COMPRESSED_BYTES_MAX: usize = 250_000;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("console")
}

/// The paths of the files in a folder, relative to `root`.
fn below(root: &Path, folder: &Path, paths: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            below(root, &path, paths);
        } else {
            let path = path.strip_prefix(root).expect("below it");
            paths.insert(path.display().to_string());
        }
    }
}

/// What stands between each `before` and the `"` after it.
fn quoted_after<'a>(text: &'a str, before: &'a str) -> impl Iterator<Item = &'a str> {
    let parts = text.split(before).skip(1);
    parts.filter_map(|part| Some(part.split_once('"')?.0))
}

/// The path of a file that another one names: `../ui.js` of `pages/start.js` is `ui.js`.
fn resolved(from: &str, name: &str) -> String {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in name.split('/') {
        match part {
            "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[test]
fn every_file_of_the_folder_is_embedded_with_a_media_type() {
    let mut written = BTreeSet::new();
    below(&folder(), &folder(), &mut written);
    let embedded: BTreeSet<String> = FILES.iter().map(|file| file.path.to_owned()).collect();
    assert_eq!(embedded, written);
    assert_eq!(FILES.len(), embedded.len(), "each of them once");
    for file in FILES {
        assert!(media_type(file.path).is_some(), "{}", file.path);
    }
}

#[test]
fn every_file_that_is_named_exists_and_every_module_is_used() {
    let paths: BTreeSet<&str> = FILES.iter().map(|file| file.path).collect();
    let mut named: BTreeSet<String> = [INDEX, FRAME].map(str::to_owned).into();
    for file in FILES {
        if file.path.ends_with(".js") {
            for before in ["from \"", "import \"", "import(\""] {
                let names = quoted_after(file.text, before);
                named.extend(names.map(|name| resolved(file.path, name)));
            }
        }
        if file.path.ends_with(".html") {
            for before in ["src=\"", "href=\""] {
                let names = quoted_after(file.text, before);
                // The first document is served above the folder; what is no file is an endpoint.
                let names = names.filter(|name| media_type(name).is_some());
                named.extend(names.map(|name| match name.strip_prefix("console/") {
                    Some(name) => name.to_owned(),
                    None => resolved(file.path, name),
                }));
            }
        }
    }
    let named: BTreeSet<&str> = named.iter().map(String::as_str).collect();
    assert_eq!(named, paths);
}

#[test]
fn no_file_needs_more_than_the_policy_allows() {
    for policy in [POLICY, FRAME_POLICY] {
        assert!(policy.starts_with("default-src 'none'; "), "{policy}");
        assert!(!policy.contains("unsafe-eval"), "{policy}");
        assert!(policy.contains("script-src 'self';"), "{policy}");
    }
    assert!(!POLICY.contains("unsafe-inline"), "{POLICY}");
    // A document that anybody may open must not act for the one who does.
    assert!(FRAME_POLICY.ends_with("sandbox allow-scripts"));
    for file in FILES.iter().filter(|file| file.path.ends_with(".html")) {
        for inline in ["<style", " style=", " onload=", " onclick=", "javascript:"] {
            assert!(!file.text.contains(inline), "{inline} in {}", file.path);
        }
        for script in file.text.split("<script").skip(1) {
            let (opening, content) = script.split_once('>').expect("an element");
            assert!(opening.contains(" src="), "{opening}");
            assert!(content.starts_with("</script>"), "{content}");
        }
    }
    for file in FILES.iter().filter(|file| file.path.ends_with(".js")) {
        for sink in [
            "innerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "new Function",
            "localStorage",
            "document.cookie",
        ] {
            assert!(!file.text.contains(sink), "{sink} in {}", file.path);
        }
    }
}

#[test]
fn the_files_are_small() {
    let compressed = FILES.iter().map(|file| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(file.text.as_bytes()).expect("memory");
        encoder.finish().expect("memory").len()
    });
    let bytes: usize = compressed.sum();
    assert!(bytes < COMPRESSED_BYTES_MAX, "{bytes} bytes");
}
