//! Judges of the conformance tests, installed into `target/conformance`: packages of Python, and
//! the test data of the standards for HTML and URLs that packages of the registries ship.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};

use crate::python::{self, ENVIRONMENT, REQUIREMENTS};
use crate::workshop::{Sources, Workshop, remove};
use crate::workspace;

/// Notes from which requirements the judges were installed. The tests' build script looks for it.
const READY: &str = "ready";
/// The data of the URL standard's tests: in the package `url` that the server is built with.
const URL_DATA: &str = "urltestdata.json";
/// The source of `html5lib`, with the data of the parser tests that browsers share; the packages
/// that are installed come without it.
const HTML_SOURCE: &str = "html5lib==1.1";
/// Where that data is put, and where it is in the source.
const HTML_DATA: &str = "tree-construction";
const HTML_DATA_INSIDE: &str = "html5lib/tests/testdata/tree-construction";
/// Where pip puts the source.
const DOWNLOADS: &str = "downloads";

/// How long a small archive may take to be unpacked.
const UNPACK_LIMIT: Duration = Duration::from_secs(30);

/// Installs the judges, unless `target/conformance` is up to date.
pub(crate) fn install() -> anyhow::Result<()> {
    const LASTING: [&str; 5] = [ENVIRONMENT, URL_DATA, HTML_DATA, DOWNLOADS, READY];
    let workshop = Workshop::new("tests/conformance", "target/conformance", &LASTING);
    let sources = Sources::read(&workshop.sources)?.only(&[REQUIREMENTS]);
    let url_data = url_data()?;
    let made_from = format!(
        "{} {} {HTML_SOURCE} {}",
        sources.all(),
        python::version()?,
        url_data.display()
    );
    if workshop.has(&workshop.work.join(ENVIRONMENT), READY, &made_from) {
        eprintln!("judges: target/conformance is up to date");
        return Ok(());
    }
    workshop.copy(&sources)?;
    workshop.forget(READY)?;
    eprintln!("judges: pip install");
    python::install(&workshop)?;
    copy(&url_data, &workshop.work.join(URL_DATA))?;
    fetch_html_data(&workshop)?;
    workshop.note(READY, &made_from)
}

/// The file of the package `url`.
fn url_data() -> anyhow::Result<PathBuf> {
    let metadata = workspace::Metadata::read(&[])?;
    let package = metadata.packages.iter().find(|it| it.name == "url");
    let package = package.context("the server is built without the package `url`")?;
    let folder = package.manifest_path.parent().unwrap_or(Path::new(""));
    Ok(folder.join("tests").join(URL_DATA))
}

/// Fetches the source of `html5lib` and takes the data out of it.
fn fetch_html_data(workshop: &Workshop) -> anyhow::Result<()> {
    let downloads = workshop.work.join(DOWNLOADS);
    remove(&downloads)?;
    // Its set-up needs the `setuptools` of the requirements.
    let arguments = [
        "download",
        "--quiet",
        "--no-deps",
        "--no-binary",
        ":all:",
        "--no-build-isolation",
        "--dest",
        DOWNLOADS,
        HTML_SOURCE,
    ];
    python::pip(workshop, &arguments)?;
    let entries = std::fs::read_dir(&downloads).context("pip left no source")?;
    let mut archives = entries.flatten().map(|entry| entry.path());
    let Some(archive) = archives.next() else {
        bail!("pip left no source of `{HTML_SOURCE}`");
    };
    let archive = archive.to_string_lossy();
    let unpack = ["-xzf", &archive, "-C", DOWNLOADS, "--strip-components=1"];
    workshop.run("tar", &unpack, UNPACK_LIMIT)?;
    let data = workshop.work.join(HTML_DATA);
    remove(&data)?;
    std::fs::create_dir_all(&data)?;
    for entry in std::fs::read_dir(downloads.join(HTML_DATA_INSIDE))? {
        let path = entry?.path();
        if let Some(name) = path.file_name().filter(|_| path.is_file()) {
            copy(&path, &data.join(name))?;
        }
    }
    remove(&downloads)
}

fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    let copied = std::fs::copy(from, to);
    copied
        .map(drop)
        .with_context(|| format!("cannot copy `{}`", from.display()))
}
