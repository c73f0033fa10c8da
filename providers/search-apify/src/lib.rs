//! `apify`: Google's results by the vendor's actor `apify/google-search-scraper`, with the input
//! and output of its page in the vendor's store. It runs by `run-sync-get-dataset-items` of the API
//! reference (`docs.apify.com/api/v2`), which answers when the run has finished. Pages have about
//! ten results; their number cannot be chosen, and the actor reads all pages up to the requested
//! one.

use serde::Deserialize;
use serde_json::{Value, json};
use trawl_sdk::search::{
    Class, Cost, Description, Failure, Freshness, Hit, Query, Reply, Request, Results, Search,
    google_language, marked_up_hit, mentions,
};

/// Adapter for Apify's Google search actor.
pub struct Apify;

const TOKEN: &str = "PROVIDER8_TOKEN";
const PAGE: &str = "page";
/// Runs the actor and answers with its output.
const RUN: &str = "/v2/actors/apify~google-search-scraper/run-sync-get-dataset-items";
/// Most results on a page.
const COUNT_MAX: u32 = 10;
/// Most pages of a run: each is charged.
const PAGES_MAX: u32 = 10;
/// Time reserved for the answer after the run.
const GRACE_MS: u32 = 5_000;

trawl_sdk::export!(search: Apify);

impl Search for Apify {
    type Settings = ();

    fn describe() -> Description {
        Description::new(
            "apify",
            env!("CARGO_PKG_VERSION"),
            "Apify (Google Search Results Scraper)",
            "https://api.apify.com",
        )
        .credentials(&[TOKEN])
        .hosts(&["api.apify.com"])
        .takes(&["country", "language", "freshness"])
        .count_max(COUNT_MAX)
        .units(&[PAGE])
        .seconds(30)
    }

    fn start(query: &Query, (): ()) -> Result<Request, Failure> {
        if query.page > PAGES_MAX {
            let message = format!("the service reads at most {PAGES_MAX} pages of results");
            return Err(Failure::unsupported(message));
        }
        // Each line is a search of its own.
        let words: Vec<&str> = query.text.split_whitespace().collect();
        let period = query.freshness.map(|freshness| match freshness {
            Freshness::Hour => "h1",
            Freshness::Day => "d1",
            Freshness::Week => "w1",
            Freshness::Month => "m1",
            Freshness::Year => "y1",
        });
        // The run must not outlive the search.
        let seconds = query.time_ms.saturating_sub(GRACE_MS) / 1000;
        Ok(Request::post(query.at(RUN))
            .bearer(TOKEN)
            .query("timeout", seconds.max(1))
            .json_some(json!({
                "queries": words.join(" "),
                "maxPagesPerQuery": query.page,
                "countryCode": query.country.as_deref().map(str::to_lowercase),
                "languageCode": query.language.as_deref().map(google_language),
                "quickDateRange": period,
            })))
    }

    fn resume(query: &Query, (): (), reply: &Reply<'_>) -> Result<Results, Failure> {
        if !matches!(reply.status, 200 | 201) {
            return Err(failure(reply));
        }
        // The run costs money all the same.
        let pages = read_pages(reply).map_err(|failure| failure.cost(Cost::unknown()))?;
        let cost = Cost::free().and_units(PAGE, pages.len() as u64);
        let results = pages.into_iter().nth(query.page.saturating_sub(1) as usize);
        // With fewer pages than that, the results ended before.
        let hits = results.into_iter().flatten().take(query.count as usize);
        Ok(Results::free(hits.map(Hit::from).collect()).cost(cost))
    }
}

/// The results on each page of a run, in the order of the pages.
fn read_pages(reply: &Reply<'_>) -> Result<Vec<Vec<Entry>>, Failure> {
    let mut items: Vec<Item> = reply.json()?;
    if let Some(failed) = items.iter().find(|item| item.is_error) {
        let words = failed.debug.error_messages.as_deref().unwrap_or_default();
        let words = words.first().and_then(|words| words.lines().next());
        let message = format!("the actor failed: {}", words.unwrap_or_default());
        return Err(Failure::new(Class::TargetBlocked, message));
    }
    if items.is_empty() {
        return Err(Failure::new(Class::Drift, "the run has no page of results"));
    }
    items.sort_by_key(|item| item.search_query.page);
    let results = items.into_iter().map(|item| item.organic_results);
    let results: Option<Vec<Vec<Entry>>> = results.collect();
    results.ok_or_else(|| {
        let message = "a page of the run has no `organicResults`";
        Failure::new(Class::Drift, message)
    })
}

/// A page of results; only the fields in use.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Item {
    #[serde(default)]
    search_query: Searched,
    organic_results: Option<Vec<Entry>>,
    /// Whether the actor could not read the page.
    #[serde(rename = "#error", default)]
    is_error: bool,
    #[serde(rename = "#debug", default)]
    debug: Debug,
}

#[derive(Default, Deserialize)]
struct Searched {
    #[serde(default)]
    page: u32,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Debug {
    #[serde(default)]
    error_messages: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct Entry {
    url: String,
    title: String,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    date: Option<String>,
}

impl From<Entry> for Hit {
    fn from(entry: Entry) -> Self {
        Self {
            date: entry.date.filter(|date| !date.is_empty()),
            ..marked_up_hit(entry.url, &entry.title, entry.description.as_deref())
        }
    }
}

/// Classifies a response without results.
fn failure(reply: &Reply<'_>) -> Failure {
    let problem: Value = reply.json().unwrap_or_default();
    let kind = problem["error"]["type"].as_str();
    let words = problem["error"]["message"].as_str();
    let says = |known: &str| words.is_some_and(|words| mentions(words, &[known]));
    let class = match kind {
        // An account at its spending limit has several statuses.
        Some("platform-feature-disabled") => Class::NoCredit,
        _ if says("usage hard limit") => Class::NoCredit,
        Some("run-failed") if says("timed-out") => Class::ProviderTimeout,
        Some("run-failed") => Class::ProviderError,
        _ => Class::of_status(reply.status),
    };
    let failure = Failure::quoting_some(class, reply, words).code_some(kind);
    match kind {
        // The pages that the run had read are charged.
        Some("run-failed" | "run-timeout-exceeded") => failure.cost(Cost::unknown()),
        _ => failure,
    }
}

#[cfg(test)]
mod tests {
    use super::Apify;

    #[test]
    fn all_cases_hold() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/cases");
        trawl_sdk::testkit::check_searches::<Apify>(folder);
    }
}
