//! Collected data by source.

use serde_json::{Map, Value};

/// Variable names of Redux states.
const REDUX_NAMES: [&str; 12] = [
    "__PRELOADED_STATE__",
    "__REDUX_STATE__",
    "__INITIAL_STATE__",
    "__INITIAL_REDUX_STATE__",
    "__REDUX_INITIAL_STATE__",
    "__INITIAL_DATA__",
    "__STATE__",
    "REDUX_STATE",
    "PRELOADED_STATE",
    "INITIAL_STATE",
    "preloadedState",
    "initialState",
];

/// Variable names of framework states, with their sources.
const STATE_NAMES: [(&str, &str); 7] = [
    ("__NEXT_DATA__", "next_data"),
    ("__NUXT__", "nuxt"),
    ("__APOLLO_STATE__", "apollo_state"),
    ("__APOLLO_CLIENT_STATE__", "apollo_state"),
    ("APOLLO_STATE", "apollo_state"),
    ("__remixContext", "remix"),
    ("__reactRouterContext", "remix"),
];

/// Collected data by source.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    found: Map<String, Value>,
}

impl Sources {
    /// Stores a value by variable name: a framework state under its source, anything else in
    /// `window_state`.
    pub(crate) fn set_state(&mut self, name: &str, value: Value) {
        let (root, property) = match name.split_once('.') {
            Some((root, property)) => (root, Some(property)),
            None => (name, None),
        };
        match (source_of(root), property) {
            (Some(source), None) => self.set_source(source, name, value),
            (Some(source), Some(property)) => self.set_in(source, property, value),
            (None, _) => self.set_in("window_state", name, value),
        }
    }

    /// Stores a state by script id; `false` if no framework uses the id.
    pub(crate) fn set_by_id(&mut self, id: &str, value: &mut Value) -> bool {
        let source = source_of(id);
        if let Some(source) = source {
            self.set_source(source, id, value.take());
        }
        source.is_some()
    }

    /// Another state of the same kind is stored under its own name; parts of one state are merged.
    fn set_source(&mut self, source: &'static str, name: &str, value: Value) {
        match (self.found.get_mut(source), value) {
            (None, value) => {
                self.found.insert(source.to_owned(), value);
            }
            (Some(Value::Object(old)), Value::Object(new)) if source != "redux_state" => {
                old.extend(new);
            }
            (Some(_), value) => self.set_in("window_state", name, value),
        }
    }

    /// Sets a key in the source's object.
    pub(crate) fn set_in(&mut self, source: &str, key: &str, value: Value) {
        if let Value::Object(map) = self.object(source) {
            map.insert(key.to_owned(), value);
        }
    }

    /// Appends to a list in the source's object.
    pub(crate) fn push_in(&mut self, source: &str, key: &str, value: Value) {
        if let Value::Object(map) = self.object(source)
            && let Value::Array(list) = map.entry(key).or_insert_with(|| Value::Array(Vec::new()))
        {
            list.push(value);
        }
    }

    fn object(&mut self, source: &str) -> &mut Value {
        let empty = || Value::Object(Map::new());
        self.found.entry(source).or_insert_with(empty)
    }

    /// Appends to the source's list.
    pub(crate) fn push(&mut self, source: &str, value: Value) {
        let empty = || Value::Array(Vec::new());
        if let Value::Array(list) = self.found.entry(source).or_insert_with(empty) {
            list.push(value);
        }
    }

    /// Stores a list as a source, unless it is empty.
    pub(crate) fn set_list(&mut self, source: &str, values: Vec<Value>) {
        if !values.is_empty() {
            self.found.insert(source.to_owned(), Value::Array(values));
        }
    }

    /// Stores an object as a source, unless it is empty.
    pub(crate) fn set_object(&mut self, source: &str, values: Map<String, Value>) {
        if !values.is_empty() {
            self.found.insert(source.to_owned(), Value::Object(values));
        }
    }

    /// Returns all sources.
    pub(crate) fn finish(self) -> Map<String, Value> {
        self.found
    }
}

fn source_of(name: &str) -> Option<&'static str> {
    if REDUX_NAMES.contains(&name) {
        return Some("redux_state");
    }
    let known = STATE_NAMES.iter().find(|(known, _)| *known == name);
    known
        .map(|(_, source)| *source)
        .or_else(|| name.starts_with("__sveltekit_").then_some("sveltekit"))
}
