//! `zenrows`: Google's results by the Google Search Results API of ZenRows
//! (`docs.zenrows.com/scraper-apis/get-started/google-search`). The request names a URL of the
//! search engine. Requests and responses are those of public clients of the service: a snippet is
//! called `snippet` by some of them and `description` by others.

use serde::Deserialize;
use trawl_sdk::search::{
    Class, Cost, Description, Failure, Hit, Problem, Query, Reply, Request, Results, Search,
    google_language, google_tbs, marked_up_hit,
};

/// Adapter for the ZenRows Google Search Results API.
pub struct ZenRows;

const KEY: &str = "PROVIDER6_API_KEY";
const CREDIT: &str = "credit";
const REQUEST: &str = "request";
/// Most results on a page: the search engine has no longer ones.
const COUNT_MAX: u32 = 10;

trawl_sdk::export!(search: ZenRows);

impl Search for ZenRows {
    type Settings = ();

    fn describe() -> Description {
        Description::new(
            "zenrows",
            env!("CARGO_PKG_VERSION"),
            "ZenRows (Google Search Results API)",
            "https://serp.api.zenrows.com",
        )
        .credentials(&[KEY])
        .hosts(&["serp.api.zenrows.com"])
        .takes(&["country", "language", "freshness"])
        .count_max(COUNT_MAX)
        .units(&[CREDIT, REQUEST])
        .seconds(30)
    }

    fn start(query: &Query, (): ()) -> Result<Request, Failure> {
        Ok(Request::get(query.at("/v1/targets/google/search"))
            .secret_query("apikey", KEY)
            .query("url", results_url(query))
            .query_some("country", country(query)))
    }

    fn resume(query: &Query, (): (), reply: &Reply<'_>) -> Result<Results, Failure> {
        if reply.status != 200 {
            return Err(failure(reply));
        }
        let found: Found = reply.json()?;
        let hits = found.organic_results.into_iter().take(query.count as usize);
        Ok(Results::free(hits.map(Hit::from).collect())
            .cost(credits(reply).unwrap_or_else(|| Cost::listed(REQUEST)))
            .request_id(reply.header("x-request-id")))
    }
}

/// URL of the search engine's page with these results.
fn results_url(query: &Query) -> String {
    Request::get("https://www.google.com/search")
        .query("q", &query.text)
        .query("start", query.n_before())
        .query_some("gl", country(query))
        .query_some("hl", query.language.as_deref().map(google_language))
        .query_some("tbs", query.freshness.map(google_tbs))
        .url
}

/// The country as the vendor and the search engine write it.
fn country(query: &Query) -> Option<String> {
    query.country.as_deref().map(str::to_lowercase)
}

/// Credits charged, as reported by the vendor.
fn credits(reply: &Reply<'_>) -> Option<Cost> {
    Cost::reported(CREDIT, reply.header("x-request-credits")?)
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
    #[serde(default)]
    description: Option<String>,
}

impl From<Entry> for Hit {
    fn from(entry: Entry) -> Self {
        let snippet = entry.snippet.or(entry.description);
        marked_up_hit(entry.link, &entry.title, snippet.as_deref())
    }
}

/// Classifies a response without results. The vendor charges only those with results.
fn failure(reply: &Reply<'_>) -> Failure {
    let problem = Problem::of_reply(reply);
    let class = match problem.code().unwrap_or_default() {
        "AUTH001" | "AUTH002" | "AUTH003" | "AUTH009" | "BLK0001" => Class::BadKey,
        "AUTH004" | "AUTH005" | "AUTH010" | "AUTH011" | "AUTH012" => Class::NoCredit,
        "AUTH006" | "AUTH008" => Class::RateLimited,
        _ => match reply.status {
            422 | 424 => Class::TargetBlocked,
            status => Class::of_status(status),
        },
    };
    Failure::quoting_some(class, reply, problem.words())
        .code_some(problem.code())
        .request_id(reply.header("x-request-id"))
        .cost(credits(reply).unwrap_or_else(Cost::free))
}

#[cfg(test)]
mod tests {
    use super::ZenRows;

    #[test]
    fn all_cases_hold() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/cases");
        trawl_sdk::testkit::check_searches::<ZenRows>(folder);
    }
}
