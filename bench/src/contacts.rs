//! Precision, recall and CPU time of the analyst `contacts` on pages from many countries, without a
//! language model.
//!
//! `bench/contacts/pages` has hand-written test pages, `bench/contacts/truth.json` their ground
//! truth. The rules were developed on the set `first`; the pages of the other sets were written
//! independently and were unseen when each set was first run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use analyst_contacts::{Found, Options};
use anyhow::Context;
use serde_json::{Map, Value};
use trawl_document::{Document, ParseLimits};
use url::Url;

use crate::table::{self, Row};

/// Goals for precision and recall: of e-mail addresses, and of phone numbers.
const EMAILS_MIN: f64 = 0.97;
const PHONES_MIN: f64 = 0.95;
/// Goal for the CPU time per page without the parse, in milliseconds.
const PAGE_MS: f64 = 5.0;
/// Rounds over all pages; the fastest time of each page counts.
const ROUNDS: usize = 6;

/// A test page with its ground truth.
struct Page {
    name: String,
    set: String,
    truth: Value,
    document: Document,
}

/// Counts from which precision and recall follow.
#[derive(Clone, Copy, Debug, Default)]
struct Score {
    /// Values that were found and are in the ground truth.
    n_correct: usize,
    n_found: usize,
    /// Values in the ground truth.
    n_expected: usize,
}

impl Score {
    fn add(&mut self, found: &BTreeSet<String>, expected: &BTreeSet<String>) {
        self.n_correct += found.intersection(expected).count();
        self.n_found += found.len();
        self.n_expected += expected.len();
    }

    fn precision(self) -> f64 {
        ratio(self.n_correct, self.n_found)
    }

    fn recall(self) -> f64 {
        ratio(self.n_correct, self.n_expected)
    }
}

/// `part / whole`, or 1 if `whole` is 0.
fn ratio(part: usize, whole: usize) -> f64 {
    match whole {
        0 => 1.0,
        whole => part as f64 / whole as f64,
    }
}

/// Prints the scores by set and kind, every false negative and false positive, and the CPU time.
///
/// # Errors
/// The pages cannot be read.
pub(crate) fn run(folder: &Path) -> anyhow::Result<()> {
    let pages = load(folder)?;
    let mut scores: BTreeMap<(&str, &str), Score> = BTreeMap::new();
    for page in &pages {
        let found = find(page);
        for (kind, found, expected) in compared(&found, &page.truth) {
            for set in [page.set.as_str(), "all"] {
                scores
                    .entry((set, kind))
                    .or_default()
                    .add(&found, &expected);
            }
            let missed: Vec<&String> = expected.difference(&found).collect();
            let spurious: Vec<&String> = found.difference(&expected).collect();
            if !missed.is_empty() || !spurious.is_empty() {
                println!(
                    "  {} {kind}: missed {missed:?}, spurious {spurious:?}",
                    page.name
                );
            }
        }
    }
    println!("contacts of {} pages: precision, recall", pages.len());
    for ((set, kind), score) in &scores {
        let goal = match *kind {
            "emails" => EMAILS_MIN,
            "phones" => PHONES_MIN,
            _ => 0.0,
        };
        let is_missed = score.precision() < goal || score.recall() < goal;
        println!(
            "  {set:<7} {kind:<12} {:>6.3} {:>6.3}  expected {:>3}{}",
            score.precision(),
            score.recall(),
            score.n_expected,
            if is_missed { ", goal MISSED" } else { "" }
        );
    }
    times(&pages);
    Ok(())
}

/// Loads and parses all pages that the ground truth lists.
fn load(folder: &Path) -> anyhow::Result<Vec<Page>> {
    let path = folder.join("truth.json");
    let truths =
        std::fs::read(&path).with_context(|| format!("cannot read `{}`", path.display()))?;
    let truths: Map<String, Value> = serde_json::from_slice(&truths)?;
    let page = |(name, truth): (String, Value)| -> anyhow::Result<Page> {
        let text = std::fs::read_to_string(folder.join("pages").join(&name))
            .with_context(|| format!("cannot read the page `{name}`"))?;
        let url = Url::parse(truth["url"].as_str().context("a page has no `url`")?)?;
        let document = trawl_document::parse(
            &trawl_document::Page::html(&text, &url),
            &ParseLimits::default(),
        )?;
        Ok(Page {
            set: truth["set"].as_str().unwrap_or_default().to_owned(),
            name,
            truth,
            document,
        })
    };
    truths.into_iter().map(page).collect()
}

fn find(page: &Page) -> Found {
    let document = trawl_sdk::Document::new(page.document.arrays(&[]));
    analyst_contacts::find(&document, &Options::default())
}

/// Found and expected values of each kind, normalised for comparison.
fn compared(
    found: &Found,
    truth: &Value,
) -> [(&'static str, BTreeSet<String>, BTreeSet<String>); 7] {
    let mut phones = texts(&truth["phones"]);
    phones.extend(texts(&truth["fax"]));
    let is_fax = |phone: &&analyst_contacts::Phone| phone.kind.as_deref() == Some("fax");
    let numbers = found.phones.iter().map(|phone| phone.value.clone());
    let faxes = found.phones.iter().filter(is_fax);
    let lower = |texts: BTreeSet<String>| texts.iter().map(|text| text.to_lowercase()).collect();
    let emails = found.emails.iter().map(|email| email.value.to_lowercase());
    let codes = found
        .addresses
        .iter()
        .filter_map(|address| address.postal_code.clone());
    [
        ("emails", emails.collect(), lower(texts(&truth["emails"]))),
        ("phones", numbers.collect(), phones),
        (
            "fax",
            faxes.map(|phone| phone.value.clone()).collect(),
            texts(&truth["fax"]),
        ),
        (
            "social",
            found
                .social
                .iter()
                .map(|social| social.url.clone())
                .collect(),
            texts(&truth["social"]),
        ),
        (
            "people",
            found
                .people
                .iter()
                .map(|person| person.name.clone())
                .collect(),
            texts(&truth["people"]),
        ),
        (
            "postal codes",
            codes.collect(),
            texts(&truth["postal_codes"]),
        ),
        (
            "vat ids",
            found.business.vat_id.iter().cloned().collect(),
            truth["vat_id"]
                .as_str()
                .map(str::to_owned)
                .into_iter()
                .collect(),
        ),
    ]
}

fn texts(list: &Value) -> BTreeSet<String> {
    let texts = list.as_array().into_iter().flatten();
    texts.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Prints the median and the maximum of the CPU time per page, without the parse.
fn times(pages: &[Page]) {
    let mut times: Vec<Duration> = pages.iter().map(|_| Duration::MAX).collect();
    for _ in 0..ROUNDS {
        for (page, least) in pages.iter().zip(&mut times) {
            let started = table::thread_time();
            std::hint::black_box(find(page));
            *least = (*least).min(table::thread_time() - started);
        }
    }
    let row = |name: &str, time: Option<&Duration>| {
        let time = time.copied().unwrap_or_default();
        Row::ms(format!("contacts per page: {name}"), time, Some(PAGE_MS))
    };
    times.sort_unstable();
    table::print(&[
        row("median", times.get(times.len() / 2)),
        row("slowest", times.last()),
    ]);
}
