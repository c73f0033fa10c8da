//! First-party plugins: CPU time as components, compared with the same source compiled natively.

use std::sync::Arc;

use anyhow::Context;
use trawl_document::{Document, ParseLimits};
use trawl_plugins::{PageView, Registry};
use trawl_sdk::{Chunker, Extractor, Format};
use url::Url;

use crate::corpus;
use crate::table::{self, Row};

/// Rounds over all pages, including the warm-up.
const ROUNDS: usize = 12;
/// Leading rounds that are not counted.
const WARM_UP: usize = 2;
/// Goal for a component: at most this multiple of the native time. All but [`WITH_CALL`] may take
/// the time of a call more.
const TIMES_NATIVE: f64 = 1.4;
const CALL_OVERHEAD_US: f64 = 50.0;
/// Plugins whose goal includes the call: they work long enough on a page.
const WITH_CALL: [&str; 3] = ["markdown", "words", "sentences"];
/// Goal for markdown, links and metadata together, relative to one parse.
const SHARE_OF_PARSE: f64 = 1.2;

/// A parsed page and its source.
struct Page {
    text: String,
    document: Document,
}

/// One timed call on a page. It returns a value that depends on the result, so that the call is
/// not optimised away.
type Call<'a> = Box<dyn Fn(&Page) -> anyhow::Result<usize> + 'a>;

/// Prints native and component time of each plugin, and the three most used ones relative to one
/// parse.
pub(crate) fn run() -> anyhow::Result<()> {
    let pages = pages()?;
    let folder = tempfile::tempdir()?;
    let registry = corpus::registry(folder.path())?;
    let parse = per_page(&pages, &|page| Ok(parse(&page.text)?.kinds.len()))?;
    println!(
        "{} pages, {} KB on average; parse {parse:.0} µs per page",
        pages.len(),
        average_kb(&pages)
    );
    let mut rows = Vec::new();
    let mut three = 0.0;
    for (name, component, native) in calls(&registry) {
        let native_us = per_page(&pages, &native)?;
        let component_us = per_page(&pages, &component)?;
        if ["markdown", "links", "metadata"].contains(&name) {
            three += component_us;
        }
        let call_us = match WITH_CALL.contains(&name) {
            true => 0.0,
            false => CALL_OVERHEAD_US,
        };
        let at_most = Some((native_us * TIMES_NATIVE + call_us).round());
        rows.push(Row::us(format!("{name}: native"), native_us, None));
        rows.push(Row::us(format!("{name}: component"), component_us, at_most));
    }
    let name = "markdown + links + metadata, relative to one parse";
    rows.push(Row::new(name, three / parse, "", Some(SHARE_OF_PARSE)));
    table::print(&rows);
    Ok(())
}

/// The measured plugins: name, call as a component, native call.
fn calls(registry: &Arc<Registry>) -> Vec<(&'static str, Call<'_>, Call<'static>)> {
    vec![
        (
            "markdown",
            format(registry, "markdown"),
            native_format::<format_markdown::Markdown>(),
        ),
        (
            "text",
            format(registry, "text"),
            native_format::<format_text::Text>(),
        ),
        (
            "html",
            format(registry, "html"),
            native_format::<format_html::Html>(),
        ),
        (
            "links",
            extractor(registry, "links"),
            native_extractor::<extractor_links::Links>(),
        ),
        (
            "metadata",
            extractor(registry, "metadata"),
            native_extractor::<extractor_metadata::PageMetadata>(),
        ),
        (
            "words",
            chunker(registry, "words"),
            native_chunker::<chunker_words::Words>(),
        ),
        (
            "sentences",
            chunker(registry, "sentences"),
            native_chunker::<chunker_sentences::Sentences>(),
        ),
        (
            "lines",
            chunker(registry, "lines"),
            native_chunker::<chunker_lines::Lines>(),
        ),
    ]
}

fn format<'a>(registry: &'a Arc<Registry>, name: &'static str) -> Call<'a> {
    Box::new(move |page| {
        let plugin = registry.format(name).context("the format is not loaded")?;
        Ok(match plugin.render(&view(page), "{}")? {
            trawl_plugins::Rendered::Text(text) => text.len(),
            trawl_plugins::Rendered::Bytes(bytes) => bytes.len(),
        })
    })
}

fn extractor<'a>(registry: &'a Arc<Registry>, name: &'static str) -> Call<'a> {
    Box::new(move |page| {
        let plugin = registry
            .extractor(name)
            .context("the extractor is not loaded")?;
        Ok(usize::from(plugin.extract(&view(page), "{}")?.is_null()))
    })
}

fn chunker<'a>(registry: &'a Arc<Registry>, name: &'static str) -> Call<'a> {
    Box::new(move |page| {
        let plugin = registry
            .chunker(name)
            .context("the chunker is not loaded")?;
        Ok(plugin.chunk(&page.text, "{}")?.len())
    })
}

fn native_format<F: Format>() -> Call<'static> {
    Box::new(|page| {
        let rendered = F::render(
            &trawl_sdk::Document::new(page.document.arrays(&[])),
            source(page),
            F::Options::default(),
        );
        match rendered.map_err(|failure| anyhow::anyhow!("{failure:?}"))? {
            trawl_sdk::Output::Text(text) => Ok(text.len()),
            trawl_sdk::Output::Bytes(bytes) => Ok(bytes.len()),
        }
    })
}

/// Includes serialising and parsing the JSON, as in the component's call.
fn native_extractor<E: Extractor>() -> Call<'static> {
    Box::new(|page| {
        let extracted = E::extract(
            &trawl_sdk::Document::new(page.document.arrays(&[])),
            source(page),
            E::Options::default(),
        );
        let json =
            serde_json::to_string(&extracted.map_err(|failure| anyhow::anyhow!("{failure:?}"))?)?;
        Ok(usize::from(
            serde_json::from_str::<serde_json::Value>(&json)?.is_null(),
        ))
    })
}

fn native_chunker<C: Chunker>() -> Call<'static> {
    Box::new(|page| {
        let spans = C::chunk(&page.text, C::Options::default());
        Ok(spans
            .map_err(|failure| anyhow::anyhow!("{failure:?}"))?
            .len())
    })
}

/// Mean CPU time per page in microseconds: the median over the rounds.
fn per_page(pages: &[Page], call: &dyn Fn(&Page) -> anyhow::Result<usize>) -> anyhow::Result<f64> {
    let mut rounds = Vec::new();
    for round in 0..ROUNDS {
        let started = table::thread_time();
        for page in pages {
            std::hint::black_box(call(page)?);
        }
        if round >= WARM_UP {
            rounds.push(table::thread_time() - started);
        }
    }
    Ok(table::us(table::median(rounds)) / pages.len() as f64)
}

/// The corpus, parsed.
fn pages() -> anyhow::Result<Vec<Page>> {
    let texts = corpus::texts()?;
    texts
        .into_iter()
        .map(|text| {
            Ok(Page {
                document: parse(&text)?,
                text,
            })
        })
        .collect()
}

fn average_kb(pages: &[Page]) -> usize {
    pages.iter().map(|page| page.text.len()).sum::<usize>() / pages.len() / 1000
}

fn parse(text: &str) -> anyhow::Result<Document> {
    let url = Url::parse("http://127.0.0.1/std/index.html")?;
    Ok(trawl_document::parse(
        &trawl_document::Page::html(text, &url),
        &ParseLimits::default(),
    )?)
}

fn view(page: &Page) -> PageView<'_> {
    PageView {
        document: &page.document,
        kept: &[],
        text: &page.text,
        body: page.text.as_bytes(),
        content_type: "text/html",
        charset: "utf-8",
    }
}

fn source(page: &Page) -> trawl_sdk::Source<'_> {
    trawl_sdk::Source {
        text: page.text.as_str().into(),
        body: page.text.as_bytes().into(),
        content_type: "text/html".into(),
        charset: "utf-8".into(),
    }
}
