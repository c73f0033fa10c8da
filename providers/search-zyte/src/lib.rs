//! `zyte`: Google's results by the Zyte Search API, as `docs.zyte.com/zyte-api/usage/search`
//! documents it. The service returns the first results of a search and has no later pages, so a
//! later page is the end of a longer list.

use serde::Deserialize;
use serde_json::{Value, json};
use trawl_sdk::search::{
    Class, Cost, Description, Failure, Hit, Problem, Query, Reply, Request, Results, Search,
    google_language, marked_up_hit,
};

/// Adapter for the Zyte Search API.
pub struct Zyte;

const KEY: &str = "PROVIDER1_API_KEY";
const TEN_RESULTS: &str = "ten_results";
/// The search engine, unless the settings name another.
const DOMAIN: &str = "google.com";
/// `maxResults` is a multiple of this, and the unit of the costs.
const STEP: u32 = 10;
/// Most results of a search.
const RESULTS_MAX: u32 = 100;

/// The operator's settings.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The search engine's domain: `google.de`.
    domain: Option<String>,
}

trawl_sdk::export!(search: Zyte);

impl Search for Zyte {
    type Settings = Settings;

    fn describe() -> Description {
        Description::new(
            "zyte",
            env!("CARGO_PKG_VERSION"),
            "Zyte (Search API)",
            "https://api.zyte.com",
        )
        .credentials(&[KEY])
        .hosts(&["api.zyte.com"])
        .takes(&["country", "language"])
        .settings_schema(include_str!("settings.json"))
        .count_max(RESULTS_MAX)
        .units(&[TEN_RESULTS])
        .seconds(30)
    }

    fn start(query: &Query, settings: Settings) -> Result<Request, Failure> {
        if results_until(query) > RESULTS_MAX {
            let message = format!("the service has at most {RESULTS_MAX} results of a search");
            return Err(Failure::unsupported(message));
        }
        Ok(Request::post(query.at("/v1/search"))
            .basic(Some(KEY), None)
            .json_some(json!({
                "domain": settings.domain.as_deref().unwrap_or(DOMAIN),
                "query": query.text,
                "include": ["organic"],
                "maxResults": n_steps(query) * STEP,
                "queryParameters": parameters(query),
            })))
    }

    fn resume(query: &Query, _: Settings, reply: &Reply<'_>) -> Result<Results, Failure> {
        if reply.status != 200 {
            return Err(failure(reply));
        }
        let found: Found = reply.json()?;
        let results = found.organic_results.into_iter();
        let hits = results
            .skip(query.n_before() as usize)
            .take(query.count as usize);
        Ok(Results::free(hits.map(Hit::from).collect())
            .cost(Cost::free().and_units(TEN_RESULTS, n_steps(query).into()))
            .request_id(reply.header("request-id")))
    }
}

/// Results up to the end of the requested page.
fn results_until(query: &Query) -> u32 {
    query.n_before().saturating_add(query.count)
}

/// How many steps of results the service has to return.
fn n_steps(query: &Query) -> u32 {
    results_until(query).div_ceil(STEP)
}

/// The parameters of the search engine itself; `None` if there are none.
fn parameters(query: &Query) -> Option<Value> {
    let country = query.country.as_deref().map(str::to_lowercase);
    let language = query.language.as_deref().map(google_language);
    let parameters = [("gl", country), ("hl", language)];
    let mut members = json!({"style": "engineSpecific"});
    let mut is_empty = true;
    for (name, value) in parameters {
        if let Some(value) = value {
            members[name] = value.into();
            is_empty = false;
        }
    }
    (!is_empty).then_some(members)
}

/// A response; only the fields in use.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Found {
    organic_results: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    url: String,
    title: String,
    #[serde(default)]
    snippet: Option<String>,
}

impl From<Entry> for Hit {
    fn from(entry: Entry) -> Self {
        marked_up_hit(entry.url, &entry.title, entry.snippet.as_deref())
    }
}

/// Classifies a response without results. It is free: only those with status 200 are charged.
fn failure(reply: &Reply<'_>) -> Failure {
    let problem = Problem::of_reply(reply);
    let class = match (reply.status, problem.kind()) {
        (403, Some("/auth/account-suspended")) => Class::NoCredit,
        (503, Some("/limits/over-global-limit")) => Class::RateLimited,
        (500, Some("/server/timed-out")) => Class::ProviderTimeout,
        (451 | 520, _) => Class::TargetBlocked,
        (status, _) => Class::of_status(status),
    };
    Failure::quoting_some(class, reply, problem.words())
        .code_some(problem.kind())
        .request_id(reply.header("request-id"))
}

#[cfg(test)]
mod tests {
    use super::Zyte;

    #[test]
    fn all_cases_hold() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/cases");
        trawl_sdk::testkit::check_searches::<Zyte>(folder);
    }
}
