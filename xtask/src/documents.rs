//! What `cargo xtask bench documents` reads and compares with: documentation of Debian as PDF and
//! as HTML, packages of Python, the files of other programs' tests, and programs that make and read
//! documents.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail};
use serde_json::Value;

use crate::python::{self, ENVIRONMENT, REQUIREMENTS};
use crate::workshop::{self, Sources, Workshop, remove};

/// Notes from what all was made. The benchmark looks for it.
const READY: &str = "ready";
/// The list of the documents, with the packages that have them.
const LIST: &str = "documents.json";
/// Where the files of the packages of Debian are, each package in a folder of its own.
const PACKAGES: &str = "packages";
/// Where the sources of packages of Python are, whose tests have files that made programs crash.
const SOURCES: &str = "sources";
/// Those packages.
const TESTED: [&str; 2] = ["pypdf==7.1.1", "python-docx==1.2.0"];
/// Programs that must be there, and how each says its version.
const PROGRAMS: [(&str, &str); 5] = [
    ("pdftotext", "-v"),
    ("pdftohtml", "-v"),
    ("pandoc", "--version"),
    ("soffice", "--version"),
    ("groff", "--version"),
];
const ASK: &str = "run `apt-get install poppler-utils pandoc groff libreoffice-writer-nogui libreoffice-calc-nogui`";

/// How long apt may take for a package, dpkg for its files, and tar for a source.
const PACKAGE_LIMIT: Duration = Duration::from_secs(300);

/// Fetches everything, unless `target/documents` is up to date.
pub(crate) fn install() -> anyhow::Result<()> {
    const LASTING: [&str; 7] = [
        ENVIRONMENT,
        PACKAGES,
        SOURCES,
        "files",
        "made",
        "compiled",
        READY,
    ];
    let workshop = Workshop::new("bench/documents", "target/documents", &LASTING);
    let sources = Sources::read(&workshop.sources)?.only(&[REQUIREMENTS, LIST]);
    for (program, argument) in PROGRAMS {
        workshop::version_of(program, &[argument], ASK)?;
    }
    let made_from = format!("{} {} {TESTED:?}", sources.all(), python::version()?);
    if workshop.has(&workshop.work.join(ENVIRONMENT), READY, &made_from) {
        eprintln!("documents: target/documents is up to date");
        return Ok(());
    }
    workshop.copy(&sources)?;
    workshop.forget(READY)?;
    for folder in [PACKAGES, SOURCES, "files", "made"] {
        remove(&workshop.work.join(folder))?;
    }
    let list = std::fs::read(workshop.work.join(LIST))?;
    for package in packages(&serde_json::from_slice(&list)?) {
        eprintln!("documents: {package}");
        fetch(&workshop, &package)?;
    }
    eprintln!("documents: pip install");
    python::install(&workshop)?;
    fetch_sources(&workshop)?;
    workshop.note(READY, &made_from)
}

/// The packages that a list of documents names.
fn packages(list: &Value) -> BTreeSet<String> {
    let entries = ["pdf", "made"].map(|kind| list[kind].as_array().into_iter().flatten());
    let names = entries.into_iter().flatten().flat_map(|entry| {
        let names = [&entry["package"], &entry["html_package"]];
        names.map(|name| name.as_str().map(str::to_owned))
    });
    names.flatten().collect()
}

/// Downloads a package of Debian and unpacks its files. Its scripts do not run.
fn fetch(workshop: &Workshop, package: &str) -> anyhow::Result<()> {
    let folder = workshop.work.join(PACKAGES).join(package);
    std::fs::create_dir_all(&folder)?;
    let here = Workshop {
        work: folder.clone(),
        sources: workshop.sources.clone(),
        lasting: &[],
    };
    here.run("apt-get", &["--quiet", "download", package], PACKAGE_LIMIT)
        .context("run `apt-get update` first")?;
    let archive = only_file(&folder, "deb")?;
    here.run("dpkg-deb", &["--extract", &archive, "."], PACKAGE_LIMIT)?;
    remove(&folder.join(archive))
}

/// Fetches the sources of packages of Python.
fn fetch_sources(workshop: &Workshop) -> anyhow::Result<()> {
    for package in TESTED {
        eprintln!("documents: the tests of {package}");
        let folder = format!("{SOURCES}/{package}");
        std::fs::create_dir_all(workshop.work.join(&folder))?;
        let download = [
            "download",
            "--quiet",
            "--no-deps",
            "--no-binary",
            ":all:",
            "--dest",
        ];
        python::pip(
            workshop,
            &[&download[..], &[folder.as_str(), package]].concat(),
        )?;
        let archive = only_file(&workshop.work.join(&folder), "gz")?;
        let archive = format!("{folder}/{archive}");
        let unpack = [
            "--extract",
            "--gzip",
            "--directory",
            &folder,
            "--file",
            &archive,
        ];
        workshop.run("tar", &unpack, PACKAGE_LIMIT)?;
        remove(&workshop.work.join(archive))?;
    }
    Ok(())
}

/// The name of the only file in a folder that ends so.
fn only_file(folder: &Path, ending: &str) -> anyhow::Result<String> {
    let entries = std::fs::read_dir(folder)?.flatten();
    let mut names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let end = format!(".{ending}");
    match names.find(|name| name.ends_with(&end)) {
        Some(name) => Ok(name),
        None => bail!("nothing was downloaded to `{}`", folder.display()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::packages;

    #[test]
    fn each_package_is_fetched_once() {
        let list = json!({
            "pdf": [{"package": "b", "html_package": "c"}, {"package": "b"}],
            "made": [{"package": "a"}],
        });
        let names: Vec<String> = packages(&list).into_iter().collect();
        assert_eq!(names, ["a", "b", "c"]);
    }
}
