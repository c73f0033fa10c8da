//! `browserless`: the `/search` API of the Browserless cloud
//! (`docs.browserless.io/rest-apis/search`), with the parameters of the vendor's node for n8n
//! (`browserless/n8n-nodes-browserless-api`) and the response of its MCP server
//! (`browserless/browserless-mcp`). It asks a metasearch engine, and returns the first results of a
//! search, so a later page is the end of a longer list.

use serde::Deserialize;
use serde_json::json;
use trawl_sdk::search::{
    Class, Cost, Description, Failure, Freshness, Hit, Query, Reply, Request, Results, Search,
    google_language, marked_up_hit, mentions,
};

/// Adapter for the Browserless search API.
pub struct Browserless;

const TOKEN: &str = "PROVIDER9_TOKEN";
const UNIT: &str = "unit";
/// Billing increment of the vendor.
const MS_PER_UNIT: u32 = 30_000;
/// Most results of a search.
const RESULTS_MAX: u32 = 100;
/// Time reserved for the vendor's own answer that the time is over.
const GRACE_MS: u32 = 2_000;
/// Shortest time that is given to the vendor.
const TIME_MS_MIN: u32 = 1_000;

trawl_sdk::export!(search: Browserless);

impl Search for Browserless {
    type Settings = ();

    fn describe() -> Description {
        Description::new(
            "browserless",
            env!("CARGO_PKG_VERSION"),
            "Browserless (Search API)",
            "https://production-sfo.browserless.io",
        )
        .credentials(&[TOKEN])
        .hosts(&["production-sfo.browserless.io"])
        .takes(&["country", "language", "location", "freshness"])
        .count_max(RESULTS_MAX)
        .units(&[UNIT])
        .seconds(30)
    }

    fn start(query: &Query, (): ()) -> Result<Request, Failure> {
        let limit = query.n_before().saturating_add(query.count);
        if limit > RESULTS_MAX {
            let message = format!("the service has at most {RESULTS_MAX} results of a search");
            return Err(Failure::unsupported(message));
        }
        // There is no value for an hour.
        let period = query.freshness.map(|freshness| match freshness {
            Freshness::Hour | Freshness::Day => "day",
            Freshness::Week => "week",
            Freshness::Month => "month",
            Freshness::Year => "year",
        });
        let timeout = query.time_ms.saturating_sub(GRACE_MS).max(TIME_MS_MIN);
        Ok(Request::post(query.at("/search"))
            .bearer(TOKEN)
            .query("timeout", timeout)
            .json_some(json!({
                "query": query.text,
                "limit": limit,
                "sources": ["web"],
                "country": query.country.as_deref().map(str::to_lowercase),
                "lang": query.language.as_deref().map(google_language),
                "location": query.location,
                "tbs": period,
            })))
    }

    fn resume(query: &Query, (): (), reply: &Reply<'_>) -> Result<Results, Failure> {
        if reply.status != 200 {
            return Err(failure(reply));
        }
        // The time is charged in either case.
        let entries = entries(reply).map_err(|failure| failure.cost(duration_cost(reply)))?;
        let hits = entries
            .into_iter()
            .skip(query.n_before() as usize)
            .take(query.count as usize);
        Ok(Results::free(hits.map(Hit::from).collect()).cost(duration_cost(reply)))
    }
}

/// Cost of the exchange, by its duration.
fn duration_cost(reply: &Reply<'_>) -> Cost {
    let n_units = reply.elapsed_ms.div_ceil(MS_PER_UNIT).max(1);
    Cost::free().and_units(UNIT, n_units.into())
}

/// All results of a response.
fn entries(reply: &Reply<'_>) -> Result<Vec<Entry>, Failure> {
    let found: Found = reply.json()?;
    if !found.success {
        let words = found.error.as_deref();
        return Err(Failure::quoting_some(Class::ProviderError, reply, words));
    }
    let data = found.data.ok_or_else(|| {
        let message = "the response has no `data`";
        Failure::new(Class::Drift, message)
    })?;
    Ok(data.web.unwrap_or_default())
}

/// A response; only the fields in use.
#[derive(Deserialize)]
struct Found {
    success: bool,
    data: Option<Data>,
    error: Option<String>,
}

#[derive(Deserialize)]
struct Data {
    /// Not sent if nothing was found.
    web: Option<Vec<Entry>>,
}

#[derive(Deserialize)]
struct Entry {
    url: String,
    title: String,
    #[serde(default)]
    description: Option<String>,
}

impl From<Entry> for Hit {
    fn from(entry: Entry) -> Self {
        marked_up_hit(entry.url, &entry.title, entry.description.as_deref())
    }
}

/// Classifies a response without results. Its body is plain text.
fn failure(reply: &Reply<'_>) -> Failure {
    let is_out_of_units = mentions(&reply.text(), &["units", "credit", "quota"]);
    let class = match reply.status {
        // Exhausted units have the status of a wrong token or of too many concurrent requests; only
        // the message tells them apart.
        401 | 403 | 429 if is_out_of_units => Class::NoCredit,
        status => Class::of_status(status),
    };
    let failure = Failure::of_reply(class, reply);
    match reply.status {
        // The search ran, so its time is charged.
        408 | 500 | 504 => failure.cost(duration_cost(reply)),
        _ => failure,
    }
}

#[cfg(test)]
mod tests {
    use super::Browserless;

    #[test]
    fn all_cases_hold() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/cases");
        trawl_sdk::testkit::check_searches::<Browserless>(folder);
    }
}
