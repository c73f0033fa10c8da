//! What many operations have in common as components that they refer to: the document is a fraction
//! of the size.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::responses::is_error;

/// Moves the headers of responses, and the errors that several operations have in the same words,
/// into the components of the document.
pub(super) fn share(document: &mut Value) {
    let mut headers = Parts::new("headers");
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    each_response(document, &mut |_, response| {
        let own = response.get_mut("headers").and_then(Value::as_object_mut);
        for (name, header) in own.into_iter().flatten() {
            *header = headers.reference(name, header.take());
        }
        *counts.entry(response.to_string()).or_default() += 1;
    });
    let mut errors = Parts::new("responses");
    each_response(document, &mut |status, response| {
        let is_shared = counts.get(&response.to_string()).is_some_and(|n| *n > 1);
        if is_shared && is_error(status) {
            *response = errors.reference(&format!("Error{status}"), response.take());
        }
    });
    for parts in [headers, errors] {
        document["components"][parts.kind] = parts.by_name.into();
    }
}

/// Components of one kind.
struct Parts {
    /// Their place below `components`.
    kind: &'static str,
    by_name: Map<String, Value>,
}

impl Parts {
    fn new(kind: &'static str) -> Self {
        Self {
            kind,
            by_name: Map::new(),
        }
    }

    /// A reference to this part. If another one has the name, it gets a number.
    fn reference(&mut self, name: &str, part: Value) -> Value {
        let mut key = name.to_owned();
        let mut number = 1;
        while self.by_name.get(&key).is_some_and(|known| *known != part) {
            number += 1;
            key = format!("{name}-{number}");
        }
        let reference = json!({"$ref": format!("#/components/{}/{key}", self.kind)});
        self.by_name.insert(key, part);
        reference
    }
}

/// Calls `visit` for each response of the document with its status.
fn each_response(document: &mut Value, visit: &mut dyn FnMut(&str, &mut Value)) {
    let paths = document.get_mut("paths").and_then(Value::as_object_mut);
    for (_, methods) in paths.into_iter().flatten() {
        for (_, operation) in methods.as_object_mut().into_iter().flatten() {
            let responses = operation.get_mut("responses");
            let responses = responses.and_then(Value::as_object_mut);
            for (status, response) in responses.into_iter().flatten() {
                visit(status, response);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_parts_are_written_once() {
        let id = json!({"description": "Id", "required": true});
        let other = json!({"description": "Id", "required": false});
        let denied = |header: &Value| json!({"description": "No", "headers": {"X-Id": header}});
        let mut document = json!({"components": {}, "paths": {
            "/a": {"get": {"responses": {"200": denied(&id), "401": denied(&id)}}},
            "/b": {"get": {"responses": {"200": denied(&id), "401": denied(&id)}}},
            "/c": {"get": {"responses": {"401": denied(&other)}}},
        }});
        share(&mut document);
        let responses = |path: &str| &document["paths"][path]["get"]["responses"];
        let shared = json!({"$ref": "#/components/responses/Error401"});
        assert_eq!(responses("/a")["401"], shared);
        assert_eq!(responses("/b")["401"], shared);
        let first = json!({"$ref": "#/components/headers/X-Id"});
        assert_eq!(responses("/a")["200"]["headers"]["X-Id"], first);
        let second = json!({"$ref": "#/components/headers/X-Id-2"});
        assert_eq!(responses("/c")["401"]["headers"]["X-Id"], second);
        let components = &document["components"];
        assert_eq!(components["headers"], json!({"X-Id": id, "X-Id-2": other}));
        let error = json!({"description": "No", "headers": {"X-Id": first}});
        assert_eq!(components["responses"], json!({"Error401": error}));
    }
}
