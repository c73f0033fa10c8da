//! The documents: PDFs of Debian's documentation packages whose content is there as HTML, and files
//! that programs made of HTML.

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use flate2::read::GzDecoder;
use serde_json::Value;

use super::structure::{Reader, Structure};
use crate::corpus::checkout;

/// What `cargo xtask documents` notes when all is there.
const READY: &str = "ready";
/// The list of documents.
const LIST: &str = "bench/documents/documents.json";
/// First bytes of a file of gzip.
const GZIP: &[u8] = b"\x1f\x8b";

/// A document, and what is known to be in it.
#[derive(Clone, Debug)]
pub(super) struct Document {
    /// Unlike all others; ends as files of its type do.
    pub(super) name: String,
    pub(super) file: PathBuf,
    /// The same in HTML.
    pub(super) pages: Vec<PathBuf>,
    /// Whether a program made it of its page, which then has no navigation.
    pub(super) is_made: bool,
}

impl Document {
    /// What is in it.
    pub(super) fn truth(&self) -> anyhow::Result<Structure> {
        let (front, chapter) = match self.is_made {
            true => (Reader::of_output()?, Reader::of_output()?),
            false => (Reader::of_site()?, Reader::of_chapter()?),
        };
        let mut truth = Structure::default();
        for page in &self.pages {
            let name = page.file_name().and_then(|name| name.to_str());
            let is_front = self.pages.len() == 1 || name.is_some_and(|it| it.starts_with("index"));
            let reader = if is_front { &front } else { &chapter };
            reader.add(&html(page)?, &mut truth);
        }
        Ok(truth)
    }

    /// What its name ends with: `pdf`.
    pub(super) fn ending(&self) -> &str {
        self.name.rsplit('.').next().unwrap_or_default()
    }
}

/// A page of which documents are made.
#[derive(Clone, Debug)]
pub(super) struct Source {
    /// Without an ending.
    pub(super) name: String,
    pub(super) page: PathBuf,
    /// Endings of the documents: `docx`, or `groff.pdf` where there is more than one maker.
    pub(super) formats: Vec<String>,
}

/// Where `cargo xtask documents` puts everything.
pub(super) fn folder() -> PathBuf {
    checkout().join("target/documents")
}

/// Whether `cargo xtask documents` has run.
pub(super) fn is_ready() -> bool {
    folder().join(READY).is_file()
}

/// The PDFs of the packages, as they are and unpacked.
pub(super) fn published() -> anyhow::Result<Vec<Document>> {
    let list = list()?;
    let files = folder().join("files");
    std::fs::create_dir_all(&files)?;
    let mut documents = Vec::new();
    for entry in list["pdf"].as_array().into_iter().flatten() {
        let package = text(entry, "package")?;
        let pdf = text(entry, "pdf")?;
        let name = name_of(pdf);
        let file = files.join(&name);
        if !file.is_file() {
            let bytes = unpacked(&packages(package).join(pdf))?;
            std::fs::write(&file, bytes)?;
        }
        let html_package = entry["html_package"].as_str().unwrap_or(package);
        let mut pages = Vec::new();
        for pattern in entry["html"].as_array().into_iter().flatten() {
            let pattern = pattern
                .as_str()
                .context("`html` has a pattern that is no text")?;
            pages.extend(matching(&packages(html_package), pattern)?);
        }
        ensure!(!pages.is_empty(), "`{name}` has no HTML");
        documents.push(Document {
            name,
            file,
            pages,
            is_made: false,
        });
    }
    Ok(documents)
}

/// The pages of which documents are made.
pub(super) fn sources() -> anyhow::Result<Vec<Source>> {
    let list = list()?;
    let entries = list["made"].as_array().into_iter().flatten();
    let source = |entry: &Value| -> anyhow::Result<Source> {
        let (package, html) = (text(entry, "package")?, text(entry, "html")?);
        let formats = entry["formats"].as_array().into_iter().flatten();
        let mut pages = matching(&packages(package), html)?;
        Ok(Source {
            name: name_of(html).trim_end_matches(".html").to_owned(),
            page: pages
                .pop()
                .with_context(|| format!("there is no `{html}`"))?,
            formats: formats
                .filter_map(|it| it.as_str().map(str::to_owned))
                .collect(),
        })
    };
    entries.map(source).collect()
}

/// An HTML file, by the character set that it names.
pub(super) fn html(path: &Path) -> anyhow::Result<String> {
    let bytes = unpacked(path)?;
    Ok(trawl_document::decode(&bytes, "text/html")
        .text
        .into_owned())
}

fn list() -> anyhow::Result<Value> {
    Ok(serde_json::from_slice(&std::fs::read(
        checkout().join(LIST),
    )?)?)
}

fn packages(package: &str) -> PathBuf {
    folder().join("packages").join(package)
}

fn text<'a>(entry: &'a Value, key: &str) -> anyhow::Result<&'a str> {
    let text = entry[key].as_str();
    text.with_context(|| format!("an entry of `{LIST}` has no `{key}`"))
}

/// A path of a package as one name.
fn name_of(path: &str) -> String {
    let path = path
        .trim_start_matches("usr/share/")
        .trim_start_matches("doc/");
    path.trim_end_matches(".gz").replace('/', "_")
}

/// The bytes of a file, uncompressed.
fn unpacked(path: &Path) -> anyhow::Result<Vec<u8>> {
    let bytes = std::fs::read(path).with_context(|| format!("cannot read `{}`", path.display()))?;
    if !bytes.starts_with(GZIP) {
        return Ok(bytes);
    }
    let mut unpacked = Vec::new();
    GzDecoder::new(bytes.as_slice()).read_to_end(&mut unpacked)?;
    Ok(unpacked)
}

/// The files below a folder that match a path whose last part may have one `*`, in order. They may
/// be compressed.
fn matching(folder: &Path, pattern: &str) -> anyhow::Result<Vec<PathBuf>> {
    let (parent, last) = pattern.rsplit_once('/').unwrap_or(("", pattern));
    let (start, end) = last.split_once('*').unwrap_or((last, ""));
    let is_whole = !last.contains('*');
    let parent = folder.join(parent);
    let entries = std::fs::read_dir(&parent)
        .with_context(|| format!("cannot read `{}`", parent.display()))?;
    let mut found = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        let name = name.unwrap_or_default().trim_end_matches(".gz");
        let matches = match is_whole {
            true => name == start,
            false => {
                name.len() >= start.len() + end.len()
                    && name.starts_with(start)
                    && name.ends_with(end)
            }
        };
        if matches && path.is_file() {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::{list, matching, name_of};

    #[test]
    fn the_list_has_enough_documents() {
        let list = list().expect("a list");
        let pdfs = list["pdf"].as_array().expect("documents");
        assert!(pdfs.len() >= 60, "{}", pdfs.len());
        let made = list["made"].as_array().expect("pages");
        let formats = made.iter().filter_map(|page| page["formats"].as_array());
        let formats = formats.flatten().filter_map(|format| format.as_str());
        let n_office = formats.filter(|format| !format.ends_with("pdf")).count();
        assert!(n_office >= 40, "{n_office}");
    }

    #[test]
    fn patterns_match_in_order() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("html")).expect("a folder");
        for name in ["b.en.html", "a.en.html.gz", "a.de.html", "en.html"] {
            std::fs::write(folder.path().join("html").join(name), "x").expect("a file");
        }
        let names = |pattern: &str| -> Vec<String> {
            let found = matching(folder.path(), pattern).expect("files");
            let names = found.iter().filter_map(|path| path.file_name()?.to_str());
            names.map(str::to_owned).collect()
        };
        assert_eq!(names("html/*.en.html"), ["a.en.html.gz", "b.en.html"]);
        assert_eq!(names("html/a.de.html"), ["a.de.html"]);
        assert_eq!(name_of("usr/share/doc/a/b.pdf.gz"), "a_b.pdf");
    }
}
