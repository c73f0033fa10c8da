//! `scrapingbee`: Google's results by the Google Search API of ScrapingBee, with the parameters of
//! the vendor's n8n node and the response of its command line's reference
//! (`ScrapingBee/scrapingbee-cli`, `reference/google`). Pages have about ten results; their number
//! cannot be chosen.

use serde::Deserialize;
use trawl_sdk::search::{
    Class, Cost, Description, Failure, Freshness, Hit, Query, Reply, Request, Results, Search,
    google_language, marked_up_hit, mentions,
};

/// Adapter for the ScrapingBee Google Search API.
pub struct ScrapingBee;

const KEY: &str = "PROVIDER2_API_KEY";
const CREDIT: &str = "credit";
/// Most results on a page.
const COUNT_MAX: u32 = 10;
/// Credits of a light request. Responses of this endpoint do not report them.
const LIGHT_CREDITS: u64 = 10;

trawl_sdk::export!(search: ScrapingBee);

impl Search for ScrapingBee {
    type Settings = ();

    fn describe() -> Description {
        Description::new(
            "scrapingbee",
            env!("CARGO_PKG_VERSION"),
            "ScrapingBee (Google Search API)",
            "https://app.scrapingbee.com",
        )
        .credentials(&[KEY])
        .hosts(&["app.scrapingbee.com"])
        .takes(&["country", "language", "freshness"])
        .count_max(COUNT_MAX)
        .units(&[CREDIT])
        .seconds(30)
    }

    fn start(query: &Query, (): ()) -> Result<Request, Failure> {
        let country = query.country.as_deref().map(str::to_lowercase);
        let range = query.freshness.map(|freshness| match freshness {
            Freshness::Hour => "past_hour",
            Freshness::Day => "past_day",
            Freshness::Week => "past_week",
            Freshness::Month => "past_month",
            Freshness::Year => "past_year",
        });
        Ok(Request::get(query.at("/api/v1/store/google"))
            .secret_query("api_key", KEY)
            .query("search", &query.text)
            .query("page", query.page)
            .query("light_request", true)
            .query_some("country_code", country)
            .query_some("language", query.language.as_deref().map(google_language))
            .query_some("date_range", range))
    }

    fn resume(query: &Query, (): (), reply: &Reply<'_>) -> Result<Results, Failure> {
        if reply.status != 200 {
            return Err(failure(reply));
        }
        let found: Found = reply.json()?;
        let hits = found.organic_results.into_iter().take(query.count as usize);
        Ok(Results::free(hits.map(Hit::from).collect())
            .cost(Cost::free().and_units(CREDIT, LIGHT_CREDITS))
            .request_id(reply.header("spb-request-id")))
    }
}

/// A response; only the fields in use.
#[derive(Deserialize)]
struct Found {
    organic_results: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    url: String,
    title: String,
    #[serde(default)]
    description: Option<String>,
    /// As the search engine shows it: `Jan 31, 2026`.
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

/// Classifies a response without results. The vendor charges nothing for it.
fn failure(reply: &Reply<'_>) -> Failure {
    let is_used_up = mentions(&reply.text(), &["credit", "limit", "quota"]);
    let class = match reply.status {
        // 401 means a wrong key as well as an exhausted quota; only the message tells them apart.
        401 | 403 if is_used_up => Class::NoCredit,
        status => Class::of_status(status),
    };
    Failure::of_reply(class, reply).request_id(reply.header("spb-request-id"))
}

#[cfg(test)]
mod tests {
    use super::ScrapingBee;

    #[test]
    fn all_cases_hold() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/cases");
        trawl_sdk::testkit::check_searches::<ScrapingBee>(folder);
    }
}
