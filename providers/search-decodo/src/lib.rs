//! `decodo`: Google's results by the target `google_search` of the Decodo Web Scraping API, with
//! the parameters of the vendor's TypeScript SDK (`Decodo/sdk-ts`) and the response of its Python
//! SDK's README (`Decodo/sdk-python`). Pages have about ten results; their number cannot be
//! chosen.

use serde::Deserialize;
use serde_json::{Value, json};
use trawl_sdk::search::{
    Class, Cost, Description, Failure, Hit, Query, Reply, Request, Results, Search,
    google_language, google_place, google_tbs, json_text, marked_up_hit, mentions,
};

/// Adapter for the Google search of the Decodo Web Scraping API.
pub struct Decodo;

const USERNAME: &str = "PROVIDER11_USERNAME";
const PASSWORD: &str = "PROVIDER11_PASSWORD";
const REQUEST: &str = "request";
/// Most results on a page.
const COUNT_MAX: u32 = 10;

trawl_sdk::export!(search: Decodo);

impl Search for Decodo {
    type Settings = ();

    fn describe() -> Description {
        Description::new(
            "decodo",
            env!("CARGO_PKG_VERSION"),
            "Decodo (Web Scraping API, Google search)",
            "https://scraper-api.decodo.com",
        )
        .credentials(&[USERNAME, PASSWORD])
        .hosts(&["scraper-api.decodo.com"])
        .takes(&["country", "language", "location", "freshness"])
        .count_max(COUNT_MAX)
        .units(&[REQUEST])
        .seconds(30)
    }

    fn start(query: &Query, (): ()) -> Result<Request, Failure> {
        Ok(Request::post(query.at("/v2/scrape"))
            .basic(Some(USERNAME), Some(PASSWORD))
            .header("accept", "application/json")
            .json_some(json!({
                "target": "google_search",
                "query": query.text,
                "parse": true,
                "page_from": query.page,
                "geo": google_place(query)?,
                // `locale` would be the language of the page, not of the results.
                "google_results_language": query.language.as_deref().map(google_language),
                "google_tbs": query.freshness.map(google_tbs),
            })))
    }

    fn resume(query: &Query, (): (), reply: &Reply<'_>) -> Result<Results, Failure> {
        if reply.status != 200 {
            return Err(failure(reply));
        }
        let response: Response = reply.json()?;
        let Some(task) = response.results.into_iter().next() else {
            let class = match response.status.as_deref() {
                Some("failed") => Class::TargetBlocked,
                _ => Class::Drift,
            };
            return Err(Failure::quoting_some(
                class,
                reply,
                response.message.as_deref(),
            ));
        };
        let id = task.task_id.as_ref().map(json_text);
        let id = id.as_deref();
        let status = task.status_code;
        if status != 200 {
            let message = format!("the task failed with status {status}");
            let failure = Failure::new(Class::TargetBlocked, message);
            return Err(failure.code(&status.to_string()).request_id(id));
        }
        let content: Content = serde_json::from_value(task.content).map_err(|error| {
            let message = format!("the reply does not have the documented shape: {error}");
            Failure::new(Class::Drift, message).request_id(id)
        })?;
        let hits = content.results.results.organic.into_iter();
        let hits = hits.take(query.count as usize).map(Hit::from);
        Ok(Results::free(hits.collect())
            .cost(Cost::listed(REQUEST))
            .request_id(id))
    }
}

/// A response; only the fields in use.
#[derive(Deserialize)]
struct Response {
    #[serde(default)]
    results: Vec<Task>,
    status: Option<String>,
    message: Option<String>,
}

#[derive(Deserialize)]
struct Task {
    /// The parsed page; empty if the task failed.
    #[serde(default)]
    content: Value,
    status_code: u16,
    #[serde(default)]
    task_id: Option<Value>,
}

#[derive(Deserialize)]
struct Content {
    results: Page,
}

#[derive(Deserialize)]
struct Page {
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
}

impl From<Entry> for Hit {
    fn from(entry: Entry) -> Self {
        marked_up_hit(entry.url, &entry.title, entry.desc.as_deref())
    }
}

/// Classifies a response without results.
fn failure(reply: &Reply<'_>) -> Failure {
    let problem: Value = reply.json().unwrap_or_default();
    let text = reply.text();
    let words = problem["message"].as_str().unwrap_or(&text);
    let is_used_up = mentions(words, &["out of", "credit", "quota"]);
    let class = match reply.status {
        // An exhausted account has the status of a rate limit, or of a wrong password; only the
        // message tells them apart.
        401 | 403 | 429 if is_used_up => Class::NoCredit,
        status => Class::of_status(status),
    };
    Failure::quoting(class, reply, words)
}

#[cfg(test)]
mod tests {
    use super::Decodo;

    #[test]
    fn all_cases_hold() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/cases");
        trawl_sdk::testkit::check_searches::<Decodo>(folder);
    }
}
