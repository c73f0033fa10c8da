//! The first page of the console: when the browser paints it, when its form is there, and how many
//! bytes that takes. A second server opens it in a browser context of its own each time, so that
//! nothing is cached; requests pass the proxy of that server.

use std::time::Duration;

use anyhow::Context;
use serde_json::json;

use crate::render::scrape;
use crate::servers::Trawl;
use crate::table::{Row, median, print};

/// Visits that are measured, after as many as the browser needs to warm up.
const VISITS: usize = 21;
const WARM_UP: usize = 3;
/// The goal for the first paint on loopback.
const PAINT_MS_MAX: f64 = 200.0;

/// Notes when the form is there. It runs before the page's scripts: steps begin after the page has
/// loaded and come too late for that.
const WATCH: &str = "new MutationObserver((_, watch) => { \
    if (document.querySelector('form.request .parameter') === null) return; \
    window.formAt = performance.now(); watch.disconnect(); \
    }).observe(document, { childList: true, subtree: true });";

/// Resolves with milliseconds until the first contentful paint and until the form is there, and
/// with the bytes and the number of the console's files.
const LOOK: &str = "async () => { \
    const paint = () => performance.getEntriesByName('first-contentful-paint')[0]; \
    const isThere = () => paint() !== undefined && window.formAt !== undefined; \
    while (!isThere()) await new Promise((done) => setTimeout(done, 1)); \
    const files = performance.getEntriesByType('resource').filter(({ name }) => name.includes('/console/')); \
    return [paint().startTime, window.formAt, files.reduce((sum, file) => sum + file.transferSize, 0), files.length]; }";

/// What one visit saw.
struct Visit {
    paint: Duration,
    form: Duration,
    bytes: f64,
    files: f64,
}

/// Prints medians of several visits.
pub(crate) fn run() -> anyhow::Result<()> {
    let (folder, other) = (tempfile::tempdir()?, tempfile::tempdir()?);
    // A server does not open its own pages.
    let (console, visitor) = (Trawl::start(folder.path())?, Trawl::start(other.path())?);
    let mut visits = Vec::new();
    for n in 0..WARM_UP + VISITS {
        let seen = visit(&visitor, &console.base)?;
        if n >= WARM_UP {
            visits.push(seen);
        }
    }
    let time = |of: fn(&Visit) -> Duration| median(visits.iter().map(of).collect());
    let last = visits.last().context("there was no visit")?;
    print(&[
        Row::ms(
            "console: first contentful paint",
            time(|it| it.paint),
            Some(PAINT_MS_MAX),
        ),
        Row::ms("console: form of the playground", time(|it| it.form), None),
        Row::new(
            "console: files of the first page, as sent",
            last.bytes / 1000.0,
            "kB",
            None,
        ),
        Row::new("console: number of these files", last.files, "", None),
    ]);
    Ok(())
}

/// Opens the console once.
fn visit(visitor: &Trawl, base: &str) -> anyhow::Result<Visit> {
    let body = json!({
        "url": format!("{base}/"), "request": "browser", "return_format": "empty", "cache": false,
        "evaluate_on_new_document": WATCH, "automation_scripts": {"*": [{"Evaluate": LOOK}]},
    });
    let entry = scrape(visitor, &body)?;
    let steps = entry["metadata"]["automation_data"].as_array();
    let mut results = steps.into_iter().flatten().map(|step| &step["result"]);
    let seen = results.find(|result| result.is_array());
    let seen = seen.with_context(|| format!("the console was not seen: {entry}"))?;
    let number = |at: usize| seen[at].as_f64().context("no number");
    let milliseconds = |value: f64| Duration::from_secs_f64(value / 1e3);
    Ok(Visit {
        paint: milliseconds(number(0)?),
        form: milliseconds(number(1)?),
        bytes: number(2)?,
        files: number(3)?,
    })
}
