//! Runs a search adapter on recorded searches.

use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::recorded::Recorded;
use super::{actual, check_folder, refusal, unmet};
use crate::provider::USD;
use crate::search::{Description, Freshness, Query, Search, resume, start};

/// Runs a search adapter on the cases of a folder: what it sends, and what it makes of the reply.
///
/// The files are those of [`check_cases`](super::check_cases), with these members in a case:
///
/// - `about`: a few words
/// - `query`: `text`, `count`, `page`, `country`, `language`, `location`, `freshness` (`day`),
///   `time_ms`, `settings`; by default the first ten results for `tide tables`
/// - `request`: the expected one, as in `check_cases`
/// - `reply`: `status` (200 by default), `headers`, `body`
/// - `results` or `failure`: `hits` with the members that each has, `request_id`, `cost`; or the
///   members of [`Failure`](crate::provider::Failure)
///
/// # Panics
/// If a case differs, with all that do; if a file is not of this form; if there are no cases.
pub fn check_searches<S: Search>(folder: impl AsRef<Path>) {
    let description = S::describe();
    check_folder(folder.as_ref(), |case| differences::<S>(case, &description));
}

/// A search, with what is expected of it.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Case {
    query: Wanted,
    request: Option<Map<String, Value>>,
    reply: Option<Recorded>,
    results: Option<Map<String, Value>>,
    failure: Option<Map<String, Value>>,
}

/// A query.
#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Wanted {
    text: String,
    count: u32,
    page: u32,
    country: Option<String>,
    language: Option<String>,
    location: Option<String>,
    freshness: Option<String>,
    time_ms: u32,
    settings: Value,
}

impl Default for Wanted {
    fn default() -> Self {
        let query = Query::new("tide tables", "");
        Self {
            text: query.text,
            count: query.count,
            page: query.page,
            country: None,
            language: None,
            location: None,
            freshness: None,
            time_ms: query.time_ms,
            settings: Value::Object(Map::new()),
        }
    }
}

impl Wanted {
    /// The query for a service with this base URL.
    fn query(&self, base: &str) -> Query {
        let freshness = self.freshness.as_deref().map(|name| {
            let mut known = Freshness::ALL.into_iter();
            let found = known.find(|freshness| freshness.name() == name);
            found.unwrap_or_else(|| panic!("`{name}` is no freshness"))
        });
        Query {
            count: self.count,
            page: self.page,
            country: self.country.clone(),
            language: self.language.clone(),
            location: self.location.clone(),
            freshness,
            time_ms: self.time_ms,
            settings: self.settings.to_string(),
            ..Query::new(&self.text, base)
        }
    }
}

/// What is wrong with a search, one sentence each.
fn differences<S: Search>(case: &Case, description: &Description) -> Vec<String> {
    let query = case.query.query(&description.base);
    let mut wrong = Vec::new();
    let outcome = match start::<S>(&query) {
        Err(failure) => Some(Err(failure)),
        Ok(request) => {
            wrong.extend(refusal(&request, &description.as_provider()));
            if let Some(expected) = &case.request {
                wrong.extend(unmet("request", expected, &actual::request(&request)));
            }
            let reply = case.reply.as_ref().and_then(|reply| reply.replies().pop());
            reply.map(|reply| resume::<S>(&query, &reply))
        }
    };
    match (&outcome, &case.results, &case.failure) {
        (Some(Ok(results)), Some(expected), None) => {
            let mut units = results.cost.quantities.iter().map(|one| &one.unit);
            let is_unknown = |unit: &&String| *unit != USD && !description.units.contains(unit);
            if let Some(unit) = units.find(is_unknown) {
                wrong.push(format!("the unit `{unit}` is not described"));
            }
            wrong.extend(unmet("results", expected, &actual::results(results)));
        }
        (Some(Err(failure)), None, Some(expected)) => {
            wrong.extend(unmet("failure", expected, &actual::failure(failure)));
        }
        (None, None, None) if case.request.is_some() => {}
        (None, None, None) => wrong.push("it expects nothing".to_owned()),
        (outcome, ..) => wrong.push(format!("it ends with {outcome:?}")),
    }
    wrong
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::search::{Class, Cost, Failure, Hit, Reply, Request, Results};

    struct Acme;

    impl Search for Acme {
        type Settings = ();

        fn describe() -> Description {
            Description::new("acme", "1.0.0", "Acme", "https://api.acme.example")
                .credentials(&["ACME_KEY"])
                .hosts(&["api.acme.example"])
                .units(&["query"])
        }

        fn start(query: &Query, (): ()) -> Result<Request, Failure> {
            if query.text == "host" {
                return Ok(Request::get("https://evil.example/"));
            }
            let freshness = query.freshness.map(Freshness::name);
            Ok(Request::get(query.at("/"))
                .query("q", &query.text)
                .query_some("age", freshness)
                .bearer("ACME_KEY"))
        }

        fn resume(_: &Query, (): (), reply: &Reply<'_>) -> Result<Results, Failure> {
            if reply.status != 200 {
                return Err(Failure::of_reply(Class::of_status(reply.status), reply));
            }
            let hit = Hit {
                url: "https://a.example/".to_owned(),
                title: reply.text().into_owned(),
                ..Hit::default()
            };
            Ok(Results::free(vec![hit]).cost(Cost::listed("query")))
        }
    }

    fn found(case: Value) -> Vec<String> {
        let case: Case = serde_json::from_value(case).expect("a case");
        differences::<Acme>(&case, &Acme::describe())
    }

    fn check(case: Value) {
        assert_eq!(found(case.clone()), Vec::<String>::new(), "{case}");
    }

    fn check_not(case: Value, expected: &str) {
        let found = found(case.clone());
        let is_found = found.len() == 1 && found[0].contains(expected);
        assert!(is_found, "{case}: {found:?}");
    }

    #[test]
    fn requests_results_and_failures_are_compared() {
        let request = json!({"query": {"q": "tide tables", "age": "week"}, "credentials": [{"bearer": "ACME_KEY"}]});
        let query = json!({"freshness": "week"});
        check(json!({"query": query, "request": request}));
        check_not(json!({"request": request}), "`query` is");
        let reply = json!({"body": {"text": "A"}});
        let hits = json!([{"url": "https://a.example/", "title": "A"}]);
        let cost = json!({"units": {"query": "1"}});
        check(json!({"reply": reply, "results": {"hits": hits, "cost": cost}}));
        check_not(
            json!({"reply": reply, "results": {"hits": [{"title": "A"}]}}),
            "`hits` is",
        );
        let refused = json!({"status": 401});
        check(json!({"reply": refused, "failure": {"class": "bad_key"}}));
        check_not(json!({"reply": refused, "results": {}}), "it ends with");
        check_not(json!({}), "expects nothing");
        check_not(
            json!({"query": {"text": "host"}, "request": {}}),
            "`evil.example` is not described",
        );
    }

    #[test]
    fn units_are_those_of_the_description() {
        let case: Case =
            serde_json::from_value(json!({"reply": {}, "results": {}})).expect("a case");
        let description = Acme::describe().units(&["page"]);
        let found = differences::<Acme>(&case, &description);
        assert_eq!(found, ["the unit `query` is not described"]);
    }
}
