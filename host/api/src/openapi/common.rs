//! What holds for many endpoints at once: the errors of keys and bodies, the forms of requests and answers, the headers.
//! Each endpoint documents what is its own; the rest is written here, once.

use serde_json::{Map, Value, json};

/// Where errors are described.
const ERROR: &str = "#/components/schemas/Error";
/// The object of which requests may send an array. Decision D7.
const BATCHED: &str = "#/components/schemas/ScrapeRequest";
/// What streamed answers are lists of.
const ENTRY: &str = "#/components/schemas/PageEntry";
const JSON: &str = "application/json";
const LINES: &str = "application/jsonl";

/// An error that many endpoints have: status, when it comes, an example of its text.
struct Shared {
    status: &'static str,
    description: &'static str,
    text: &'static str,
}

const OF_A_KEY: [Shared; 2] = [
    Shared {
        status: "401",
        description: "The key is missing or unknown",
        text: "invalid api key",
    },
    Shared {
        status: "503",
        description: "The server is shutting down or has too much to do, see `Retry-After`",
        text: "the server is shutting down",
    },
];

const OF_A_RATE: [Shared; 1] = [Shared {
    status: "429",
    description: "Too many requests, see `Retry-After`",
    text: "slow down",
}];

const OF_A_BODY: [Shared; 4] = [
    Shared {
        status: "400",
        description: "The body or a parameter is wrong; the text begins with its name",
        text: "return_format: unknown format `pdf`; loaded: bytes, html, markdown, text, xml",
    },
    Shared {
        status: "408",
        description: "The body came too slowly",
        text: "the request body came too slowly",
    },
    Shared {
        status: "413",
        description: "The body is too large",
        text: "the request is too large, the limit is 10000000 bytes",
    },
    Shared {
        status: "415",
        description: "The body is not JSON by its `Content-Type`",
        text: "send a JSON body with `Content-Type: application/json`",
    },
];

/// Of requests that cost something and may be repeated.
const OF_WORK: [Shared; 2] = [
    Shared {
        status: "402",
        description: "No money is left",
        text: "balance is zero",
    },
    Shared {
        status: "409",
        description: "The `Idempotency-Key` was used with another request, or its first request is still being served",
        text: "this Idempotency-Key was used with another request",
    },
];

const OF_PARAMETERS: [Shared; 1] = [Shared {
    status: "400",
    description: "A part of the path or of the query is wrong",
    text: "limit: write a number from 1 on",
}];

const OF_ANY: [Shared; 1] = [Shared {
    status: "500",
    description: "A bug; the request was not completed and nothing was charged for what was not delivered",
    text: "internal error, the request was not completed",
}];

/// Completes every operation of the document.
pub(super) fn complete(document: &mut Value) {
    document["servers"] = json!([
        {"url": "/"},
        {"url": "/v1", "description": "The same under its version"},
    ]);
    let schemas = &mut document["components"]["schemas"];
    schemas["Error"] = error_schema();
    // Rows of tables have no name of their kind, and some fit several.
    for place in ["/Row", "/Page_Row/properties/data/items"] {
        if let Some(row) = schemas.pointer_mut(place).and_then(Value::as_object_mut)
            && let Some(forms) = row.remove("oneOf")
        {
            row.insert("anyOf".to_owned(), forms);
        }
    }
    let Some(paths) = document["paths"].as_object_mut() else {
        return;
    };
    for (path, methods) in paths {
        let Some(methods) = methods.as_object_mut() else {
            continue;
        };
        for (method, operation) in methods {
            complete_operation(path, method, operation);
        }
    }
}

/// Decision D4.
fn error_schema() -> Value {
    json!({
        "description": "An error answer.",
        "type": "object",
        "properties": {
            "error": {"type": "string", "description": "What was wrong and what to do"},
            "seats": {"type": "integer", "description": "Unlimited plan: seats of the account"},
            "active": {"type": "integer", "description": "Unlimited plan: requests in flight"},
        },
        "required": ["error"],
        "example": {"error": "slow down"},
    })
}

fn complete_operation(path: &str, method: &str, operation: &mut Value) {
    if method == "get"
        && let Some(operation) = operation.as_object_mut()
    {
        // A path that takes both methods is described once.
        operation.remove("requestBody");
    }
    let is_keyed = operation.get("security").is_some();
    // The operator's own key has no rate.
    let is_limited = operation.pointer("/security/0/key").is_some();
    let has_body = operation.get("requestBody").is_some();
    let is_work = has_body && is_limited && method == "post";
    batch(path, operation);
    // The operator's requests are repeated under ids of their own.
    if is_work {
        idempotency(operation);
    }
    let has_parameters = operation.get("parameters").is_some();
    let responses = operation.pointer_mut("/responses");
    let Some(responses) = responses.and_then(Value::as_object_mut) else {
        return;
    };
    add(responses, &OF_ANY);
    if has_parameters {
        add(responses, &OF_PARAMETERS);
    }
    if is_keyed {
        add(responses, &OF_A_KEY);
    }
    if is_limited {
        add(responses, &OF_A_RATE);
    }
    if has_body {
        add(responses, &OF_A_BODY);
    }
    if is_work {
        add(responses, &OF_WORK);
    }
    for (status, response) in responses {
        let is_error = !status.starts_with('2');
        if is_error && response["content"].is_null() {
            response["content"] = json!({JSON: {"schema": {"$ref": ERROR}}});
        }
        stream(response);
        headers(status, is_limited, response);
    }
}

/// Adds errors that an operation does not describe itself, and an example to those that it describes without one.
fn add(responses: &mut Map<String, Value>, shared: &[Shared]) {
    for error in shared {
        let response = responses
            .entry(error.status)
            .or_insert_with(|| json!({"description": error.description}));
        if response["content"].is_null() {
            let example = json!({"error": error.text});
            response["content"] = json!({JSON: {"schema": {"$ref": ERROR}, "example": example}});
        }
    }
}

/// A request object may also be an array of them, and has an address unless the path says which page.
fn batch(path: &str, operation: &mut Value) {
    let schema = operation.pointer_mut("/requestBody/content/application~1json/schema");
    let Some(schema) = schema else { return };
    if schema.get("$ref").is_none_or(|name| name != BATCHED) {
        return;
    }
    if path.starts_with("/fetch/") || path.ends_with("/resume") {
        return;
    }
    let one = json!({"allOf": [schema.take()], "required": ["url"]});
    *schema = json!({"oneOf": [one, {"type": "array", "items": one, "minItems": 1}]});
}

fn idempotency(operation: &mut Value) {
    let header = json!({
        "name": "Idempotency-Key",
        "in": "header",
        "description": "A repeat of the request under the same key within 24 hours gets the first answer and costs nothing",
        "schema": {"type": "string"},
    });
    match operation
        .pointer_mut("/parameters")
        .and_then(Value::as_array_mut)
    {
        Some(parameters) => parameters.push(header),
        None => operation["parameters"] = json!([header]),
    }
}

/// Lists of entries also come as lines. Decision D2.
fn stream(response: &mut Value) {
    let Some(content) = response
        .pointer_mut("/content")
        .and_then(Value::as_object_mut)
    else {
        return;
    };
    let is_list = content
        .get(JSON)
        .is_some_and(|json| json["schema"]["items"]["$ref"] == ENTRY);
    if is_list {
        let lines = json!({"schema": {
            "type": "string",
            "description": "A `PageEntry` as compact JSON a line, in the order of finishing",
        }});
        content.insert(LINES.to_owned(), lines);
    }
}

/// Decision D4, Decision D5.
fn headers(status: &str, is_limited: bool, response: &mut Value) {
    let number =
        |description: &str| json!({"description": description, "schema": {"type": "integer"}});
    let mut all = Map::new();
    let id = json!({"description": "Names this request", "schema": {"type": "string"}});
    all.insert("X-Request-Id".to_owned(), id);
    if is_limited && !matches!(status, "401" | "503") {
        let limits = [
            ("RateLimit-Limit", "Requests a minute"),
            ("RateLimit-Remaining", "Requests left in this minute"),
            ("RateLimit-Reset", "Seconds until the next minute"),
        ];
        all.extend(limits.map(|(name, text)| (name.to_owned(), number(text))));
    }
    if matches!(status, "429") {
        all.insert("Retry-After".to_owned(), number("Seconds"));
    }
    match response
        .pointer_mut("/headers")
        .and_then(Value::as_object_mut)
    {
        Some(own) => {
            for (name, header) in all {
                own.entry(name).or_insert(header);
            }
        }
        None => response["headers"] = all.into(),
    }
}
