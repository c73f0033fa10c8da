//! `searxng`: SearXNG, a metasearch engine that operators run themselves. Its JSON format must be
//! enabled: `search.formats` in its `settings.yml`.

use serde::Deserialize;
use trawl_sdk::search::{
    Class, Description, Failure, Freshness, Hit, Query, Reply, Request, Results, Search,
    marked_up_hit,
};

/// Adapter for the search API of SearXNG.
pub struct Searxng;

/// Where the guide starts an instance.
const BASE: &str = "http://127.0.0.1:8888";

/// The operator's settings.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Names of the engines to ask, separated by commas.
    engines: Option<String>,
    /// Categories to search, separated by commas.
    categories: Option<String>,
    /// 0 is off, 1 moderate, 2 strict.
    safesearch: Option<u8>,
}

trawl_sdk::export!(search: Searxng);

impl Search for Searxng {
    type Settings = Settings;

    fn describe() -> Description {
        Description::new(
            "searxng",
            env!("CARGO_PKG_VERSION"),
            "SearXNG (own instance)",
            BASE,
        )
        .hosts(&["127.0.0.1:8888"])
        .takes(&["language", "freshness"])
        .settings_schema(include_str!("settings.json"))
        .seconds(20)
    }

    fn start(query: &Query, settings: Settings) -> Result<Request, Failure> {
        // There is no parameter for an hour.
        let range = query.freshness.map(|freshness| match freshness {
            Freshness::Hour | Freshness::Day => "day",
            Freshness::Week => "week",
            Freshness::Month => "month",
            Freshness::Year => "year",
        });
        Ok(Request::get(query.at("/search"))
            .header("accept", "application/json")
            .query("q", &query.text)
            .query("format", "json")
            .query("pageno", query.page)
            .query_some("language", query.language.as_deref().map(language))
            .query_some("time_range", range)
            .query_some("engines", settings.engines)
            .query_some("categories", settings.categories)
            .query_some("safesearch", settings.safesearch))
    }

    fn resume(query: &Query, _: Settings, reply: &Reply<'_>) -> Result<Results, Failure> {
        if reply.status != 200 {
            return Err(refusal(reply));
        }
        let found: Found = reply.json()?;
        if found.results.is_empty() && !found.unresponsive_engines.is_empty() {
            let engines = found.unresponsive_engines.iter();
            let engines: Vec<String> = engines.map(|engine| engine.join(": ")).collect();
            let message = format!("none of its engines answered: {}", engines.join(", "));
            return Err(Failure::new(Class::ProviderError, message));
        }
        // A page of its results is longer or shorter than the requested one.
        let hits = found.results.into_iter().take(query.count as usize);
        Ok(Results::free(hits.map(Hit::from).collect()))
    }
}

/// The service's code of a language: alone or with a country. It refuses all other tags.
fn language(tag: &str) -> String {
    let mut parts = tag.split('-');
    let language = parts.next().unwrap_or_default().to_lowercase();
    let is_country =
        |part: &&str| part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_alphabetic());
    match parts.find(is_country) {
        Some(country) => format!("{language}-{}", country.to_uppercase()),
        None => language,
    }
}

/// A response; only the fields in use.
#[derive(Deserialize)]
struct Found {
    results: Vec<Entry>,
    /// The engine and the reason, each.
    #[serde(default)]
    unresponsive_engines: Vec<Vec<String>>,
}

#[derive(Deserialize)]
struct Entry {
    url: String,
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    content: Option<String>,
    #[serde(default, rename = "publishedDate")]
    published_date: Option<String>,
}

impl From<Entry> for Hit {
    fn from(entry: Entry) -> Self {
        Self {
            date: entry.published_date,
            ..marked_up_hit(
                entry.url,
                entry.title.as_deref().unwrap_or_default(),
                entry.content.as_deref(),
            )
        }
    }
}

fn refusal(reply: &Reply<'_>) -> Failure {
    match reply.status {
        // It has no keys: it refuses formats that are not enabled.
        403 => Failure::new(
            Class::BadRequest,
            "responded with status 403: add `json` to `search.formats` in its settings.yml",
        ),
        status => Failure::of_reply(Class::of_status(status), reply),
    }
}

#[cfg(test)]
mod tests {
    use super::Searxng;

    #[test]
    fn all_cases_hold() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/cases");
        trawl_sdk::testkit::check_searches::<Searxng>(folder);
    }
}
