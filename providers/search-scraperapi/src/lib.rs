//! `scraperapi`: Google's results by the structured data endpoint of ScraperAPI, as its
//! documentation (`docs.scraperapi.com`, Google SERP API) and the vendor's MCP server
//! (`scraperapi/scraperapi-mcp`) describe it.

use serde::Deserialize;
use trawl_sdk::search::{
    Class, Cost, Description, Failure, Freshness, Hit, Query, Reply, Request, Results, Search,
    google_language, marked_up_hit, mentions,
};

/// Adapter for the Google SERP API of ScraperAPI.
pub struct ScraperApi;

const KEY: &str = "PROVIDER3_API_KEY";
const CREDIT: &str = "credit";
/// Most results on a page: the search engine has no longer ones, whatever `num` says.
const COUNT_MAX: u32 = 10;
/// Credits of a search, unless the response reports others.
const SEARCH_CREDITS: u64 = 25;

trawl_sdk::export!(search: ScraperApi);

impl Search for ScraperApi {
    type Settings = ();

    fn describe() -> Description {
        Description::new(
            "scraperapi",
            env!("CARGO_PKG_VERSION"),
            "ScraperAPI (Google SERP API)",
            "https://api.scraperapi.com",
        )
        .credentials(&[KEY])
        .hosts(&["api.scraperapi.com"])
        .takes(&["country", "language", "freshness"])
        .count_max(COUNT_MAX)
        .units(&[CREDIT])
        .seconds(30)
    }

    fn start(query: &Query, (): ()) -> Result<Request, Failure> {
        // Not `country_code`, the country of the proxy: smaller plans do not have every one.
        let country = query.country.as_deref().map(str::to_lowercase);
        let period = query.freshness.map(|freshness| match freshness {
            Freshness::Hour => "1H",
            Freshness::Day => "1D",
            Freshness::Week => "1W",
            Freshness::Month => "1M",
            Freshness::Year => "1Y",
        });
        Ok(Request::get(query.at("/structured/google/search"))
            .secret_query("api_key", KEY)
            .query("query", &query.text)
            .query("num", query.count)
            .query("start", query.n_before())
            .query_some("gl", country)
            .query_some("hl", query.language.as_deref().map(google_language))
            .query_some("time_period", period))
    }

    fn resume(query: &Query, (): (), reply: &Reply<'_>) -> Result<Results, Failure> {
        let reported = reply.header("sa-credit-cost");
        let reported = reported.and_then(|credits| Cost::reported(CREDIT, credits));
        if reply.status != 200 {
            return Err(failure(reply).cost(reported.unwrap_or_else(Cost::free)));
        }
        let found: Found = reply.json()?;
        let listed = || Cost::free().and_units(CREDIT, SEARCH_CREDITS);
        let hits = found.organic_results.into_iter().take(query.count as usize);
        Ok(Results::free(hits.map(Hit::from).collect()).cost(reported.unwrap_or_else(listed)))
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

/// Classifies a response without results.
fn failure(reply: &Reply<'_>) -> Failure {
    let mentions = |words: &[&str]| mentions(&reply.text(), words);
    let class = match reply.status {
        // 403 means an exhausted account or a feature outside the plan; only the message tells them
        // apart. A wrong key is a 401.
        403 if mentions(&["credit", "exhausted", "limit"]) => Class::NoCredit,
        403 => Class::BadRequest,
        status => Class::of_status(status),
    };
    Failure::of_reply(class, reply)
}

#[cfg(test)]
mod tests {
    use super::ScraperApi;

    #[test]
    fn all_cases_hold() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/cases");
        trawl_sdk::testkit::check_searches::<ScraperApi>(folder);
    }
}
