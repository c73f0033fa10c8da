//! Documentation that many endpoints share: errors of keys and bodies, formats of requests and
//! responses, headers. Each endpoint documents only what is specific to it.

use serde_json::{Map, Value, json};

use super::names::operation_id;

/// Schema of errors.
const ERROR: &str = "#/components/schemas/Error";
/// The request object of which a request may send an array. Decision D7.
const BATCHED: &str = "#/components/schemas/ScrapeRequest";
/// Items of streamed responses.
const ENTRY: &str = "#/components/schemas/PageEntry";
const JSON: &str = "application/json";
const LINES: &str = "application/jsonl";

/// An error that many endpoints share.
struct Shared {
    status: &'static str,
    description: &'static str,
    text: &'static str,
}

/// Errors of endpoints that need a key.
const KEY_ERRORS: [Shared; 2] = [
    Shared {
        status: "401",
        description: "The key is missing or unknown",
        text: "invalid api key",
    },
    Shared {
        status: "503",
        description: "The server is shutting down or overloaded, see `Retry-After`",
        text: "the server is shutting down",
    },
];

/// Errors of endpoints with a rate limit.
const RATE_ERRORS: [Shared; 1] = [Shared {
    status: "429",
    description: "The rate limit, or another limit of the account that the error names, is exceeded, see `Retry-After`",
    text: "slow down",
}];

/// Errors of endpoints with a body.
const BODY_ERRORS: [Shared; 4] = [
    Shared {
        status: "400",
        description: "The body or a parameter is invalid; the error starts with its name",
        text: "return_format: unknown format `pdf`; loaded: bytes, html, markdown, text, xml",
    },
    Shared {
        status: "408",
        description: "The body took too long to arrive",
        text: "timed out reading the request body, send it without pauses",
    },
    Shared {
        status: "413",
        description: "The body is too large",
        text: "the request is too large, the limit is 10000000 bytes",
    },
    Shared {
        status: "415",
        description: "The `Content-Type` is not JSON",
        text: "send a JSON body with `Content-Type: application/json`",
    },
];

/// Errors of requests that cost money and support idempotency keys.
const WORK_ERRORS: [Shared; 3] = [
    Shared {
        status: "402",
        description: "The balance is too low",
        text: "balance is zero",
    },
    Shared {
        status: "409",
        description: "The `Idempotency-Key` was used with another request, or the first request with it is still in progress",
        text: "this Idempotency-Key was used with another request",
    },
    Shared {
        status: "507",
        description: "A crawl or a request with an `Idempotency-Key` needs storage, and the account has stored as much as it may, or the \
            server's disk is nearly full",
        text: "stored_bytes: the account has stored 10737418300 of 10737418240 bytes, see `limits` of `GET /account`: wait until crawls \
            expire 7 days after their end and answers after 24 hours, or ask the operator for more",
    },
];

/// Errors of endpoints with path or query parameters.
const PARAMETER_ERRORS: [Shared; 1] = [Shared {
    status: "400",
    description: "A path or query parameter is invalid",
    text: "limit: must be a positive integer",
}];

/// Errors of all endpoints.
const COMMON_ERRORS: [Shared; 1] = [Shared {
    status: "500",
    description: "Internal error; the request was not completed, and pages that were not delivered are not charged",
    text: "internal error, the request was not completed",
}];

/// Completes every operation of the document.
pub(super) fn complete(document: &mut Value) {
    document["servers"] = json!([
        {"url": "/"},
        {"url": "/v1", "description": "The same endpoints under their version"},
    ]);
    let schemas = &mut document["components"]["schemas"];
    schemas["Error"] = error_schema();
    // Rows carry no discriminator, and some match several schemas.
    for pointer in ["/Row", "/Page_Row/properties/data/items"] {
        if let Some(row) = schemas.pointer_mut(pointer).and_then(Value::as_object_mut)
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

/// The schema of errors. Decision D4.
fn error_schema() -> Value {
    json!({
        "description": "An error.",
        "type": "object",
        "properties": {
            "error": {"type": "string", "description": "What is wrong and what to do"},
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
        // A path with both methods is documented once.
        operation.remove("requestBody");
    }
    operation["operationId"] = operation_id(method, path).into();
    let is_keyed = operation.get("security").is_some();
    // The admin key has no rate limit.
    let is_limited = operation.pointer("/security/0/key").is_some();
    let has_body = operation.get("requestBody").is_some();
    let is_of_account = path.starts_with("/account/");
    let is_work = has_body && is_limited && method == "post" && !is_of_account;
    batch(path, operation);
    // Admin requests have ids of their own.
    if is_work {
        idempotency(operation);
    }
    let has_parameters = operation.get("parameters").is_some();
    let responses = operation.pointer_mut("/responses");
    let Some(responses) = responses.and_then(Value::as_object_mut) else {
        return;
    };
    add(responses, &COMMON_ERRORS);
    if has_parameters {
        add(responses, &PARAMETER_ERRORS);
    }
    if is_keyed {
        add(responses, &KEY_ERRORS);
    }
    if is_limited {
        add(responses, &RATE_ERRORS);
    }
    if has_body {
        add(responses, &BODY_ERRORS);
    }
    if is_work {
        add(responses, &WORK_ERRORS);
    }
    for (status, response) in responses {
        let is_error = !status.starts_with('2');
        if is_error && response["content"].is_null() {
            response["content"] = json!({JSON: {"schema": {"$ref": ERROR}}});
        }
        stream(response);
        headers(status, is_limited, response);
        if is_work && !is_error {
            ignored(response);
        }
    }
}

/// Adds the errors that an operation does not document itself, and examples to those without one.
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

/// Allows an array of request objects, and requires `url` unless the path has it.
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
        "description": "A repeat of the request with the same key within 24 hours returns the first response and costs nothing",
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

/// Documents the JSON lines of responses that are lists of entries. Decision D2.
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
            "description": "One `PageEntry` as compact JSON per line, in the order in which pages finish",
        }});
        content.insert(LINES.to_owned(), lines);
    }
}

/// Documents the headers that are there only if a parameter has no effect. Decision D37.
fn ignored(response: &mut Value) {
    let list = |description: &str| json!({"description": description, "required": false, "schema": {"type": "string"}});
    response["headers"]["X-Ignored-Parameters"] =
        list("Paths of parameters that have no effect on the request, separated by commas");
    response["headers"]["X-Parameter-Hints"] = list(
        "For parameters that are not known, the known one that is closest: `cache.maxAge=cache.max_age`",
    );
}

/// Documents the response headers. Decision D4, Decision D5.
fn headers(status: &str, is_limited: bool, response: &mut Value) {
    let number =
        |description: &str| json!({"description": description, "schema": {"type": "integer"}});
    let mut all = Map::new();
    let id = json!({"description": "Identifies the request", "schema": {"type": "string"}});
    all.insert("X-Request-Id".to_owned(), id);
    if is_limited && !matches!(status, "401" | "503") {
        let limits = [
            ("RateLimit-Limit", "Requests per minute"),
            ("RateLimit-Remaining", "Requests left in the current window"),
            ("RateLimit-Reset", "Seconds until the window resets"),
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
            // What an endpoint declares of its own is there only at times.
            for header in own.values_mut() {
                header["required"] = json!(false);
            }
            for (name, header) in all {
                own.entry(name).or_insert(header);
            }
        }
        None => response["headers"] = all.into(),
    }
}
