//! Pipelines: contact extraction without a language model, and URL extraction from large texts.

use std::fmt::Write as _;

use trawl_plan::text_urls;

use crate::corpus;
use crate::table::{self, Row};

/// The largest input of `crawl-text`: number of URLs and bytes of text.
const URLS: usize = 100_000;
const TEXT_BYTES: usize = 10_000_000;
/// Goal for finding all URLs, in milliseconds.
const TEXT_MS: f64 = 100.0;
const ROUNDS: usize = 7;

/// Prints the scores of contact extraction and the time to find all URLs of a text.
///
/// # Errors
/// The contact pages cannot be read, or a URL was not found.
pub(crate) fn run() -> anyhow::Result<()> {
    crate::contacts::run(&corpus::checkout().join("bench/contacts"))?;
    let prose = prose();
    let markup = markup();
    table::print(&[
        row("10 MB of prose, 100,000 URLs", &prose)?,
        row("10 MB of HTML, 100,000 URLs", &markup)?,
    ]);
    Ok(())
}

fn row(name: &str, text: &str) -> anyhow::Result<Row> {
    let mut times = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let started = table::thread_time();
        let found = std::hint::black_box(text_urls::find(text));
        times.push(table::thread_time() - started);
        anyhow::ensure!(found.len() == URLS, "found {} of {URLS} URLs", found.len());
    }
    let name = format!("URLs in {name}");
    Ok(Row::ms(name, table::median(times), Some(TEXT_MS)))
}

/// Sentences with one URL each.
fn prose() -> String {
    let mut text = String::with_capacity(TEXT_BYTES + 1024);
    for n in 0..URLS {
        let host = n % 1_000;
        let _infallible = write!(
            text,
            "Read about it at https://www.site{host}.example.com/{n}?x=1, or ask. "
        );
        // Filler, so that the URLs are spread evenly over the whole text.
        while text.len() < (n + 1) * TEXT_BYTES / URLS {
            text.push_str("More. ");
        }
    }
    text
}

/// Lines of HTML with one link each.
fn markup() -> String {
    let mut text = String::with_capacity(TEXT_BYTES + 1024);
    for n in 0..URLS {
        let host = n % 5_000;
        let _infallible = writeln!(
            text,
            "<a href=\"https://h{host}.example.org/a/{n}.html?a=1&amp;b=2\">link</a>"
        );
        while text.len() < (n + 1) * TEXT_BYTES / URLS {
            text.push_str("<br> text ");
        }
    }
    text
}
