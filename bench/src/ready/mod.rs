//! When rendered pages are returned: pages whose text is complete at a known moment, and some that
//! never stop to send requests. Trawl and playwright-core, which waits for `load` or
//! `networkidle`, on the same browser.

mod cases;
mod leftovers;
mod site;

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use serde_json::json;
use trawl_model::clock::Clock;

use self::cases::{Case, MARK};
use self::site::Site;
use crate::render::{browser, node, scrape};
use crate::servers::Trawl;

/// What playwright-core waits for.
const PEERS: [&str; 2] = ["load", "networkidle"];
/// Goals for the time between the moment when a text is complete and its return.
const MEDIAN_MAX: Duration = Duration::from_millis(300);
const P95_MAX: Duration = Duration::from_secs(1);

/// Command-line options of this benchmark.
#[derive(Debug, clap::Args)]
pub(crate) struct ReadyOptions {
    /// Render N of these pages, eight at a time, and print what is left of them, instead
    #[arg(long, value_name = "N")]
    pages: Option<NonZeroUsize>,
}

/// How a page was returned.
struct Returned {
    /// Milliseconds since the epoch.
    at_ms: f64,
    text: String,
}

/// The results of one tool.
#[derive(Default)]
struct Score {
    /// Times between the moment when the text was complete and its return.
    late_ms: Vec<f64>,
    /// Names of the pages that were returned before.
    incomplete: Vec<&'static str>,
    /// The words of each complete page, sorted, by the page's name.
    words: HashMap<&'static str, Vec<String>>,
}

impl Score {
    fn add(&mut self, case: &Case, returned: &Returned) {
        let complete_ms = returned
            .text
            .contains(case.text)
            .then(|| marked(&returned.text))
            .flatten();
        match complete_ms {
            Some(complete_ms) => {
                self.late_ms.push(returned.at_ms - complete_ms);
                self.words.insert(case.name, words(&returned.text));
            }
            None => self.incomplete.push(case.name),
        }
    }

    /// Names of the pages that are complete in both, with other words.
    fn different(&self, other: &Self) -> Vec<&'static str> {
        let is_different = |name: &&str| {
            let both = self.words.get(*name).zip(other.words.get(*name));
            both.is_some_and(|(ours, theirs)| ours != theirs)
        };
        let mut names: Vec<_> = self.words.keys().copied().filter(is_different).collect();
        names.sort_unstable();
        names
    }

    /// The time that this share of all pages was late at most; infinite if fewer were complete.
    fn late_ms(&self, share: f64) -> f64 {
        let mut late = self.late_ms.clone();
        late.sort_by(f64::total_cmp);
        let n_pages = late.len() + self.incomplete.len();
        let at = (n_pages as f64 * share).ceil() as usize;
        late.get(at.saturating_sub(1))
            .copied()
            .unwrap_or(f64::INFINITY)
    }

    /// The median of the complete pages.
    fn median_of_complete_ms(&self) -> f64 {
        let complete = Self {
            late_ms: self.late_ms.clone(),
            ..Self::default()
        };
        complete.late_ms(0.5)
    }
}

/// Prints for each tool how many pages were complete, and how late they were returned: those that
/// were complete, and all, where a text that is missing is late for ever.
pub(crate) fn run(options: &ReadyOptions) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let site = Site::start(cases::all())?;
    let trawl = Trawl::start(folder.path())?;
    let mut ours = Score::default();
    // The browser starts with the first page.
    trawl_page(&trawl, &site.url(&site.cases()[0]))?;
    if let Some(n_pages) = options.pages {
        return leftovers::run(&trawl, &site, n_pages.get());
    }
    let mut slow = Vec::new();
    for case in site.cases() {
        let returned = trawl_page(&trawl, &site.url(case))?;
        let n_before = ours.late_ms.len();
        ours.add(case, &returned);
        if let Some(late) = ours.late_ms.get(n_before) {
            slow.push((*late, case.name));
        }
    }
    slow.sort_by(|a, b| b.0.total_cmp(&a.0));
    let median_max_ms = MEDIAN_MAX.as_secs_f64() * 1e3;
    let slow: Vec<_> = slow
        .iter()
        .filter(|(late_ms, _)| *late_ms > median_max_ms)
        .map(|(late_ms, name)| format!("{name} {late_ms:.0}"))
        .collect();
    println!("later than {median_max_ms:.0} ms: {}", slow.join(", "));
    println!(
        "{:<28} {:>9} {:>12} {:>10} {:>8} {:>8}",
        "", "complete", "their median", "median ms", "p95 ms", "max ms"
    );
    let n_cases = site.cases().len();
    print_row("Trawl", &ours, n_cases);
    let mut different = Vec::new();
    for wait in PEERS {
        let theirs = peer(&site, wait)?;
        print_row(&format!("playwright-core, {wait}"), &theirs, n_cases);
        different.push((wait, ours.different(&theirs)));
    }
    let is_met = ours.incomplete.is_empty()
        && ours.late_ms(0.5) <= MEDIAN_MAX.as_secs_f64() * 1e3
        && ours.late_ms(0.95) <= P95_MAX.as_secs_f64() * 1e3;
    println!("goals: {}", if is_met { "reached" } else { "missed" });
    if !ours.incomplete.is_empty() {
        println!("incomplete: {}", ours.incomplete.join(", "));
    }
    for (wait, names) in different {
        println!(
            "other words than `innerText` after `{wait}`: {}",
            names.join(", ")
        );
    }
    Ok(())
}

fn print_row(name: &str, score: &Score, n_cases: usize) {
    println!(
        "{name:<28} {:>9} {:>12.0} {:>10.0} {:>8.0} {:>8.0}",
        format!("{}/{n_cases}", n_cases - score.incomplete.len()),
        score.median_of_complete_ms(),
        score.late_ms(0.5),
        score.late_ms(0.95),
        score.late_ms(1.0)
    );
}

/// When the text was complete, as the page itself notes.
fn marked(text: &str) -> Option<f64> {
    let (_, rest) = text.split_once(MARK)?;
    let end = rest
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(rest.len());
    rest[..end].parse().ok()
}

/// The words of a text in alphabetical order, with `0` for each digit: moments differ, and the text
/// of a frame comes where the frame is or at the end.
fn words(text: &str) -> Vec<String> {
    let mask = |c: char| if c.is_ascii_digit() { '0' } else { c };
    let mut words: Vec<String> = text
        .split_whitespace()
        .map(|word| word.chars().map(mask).collect())
        .collect();
    words.sort_unstable();
    words
}

fn trawl_page(trawl: &Trawl, url: &str) -> anyhow::Result<Returned> {
    let body = json!({
        "url": url, "request": "browser", "return_format": "text", "cache": false,
    });
    let entry = scrape(trawl, &body)?;
    let at_ms = Clock::wall().now().0 as f64;
    let text = entry["content"].as_str().unwrap_or_default().to_owned();
    Ok(Returned { at_ms, text })
}

/// The same pages with playwright-core, which waits for `wait`.
fn peer(site: &Site, wait: &str) -> anyhow::Result<Score> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/apps-build/peer-ready.mjs");
    let urls: Vec<String> = site.cases().iter().map(|case| site.url(case)).collect();
    let returned = node(&script, &browser()?, &[wait, &json!(urls).to_string()])?;
    let returned = returned.as_array().context("no list of pages")?;
    let mut score = Score::default();
    for (case, page) in site.cases().iter().zip(returned) {
        let text = page["text"].as_str().context("no `text`")?.to_owned();
        let at_ms = page["at_ms"].as_f64().context("no `at_ms`")?;
        score.add(case, &Returned { at_ms, text });
    }
    Ok(score)
}
