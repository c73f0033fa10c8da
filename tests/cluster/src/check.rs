//! Whether a crawl is right: each page once, each charge once, and none without the other.

use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use serde_json::{Value, json};

use crate::cluster::{ACCOUNT, Cluster};
use crate::http::{self, Answer, Request};
use crate::site::Site;

/// How long a crawl may go on after all faults are over: leases, and the work that is left.
pub const END_MAX: Duration = Duration::from_secs(180);
/// Between two questions.
const PAUSE: Duration = Duration::from_millis(200);
/// Pages of an answer.
const BATCH: usize = 200;

/// What was found. All zero is right.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Pages of the site that are not among the crawl's.
    pub lost: usize,
    /// Pages that are there more than once.
    pub repeated: usize,
    /// Pages with more than one charge.
    pub billed_twice: usize,
    /// Pages of the crawl without a charge.
    pub unbilled: usize,
    /// Charges without a page.
    pub billed_only: usize,
    /// Crawls that had not ended after [`END_MAX`].
    pub endless: usize,
    /// Sums of the database that differ from its rows, as `cluster verify` finds them.
    pub disagreements: usize,
}

impl Findings {
    /// Both together.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self {
            lost: self.lost + other.lost,
            repeated: self.repeated + other.repeated,
            billed_twice: self.billed_twice + other.billed_twice,
            unbilled: self.unbilled + other.unbilled,
            billed_only: self.billed_only + other.billed_only,
            endless: self.endless + other.endless,
            disagreements: self.disagreements + other.disagreements,
        }
    }

    /// Whether nothing is wrong.
    pub fn are_none(&self) -> bool {
        *self == Self::default()
    }

    /// Compares pages and charges, both as counts by URL, with the pages that there are.
    pub fn of(
        pages: &BTreeMap<String, usize>,
        charges: &BTreeMap<String, usize>,
        expected: impl Iterator<Item = String>,
    ) -> Self {
        let repeated =
            |counts: &BTreeMap<String, usize>| counts.values().filter(|n| **n > 1).count();
        let missing = |from: &BTreeMap<String, usize>, of: &BTreeMap<String, usize>| {
            of.keys().filter(|url| !from.contains_key(*url)).count()
        };
        Self {
            lost: expected.filter(|url| !pages.contains_key(url)).count(),
            repeated: repeated(pages),
            billed_twice: repeated(charges),
            unbilled: missing(charges, pages),
            billed_only: missing(pages, charges),
            endless: 0,
            disagreements: 0,
        }
    }
}

impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "pages lost {}, delivered twice {}, billed twice {}, delivered unbilled {}, billed \
             undelivered {}, crawls that never ended {}, sums that differ {}",
            self.lost,
            self.repeated,
            self.billed_twice,
            self.unbilled,
            self.billed_only,
            self.endless,
            self.disagreements
        )
    }
}

/// Begins a background crawl of a tree; returns its id. The first answer that comes counts.
///
/// # Errors
/// No node accepts the crawl within [`END_MAX`].
pub fn begin(cluster: &Cluster, site: &Site, tree: u64) -> anyhow::Result<String> {
    let body = json!({
        "url": site.root(tree), "return_format": "empty", "request": "http", "cache": false,
        "run_in_background": true,
    });
    let once = format!("tree-{tree}");
    let request = Request {
        body: Some(&body),
        // An answer that is lost begins no second crawl.
        once: Some(&once),
        ..Request::new("POST", "/crawl")
    };
    let answer = ask(cluster, &request)?;
    let begun = answer.json()?;
    let id = begun["id"].as_str();
    let id = id.with_context(|| format!("no crawl was begun: {begun}"))?;
    Ok(id.to_owned())
}

/// Waits for the end of a crawl, and looks at its pages and its bill.
///
/// # Errors
/// No node answers.
pub fn check(cluster: &Cluster, site: &Site, tree: u64, id: &str) -> anyhow::Result<Findings> {
    let deadline = Instant::now() + END_MAX;
    let path = format!("/crawl/{id}");
    loop {
        let state = ask(cluster, &Request::new("GET", &path))?.json()?;
        if state["state"] == "ended" {
            break;
        }
        if Instant::now() >= deadline {
            return Ok(Findings {
                endless: 1,
                ..Findings::default()
            });
        }
        std::thread::sleep(PAUSE);
    }
    let pages = pages(cluster, id)?;
    let at = cluster.serving(END_MAX)?;
    let statement = cluster.nodes[at].account(&["statement", ACCOUNT])?;
    let charges = charges(&statement, &site.root(tree));
    let disagreements = cluster.nodes[at].verify()?;
    for line in &disagreements {
        eprintln!("{line}");
    }
    let found = Findings::of(&pages, &charges, site.pages(tree));
    Ok(Findings {
        disagreements: disagreements.len(),
        ..found
    })
}

/// Pages of a crawl by URL.
fn pages(cluster: &Cluster, id: &str) -> anyhow::Result<BTreeMap<String, usize>> {
    let mut pages = BTreeMap::new();
    let mut cursor = "0".to_owned();
    loop {
        let path = format!("/crawl/{id}/pages?cursor={cursor}&limit={BATCH}");
        let answer = ask(cluster, &Request::new("GET", &path))?;
        let entries = answer.json()?;
        let entries = entries.as_array().context("pages are a list")?;
        for entry in entries.iter().filter(|entry| entry["status"] == 200) {
            count(&mut pages, entry);
        }
        match answer.header("x-next-cursor") {
            Some(next) if !entries.is_empty() => cursor = next.to_owned(),
            _ => return Ok(pages),
        }
    }
}

/// Charges by URL, of the tree with this root.
fn charges(statement: &Value, root: &str) -> BTreeMap<String, usize> {
    let tree = root.rsplit_once('/').map_or(root, |(tree, _)| tree);
    let tree = format!("{tree}/");
    let mut charges = BTreeMap::new();
    let entries = statement["entries"].as_array().into_iter().flatten();
    for entry in entries.filter(|entry| entry["kind"] == "post") {
        let is_ours = entry["url"]
            .as_str()
            .is_some_and(|url| url.starts_with(&tree));
        if is_ours {
            count(&mut charges, entry);
        }
    }
    charges
}

fn count(counts: &mut BTreeMap<String, usize>, entry: &Value) {
    let url = entry["url"].as_str().unwrap_or_default().to_owned();
    *counts.entry(url).or_default() += 1;
}

/// Asks whichever node serves, until one answers with success.
fn ask(cluster: &Cluster, request: &Request<'_>) -> anyhow::Result<Answer> {
    let deadline = Instant::now() + END_MAX;
    loop {
        let at = cluster.serving(END_MAX)?;
        let to = cluster.nodes[at].address();
        let last = match http::send(to, &cluster.key, request) {
            Ok(answer) if (200..300).contains(&answer.status) => return Ok(answer),
            Ok(answer) => format!("{}", answer.status),
            Err(error) => format!("{error:#}"),
        };
        if Instant::now() >= deadline {
            bail!("`{} {}`: {last}", request.method, request.path);
        }
        std::thread::sleep(PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(urls: &[(&str, usize)]) -> BTreeMap<String, usize> {
        urls.iter()
            .map(|(url, n)| ((*url).to_owned(), *n))
            .collect()
    }

    #[test]
    fn every_kind_of_fault_is_found() {
        let expected = || ["a", "b", "c"].map(str::to_owned).into_iter();
        let good = counts(&[("a", 1), ("b", 1), ("c", 1)]);
        assert!(Findings::of(&good, &good, expected()).are_none());
        let pages = counts(&[("a", 2), ("b", 1)]);
        let charges = counts(&[("a", 2), ("c", 1)]);
        let found = Findings::of(&pages, &charges, expected());
        let expected = Findings {
            lost: 1,
            repeated: 1,
            billed_twice: 1,
            unbilled: 1,
            billed_only: 1,
            ..Findings::default()
        };
        assert_eq!(found, expected);
        assert_eq!(found.and(found).lost, 2);
        assert!(found.to_string().contains("billed twice 1"), "{found}");
    }

    #[test]
    fn charges_of_other_trees_do_not_count() {
        let entry = |kind: &str, url: &str| json!({"kind": kind, "url": url});
        let entries = [
            entry("post", "http://s/1/1"),
            entry("post", "http://s/1/1"),
            entry("void", "http://s/1/2"),
            entry("post", "http://s/11/1"),
        ];
        let statement = json!({"entries": entries});
        assert_eq!(
            charges(&statement, "http://s/1/1"),
            counts(&[("http://s/1/1", 2)])
        );
    }
}
