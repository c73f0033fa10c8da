//! `scrapedo`: Google's results by the Google Search API of Scrape.do, as
//! `scrape.do/documentation/google-search-api` documents it. Pages have about ten results; their
//! number cannot be chosen.

use serde::Deserialize;
use trawl_sdk::search::{
    Class, Cost, Description, Failure, Freshness, Hit, Query, Reply, Request, Results, Search,
    google_language, marked_up_hit, mentions,
};

/// Adapter for the Scrape.do Google Search API.
pub struct ScrapeDo;

const TOKEN: &str = "PROVIDER5_TOKEN";
const CREDIT: &str = "credit";
/// Most results on a page.
const COUNT_MAX: u32 = 10;
/// `start` is a multiple of this.
const PAGE_RESULTS: u32 = 10;
/// Credits of a search, unless the response reports others.
const SEARCH_CREDITS: u64 = 10;

trawl_sdk::export!(search: ScrapeDo);

impl Search for ScrapeDo {
    type Settings = ();

    fn describe() -> Description {
        Description::new(
            "scrapedo",
            env!("CARGO_PKG_VERSION"),
            "Scrape.do (Google Search API)",
            "https://api.scrape.do",
        )
        .credentials(&[TOKEN])
        .hosts(&["api.scrape.do"])
        .takes(&["country", "language", "location", "freshness"])
        .count_max(COUNT_MAX)
        .units(&[CREDIT])
        .seconds(30)
    }

    fn start(query: &Query, (): ()) -> Result<Request, Failure> {
        let country = query.country.as_deref().map(str::to_lowercase);
        let period = query.freshness.map(|freshness| match freshness {
            Freshness::Hour => "last_hour",
            Freshness::Day => "last_day",
            Freshness::Week => "last_week",
            Freshness::Month => "last_month",
            Freshness::Year => "last_year",
        });
        let start = query.page.saturating_sub(1).saturating_mul(PAGE_RESULTS);
        Ok(Request::get(query.at("/plugin/google/search"))
            .secret_query("token", TOKEN)
            .query("q", &query.text)
            .query("start", start)
            .query_some("gl", country)
            .query_some("hl", query.language.as_deref().map(google_language))
            .query_some("location", query.location.as_deref())
            .query_some("time_period", period))
    }

    fn resume(query: &Query, (): (), reply: &Reply<'_>) -> Result<Results, Failure> {
        if reply.status != 200 {
            return Err(failure(reply));
        }
        let reported = reply.header("scrape.do-request-cost");
        let reported = reported.and_then(|credits| Cost::reported(CREDIT, credits));
        let listed = || Cost::free().and_units(CREDIT, SEARCH_CREDITS);
        let found: Found = reply.json()?;
        let hits = found.organic_results.into_iter().take(query.count as usize);
        Ok(Results::free(hits.map(Hit::from).collect())
            .cost(reported.unwrap_or_else(listed))
            .request_id(reply.header("scrape.do-request-id")))
    }
}

/// A response; only the fields in use.
#[derive(Deserialize)]
struct Found {
    organic_results: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    link: String,
    title: String,
    #[serde(default)]
    snippet: Option<String>,
}

impl From<Entry> for Hit {
    fn from(entry: Entry) -> Self {
        marked_up_hit(entry.link, &entry.title, entry.snippet.as_deref())
    }
}

/// Classifies a response without results. The vendor charges nothing for it.
fn failure(reply: &Reply<'_>) -> Failure {
    let class = match reply.status {
        // 401 means a wrong token as well as an exhausted or suspended account; only the message
        // tells them apart.
        401 if mentions(&reply.text(), &["credit", "suspend", "limit"]) => Class::NoCredit,
        status => Class::of_status(status),
    };
    Failure::of_reply(class, reply).request_id(reply.header("scrape.do-request-id"))
}

#[cfg(test)]
mod tests {
    use super::ScrapeDo;

    #[test]
    fn all_cases_hold() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/cases");
        trawl_sdk::testkit::check_searches::<ScrapeDo>(folder);
    }
}
