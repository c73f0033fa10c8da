//! HTML parsing into the document arrays and the link scan: throughput compared with html5ever's
//! tokenizer and scraper's tree, and whether parse time stays linear in the input.

use std::cell::Cell;
use std::fmt::Write as _;
use std::hint::black_box;
use std::time::Duration;

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{BufferQueue, Token, TokenSink, TokenSinkResult, Tokenizer};
use trawl_document::{Page, ParseLimits, parse, scan};
use url::Url;

use crate::{corpus, table};

/// Runs over all pages; the median is reported.
const RUNS: usize = 9;

/// Prints throughput and scaling.
pub(crate) fn run() -> anyhow::Result<()> {
    let pages = corpus::texts()?;
    let bytes: usize = pages.iter().map(String::len).sum();
    let rate = |time: Duration| bytes as f64 / 1e6 / time.as_secs_f64();
    let [mut tokens, mut scrapers, mut arrays, mut links] = [const { Vec::new() }; 4];
    // Interleaved, so that other load on the machine affects all of them alike.
    for _ in 0..RUNS {
        tokens.push(timed(&pages, tokenize));
        scrapers.push(timed(&pages, |page| {
            drop(scraper::Html::parse_document(page))
        }));
        arrays.push(timed(&pages, ours));
        links.push(timed(&pages, find_links));
    }
    for (name, times) in [
        ("html5ever tokenizer only", tokens),
        ("scraper tree", scrapers),
        ("document arrays", arrays),
        ("link scan", links),
    ] {
        println!("{name:<28} {:7.1} MB/s", rate(table::median(times)));
    }
    print!("{}", linearity());
    Ok(())
}

/// Builds a page of `n` parts.
type Generator = fn(usize) -> String;

/// Parse times of generated pages of n, 2n and 4n parts.
fn linearity() -> String {
    let rows: [(&str, usize, Generator); 5] = [
        ("depth", 25_000, |n| "<div>".repeat(n)),
        ("unclosed formatting", 25_000, |n| "<p><b>x".repeat(n)),
        ("siblings", 250_000, |n| "<br>".repeat(n)),
        ("attributes of one tag", 250_000, |n| {
            let mut page = String::from("<p");
            for i in 0..n {
                let _ = write!(page, " a{i}=1");
            }
            page + ">"
        }),
        ("bytes of one attribute", 12_500_000, |n| {
            format!("<p a='{}'>", "x".repeat(n))
        }),
    ];
    let mut table = String::from("parse time in ms            n        n       2n       4n\n");
    for (name, n, page) in rows {
        let times = [n, 2 * n, 4 * n].map(|n| {
            let page = [page(n)];
            table::ms(table::median((0..3).map(|_| timed(&page, ours)).collect()))
        });
        let [a, b, c] = times;
        let _ = writeln!(table, "{name:<22} {n:>9} {a:8.1} {b:8.1} {c:8.1}");
    }
    table
}

fn ours(page: &str) {
    let url = Url::parse("https://site.example/page").expect("a URL");
    // Parsing stops early on a page beyond a limit; that is measured as well.
    let _ = black_box(parse(&Page::html(page, &url), &ParseLimits::default()));
}

fn find_links(page: &str) {
    let url = Url::parse("https://site.example/page").expect("a URL");
    black_box(scan(&Page::html(page, &url)));
}

fn tokenize(page: &str) {
    struct Count(Cell<usize>);
    impl TokenSink for Count {
        type Handle = ();
        fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
            self.0.set(self.0.get() + 1);
            drop(token);
            TokenSinkResult::Continue
        }
    }
    let tokenizer = Tokenizer::new(Count(Cell::new(0)), Default::default());
    let queue = BufferQueue::default();
    queue.push_back(StrTendril::from(page));
    let _ = tokenizer.feed(&queue);
    tokenizer.end();
    black_box(tokenizer.sink.0.get());
}

fn timed(pages: &[String], each: impl Fn(&str)) -> Duration {
    let start = table::thread_time();
    pages.iter().for_each(|page| each(page));
    table::thread_time() - start
}
