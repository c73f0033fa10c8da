//! The events that the server sends, as `webhooks` of the document. Decisions D105 and D461.

use serde_json::{Map, Value, json};

use trawl_crawl::webhooks::{EventField, EventKind, FieldType};

use super::schemas::SCHEMAS;

/// Headers of every event.
const HEADERS: [(&str, &str); 6] = [
    ("X-Trawl-Event", "Name of the event"),
    (
        "X-Trawl-Event-Id",
        "Id of the event, the same for every attempt",
    ),
    (
        "X-Trawl-Signature",
        "`t=` Unix seconds, `,v1=` the HMAC-SHA256 of `<t>.<body>` in hexadecimal; the key is the text of the webhook secret",
    ),
    (
        "webhook-id",
        "Standard Webhooks: id of the event, the same for every attempt",
    ),
    (
        "webhook-timestamp",
        "Standard Webhooks: Unix seconds of the attempt",
    ),
    (
        "webhook-signature",
        "Standard Webhooks: `v1,` and the HMAC-SHA256 of `<id>.<timestamp>.<body>` in base64; the key is what follows `whsec_` in the \
         webhook secret, decoded from base64. For 24 hours after the secret was replaced the signature by the old one follows after a space",
    ),
];

/// Describes the events, their headers and bodies.
pub(super) fn add_webhooks(document: &mut Value) {
    for (name, text) in HEADERS {
        document["components"]["parameters"][name] = json!({
            "name": name,
            "in": "header",
            "description": text,
            "required": true,
            "schema": {"type": "string"},
        });
    }
    for kind in EventKind::ALL {
        let name = schema_name(kind);
        document["webhooks"][kind.name()] = json!({"post": operation(kind, &name)});
        document["components"]["schemas"][name] = schema(kind);
    }
}

/// Name of the schema of a kind's body: `FindMetadataEvent` of `on_find_metadata`.
fn schema_name(kind: EventKind) -> String {
    let words = kind.name().split('_').skip(1);
    let words = words.map(|word| {
        let (first, rest) = word.split_at(1);
        format!("{}{rest}", first.to_ascii_uppercase())
    });
    format!("{}Event", words.collect::<String>())
}

fn operation(kind: EventKind, schema: &str) -> Value {
    let headers =
        HEADERS.map(|(name, _)| json!({"$ref": format!("#/components/parameters/{name}")}));
    json!({
        "operationId": format!("receive_{}", kind.name()),
        "summary": kind.summary(),
        "description": "The server sends the event to the receiver until that acknowledges it, for up to 24 hours, at least once.",
        "security": [],
        "parameters": headers,
        "requestBody": {
            "required": true,
            "content": {"application/json": {"schema": {"$ref": format!("{SCHEMAS}{schema}")}}},
        },
        "responses": {
            "2XX": {"description": "The receiver has the event"},
            "default": {"description": "The event is sent again later"},
        },
    })
}

fn schema(kind: EventKind) -> Value {
    let fields = kind.fields();
    let event = json!({"type": "string", "const": kind.name(), "description": "Name of the event"});
    let mut properties = Map::from_iter([("event".to_owned(), event)]);
    properties.extend(
        fields
            .iter()
            .map(|field| (field.name.to_owned(), value(field))),
    );
    let always = fields.iter().filter(|field| field.is_always);
    let required = std::iter::once("event").chain(always.map(|field| field.name));
    json!({
        "description": kind.summary(),
        "type": "object",
        "properties": properties,
        "required": required.collect::<Vec<_>>(),
    })
}

/// The schema of a field's value.
fn value(field: &EventField) -> Value {
    let mut schema = match field.value {
        FieldType::Text => json!({"type": "string"}),
        FieldType::Integer => json!({"type": "integer"}),
        FieldType::Integers => json!({"type": "array", "items": {"type": "integer"}}),
        FieldType::Texts => json!({"type": "object", "additionalProperties": {"type": "string"}}),
        FieldType::Content => json!({}),
    };
    schema["description"] = field.text.into();
    schema
}
