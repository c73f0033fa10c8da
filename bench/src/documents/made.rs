//! Documents that programs make of pages: Office files and PDFs by LibreOffice, PDFs by a browser,
//! groff, MuPDF and fpdf2. What is in them is known: it is what is on the page.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::bail;

use super::corpus::{self, Document, Source};
use super::limits::{self, MAKING_SECONDS};
use super::structure::Reader;
use crate::corpus::checkout;
use crate::render;

/// Endings of spreadsheets, which are made of the tables of a page alone.
const SHEETS: [&str; 2] = ["xlsx", "ods"];

/// Makes the documents of all pages that are not there yet. What a program cannot make is left out,
/// with a line that says so.
pub(super) fn all() -> anyhow::Result<Vec<Document>> {
    let folder = corpus::folder().join("made");
    std::fs::create_dir_all(&folder)?;
    let reader = Reader::of_site()?;
    let mut documents = Vec::new();
    for source in corpus::sources()? {
        let cleaned = reader.cleaned(&corpus::html(&source.page)?);
        let page = folder.join(format!("{}.html", source.name));
        std::fs::write(&page, &cleaned)?;
        let tables = folder.join(format!("{}-tables.html", source.name));
        std::fs::write(&tables, Reader::tables(&cleaned)?)?;
        for format in &source.formats {
            let from = match SHEETS.contains(&format.as_str()) {
                true => &tables,
                false => &page,
            };
            match made(&folder, &source, format, from) {
                Ok(document) => documents.push(document),
                Err(error) => println!("not made: {} as {format}: {error:#}", source.name),
            }
        }
    }
    Ok(documents)
}

/// A document of a page, made unless it is there.
fn made(folder: &Path, source: &Source, format: &str, page: &Path) -> anyhow::Result<Document> {
    let name = format!("{}.{format}", source.name);
    let file = folder.join(&name);
    if !file.is_file() {
        match format {
            "chromium.pdf" => by_browser(page, &file)?,
            "groff.pdf" => by_groff(page, &file)?,
            "mupdf.pdf" | "fpdf.pdf" => by_python(format.trim_end_matches(".pdf"), page, &file)?,
            _ => by_libreoffice(folder, format, page, &file)?,
        }
    }
    let is_made = file.metadata().is_ok_and(|file| file.len() > 0);
    if !is_made {
        bail!("the program wrote nothing");
    }
    Ok(Document {
        name,
        file,
        pages: vec![page.to_path_buf()],
        is_made: true,
    })
}

/// LibreOffice names its file after the page, in a folder of its own.
fn by_libreoffice(folder: &Path, format: &str, page: &Path, file: &Path) -> anyhow::Result<()> {
    let filter = match format {
        "docx" => "docx:MS Word 2007 XML",
        "odt" => "odt:writer8",
        "rtf" => "rtf:Rich Text Format",
        "epub" => "epub",
        "xlsx" => "xlsx:Calc MS Excel 2007 XML",
        "ods" => "ods:calc8",
        "libreoffice.pdf" => "pdf:writer_pdf_Export",
        other => bail!("no program makes `{other}`"),
    };
    let input = match SHEETS.contains(&format) {
        true => "--infilter=HTML (StarCalc)",
        false => "--infilter=HTML (StarWriter)",
    };
    let out = tempfile::tempdir()?;
    let profile = folder.join("profile");
    run(Command::new("soffice")
        .arg("--headless")
        .arg(format!(
            "-env:UserInstallation=file://{}",
            absolute(&profile)?.display()
        ))
        .arg(input)
        .args(["--convert-to", filter, "--outdir"])
        .arg(out.path())
        .arg(page))?;
    let ending = filter.split(':').next().unwrap_or_default();
    let written = out.path().join(page.file_name().unwrap_or_default());
    std::fs::copy(written.with_extension(ending), file)?;
    Ok(())
}

fn by_browser(page: &Path, file: &Path) -> anyhow::Result<()> {
    run(Command::new(render::browser()?)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-pdf-header-footer",
        ])
        .arg(format!("--print-to-pdf={}", file.display()))
        .arg(format!("file://{}", absolute(page)?.display())))
}

fn by_groff(page: &Path, file: &Path) -> anyhow::Result<()> {
    let source = tempfile::NamedTempFile::new()?;
    run(Command::new("pandoc")
        .args(["--from=html", "--to=ms", "--standalone", "--output"])
        .arg(source.path())
        .arg(page))?;
    let output = limits::output(
        Command::new("groff")
            .args(["-ms", "-t", "-k", "-Tpdf"])
            .arg(source.path()),
        MAKING_SECONDS,
    )?;
    std::fs::write(file, output)?;
    Ok(())
}

fn by_python(name: &str, page: &Path, file: &Path) -> anyhow::Result<()> {
    run(Command::new(python())
        .arg(script())
        .args(["make", name])
        .arg(page)
        .arg(file))
}

/// The interpreter with the packages.
pub(super) fn python() -> PathBuf {
    corpus::folder().join("venv/bin/python")
}

/// The script that runs them.
pub(super) fn script() -> PathBuf {
    checkout().join("bench/documents/peers.py")
}

fn absolute(path: &Path) -> anyhow::Result<PathBuf> {
    Ok(std::path::absolute(path)?)
}

fn run(command: &Command) -> anyhow::Result<()> {
    limits::output(command, MAKING_SECONDS).map(drop)
}
