//! Dumps the features of pages for training, or the output of the filter.
//!
//! Standard input has one page per line: id, URL and path of the HTML file, separated by tabs.
//! `dump blocks OUT` writes `OUT.jsonl` (one page per line: its id, the text and the role of its
//! blocks, the families of features) and `OUT.f32` (their features). `dump again OUT` does so for
//! what the filter keeps of the pages.
//! `dump kinds` writes one JSON object per line: `id` and `counts`, what tells the kind of a page.
//! `dump text` writes one JSON object per line: `id`, `text`, `body` (the text of an article
//! alone), `again` (what the filter keeps of what it kept), and `ms`, the time of the filter.

use std::fs::{File, read};
use std::io::{BufRead, BufWriter, Error, Write, stdin, stdout};
use std::time::Instant;

use filter_readability::{Options, Readability, training};
use trawl_sdk::Filter;
use trawl_sdk::testkit::{self, Page};

fn main() -> Result<(), Error> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["blocks", out] => write_blocks(out, Ok),
        ["again", out] => write_blocks(out, filtered),
        ["kinds"] => write_kinds(),
        ["text"] => write_text(),
        _ => Err(Error::other(
            "usage: dump blocks OUT | dump again OUT | dump kinds | dump text",
        )),
    }
}

/// The pages listed on standard input, with their ids.
fn pages() -> impl Iterator<Item = Result<(String, Page), Error>> {
    stdin().lock().lines().map(|line| {
        let line = line?;
        let fields: Vec<&str> = line.split('\t').collect();
        let &[id, url, path] = fields.as_slice() else {
            return Err(Error::other("expected id, address and path"));
        };
        let html = String::from_utf8_lossy(&read(path)?).into_owned();
        Ok((id.to_owned(), testkit::page(&html).url(url)))
    })
}

/// The page as the filter leaves it.
fn filtered(page: Page) -> Result<Page, Error> {
    let mask = Readability::keep(&page.document(), Options::default())
        .map_err(|failure| Error::other(failure.to_string()))?;
    Ok(page.masked(mask))
}

fn write_blocks(out: &str, prepare: fn(Page) -> Result<Page, Error>) -> Result<(), Error> {
    let mut rows = BufWriter::new(File::create(format!("{out}.f32"))?);
    let mut lines = BufWriter::new(File::create(format!("{out}.jsonl"))?);
    for page in pages() {
        let (id, page) = page?;
        let page = prepare(page)?;
        let document = page.document();
        let Some(sample) = training::sample(&document) else {
            eprintln!("{id} is too large");
            continue;
        };
        for value in &sample.values {
            rows.write_all(&value.to_le_bytes())?;
        }
        let line = serde_json::json!({
            "id": id,
            "width": sample.width,
            "blocks": sample.texts,
            "regions": sample.regions,
            "parents": sample.parents,
            "families": sample.families,
            "roles": sample.roles,
            "is_article": sample.is_article,
        });
        writeln!(lines, "{line}")?;
    }
    rows.flush()?;
    lines.flush()
}

fn write_kinds() -> Result<(), Error> {
    let mut out = BufWriter::new(stdout().lock());
    for page in pages() {
        let (id, page) = page?;
        let counts = training::kind_counts(&page.document());
        writeln!(out, "{}", serde_json::json!({"id": id, "counts": counts}))?;
    }
    out.flush()
}

fn write_text() -> Result<(), Error> {
    let mut out = BufWriter::new(stdout().lock());
    for page in pages() {
        let (id, page) = page?;
        let mask = Readability::keep(&page.document(), Options::body());
        let mask = mask.map_err(|failure| Error::other(failure.to_string()))?;
        let start = Instant::now();
        let whole = Readability::keep(&page.document(), Options::default());
        let ms = start.elapsed().as_secs_f64() * 1e3;
        let whole = whole.map_err(|failure| Error::other(failure.to_string()))?;
        let page = page.masked(mask);
        let body = page.document().text();
        let page = page.masked(whole);
        let text = page.document().text();
        let again = filtered(page)?.document().text();
        writeln!(
            out,
            "{}",
            serde_json::json!({"id": id, "text": text, "body": body, "again": again, "ms": ms})
        )?;
    }
    out.flush()
}
