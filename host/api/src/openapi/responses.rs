//! Responses that many endpoints share: their errors, each with an example, and their headers.

use serde_json::{Map, Value, json};

use super::operation::Operation;
use crate::http::error::{INTERNAL, KEY_HAS_BUDGET, NO_BATCH, NO_CRAWL, SHUTTING_DOWN};
use crate::http::problem::PROBLEM;

const JSON: &str = "application/json";
/// Schema of errors.
const ERROR: &str = "#/components/schemas/Error";
/// Schema of errors as problem details.
const PROBLEM_ERROR: &str = "#/components/schemas/Problem";

/// An error that many endpoints share.
struct Shared {
    status: &'static str,
    description: &'static str,
    text: &'static str,
}

const fn shared(status: &'static str, description: &'static str, text: &'static str) -> Shared {
    Shared {
        status,
        description,
        text,
    }
}

/// Errors of all endpoints.
const COMMON: [Shared; 2] = [
    shared(
        "405",
        "The path supports only the methods in `Allow`",
        "this endpoint does not support this method: use GET",
    ),
    shared(
        "500",
        "Internal error; the request was not completed, and pages that were not delivered are not charged",
        INTERNAL,
    ),
];

/// Errors of endpoints that are closed while the server shuts down.
const CLOSING: [Shared; 1] = [shared(
    "503",
    "The server is shutting down or overloaded, see `Retry-After`",
    SHUTTING_DOWN,
)];

/// Errors of endpoints that need a key.
const KEYED: [Shared; 1] = [shared(
    "401",
    "The key is missing or unknown",
    "invalid api key",
)];

/// Errors of endpoints that need the admin key.
const OF_OPERATOR: [Shared; 1] = [shared(
    "401",
    "The admin key is missing or wrong",
    "invalid api key",
)];

/// Errors of endpoints whose path names an account.
const OF_ACCOUNT: [Shared; 1] = [shared(
    "404",
    "There is no such account",
    "there is no account `x`: `trawl account list` shows all accounts",
)];

/// Errors of endpoints that change the account of their key.
const CHANGES_ACCOUNT: [Shared; 1] = [shared(
    "403",
    "The key of the request has a budget; it may only revoke itself",
    KEY_HAS_BUDGET,
)];

/// Errors of endpoints whose path names a crawl.
const OF_CRAWL: [Shared; 1] = [shared("404", "The account has no such crawl", NO_CRAWL)];

/// Errors of endpoints whose path names a batch.
const OF_BATCH: [Shared; 1] = [shared("404", "The account has no such batch", NO_BATCH)];

/// Errors of endpoints with a rate limit.
const LIMITED: [Shared; 1] = [shared(
    "429",
    "The rate limit, or another limit of the account that the error names, is exceeded, see `Retry-After`",
    "slow down",
)];

/// Errors of endpoints with a body.
const WITH_BODY: [Shared; 4] = [
    shared(
        "400",
        "The body or a parameter is invalid; the error starts with its name",
        "return_format: unknown format `pdf`; loaded: bytes, html, markdown, text, xml",
    ),
    shared(
        "408",
        "The body took too long to arrive",
        "timed out reading the request body, send it without pauses",
    ),
    shared(
        "413",
        "The body is too large",
        "the request is too large, the limit is 10000000 bytes: split it",
    ),
    shared(
        "415",
        "The `Content-Type` is not JSON",
        "send a JSON body with `Content-Type: application/json`",
    ),
];

/// Errors of requests that cost money and support idempotency keys.
const WORK: [Shared; 3] = [
    shared(
        "402",
        "The balance is too low, or the budget of the key is used up; `hint` says what to do",
        "balance is zero",
    ),
    shared(
        "409",
        "The `Idempotency-Key` was used with another request, or the first request with it is still in progress",
        "this Idempotency-Key was used with another request: send a new one",
    ),
    shared(
        "507",
        "A crawl or a request with an `Idempotency-Key` needs storage, and the account has stored as much as it may, or the \
            server's disk is nearly full",
        "stored_bytes: the account has stored 10737418300 of 10737418240 bytes, see `limits` of `GET /account`: wait until crawls \
            expire 7 days after their end and answers after 24 hours, or ask the operator for more",
    ),
];

/// Errors of pipelines, whose plugins an operator may leave out.
const PIPELINE: [Shared; 1] = [shared(
    "501",
    "The plugin of this pipeline is not loaded",
    "this server does not offer this endpoint: its plugin `label` is not loaded: the operator adds it to `plugins.toml`",
)];

/// Errors of endpoints with path, query or header parameters.
const WITH_PARAMETERS: [Shared; 1] = [shared(
    "400",
    "A path or query parameter is invalid",
    "limit: must be an integer from 1 to 1000; a larger one counts as 1000",
)];

/// Adds the errors that an operation does not document itself, and an example to each.
pub(super) fn add_errors(operation: &Operation<'_>, responses: &mut Map<String, Value>) {
    let lists: [(bool, &[Shared]); 13] = [
        (true, &COMMON),
        (!operation.is_monitoring(), &CLOSING),
        (operation.has_parameters, &WITH_PARAMETERS),
        (operation.is_of_operator(), &OF_OPERATOR),
        (operation.is_keyed, &KEYED),
        (operation.names_account(), &OF_ACCOUNT),
        (operation.changes_account(), &CHANGES_ACCOUNT),
        (operation.names_crawl(), &OF_CRAWL),
        (operation.names_batch(), &OF_BATCH),
        (operation.is_limited, &LIMITED),
        (operation.has_body, &WITH_BODY),
        (operation.is_work(), &WORK),
        (operation.is_pipeline(), &PIPELINE),
    ];
    let lists = lists.iter().filter(|(has_it, _)| *has_it);
    for error in lists.flat_map(|(_, errors)| *errors) {
        let response = responses
            .entry(error.status)
            .or_insert_with(|| json!({"description": error.description}));
        if response["content"].is_null() {
            let example = json!({"error": error.text});
            response["content"] = json!({JSON: {"schema": {"$ref": ERROR}, "example": example}});
        }
    }
    let errors = responses.iter_mut().filter(|(status, _)| is_error(status));
    for (_, response) in errors {
        // A report, such as that of `/health`, has another schema.
        if response["content"][JSON]["schema"]["$ref"] == ERROR {
            response["content"][PROBLEM] = json!({"schema": {"$ref": PROBLEM_ERROR}});
        }
    }
}

/// The schema of errors. Decision D4.
pub(super) fn error_schema() -> Value {
    json!({
        "description": "An error.",
        "type": "object",
        "properties": {
            "error": {"type": "string", "description": "What is wrong and what to do"},
            "hint": {"type": "string", "description": "With a 401 what is wrong with the key, with a 402 what to do"},
            "cause": {"type": "string", "description": "Of a page whose content alone was asked for: the name of the cause"},
            "seats": {"type": "integer", "description": "Unlimited plan: seats of the account"},
            "active": {"type": "integer", "description": "Unlimited plan: requests in flight"},
        },
        "required": ["error"],
        "example": {"error": "slow down"},
    })
}

/// The schema of errors as problem details: the members of an error, and those of RFC 9457.
/// Decision D462.
pub(super) fn problem_schema() -> Value {
    let mut schema = error_schema();
    schema["description"] =
        "An error as problem details (RFC 9457), where `Accept` names `application/problem+json`."
            .into();
    let properties = &mut schema["properties"];
    for (name, kind, text) in [
        ("type", "string", "Always `about:blank`"),
        ("title", "string", "The words of the status"),
        ("status", "integer", "The status of the response"),
        ("detail", "string", "The same as `error`"),
    ] {
        properties[name] = json!({"type": kind, "description": text});
    }
    schema["required"] = json!(["error", "type", "title", "status", "detail"]);
    schema["example"] = json!({
        "error": "slow down", "type": "about:blank", "title": "Too Many Requests", "status": 429,
        "detail": "slow down",
    });
    schema
}

/// Documents the headers of a response: those that are always there and those that are at times.
/// Decisions D4, D5, D37, D72 and D97.
pub(super) fn add_headers(operation: &Operation<'_>, status: &str, response: &mut Value) {
    let mut headers = Headers(Map::new());
    headers.always("X-Request-Id", "string", "Identifies the request");
    if operation.is_limited && status != "401" {
        // Outside of what counts requests there are none.
        let is_always = !matches!(status, "500" | "503") && !operation.takes_admin_key;
        headers.add_rate_limit(is_always);
    }
    if operation.is_deprecated {
        let text = "Since when the endpoint is deprecated, as `@` and seconds since 1970";
        headers.always("Deprecation", "string", text);
        headers.always("Link", "string", "The endpoint that replaces it");
    }
    let is_report = operation.is_monitoring() && status == "503";
    match status {
        "401" => headers.always("WWW-Authenticate", "string", "`Bearer`"),
        "405" => headers.always("Allow", "string", "The methods of the path"),
        "429" | "503" if !is_report => {
            headers.always(
                "Retry-After",
                "integer",
                "Seconds until another try is useful",
            );
        }
        _ => {}
    }
    let is_success = !is_error(status);
    if operation.is_unlimited() && (is_success || status == "429") {
        let text = "Requests of the account in flight, including this one if it was accepted";
        headers.always("X-Concurrency-Limit", "integer", "Seats of the account");
        headers.always("X-Concurrency-Active", "integer", text);
    }
    if operation.is_work() && is_success {
        let text = "Paths of parameters that have no effect on the request, separated by commas";
        headers.sometimes("X-Ignored-Parameters", text);
        let text = "For parameters that are not known, the known one that is closest: `cache.maxAge=cache.max_age`";
        headers.sometimes("X-Parameter-Hints", text);
        let text = "`true`: the response repeats that to an earlier request with the same `Idempotency-Key`";
        headers.sometimes("Idempotency-Replayed", text);
    }
    if operation.starts_crawls() && is_success {
        let text =
            "Ids of the crawls that the request started, separated by commas, or of the batch";
        headers.sometimes("X-Crawl-Id", text);
    }
    headers.add_to(response);
}

/// Headers of a response.
struct Headers(Map<String, Value>);

impl Headers {
    fn always(&mut self, name: &str, kind: &str, text: &str) {
        self.add(name, kind, text, true);
    }

    fn sometimes(&mut self, name: &str, text: &str) {
        self.add(name, "string", text, false);
    }

    fn add(&mut self, name: &str, kind: &str, text: &str, is_always: bool) {
        let header = json!({"description": text, "required": is_always, "schema": {"type": kind}});
        self.0.insert(name.to_owned(), header);
    }

    /// The rate limit as three numbers and as structured fields. Decisions D5 and D460.
    fn add_rate_limit(&mut self, is_always: bool) {
        for (name, text) in [
            ("RateLimit-Limit", "Requests per minute"),
            ("RateLimit-Remaining", "Requests left in the current window"),
            ("RateLimit-Reset", "Seconds until the window resets"),
        ] {
            self.add(name, "integer", text, is_always);
        }
        for (name, text) in [
            (
                "RateLimit-Policy",
                "The limit as a structured field, with its window in seconds: `\"minute\";q=10000;w=60`",
            ),
            (
                "RateLimit",
                "The requests left and the seconds until more are, as a structured field: `\"minute\";r=9999;t=60`",
            ),
        ] {
            self.add(name, "string", text, is_always);
        }
    }

    /// Adds them to those that the endpoint documents itself, which are there at times.
    fn add_to(self, response: &mut Value) {
        if !response["headers"].is_object() {
            response["headers"] = json!({});
        }
        if let Some(own) = response["headers"].as_object_mut() {
            for header in own.values_mut() {
                header["required"] = json!(false);
            }
            for (name, header) in self.0 {
                own.entry(name).or_insert(header);
            }
        }
    }
}

/// Whether a status is an error's.
pub(super) fn is_error(status: &str) -> bool {
    status.starts_with(['4', '5'])
}
