//! How well the analyst `contacts` finds what stands on pages of many countries, without a model, and how long it takes.
//!
//! `bench/contacts/pages` holds pages written for this, `bench/contacts/truth.json` what is on each. The pages of the set `first` were there
//! while the rules were made; those of the others were written before the rules had seen them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use analyst_contacts::{Found, Options};
use anyhow::Context;
use serde_json::{Map, Value};
use trawl_document::{Document, ParseLimits};
use url::Url;

use crate::corpus::arrays;
use crate::table::{self, Row};

/// Least precision and recall of e-mail addresses, and of phone numbers.
const EMAILS_MIN: f64 = 0.97;
const PHONES_MIN: f64 = 0.95;
/// Milliseconds of a page, the parse aside.
const PAGE_MS: f64 = 5.0;
/// Rounds over all pages; the first warms caches and is not counted.
const ROUNDS: usize = 6;

/// A page with what stands on it.
struct Page {
    name: String,
    set: String,
    truth: Value,
    text: String,
    document: Document,
}

/// What was found of what is there.
#[derive(Clone, Copy, Debug, Default)]
struct Score {
    n_right: usize,
    n_found: usize,
    n_there: usize,
}

impl Score {
    fn add(&mut self, found: &BTreeSet<String>, there: &BTreeSet<String>) {
        self.n_right += found.intersection(there).count();
        self.n_found += found.len();
        self.n_there += there.len();
    }

    fn precision(self) -> f64 {
        share(self.n_right, self.n_found)
    }

    fn recall(self) -> f64 {
        share(self.n_right, self.n_there)
    }
}

fn share(part: usize, whole: usize) -> f64 {
    match whole {
        0 => 1.0,
        whole => part as f64 / whole as f64,
    }
}

/// Prints the scores of each set and kind, what was missed or made up, and the time of a page.
///
/// # Errors
/// The pages cannot be read.
pub(crate) fn run(folder: &Path) -> anyhow::Result<()> {
    let pages = load(folder)?;
    let mut scores: BTreeMap<(&str, &str), Score> = BTreeMap::new();
    for page in &pages {
        let found = find(page);
        for (kind, found, there) in compared(&found, &page.truth) {
            for set in [page.set.as_str(), "all"] {
                scores.entry((set, kind)).or_default().add(&found, &there);
            }
            let missed: Vec<&String> = there.difference(&found).collect();
            let made_up: Vec<&String> = found.difference(&there).collect();
            if !missed.is_empty() || !made_up.is_empty() {
                println!(
                    "  {} {kind}: missed {missed:?}, made up {made_up:?}",
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
            "  {set:<7} {kind:<12} {:>6.3} {:>6.3}  of {:>3}{}",
            score.precision(),
            score.recall(),
            score.n_there,
            if is_missed { ": MISSED" } else { "" }
        );
    }
    times(&pages);
    Ok(())
}

fn load(folder: &Path) -> anyhow::Result<Vec<Page>> {
    let path = folder.join("truth.json");
    let truths =
        std::fs::read(&path).with_context(|| format!("cannot read `{}`", path.display()))?;
    let truths: Map<String, Value> = serde_json::from_slice(&truths)?;
    let page = |(name, truth): (String, Value)| -> anyhow::Result<Page> {
        let text = std::fs::read_to_string(folder.join("pages").join(&name))
            .with_context(|| format!("cannot read the page `{name}`"))?;
        let url = Url::parse(truth["url"].as_str().context("a page has an address")?)?;
        let document = trawl_document::parse(&text, &url, "text/html", &ParseLimits::default())?;
        Ok(Page {
            set: truth["set"].as_str().unwrap_or_default().to_owned(),
            name,
            truth,
            text,
            document,
        })
    };
    truths.into_iter().map(page).collect()
}

fn find(page: &Page) -> Found {
    let document = trawl_sdk::Document::new(arrays(&page.document));
    analyst_contacts::find(&document, &page.text, &Options::default())
}

/// Kinds with what was found and what is there, each in the form it is one by.
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

/// CPU time of a page, the parse aside: the middle and the slowest.
fn times(pages: &[Page]) {
    let mut times: Vec<Duration> = pages.iter().map(|_| Duration::MAX).collect();
    for _ in 0..ROUNDS {
        for (page, least) in pages.iter().zip(&mut times) {
            let started = table::thread_time();
            std::hint::black_box(find(page));
            *least = (*least).min(table::thread_time() - started);
        }
    }
    let row = |name: &str, time: Option<&Duration>| Row {
        name: format!("contacts of a page: {name}"),
        median: time.map_or(0.0, |time| time.as_secs_f64() * 1e3),
        unit: "ms",
        at_most: Some(PAGE_MS),
    };
    times.sort_unstable();
    table::print(&[
        row("median", times.get(times.len() / 2)),
        row("slowest", times.last()),
    ]);
}
