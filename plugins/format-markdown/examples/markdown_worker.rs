//! Renders pages for `score_markdown.py`. With `--worker` it reads one JSON page per line and
//! writes one answer per line; with `--once URL` it converts the HTML on standard input. Times
//! cover the format only, on a page that is already parsed.

use std::io::{BufRead, Read, Write};
use std::time::Instant;

use format_markdown::{Markdown, Options};
use serde_json::{Value, json};
use trawl_sdk::{Format, Output, Source, testkit};

fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    match arguments.next().as_deref() {
        Some("--once") => once(&arguments.next().unwrap_or_default()),
        _ => work(),
    }
}

fn once(url: &str) -> std::io::Result<()> {
    let mut html = Vec::new();
    std::io::stdin().read_to_end(&mut html)?;
    let (text, _) = render(&String::from_utf8_lossy(&html), url);
    std::io::stdout().write_all(text.as_bytes())
}

fn work() -> std::io::Result<()> {
    for line in std::io::stdin().lock().lines() {
        let page: Value = serde_json::from_str(&line?)?;
        let field = |name: &str| page[name].as_str().unwrap_or_default().to_owned();
        let html = std::fs::read(field("path"))?;
        let (text, ms) = render(&String::from_utf8_lossy(&html), &field("url"));
        let mut out = std::io::stdout().lock();
        writeln!(
            out,
            "{}",
            json!({"id": field("id"), "text": text, "ms": ms})
        )?;
        out.flush()?;
    }
    Ok(())
}

fn render(html: &str, url: &str) -> (String, f64) {
    let page = testkit::page(html).url(url);
    let document = page.document();
    let start = Instant::now();
    let output = Markdown::render(&document, Source::default(), Options::default());
    let ms = start.elapsed().as_secs_f64() * 1e3;
    match output {
        Ok(Output::Text(text)) => (text, ms),
        _ => (String::new(), ms),
    }
}
