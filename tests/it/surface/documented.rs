//! Every documented operation answers as documented, with and without `/v1`.

use serde_json::{Value, json};

use super::{Operation, Surface};

/// A schema of the document that stands by itself.
fn validator(document: &Value, schema: &Value) -> jsonschema::Validator {
    let mut whole = schema.clone();
    whole["components"] = document["components"].clone();
    jsonschema::validator_for(&whole).expect("a JSON Schema")
}

/// What is wrong with a value by a schema of the document.
fn misfits(document: &Value, schema: &Value, value: &Value) -> Vec<String> {
    let validator = validator(document, schema);
    let errors = validator.iter_errors(value);
    errors
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect()
}

/// Checks an answer against the description of its operation.
fn check(surface: &Surface, operation: &Operation<'_>, answer: &trawl_tests::Answer) {
    let name = operation.name();
    let body = String::from_utf8_lossy(&answer.body);
    let described = &operation.described["responses"][answer.status.to_string()];
    assert!(
        described.is_object(),
        "{name} answered {} {body}",
        answer.status
    );
    let media_type = answer.header("content-type");
    let media_type = media_type.split(';').next().unwrap_or_default();
    let content = &described["content"][media_type];
    assert!(content.is_object(), "{name} answered {media_type}");
    if media_type == "application/json" {
        let value: Value = serde_json::from_slice(&answer.body).expect("JSON");
        let misfits = misfits(&surface.document, &content["schema"], &value);
        assert!(misfits.is_empty(), "{name}: {misfits:?} in {body}");
    }
    for header in described["headers"].as_object().into_iter().flatten() {
        assert!(
            !answer.header(header.0).is_empty(),
            "{name} has no {}",
            header.0
        );
    }
}

/// The status with which an operation answers its example, the first time or when it is repeated.
fn expected(operation: &Operation<'_>, is_repeat: bool) -> u16 {
    if is_repeat && operation.path.ends_with("/admin/accounts") && operation.has_body() {
        // The first request has created the account.
        return 409;
    }
    if is_repeat && operation.path.contains("/keys/") {
        // The first request has revoked the key.
        return 404;
    }
    let responses = operation.described["responses"]
        .as_object()
        .expect("responses");
    let success = responses.keys().find(|status| status.starts_with('2'));
    match success {
        // The crawl of the example has ended, so it cannot be resumed.
        _ if operation.path.ends_with("/resume") && operation.path.contains("/crawl/") => 409,
        Some(status) => status.parse().expect("a status"),
        None if operation.path.contains("/ai/") => 402,
        None => 501,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_documented_operation_answers_as_documented() {
    let surface = Surface::start().await;
    // Deletions come last, and the seats are suspended before they are resumed.
    let mut operations = surface.operations();
    operations.sort_by_key(|operation| match operation.path.rsplit('/').next() {
        _ if operation.method == reqwest::Method::DELETE => 3,
        Some("suspend") => 0,
        Some("resume") => 1,
        _ => 2,
    });
    for operation in &operations {
        for (operation, is_repeat) in [(operation.versioned(), false), (operation.plain(), true)] {
            let body = match operation.example(&surface.document) {
                Some(example) => example.to_string(),
                None => {
                    assert!(!operation.has_body(), "{} has no example", operation.name());
                    String::new()
                }
            };
            let answer = surface.send(&operation, &[], body).await;
            let expected = expected(&operation, is_repeat);
            let text = String::from_utf8_lossy(&answer.body);
            assert_eq!(answer.status, expected, "{}: {text}", operation.name());
            check(&surface, &operation, &answer);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn examples_fit_their_schemas() {
    let surface = Surface::start().await;
    let document = &surface.document;
    let mut n_examples = 0;
    let schemas = document["components"]["schemas"]
        .as_object()
        .expect("schemas");
    for (name, schema) in schemas {
        if let Some(example) = schema.get("example") {
            n_examples += 1;
            let misfits = misfits(document, schema, example);
            assert!(misfits.is_empty(), "{name}: {misfits:?}");
        }
    }
    for operation in surface.operations() {
        let contents = operation.described["responses"]
            .as_object()
            .expect("responses");
        let answers = contents
            .values()
            .map(|response| &response["content"]["application/json"]);
        let request = &operation.described["requestBody"]["content"]["application/json"];
        for content in answers.chain([request]) {
            if let Some(example) = content.get("example") {
                n_examples += 1;
                let misfits = misfits(document, &content["schema"], example);
                assert!(misfits.is_empty(), "{}: {misfits:?}", operation.name());
            }
        }
    }
    assert!(n_examples > 100, "{n_examples} examples");
}

#[tokio::test(flavor = "multi_thread")]
async fn examples_ask_for_nothing_but_the_sample_site() {
    let surface = Surface::start().await;
    for operation in surface.operations() {
        let Some(example) = operation.example(&surface.document) else {
            continue;
        };
        let text = example.to_string();
        // What is handed in, and who is told, is not fetched.
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
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_of_entries_also_come_as_lines() {
    let surface = Surface::start().await;
    let mut n_checked = 0;
    for operation in surface.operations() {
        let content = &operation.described["responses"]["200"]["content"];
        if !content["application/jsonl"].is_object() {
            continue;
        }
        let body = operation
            .example(&surface.document)
            .cloned()
            .unwrap_or(json!(null));
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let answer = surface
            .send(&operation, &[("accept", "application/jsonl")], body)
            .await;
        assert_eq!(answer.status, 200, "{}", operation.name());
        assert_eq!(answer.header("content-type"), "application/jsonl");
        let entry = json!({"$ref": "#/components/schemas/PageEntry"});
        for line in answer.lines() {
            let misfits = misfits(&surface.document, &entry, &line);
            assert!(misfits.is_empty(), "{}: {misfits:?}", operation.name());
        }
        n_checked += 1;
    }
    assert!(n_checked >= 9, "{n_checked} operations");
}
