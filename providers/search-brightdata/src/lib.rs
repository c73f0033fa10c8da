//! `brightdata`: Google's results by the SERP API of Bright Data, as `docs.brightdata.com` (SERP
//! API, parsed JSON results) and the vendor's skills (`brightdata/skills`, `serp.md`) document it.
//! The request names a URL of the search engine, and a zone of the account.

use serde::Deserialize;
use serde_json::{Value, json};
use trawl_sdk::search::{
    Class, Cost, Description, Failure, Hit, Query, Reply, Request, Results, Search,
    google_language, google_tbs, marked_up_hit, mentions,
};

/// Adapter for the Bright Data SERP API.
pub struct BrightData;

const TOKEN: &str = "PROVIDER7_API_TOKEN";
const REQUEST: &str = "request";
/// The zone, unless the settings name another: what the vendor's documentation calls it.
const ZONE: &str = "serp_api1";
/// Added to the message about a zone that the account does not have.
const ZONE_ADVICE: &str = "; name a zone of the account as `settings.zone` in plugins.toml";
/// Most results on a page: the search engine has no longer ones.
const COUNT_MAX: u32 = 10;

/// The operator's settings.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Name of the zone, of type `serp` or `unblocker`.
    zone: Option<String>,
}

trawl_sdk::export!(search: BrightData);

impl Search for BrightData {
    type Settings = Settings;

    fn describe() -> Description {
        Description::new(
            "brightdata",
            env!("CARGO_PKG_VERSION"),
            "Bright Data (SERP API)",
            "https://api.brightdata.com",
        )
        .credentials(&[TOKEN])
        .hosts(&["api.brightdata.com"])
        .takes(&["country", "language", "freshness"])
        .settings_schema(include_str!("settings.json"))
        .count_max(COUNT_MAX)
        .units(&[REQUEST])
        .seconds(30)
    }

    fn start(query: &Query, settings: Settings) -> Result<Request, Failure> {
        Ok(Request::post(query.at("/request"))
            .bearer(TOKEN)
            .json(&json!({
                "zone": settings.zone.as_deref().unwrap_or(ZONE),
                "url": results_url(query),
                // The results are JSON because of `brd_json`, whatever the format of the response.
                "format": "raw",
            })))
    }

    fn resume(query: &Query, _: Settings, reply: &Reply<'_>) -> Result<Results, Failure> {
        if reply.status != 200 || error_code(reply).is_some() {
            return Err(failure(reply));
        }
        let Found { general, organic } = reply.json()?;
        let organic = match (organic, general) {
            (Some(organic), _) => organic,
            // Nothing was found.
            (None, Some(_)) => Vec::new(),
            (None, None) => {
                let message = "the response has neither `general` nor `organic`";
                return Err(Failure::new(Class::Drift, message));
            }
        };
        let hits = organic.into_iter().take(query.count as usize);
        Ok(Results::free(hits.map(Hit::from).collect()).cost(Cost::listed(REQUEST)))
    }
}

/// URL of the search engine's page with these results.
fn results_url(query: &Query) -> String {
    let country = query.country.as_deref().map(str::to_lowercase);
    Request::get("https://www.google.com/search")
        .query("q", &query.text)
        .query("start", query.n_before())
        .query_some("gl", country)
        .query_some("hl", query.language.as_deref().map(google_language))
        .query_some("tbs", query.freshness.map(google_tbs))
        .query("brd_json", 1)
        .url
}

/// A response; only the fields in use.
#[derive(Deserialize)]
struct Found {
    /// What was searched for.
    #[serde(default)]
    general: Option<Value>,
    #[serde(default)]
    organic: Option<Vec<Entry>>,
}

#[derive(Deserialize)]
struct Entry {
    link: String,
    title: String,
    #[serde(default)]
    description: Option<String>,
}

impl From<Entry> for Hit {
    fn from(entry: Entry) -> Self {
        marked_up_hit(entry.link, &entry.title, entry.description.as_deref())
    }
}

/// The vendor's error code.
fn error_code<'a>(reply: &'a Reply<'_>) -> Option<&'a str> {
    let older = || reply.header("x-brd-err-code");
    reply.header("x-brd-error-code").or_else(older)
}

/// Classifies a response without results: only those with results are charged.
fn failure(reply: &Reply<'_>) -> Failure {
    let code = error_code(reply);
    let older = || reply.header("x-brd-err-msg");
    let words = reply.header("x-brd-error").or_else(older);
    let text = words.map_or_else(|| reply.text().into_owned(), str::to_owned);
    let known = code.unwrap_or_default().replace('-', "_").to_lowercase();
    let is_about_zone = reply.status == 400 && mentions(&text, &["zone"]);
    let class = match (reply.status, known.as_str()) {
        (_, "client_10000" | "client_10002") => Class::BadKey,
        (_, "client_10020" | "client_10100") => Class::NoCredit,
        (_, "reject_block") => Class::TargetBlocked,
        (_, "navigation_timeout" | "proxy_timeout") => Class::ProviderTimeout,
        // An unknown zone is a credential problem like a wrong token.
        _ if is_about_zone => Class::BadKey,
        (200..=299, _) => Class::ProviderError,
        (status, _) => Class::of_status(status),
    };
    let mut failure = Failure::quoting(class, reply, &text).code_some(code);
    if is_about_zone {
        failure.message.push_str(ZONE_ADVICE);
    }
    failure
}

#[cfg(test)]
mod tests {
    use super::BrightData;

    #[test]
    fn all_cases_hold() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/cases");
        trawl_sdk::testkit::check_searches::<BrightData>(folder);
    }
}
