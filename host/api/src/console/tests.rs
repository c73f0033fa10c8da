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
/// Most bytes of the files of the first page, compressed: what a slow line needs a second for.
const FIRST_BYTES_MAX: usize = 60_000;
/// The module of the first page.
const FIRST_PAGE: &str = "pages/playground.js";

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

/// The size of a file as it is sent.
fn compressed_bytes(text: &str) -> usize {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(text.as_bytes()).expect("memory");
    encoder.finish().expect("memory").len()
}

#[test]
fn the_files_are_small() {
    let compressed = FILES.iter().map(|file| compressed_bytes(file.text));
    let bytes: usize = compressed.sum();
    assert!(bytes < COMPRESSED_BYTES_MAX, "{bytes} bytes");
}

/// The file at a path.
fn text_of(path: &str) -> &'static str {
    let file = FILES.iter().find(|file| file.path == path);
    file.expect("a file").text
}

/// Adds a module and those that are loaded with it, because it imports them at its beginning.
fn add_loaded(path: &str, loaded: &mut BTreeSet<String>) {
    if !loaded.insert(path.to_owned()) {
        return;
    }
    for before in ["from \"", "import \""] {
        for name in quoted_after(text_of(path), before) {
            add_loaded(&resolved(path, name), loaded);
        }
    }
}

#[test]
fn the_first_page_is_asked_for_at_once_and_is_small() {
    let index = text_of(INDEX);
    let mut loaded = BTreeSet::new();
    add_loaded("app.js", &mut loaded);
    add_loaded(FIRST_PAGE, &mut loaded);
    let written = |before| quoted_after(index, before).map(|name| name.replace("console/", ""));
    let asked: BTreeSet<String> = written("<link rel=\"modulepreload\" href=\"")
        .chain(written("<script type=\"module\" src=\""))
        .collect();
    assert_eq!(asked, loaded, "the modules that the first document names");
    let styles: Vec<String> = written("<link rel=\"stylesheet\" href=\"").collect();
    assert_eq!(styles, ["console.css", "views.css"]);
    let all = loaded.iter().chain(&styles).map(|path| text_of(path));
    let bytes: usize = all.chain([index]).map(compressed_bytes).sum();
    assert!(bytes < FIRST_BYTES_MAX, "{bytes} bytes");
    let others = ["crawls/", "account/", "operator/"];
    let early = loaded
        .iter()
        .find(|path| others.iter().any(|folder| path.starts_with(folder)));
    assert_eq!(early, None, "a view of another page");
}
