//! `oxylabs`: Google's results by the source `google_search` of the Oxylabs Web Scraper API, as
//! `developers.oxylabs.io` (Google, web search) documents it. Each request is a job that returns
//! one page of results, which are about ten; their number cannot be chosen.

use serde::Deserialize;
use serde_json::{Value, json};
use trawl_sdk::search::{
    Class, Cost, Description, Failure, Hit, Query, Reply, Request, Results, Search,
    google_language, google_place, google_tbs, json_text, marked_up_hit, mentions,
};

/// Adapter for the Google search of the Oxylabs Web Scraper API.
pub struct Oxylabs;

const USERNAME: &str = "PROVIDER10_USERNAME";
const PASSWORD: &str = "PROVIDER10_PASSWORD";
const RESULT: &str = "result";
/// Most results on a page.
const COUNT_MAX: u32 = 10;

trawl_sdk::export!(search: Oxylabs);

impl Search for Oxylabs {
    type Settings = ();

    fn describe() -> Description {
        Description::new(
            "oxylabs",
            env!("CARGO_PKG_VERSION"),
            "Oxylabs (Web Scraper API, Google search)",
            "https://realtime.oxylabs.io",
        )
        .credentials(&[USERNAME, PASSWORD])
        .hosts(&["realtime.oxylabs.io"])
        .takes(&["country", "language", "location", "freshness"])
        .count_max(COUNT_MAX)
        .units(&[RESULT])
        .seconds(30)
    }

    fn start(query: &Query, (): ()) -> Result<Request, Failure> {
        let recent = |freshness| json!([{"key": "tbs", "value": google_tbs(freshness)}]);
        Ok(Request::post(query.at("/v1/queries"))
            .basic(Some(USERNAME), Some(PASSWORD))
            .json_some(json!({
                "source": "google_search",
                "query": query.text,
                "parse": true,
                "start_page": query.page,
                "geo_location": google_place(query)?,
                "locale": query.language.as_deref().map(google_language),
                "context": query.freshness.map(recent),
            })))
    }

    fn resume(query: &Query, (): (), reply: &Reply<'_>) -> Result<Results, Failure> {
        if reply.status != 200 {
            return Err(failure(reply));
        }
        let response: Response = reply.json()?;
        let Some(job) = response.results.into_iter().next() else {
            return Err(Failure::of_reply(Class::Drift, reply));
        };
        let id = job.job_id.as_ref().map(json_text);
        let id = id.as_deref().or(reply.header("x-oxylabs-job-id"));
        let status = job.status_code;
        if status != 200 {
            let message = format!("the job failed with status {status}");
            let failure = Failure::new(Class::TargetBlocked, message);
            return Err(failure.code(&status.to_string()).request_id(id));
        }
        let content: Content = serde_json::from_value(job.content).map_err(|error| {
            let message = format!("the reply does not have the documented shape: {error}");
            Failure::new(Class::Drift, message).request_id(id)
        })?;
        let hits = content.results.organic.into_iter();
        let hits = hits.take(query.count as usize).map(Hit::from);
        Ok(Results::free(hits.collect())
            .cost(Cost::listed(RESULT))
            .request_id(id))
    }
}

/// A response; only the fields in use.
#[derive(Deserialize)]
struct Response {
    #[serde(default)]
    results: Vec<Job>,
}

#[derive(Deserialize)]
struct Job {
    /// The parsed page; empty if the job failed.
    #[serde(default)]
    content: Value,
    status_code: u16,
    #[serde(default)]
    job_id: Option<Value>,
}

#[derive(Deserialize)]
struct Content {
    results: Parsed,
}

/// The kinds of results that the page has; only the fields in use.
#[derive(Deserialize)]
struct Parsed {
    #[serde(default)]
    organic: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    url: String,
    title: String,
    #[serde(default)]
    desc: Option<String>,
    /// The name beside the site's icon.
    #[serde(default)]
    favicon_text: Option<String>,
}

impl From<Entry> for Hit {
    fn from(entry: Entry) -> Self {
        Self {
            site_name: entry.favicon_text,
            ..marked_up_hit(entry.url, &entry.title, entry.desc.as_deref())
        }
    }
}

/// Classifies a response without results.
fn failure(reply: &Reply<'_>) -> Failure {
    let problem: Value = reply.json().unwrap_or_default();
    let text = reply.text();
    let words = problem["message"].as_str().unwrap_or(&text);
    let class = match reply.status {
        // The job is not finished.
        204 => Class::ProviderTimeout,
        // An exhausted account has the status of a rate limit, or of a wrong password; only the
        // message tells them apart.
        401 | 403 | 429 if mentions(words, &["out of"]) => Class::NoCredit,
        // The vendor's word for a service that is not available.
        524 => Class::ProviderError,
        status => Class::of_status(status),
    };
    Failure::quoting(class, reply, words).request_id(reply.header("x-oxylabs-job-id"))
}

#[cfg(test)]
mod tests {
    use super::Oxylabs;

    #[test]
    fn all_cases_hold() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/cases");
        trawl_sdk::testkit::check_searches::<Oxylabs>(folder);
    }
}
