//! Runs an adapter on recorded conversations that stand in files.

mod actual;
mod recorded;
mod searches;

use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::Conversation;
use super::conversation::converse;
use crate::provider::{Credential, Description, MEMO_BYTES_MAX, Provider, Request, USD};
use recorded::{Case, read};

pub use searches::check_searches;

/// Runs an adapter on the cases of a folder: what it sends, and what it makes of the replies.
///
/// The folder has `.json` files only. Each is an object of `cases`, a list, and of `shared`:
/// members of all its cases. Objects in both are combined; where both have a value, the case's
/// counts. A case has:
///
/// - `about`: a few words
/// - `task`: `url`, `method`, `headers`, `cookies`, `body`, `javascript`, `wait_ms`, `wait_for`,
///   `script`, `country`, `residential`, `screenshot` (`window` or `full_page`), `time_ms`,
///   `settings`; by default a GET request without JavaScript
/// - `replies` in order, and `reply`, the last one: `status` (200 by default), `headers`, `body`,
///   `elapsed_ms` (100), `times` (1)
/// - `requests`: the expected ones, with `method`, `url`, `query` (null for a parameter that is
///   not sent), `headers`, `credentials`, `body`, `time_ms`, `delay_ms`, `memo`, `on_cancel`
/// - `page` or `failure`: the members of [`Page`](crate::provider::Page) with the content as
///   `body`, or of [`Failure`](crate::provider::Failure); without either, the conversation ends
///   with a request
///
/// Headers and cookies are lists of names and values. A body is `{"text": …}`, `{"json": …}` or
/// `{"base64": …}`, or `"reply"` for a page that is the body of the reply. A credential is
/// `{"bearer": NAME}`, `{"basic": [USER, PASSWORD]}`, `{"query": [PARAMETER, NAME]}` or
/// `{"header": [HEADER, NAME]}`; a cost is
/// `{"charged": "yes", "reported": true, "units": {"credit": "5"}}`. What a case does not name may
/// have any value.
///
/// # Panics
/// If a case differs, with all that do; if a file is not of this form; if there are no cases.
pub fn check_cases<P: Provider>(folder: impl AsRef<Path>) {
    let description = P::describe();
    check_folder(folder.as_ref(), |case| differences::<P>(case, &description));
}

/// Checks each case of a folder with a function that says what is wrong with it.
fn check_folder<C: DeserializeOwned>(folder: &Path, differences: impl Fn(&C) -> Vec<String>) {
    let mut wrong = Vec::new();
    for path in files(folder) {
        for (place, case) in read::<C>(&path) {
            let found = differences(&case).into_iter();
            wrong.extend(found.map(|one| format!("{place}: {one}")));
        }
    }
    let n_wrong = wrong.len();
    assert!(wrong.is_empty(), "{n_wrong} wrong:\n{}", wrong.join("\n"));
}

/// The case files of a folder, in order. Another file may be one whose name is misspelled.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("cannot list `{}`: {error}", folder.display()));
    let paths = entries.map(|entry| entry.expect("a file of the folder").path());
    let mut files: Vec<_> = paths.collect();
    files.sort();
    for file in &files {
        let is_json = file.extension().is_some_and(|end| end == "json");
        assert!(is_json, "`{}` is no file of cases", file.display());
    }
    assert!(!files.is_empty(), "`{}` has no cases", folder.display());
    files
}

/// What is wrong with a conversation, one sentence each.
fn differences<P: Provider>(case: &Case, description: &Description) -> Vec<String> {
    let replies = case.replies();
    let talk = converse::<P>(&case.task.task(&description.base), &replies);
    let mut wrong = refusals(&talk, description);
    if talk.outcome.is_some() && talk.exchanges.len() != replies.len() {
        let n_requests = talk.exchanges.len();
        wrong.push(format!("{n_requests} requests, {} replies", replies.len()));
    }
    if let Some(expected) = &case.requests {
        let n_requests = talk.exchanges.len();
        if expected.len() != n_requests {
            wrong.push(format!("{n_requests} requests, not {}", expected.len()));
        }
        for (number, (expected, exchange)) in expected.iter().zip(&talk.exchanges).enumerate() {
            let place = format!("request {}", number + 1);
            wrong.extend(unmet(&place, expected, &actual::exchange(exchange)));
        }
    }
    match (&talk.outcome, &case.page, &case.failure) {
        (Some(Ok(page)), Some(expected), None) => {
            wrong.extend(unmet("page", expected, &actual::page(page)));
        }
        (Some(Err(failure)), None, Some(expected)) => {
            wrong.extend(unmet("failure", expected, &actual::failure(failure)));
        }
        (None, None, None) if case.requests.is_some() => {}
        (None, None, None) => wrong.push("it expects nothing".to_owned()),
        (outcome, ..) => wrong.push(format!("it ends with {outcome:?}")),
    }
    wrong
}

/// The expected members that the actual object does not have.
fn unmet(place: &str, expected: &Map<String, Value>, actual: &Value) -> Vec<String> {
    let wrong = expected
        .iter()
        .filter(|(name, value)| !is_met(name, value, actual.get(name.as_str())));
    let line = |(name, value): (&String, &Value)| {
        let actual = actual.get(name.as_str());
        let actual = actual.map_or_else(|| "missing".to_owned(), Value::to_string);
        format!("{place}: `{name}` is {actual}, not {value}")
    };
    wrong.map(line).collect()
}

/// Whether a member is as expected. Of bodies, costs, queries and requests on cancellation, only
/// the members that are expected count.
fn is_met(name: &str, expected: &Value, actual: Option<&Value>) -> bool {
    match (name, expected, actual) {
        ("query", Value::Object(expected), Some(Value::Object(actual))) => {
            let mut expected = expected.iter();
            // A parameter that is not sent is null.
            expected.all(|(name, value)| actual.get(name).unwrap_or(&Value::Null) == value)
        }
        ("body" | "cost" | "on_cancel", Value::Object(expected), Some(Value::Object(actual))) => {
            let mut expected = expected.iter();
            expected.all(|(name, value)| is_met(name, value, actual.get(name)))
        }
        _ => actual == Some(expected),
    }
}

/// What the server would refuse, whatever the case expects.
fn refusals(talk: &Conversation, description: &Description) -> Vec<String> {
    let mut wrong = Vec::new();
    for exchange in &talk.exchanges {
        if exchange.memo.len() > MEMO_BYTES_MAX {
            wrong.push(format!("a memo of {} bytes", exchange.memo.len()));
        }
        let requests = [Some(&exchange.request), exchange.on_cancel.as_ref()];
        for request in requests.into_iter().flatten() {
            wrong.extend(refusal(request, description));
        }
    }
    let cost = match &talk.outcome {
        Some(Ok(page)) => Some(&page.cost),
        Some(Err(failure)) => Some(&failure.cost),
        None => None,
    };
    for quantity in cost.into_iter().flat_map(|cost| &cost.quantities) {
        if quantity.unit != USD && !description.units.contains(&quantity.unit) {
            wrong.push(format!("the unit `{}` is not described", quantity.unit));
        }
    }
    wrong
}

/// Why the server would refuse a request by the description of its adapter.
fn refusal(request: &Request, description: &Description) -> Option<String> {
    let Ok(url) = url::Url::parse(&request.url) else {
        return Some(format!("`{}` is not a URL", request.url));
    };
    let host = url.host_str().unwrap_or_default();
    let is_granted = |known: &String| known.split(':').next() == Some(host);
    if !description.hosts.iter().any(is_granted) {
        return Some(format!("the host `{host}` is not described"));
    }
    let names = request.credentials.iter().flat_map(names);
    let mut unknown = names.filter(|name| !description.credentials.contains(name));
    let name = unknown.next()?;
    Some(format!("the credential `{name}` is not described"))
}

fn names(credential: &Credential) -> Vec<&String> {
    match credential {
        Credential::Query(_, name) | Credential::Header(_, name) | Credential::Bearer(name) => {
            vec![name]
        }
        Credential::Basic(user, password) => user.iter().chain(password).collect(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::provider::{Class, Cost, Failure, Page, Reply, Step, Task};

    struct Acme;

    impl Provider for Acme {
        type Settings = ();

        fn describe() -> Description {
            Description::new("acme", "1.0.0", "Acme", "https://api.acme.example")
                .credentials(&["ACME_KEY"])
                .hosts(&["api.acme.example"])
                .units(&["credit"])
        }

        fn start(task: &Task, (): ()) -> Result<Step, Failure> {
            let request = Request::new(&task.method, task.at("/v1")).bearer("ACME_KEY");
            Ok(request
                .query("url", &task.url)
                .body(task.body.clone())
                .send())
        }

        fn resume(task: &Task, (): (), _memo: &[u8], reply: &Reply<'_>) -> Result<Step, Failure> {
            match reply.status {
                200 => {
                    let cost = Cost::reported_or_unknown("credit", reply.header("x-cost"));
                    Ok(Page::of_reply(task).cost(cost).done())
                }
                202 => Ok(Request::get("https://jobs.acme.example/1").send()),
                status => Err(Failure::of_reply(Class::of_status(status), reply)),
            }
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
    fn requests_are_compared() {
        let case = |request: Value| {
            let task = json!({"method": "POST", "body": {"json": {"a": 1}}});
            json!({"task": task, "requests": [request]})
        };
        check(case(json!({
            "method": "POST", "credentials": [{"bearer": "ACME_KEY"}], "body": {"json": {"a": 1}},
            "query": {"url": "https://shop.example/a?b=1&c=2#d", "render": null},
            "headers": [], "delay_ms": 0, "on_cancel": null,
        })));
        check(case(
            json!({"body": {"text": "{\"a\":1}", "base64": "eyJhIjoxfQ=="}}),
        ));
        check_not(case(json!({"method": "GET"})), "`method` is \"POST\"");
        check_not(case(json!({"query": {"url": "x"}})), "`query` is");
        check_not(case(json!({"query": {"render": "true"}})), "`query` is");
        check_not(case(json!({"body": {"json": {"a": 2}}})), "`body` is");
        check_not(case(json!({"heders": null})), "`heders` is missing");
        check_not(case(json!({"on_cancel": {}})), "`on_cancel` is null");
        check(case(json!({"memo": null})));
        check_not(json!({"requests": []}), "1 requests, not 0");
        check_not(json!({}), "expects nothing");
    }

    #[test]
    fn pages_are_compared() {
        let case = |page: Value| {
            let reply = json!({"headers": [["X-Cost", "1.5"]], "body": {"text": "hello"}});
            json!({"reply": reply, "page": page})
        };
        let cost = json!({"charged": "yes", "reported": true, "units": {"credit": "1.5"}});
        check(case(
            json!({"body": "reply", "variant": "plain", "cost": cost}),
        ));
        check_not(case(json!({"body": {"text": "hello"}})), "`body` is");
        check_not(case(json!({"body": {}})), "`body` is");
        check_not(case(json!({"cost": {"units": {"credit": "1"}}})), "1.5");
        check_not(case(json!({"cost": {"unit": null}})), "`cost` is");
        check_not(json!({"reply": {}, "failure": {}}), "it ends with Some(Ok(");
        check_not(
            json!({"reply": {"times": 2}, "page": {}}),
            "1 requests, 2 replies",
        );
    }

    #[test]
    fn failures_are_compared() {
        let reply = json!({"status": 402, "headers": [["Retry-After", "7"]]});
        let case = |failure: Value| json!({"reply": reply, "failure": failure});
        let cost = json!({"charged": "no", "reported": false, "units": {}});
        check(case(
            json!({"class": "no_credit", "retry_after": 7, "cost": cost}),
        ));
        check_not(
            case(json!({"class": "bad_key"})),
            "`class` is \"no_credit\"",
        );
        check_not(case(json!({"cost": {"charged": "yes"}})), "`cost` is");
    }

    #[test]
    #[should_panic(expected = "is no file of cases")]
    fn a_file_with_another_name_is_refused() {
        files(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src")));
    }

    #[test]
    #[should_panic(expected = " wrong:\n")]
    fn a_case_that_differs_fails() {
        let of_another = "/../providers/provider-9/cases";
        check_cases::<Acme>(format!("{}{of_another}", env!("CARGO_MANIFEST_DIR")));
    }

    #[test]
    fn what_is_not_described_is_refused() {
        let case = json!({"reply": {"status": 202}, "requests": [{}, {}]});
        check_not(case, "`jobs.acme.example` is not described");
        let refused = |request: Request| refusal(&request, &Acme::describe()).unwrap_or_default();
        let request = Request::get("https://api.acme.example/v1");
        assert_eq!(refused(request.clone().bearer("ACME_KEY")), "");
        assert!(refused(request.bearer("OTHER_KEY")).contains("credential `OTHER_KEY`"));
        assert!(refused(Request::get("/v1")).contains("`/v1` is not a URL"));
    }

    #[test]
    fn units_and_memos_have_bounds() {
        let reply = json!({"headers": [["X-Cost", "1"]]});
        let case: Case =
            serde_json::from_value(json!({"reply": reply, "page": {}})).expect("a case");
        let description = Acme::describe().units(&["page"]);
        let found = differences::<Acme>(&case, &description);
        assert_eq!(found, ["the unit `credit` is not described"]);
        let talk = |n_bytes: usize| {
            let request = Request::get("https://api.acme.example/v1");
            let Step::Send(exchange) = request.send_with(vec![b'm'; n_bytes]) else {
                panic!("it is sent");
            };
            Conversation {
                exchanges: vec![*exchange],
                outcome: None,
            }
        };
        let refused = |n_bytes| refusals(&talk(n_bytes), &Acme::describe());
        assert_eq!(refused(MEMO_BYTES_MAX), Vec::<String>::new());
        assert_eq!(refused(MEMO_BYTES_MAX + 1).len(), 1);
    }
}
