//! Plugin call overhead: instantiation, and passing a page to the plugin.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use trawl_document::{Document, kind};
use trawl_plugins::{FormatPlugin, PageView, Plugins, PluginsConfig};
use trawl_test_guests::Guest;

use crate::table::{self, Row};

/// Warm-up calls: they fill the instance pool and fault in its memory.
const WARM_UP: usize = 2_000;
/// Measured calls per thread.
const CALLS: usize = 20_000;
/// Goal for a fresh instance with an empty call while both cores make calls, in microseconds.
const EMPTY_CALL_AT_MOST: f64 = 8.0;
/// A page of 47 KB: number of elements, and bytes of text in each.
const ELEMENTS: u32 = 1_200;
const TEXT_BYTES: u32 = 24;

/// Prints the time of an empty call, of a call with an empty document, and of an echoed page.
pub(crate) fn run() -> anyhow::Result<()> {
    table::print(&rows()?);
    Ok(())
}

fn rows() -> anyhow::Result<Vec<Row>> {
    let folder = tempfile::tempdir()?;
    let plugins = plugins(folder.path())?;
    let registry = plugins.snapshot();
    let missing = || anyhow::anyhow!("a test plugin is not loaded");
    let chunker = registry.chunker("idle").ok_or_else(missing)?;
    let nothing = registry.format("nothing").ok_or_else(missing)?;
    let echo = registry.format("echo").ok_or_else(missing)?;
    let (blank, page) = (Document::default(), page());
    let idle = || drop(std::hint::black_box(chunker.chunk("", "{}")).expect("the plugin returns"));
    let mut rows = Vec::new();
    for (threads, at_most) in [(1, None), (2, Some(EMPTY_CALL_AT_MOST))] {
        let mut add = |name: &str, median: Duration, at_most| {
            let name = format!("plugin: {name}, threads: {threads}");
            rows.push(Row::us(name, table::us(median), at_most));
        };
        add(
            "fresh instance, empty call",
            median(&idle, threads),
            at_most,
        );
        add(
            "call with an empty document",
            median(&|| render(&nothing, &blank), threads),
            None,
        );
        add(
            "echo of a 47 KB page",
            median(&|| render(&echo, &page), threads),
            None,
        );
    }
    Ok(rows)
}

/// Loads the three test plugins.
fn plugins(folder: &std::path::Path) -> anyhow::Result<Arc<Plugins>> {
    let guests = [
        Guest::whole_chunker("idle"),
        Guest::constant_format("nothing", ""),
        Guest::echo_format("echo"),
    ];
    let mut manifest = String::new();
    for guest in &guests {
        let (kind, name) = (guest.kind, &guest.name);
        fs::write(folder.join(format!("{name}.wasm")), guest.build())?;
        manifest += &format!("[[{kind}]]\nname = \"{name}\"\ncomponent = \"{name}.wasm\"\n");
    }
    fs::write(folder.join("plugins.toml"), manifest)?;
    Ok(Plugins::start(PluginsConfig {
        manifest: folder.join("plugins.toml"),
        cache_dir: folder.join("compiled"),
    })?)
}

/// A page of the corpus's average size: elements with one attribute and one text node each.
fn page() -> Document {
    let mut page = Document {
        url: "https://site.example/".to_owned(),
        base: "https://site.example/".to_owned(),
        media_type: "text/html".to_owned(),
        name_text: "pclass".to_owned(),
        name_ends: vec![0, 1, 6],
        name_spaces: vec![0; 3],
        ..Document::default()
    };
    let mut push = |kind, parent, end, name, start, count| {
        page.kinds.push(kind);
        page.parents.push(parent);
        page.ends.push(end);
        page.names.push(name);
        page.starts.push(start);
        page.counts.push(count);
    };
    push(kind::DOCUMENT, 0, 1 + 2 * ELEMENTS, 0, 0, 0);
    for index in 0..ELEMENTS {
        let node = 1 + 2 * index;
        push(kind::ELEMENT, 0, node + 2, 1, index, 1);
        push(
            kind::TEXT,
            node,
            node + 2,
            0,
            index * TEXT_BYTES,
            TEXT_BYTES,
        );
    }
    page.attribute_names = vec![2; ELEMENTS as usize];
    page.attribute_starts = (0..ELEMENTS).map(|index| index * TEXT_BYTES).collect();
    page.attribute_lengths = vec![8; ELEMENTS as usize];
    page.text = "a text of some few words".repeat(ELEMENTS as usize);
    page
}

fn render(format: &FormatPlugin, document: &Document) {
    let page = PageView {
        document,
        kept: &[],
        text: "",
        body: &[],
        content_type: "text/html",
        charset: "utf-8",
    };
    std::hint::black_box(format.render(&page, "{}")).expect("the plugin returns");
}

/// Median time of one call while `threads` threads make calls concurrently.
fn median(call: &(impl Fn() + Sync), threads: usize) -> Duration {
    let measure = || Ok(table::timed(WARM_UP, CALLS, call));
    let times = table::on_threads(threads, measure).expect("calls do not fail");
    table::median(times.concat())
}
