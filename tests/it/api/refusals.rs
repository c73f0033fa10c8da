//! Every endpoint with every kind of invalid request. Decision D4.

use reqwest::Method;
use serde_json::{Map, Value, json};
use trawl_tests::Answer;

use super::{Api, Operation};

/// Checks that a response is an error with this status in the common form.
fn assert_error(name: &str, answer: &Answer, status: u16) -> String {
    let body = String::from_utf8_lossy(&answer.body);
    assert_eq!(answer.status, status, "{name}: {body}");
    assert_eq!(answer.header("content-type"), "application/json", "{name}");
    assert!(!answer.header("x-request-id").is_empty(), "{name}");
    let json = answer.json();
    let error = json["error"].as_str().unwrap_or_default();
    assert!(!error.is_empty(), "{name}: {body}");
    // A client would mistake such an object for a page.
    assert!(
        json.get("url").is_none() || json.get("status").is_none(),
        "{name}"
    );
    error.to_owned()
}

/// Operations that need a key, with and without `/v1`.
fn keyed<'a>(operations: &'a [Operation<'a>]) -> impl Iterator<Item = Operation<'a>> {
    let both = operations
        .iter()
        .flat_map(|one| [one.plain(), one.versioned()]);
    both.filter(|operation| operation.key().is_some())
}

/// Operations with a JSON object as their required body.
fn with_bodies<'a>(operations: &'a [Operation<'a>]) -> impl Iterator<Item = Operation<'a>> {
    keyed(operations).filter(Operation::has_body)
}

fn may_be_empty(operation: &Operation<'_>) -> bool {
    ["/fetch/", "/admin/", "/account/"]
        .iter()
        .any(|part| operation.path.contains(part))
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_are_checked_before_anything_else() {
    let api = Api::start().await;
    let operations = api.operations();
    let mut n_keyed = 0;
    for operation in keyed(&operations) {
        n_keyed += 1;
        let name = operation.name();
        let without = api.app.with_key("");
        let bad = [
            "",
            "Bearer",
            "Bearer wrong",
            "wrong",
            "Basic eDp5",
            "Bearer tr_\u{e4}",
        ];
        let send = |headers: Vec<(&'static str, &'static str)>| {
            let (method, path, without) =
                (operation.method.clone(), operation.path.clone(), &without);
            async move {
                without
                    .send(method, &path, &headers, "{}".to_owned())
                    .await
                    .expect("an answer")
            }
        };
        let mut answers = vec![send(Vec::new()).await];
        for key in bad {
            answers.push(send(vec![("authorization", key)]).await);
        }
        for answer in answers {
            assert_eq!(assert_error(&name, &answer, 401), "invalid api key");
            assert_eq!(answer.header("www-authenticate"), "Bearer", "{name}");
        }
    }
    assert!(n_keyed > 40, "{n_keyed} operations");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_key_is_no_admin_key_and_needs_no_bearer() {
    let api = Api::start().await;
    let operations = api.operations();
    for operation in keyed(&operations) {
        let body = operation
            .example(&api.document)
            .map(Value::to_string)
            .unwrap_or_default();
        let (path, method) = (&operation.path, operation.method.clone());
        if operation.key() == Some("admin") {
            let answer = api.app.send(method, path, &[], body).await;
            assert_error(&operation.name(), &answer.expect("an answer"), 401);
        } else {
            let bare = [("authorization", api.app.key.as_str())];
            let answer = api
                .app
                .send(method, path, &bare, body)
                .await
                .expect("an answer");
            assert_ne!(answer.status, 401, "{}", operation.name());
            for header in ["ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"] {
                let number = answer.header(header).parse::<u64>();
                assert!(number.is_ok(), "{} has no {header}", operation.name());
            }
            for header in ["ratelimit-policy", "ratelimit"] {
                let is_named = answer.header(header).starts_with("\"minute\";");
                assert!(is_named, "{} has no {header}", operation.name());
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_methods_are_405() {
    let api = Api::start().await;
    let operations = api.operations();
    for operation in operations.iter().chain(
        &operations
            .iter()
            .map(Operation::versioned)
            .collect::<Vec<_>>(),
    ) {
        let description = |method: &str| {
            let all = operations
                .iter()
                .filter(|one| operation.path.ends_with(&one.path));
            all.clone().any(|one| one.method == method)
        };
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
            if description(method) {
                continue;
            }
            let method: Method = method.parse().expect("a method");
            let caller = api.caller(operation);
            let answer = caller
                .send(method.clone(), &operation.path, &[], "{}".to_owned())
                .await;
            let answer = answer.expect("an answer");
            let error = assert_error(&format!("{method} {}", operation.path), &answer, 405);
            let served = operation.method.as_str();
            assert!(
                answer.header("allow").contains(served) && error.contains(served),
                "{}: {error}",
                operation.name()
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_other_than_json_objects_are_refused() {
    let api = Api::start().await;
    let operations = api.operations();
    // Smaller than the lowest limit on bodies.
    let deep = "[".repeat(50_000);
    let deep_field = format!(
        "{{\"metadata\":{}1{}}}",
        "{\"a\":".repeat(5_000),
        "}".repeat(5_000)
    );
    for operation in with_bodies(&operations) {
        let name = operation.name();
        for media_type in [
            "text/plain",
            "application/x-www-form-urlencoded",
            "multipart/form-data",
            "",
            "json",
        ] {
            let answer = api
                .send(&operation, &[("content-type", media_type)], "{}".to_owned())
                .await;
            assert_error(&name, &answer, 415);
        }
        let broken = [
            "{",
            "nope",
            "3",
            "null",
            "\"x\"",
            "[3]",
            "[[]]",
            "{\"url\":}",
            "{'url':1}",
            "{\"url\":NaN}",
            "{\"url\":\"a\"}x",
            &deep,
            &deep_field,
        ];
        for body in broken {
            let answer = api.send(&operation, &[], body.to_owned()).await;
            let error = assert_error(&name, &answer, 400);
            assert!(error.len() < 500, "{name}: {error}");
        }
        if !may_be_empty(&operation) {
            for body in ["", "   ", "{}"] {
                let answer = api.send(&operation, &[], body.to_owned()).await;
                // No field is required to resume; this run has ended, so it cannot be resumed.
                let is_complete = operation.path.ends_with("/resume");
                assert_error(&name, &answer, if is_complete { 409 } else { 400 });
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_over_the_limit_are_refused_and_the_connection_survives() {
    let api = Api::start().await;
    let operations = api.operations();
    for operation in with_bodies(&operations).filter(|operation| !operation.path.starts_with("/v1"))
    {
        let has_long_bodies =
            ["/transform", "/pipeline/crawl-text"].contains(&operation.path.as_str());
        let bytes_max = if has_long_bodies {
            64_000_000
        } else {
            10_000_000
        };
        let body = format!("{{\"x\":\"{}\"}}", "y".repeat(bytes_max + 1 - 8));
        assert_eq!(body.len(), bytes_max + 1);
        let answer = api.send(&operation, &[], body).await;
        assert_error(&operation.name(), &answer, 413);
        let health = api.app.get("/data/credits").await;
        assert_eq!(health.status, 200);
    }
}

/// The properties of an operation's request object, with their schemas.
fn properties<'a>(api: &'a Api, operation: &Operation<'a>) -> Map<String, Value> {
    let mut schema = &operation.description["requestBody"]["content"]["application/json"]["schema"];
    if schema["oneOf"].is_array() {
        schema = &schema["oneOf"][0];
    }
    let properties = resolved(api, schema)["properties"].as_object();
    let properties = properties.cloned().unwrap_or_default().into_iter();
    let known = properties.map(|(name, schema)| (name, one_form(api, &schema)));
    known.collect()
}

/// The schema that a reference leads to, or the schema itself.
fn resolved<'a>(api: &'a Api, schema: &'a Value) -> &'a Value {
    let name = schema["$ref"].as_str().unwrap_or_default();
    match name.strip_prefix('#') {
        Some(pointer) => api.document.pointer(pointer).expect("a schema"),
        None => schema,
    }
}

/// The only form of a value other than null, if it has one form only.
fn one_form(api: &Api, schema: &Value) -> Value {
    let forms = schema["oneOf"].as_array().into_iter().flatten();
    let forms: Vec<_> = forms.filter(|form| form["type"] != "null").collect();
    match forms.as_slice() {
        [one] => resolved(api, one).clone(),
        _ => schema.clone(),
    }
}

/// Values that are invalid for a property, by its documented type.
fn wrong_values(schema: &Value) -> &'static [&'static str] {
    let types = &schema["type"];
    let is = |name: &str| {
        types == name
            || types
                .as_array()
                .is_some_and(|types| types.contains(&json!(name)))
    };
    if is("boolean") {
        &["[]", "{}", "\"x\"", "[true]"]
    } else if is("integer") || is("number") {
        &[
            "[]",
            "{}",
            "\"x\"",
            "-1",
            "1e400",
            "-1e400",
            "99999999999999999999999999999999999999999999",
            "1.5e300",
        ]
    } else if is("string") {
        &["[]", "{}", "[\"x\"]", "[1]"]
    } else if is("object") {
        &["3", "\"x\"", "[3]", "true"]
    } else if is("array") {
        &["{}", "[{}]", "[[3]]", "[{\"a\":[]}]"]
    } else {
        &[]
    }
}

/// The example of an operation with one field set to this JSON text.
fn with_field(example: &Value, field: &str, value: &str) -> String {
    let mut object = example.as_object().cloned().unwrap_or_default();
    object.remove(field);
    let rest = Value::Object(object).to_string();
    let rest = rest.trim_start_matches('{');
    let comma = if rest == "}" { "" } else { "," };
    format!("{{{}:{value}{comma}{rest}", json!(field))
}

#[tokio::test(flavor = "multi_thread")]
async fn fields_of_a_wrong_type_are_named() {
    let api = Api::start().await;
    let operations = api.operations();
    let mut n_wrong = 0;
    for operation in with_bodies(&operations) {
        // The crawl or batch cannot be resumed, whatever is sent.
        if operation.path.ends_with("/resume") {
            continue;
        }
        let example = operation.example(&api.document).expect("an example");
        for (field, schema) in properties(&api, &operation) {
            for value in wrong_values(&schema) {
                let answer = api
                    .send(&operation, &[], with_field(example, &field, value))
                    .await;
                let name = format!("{} {field}: {value}", operation.name());
                // The URL in the path replaces a field `url`.
                if operation.path.contains("/fetch/") && field == "url" {
                    continue;
                }
                let error = assert_error(&name, &answer, 400);
                assert!(error.contains(&field), "{name}: {error}");
                n_wrong += 1;
            }
        }
    }
    assert!(n_wrong > 1_500, "{n_wrong} wrong values");
}

#[tokio::test(flavor = "multi_thread")]
async fn nulls_count_as_absent_and_unknown_fields_are_named() {
    let api = Api::start().await;
    let operations = api.operations();
    for operation in with_bodies(&operations) {
        // Requests that change settings are strict: a misspelt parameter would change another
        // setting.
        let is_strict = ["/admin/", "/account/"]
            .iter()
            .any(|part| operation.path.contains(part));
        // No search service is configured, and the crawl or batch cannot be resumed.
        let has_no_answer = ["/search", "/resume"]
            .iter()
            .any(|end| operation.path.ends_with(end));
        if is_strict || has_no_answer {
            continue;
        }
        let name = operation.name();
        let example = operation.example(&api.document).expect("an example");
        let mut object = example.as_object().cloned().expect("an object");
        for (field, _) in properties(&api, &operation) {
            object.entry(field).or_insert(Value::Null);
        }
        let answer = api
            .send(&operation, &[], Value::Object(object).to_string())
            .await;
        let text = String::from_utf8_lossy(&answer.body);
        assert_eq!(answer.status, 200, "{name}: {text}");
        assert_eq!(answer.header("x-ignored-parameters"), "", "{name}");

        let unknown = with_field(example, "no_such_parameter", "{\"a\":[1]}");
        let answer = api.send(&operation, &[], unknown).await;
        assert_eq!(answer.status, 200, "{name}");
        assert_eq!(
            answer.header("x-ignored-parameters"),
            "no_such_parameter",
            "{name}"
        );

        let field = example
            .as_object()
            .and_then(|object| object.keys().next())
            .expect("a field");
        let text = example.to_string();
        let twice = format!(
            "{{{}:{},{}",
            json!(field),
            example[field],
            text.trim_start_matches('{')
        );
        let answer = api.send(&operation, &[], twice).await;
        let error = assert_error(&name, &answer, 400);
        assert!(
            error.contains(&format!("duplicate field `{field}`")),
            "{name}: {error}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_queries_and_paths_are_refused_in_the_same_form() {
    let api = Api::start().await;
    let operations = api.operations();
    let mut n_asked = 0;
    for operation in keyed(&operations).filter(|operation| !operation.has_body()) {
        let caller = api.caller(&operation);
        let parameters = operation.description["parameters"].as_array();
        let of_query = parameters
            .into_iter()
            .flatten()
            .map(|one| api.resolved(one));
        for parameter in of_query.filter(|parameter| parameter["in"] == "query") {
            let name = parameter["name"].as_str().expect("a name");
            let path = format!("{}?{name}=1&{name}=2", operation.path);
            let sent = caller.send(operation.method.clone(), &path, &[], String::new());
            assert_error(&path, &sent.await.expect("an answer"), 400);
            n_asked += 1;
        }
    }
    assert!(n_asked > 20, "{n_asked} parameters");
    for path in ["/crawl/%FF", "/data/%FF", "/v1/crawl/%FF/pages"] {
        let answer = api.app.get(path).await;
        assert_error(path, &answer, 400);
    }
    let answer = api.operator.get("/admin/accounts/%FF").await;
    assert_error("/admin/accounts/%FF", &answer, 400);
}
