//! Files of cases: tasks, recorded replies, and what is expected.

use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::provider::{Pool, Reply, Screenshot, Task, WaitFor};

/// URL of a page, with what must survive in a query.
const URL: &str = "https://shop.example/a?b=1&c=2#d";

/// A file of cases.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// Members of all its cases.
    #[serde(default)]
    shared: Map<String, Value>,
    cases: Vec<Value>,
}

/// A conversation, with what is expected of it.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Case {
    pub(super) task: Wanted,
    replies: Vec<Recorded>,
    reply: Option<Recorded>,
    pub(super) requests: Option<Vec<Map<String, Value>>>,
    pub(super) page: Option<Map<String, Value>>,
    pub(super) failure: Option<Map<String, Value>>,
}

/// A task; what is not set is that of a GET request without JavaScript.
#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Wanted {
    url: String,
    method: String,
    headers: Vec<(String, String)>,
    cookies: Vec<(String, String)>,
    body: Body,
    javascript: bool,
    wait_ms: Option<u32>,
    wait_for: Option<Element>,
    script: Option<String>,
    country: Option<String>,
    residential: bool,
    screenshot: Option<Part>,
    time_ms: u32,
    settings: Value,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Element {
    selector: String,
    time_ms: u32,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Part {
    Window,
    FullPage,
}

/// A reply, or several of the same.
#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Recorded {
    status: u16,
    headers: Vec<(String, String)>,
    body: Body,
    elapsed_ms: u32,
    times: usize,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Body {
    Text(String),
    Json(Value),
    Base64(String),
}

/// The cases of a file, each with its place.
///
/// # Panics
/// If the file cannot be read, is not a file of cases, or has none.
pub(super) fn read<C: DeserializeOwned>(path: &Path) -> Vec<(String, C)> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{name}: {error}"));
    let file = serde_json::from_str::<File>(&text);
    let File { shared, cases } = file.unwrap_or_else(|error| panic!("{name}: {error}"));
    assert!(!cases.is_empty(), "{name} has no cases");
    let shared = Value::Object(shared);
    let cases = cases.into_iter().enumerate().map(|(index, own)| {
        let mut case = combined(shared.clone(), own);
        let about = case.as_object_mut().and_then(|case| case.remove("about"));
        let about = about.as_ref().and_then(Value::as_str).unwrap_or_default();
        let place = format!("{name}, case {}: {about}", index + 1);
        let case = serde_json::from_value::<C>(case);
        let case = case.unwrap_or_else(|error| panic!("{place}: {error}"));
        (place, case)
    });
    cases.collect()
}

/// The members of both objects, and in them likewise; elsewhere the case's own value.
fn combined(shared: Value, own: Value) -> Value {
    match (shared, own) {
        (Value::Object(mut shared), Value::Object(own)) => {
            for (name, value) in own {
                let known = shared.remove(&name).unwrap_or_default();
                shared.insert(name, combined(known, value));
            }
            Value::Object(shared)
        }
        (_, own) => own,
    }
}

impl Case {
    /// All replies in order.
    pub(super) fn replies(&self) -> Vec<Reply<'static>> {
        let recorded = self.replies.iter().chain(&self.reply);
        recorded.flat_map(Recorded::replies).collect()
    }
}

impl Wanted {
    /// The task for a service with this base URL.
    pub(super) fn task(&self, base: &str) -> Task {
        Task {
            method: self.method.clone(),
            headers: self.headers.clone(),
            cookies: self.cookies.clone(),
            body: self.body.bytes(),
            javascript: self.javascript,
            wait_ms: self.wait_ms,
            wait_for: self.wait_for.as_ref().map(|wait| WaitFor {
                selector: wait.selector.clone(),
                time_ms: wait.time_ms,
            }),
            script: self.script.clone(),
            country: self.country.clone(),
            pool: if self.residential {
                Pool::Residential
            } else {
                Pool::Standard
            },
            screenshot: self.screenshot.map(|part| match part {
                Part::Window => Screenshot::Window,
                Part::FullPage => Screenshot::FullPage,
            }),
            time_ms: self.time_ms,
            settings: self.settings.to_string(),
            ..Task::new(&self.url, base)
        }
    }
}

impl Recorded {
    /// The reply, as often as it is given.
    pub(super) fn replies(&self) -> Vec<Reply<'static>> {
        let headers = self.headers.iter();
        let reply = Reply {
            status: self.status,
            headers: headers
                .map(|(name, value)| (name.to_lowercase(), value.clone()))
                .collect(),
            body: self.body.bytes().into(),
            elapsed_ms: self.elapsed_ms,
        };
        vec![reply; self.times]
    }
}

impl Body {
    fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Text(text) => text.clone().into_bytes(),
            Self::Json(value) => value.to_string().into_bytes(),
            Self::Base64(text) => STANDARD.decode(text).expect("base64"),
        }
    }
}

impl Default for Wanted {
    fn default() -> Self {
        let task = Task::new(URL, "");
        Self {
            url: task.url,
            method: task.method,
            headers: Vec::new(),
            cookies: Vec::new(),
            body: Body::default(),
            javascript: false,
            wait_ms: None,
            wait_for: None,
            script: None,
            country: None,
            residential: false,
            screenshot: None,
            time_ms: task.time_ms,
            settings: Value::Object(Map::new()),
        }
    }
}

impl Default for Recorded {
    fn default() -> Self {
        Self {
            status: 200,
            headers: Vec::new(),
            body: Body::default(),
            elapsed_ms: 100,
            times: 1,
        }
    }
}

impl Default for Body {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn objects_of_a_case_are_combined_with_the_shared_ones() {
        let shared = json!({"reply": {"status": 400, "headers": [["a", "b"]]}, "failure": {}});
        let own = json!({"reply": {"status": 401, "headers": []}, "failure": null, "page": {}});
        let expected =
            json!({"reply": {"status": 401, "headers": []}, "failure": null, "page": {}});
        assert_eq!(combined(shared.clone(), own), expected);
        let own = json!({"reply": {"body": {"text": "no"}}});
        let expected = json!({
            "reply": {"status": 400, "headers": [["a", "b"]], "body": {"text": "no"}},
            "failure": {},
        });
        assert_eq!(combined(shared, own), expected);
    }

    #[test]
    fn members_with_other_names_are_refused() {
        for case in [
            json!({"failures": {}}),
            json!({"task": {"pool": "residential"}}),
            json!({"reply": {"code": 200}}),
            json!({"reply": {"body": {"xml": ""}}}),
        ] {
            assert!(
                serde_json::from_value::<Case>(case.clone()).is_err(),
                "{case}"
            );
        }
    }
}
