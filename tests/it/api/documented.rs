//! Every documented operation responds as documented, with and without `/v1`.

use serde_json::{Value, json};

use super::{Api, Operation};

/// A validator for a schema of the document, with the components it refers to.
fn validator(document: &Value, schema: &Value) -> jsonschema::Validator {
    let mut whole = schema.clone();
    whole["components"] = document["components"].clone();
    jsonschema::validator_for(&whole).expect("a JSON Schema")
}

/// How a value violates a schema of the document.
fn violations(document: &Value, schema: &Value, value: &Value) -> Vec<String> {
    let validator = validator(document, schema);
    let errors = validator.iter_errors(value);
    errors
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect()
}

/// Checks a response against the description of its operation.
fn check(api: &Api, operation: &Operation<'_>, answer: &trawl_tests::Answer) {
    let name = operation.name();
    let body = String::from_utf8_lossy(&answer.body);
    let description = &operation.description["responses"][answer.status.to_string()];
    let description = api.resolved(description);
    assert!(
        description.is_object(),
        "{name} responded with {} {body}",
        answer.status
    );
    let media_type = answer.header("content-type");
    let media_type = media_type.split(';').next().unwrap_or_default();
    let content = &description["content"][media_type];
    assert!(content.is_object(), "{name} responded with {media_type}");
    if media_type == "application/json" {
        let value: Value = serde_json::from_slice(&answer.body).expect("JSON");
        let violations = violations(&api.document, &content["schema"], &value);
        assert!(violations.is_empty(), "{name}: {violations:?} in {body}");
    }
    for (header, described) in description["headers"].as_object().into_iter().flatten() {
        if api.resolved(described)["required"] == json!(false) {
            continue;
        }
        assert!(!answer.header(header).is_empty(), "{name} has no {header}");
    }
}

/// The status of an operation called with its example, for the first time or again.
fn expected(operation: &Operation<'_>, is_repeat: bool) -> u16 {
    if is_repeat && operation.path.ends_with("/admin/accounts") && operation.has_body() {
        // The first request created the account.
        return 409;
    }
    let is_deletion = operation.method == reqwest::Method::DELETE;
    if is_repeat && is_deletion && operation.path.contains("/keys/") {
        // The first request revoked the key.
        return 404;
    }
    let responses = operation.description["responses"]
        .as_object()
        .expect("responses");
    let success = responses.keys().find(|status| status.starts_with('2'));
    match success {
        // No search service is configured.
        _ if operation.path.ends_with("/search") => 501,
        // The crawl or batch of the example has ended, so it cannot be resumed.
        _ if operation.path.ends_with("/resume") && operation.names_run() => 409,
        Some(status) => status.parse().expect("a status"),
        None if operation.path.contains("/ai/") => 402,
        None => 501,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_operation_responds_as_documented() {
    let api = Api::start().await;
    // Deletions come last, and the seats are suspended before they are resumed.
    let mut operations = api.operations();
    operations.sort_by_key(|operation| match operation.path.rsplit('/').next() {
        _ if operation.method == reqwest::Method::DELETE => 3,
        Some("suspend") => 0,
        Some("resume") => 1,
        _ => 2,
    });
    for operation in &operations {
        for (operation, is_repeat) in [(operation.versioned(), false), (operation.plain(), true)] {
            let body = match operation.example(&api.document) {
                Some(example) => example.to_string(),
                None => {
                    assert!(!operation.has_body(), "{} has no example", operation.name());
                    String::new()
                }
            };
            let answer = api.send(&operation, &[], body).await;
            let expected = expected(&operation, is_repeat);
            let text = String::from_utf8_lossy(&answer.body);
            assert_eq!(answer.status, expected, "{}: {text}", operation.name());
            check(&api, &operation, &answer);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn examples_match_their_schemas() {
    let api = Api::start().await;
    let document = &api.document;
    let mut n_examples = 0;
    let schemas = document["components"]["schemas"]
        .as_object()
        .expect("schemas");
    for (name, schema) in schemas {
        if let Some(example) = schema.get("example") {
            n_examples += 1;
            let violations = violations(document, schema, example);
            assert!(violations.is_empty(), "{name}: {violations:?}");
        }
    }
    for operation in api.operations() {
        let contents = operation.description["responses"]
            .as_object()
            .expect("responses");
        let answers = contents
            .values()
            .map(|response| &api.resolved(response)["content"]["application/json"]);
        let request = &operation.description["requestBody"]["content"]["application/json"];
        for content in answers.chain([request]) {
            if let Some(example) = content.get("example") {
                n_examples += 1;
                let violations = violations(document, &content["schema"], example);
                assert!(
                    violations.is_empty(),
                    "{}: {violations:?}",
                    operation.name()
                );
            }
        }
    }
    assert!(n_examples > 100, "{n_examples} examples");
}

#[tokio::test(flavor = "multi_thread")]
async fn examples_use_only_the_sample_site() {
    let api = Api::start().await;
    let mut n_examples = 0;
    for operation in api.operations() {
        let Some(example) = operation.example(&api.document) else {
            continue;
        };
        n_examples += 1;
        let text = example.to_string();
        // Uploaded pages and the destination of alerts are not fetched.
        let is_fetched = !["/transform", "/notices"]
            .iter()
            .any(|end| operation.path.ends_with(end));
        let addresses = text.matches("http://").count() + text.matches("https://").count();
        let of_sample = text.matches("http://sample.trawl.test/").count();
        assert!(
            !is_fetched || addresses == of_sample,
            "{}: {text}",
            operation.name()
        );
    }
    assert!(n_examples > 10, "{n_examples} examples");
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_of_entries_are_available_as_jsonl() {
    let api = Api::start().await;
    let mut n_checked = 0;
    for operation in api.operations() {
        let content = &operation.description["responses"]["200"]["content"];
        let schema = &content["application/json"]["schema"];
        let names = [&schema["items"]["$ref"], &schema["$ref"]];
        let names = names.map(|name| name.as_str().unwrap_or_default());
        let has_entries =
            |name: &str| name.ends_with("/PageEntry") || name.ends_with("/CrawlAnswer");
        if !content["application/jsonl"].is_object() || !names.into_iter().any(has_entries) {
            continue;
        }
        let body = operation
            .example(&api.document)
            .cloned()
            .unwrap_or(json!(null));
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let answer = api
            .send(&operation, &[("accept", "application/jsonl")], body)
            .await;
        assert_eq!(answer.status, 200, "{}", operation.name());
        assert_eq!(answer.header("content-type"), "application/jsonl");
        let schema = match operation.path.rsplit('/').next() {
            Some("statement") => "StatementEntry",
            Some("skipped") => "Skipped",
            _ => "PageEntry",
        };
        let entry = json!({"$ref": format!("#/components/schemas/{schema}")});
        for line in answer.lines() {
            let violations = violations(&api.document, &entry, &line);
            assert!(
                violations.is_empty(),
                "{}: {violations:?}",
                operation.name()
            );
        }
        n_checked += 1;
    }
    assert!(n_checked >= 9, "{n_checked} operations");
}
