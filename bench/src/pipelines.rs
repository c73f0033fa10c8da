//! What the pipelines find without a model, and how long the addresses of a large text take.

use std::fmt::Write as _;

use trawl_plan::text_urls;

use crate::corpus;
use crate::table::{self, Row};

/// Addresses of the text, and its least size in bytes. Spec S22.
const ADDRESSES: usize = 100_000;
const TEXT_BYTES: usize = 10_000_000;
/// Milliseconds for all of them.
const TEXT_MS: f64 = 100.0;
const ROUNDS: usize = 7;

/// Runs it.
///
/// # Errors
/// The pages of contacts cannot be read, or not every address was found.
pub(crate) fn run() -> anyhow::Result<()> {
    crate::contacts::run(&corpus::checkout().join("bench/contacts"))?;
    let prose = prose();
    let markup = markup();
    table::print(&[
        row("10 MB of prose, 100,000 addresses", &prose)?,
        row("10 MB of HTML, 100,000 addresses", &markup)?,
    ]);
    Ok(())
}

fn row(name: &str, text: &str) -> anyhow::Result<Row> {
    let mut times = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let started = table::thread_time();
        let found = std::hint::black_box(text_urls::find(text));
        times.push(table::thread_time() - started);
        anyhow::ensure!(
            found.len() == ADDRESSES,
            "{} of {ADDRESSES} addresses were found",
            found.len()
        );
    }
    Ok(Row {
        name: format!("addresses of {name}"),
        median: table::median(times).as_secs_f64() * 1e3,
        unit: "ms",
        at_most: Some(TEXT_MS),
    })
}

/// Sentences with an address each.
fn prose() -> String {
    let mut text = String::with_capacity(TEXT_BYTES + 1024);
    for n in 0..ADDRESSES {
        let host = n % 1_000;
        let _infallible = write!(
            text,
            "Read about it at https://www.site{host}.example.com/{n}?x=1, or ask. "
        );
        // What is left for each sentence, so that the last address ends the text.
        while text.len() < (n + 1) * TEXT_BYTES / ADDRESSES {
            text.push_str("More. ");
        }
    }
    text
}

/// Lines of links.
fn markup() -> String {
    let mut text = String::with_capacity(TEXT_BYTES + 1024);
    for n in 0..ADDRESSES {
        let host = n % 5_000;
        let _infallible = writeln!(
            text,
            "<a href=\"https://h{host}.example.org/a/{n}.html?a=1&amp;b=2\">link</a>"
        );
        while text.len() < (n + 1) * TEXT_BYTES / ADDRESSES {
            text.push_str("<br> text ");
        }
    }
    text
}
