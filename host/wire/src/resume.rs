//! A stored request and the secrets that were not stored with it, put together again.

use serde_json::{Map, Value};

use super::RequestError;
use super::fields::WireError;
use trawl_plan::PlanError;

/// Fields that may hold secrets; only these are taken from what is sent to resume a crawl, so that it stays the crawl it was.
const FIELDS: [&str; 3] = ["headers", "cookies", "router"];

/// The stored request object with the secrets of `sent`. Objects are merged key by key, anything else takes the stored
/// value's place.
///
/// # Errors
/// `sent` is not a JSON object.
pub fn with_secrets(stored: &str, sent: &[u8]) -> Result<String, RequestError> {
    let sent: Value = serde_json::from_slice(sent)
        .map_err(|_| WireError::body("the body is not JSON, send an object with the secrets"))?;
    let Value::Object(mut sent) = sent else {
        return Err(WireError::body("the body is not an object, send one with the secrets").into());
    };
    let mut request: Map<String, Value> = serde_json::from_str(stored)
        .map_err(|_| PlanError::new("id", "the stored request of the crawl is not readable"))?;
    for field in FIELDS {
        match (request.get_mut(field), sent.remove(field)) {
            (_, None | Some(Value::Null)) => {}
            (Some(Value::Object(known)), Some(Value::Object(new))) => known.extend(new),
            (_, Some(new)) => {
                request.insert(field.to_owned(), new);
            }
        }
    }
    Ok(Value::Object(request).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_secrets_are_taken_and_objects_are_merged() {
        let stored = r#"{"url":"a.example","limit":3,"headers":{"Accept":"x"}}"#;
        let sent = br#"{"url":"evil.example","limit":9,"headers":{"Authorization":"Bearer y"},"cookies":"a=b"}"#;
        let whole = with_secrets(stored, sent).expect("an object");
        let whole: Value = serde_json::from_str(&whole).expect("JSON");
        assert_eq!(
            whole,
            serde_json::json!({
                "url": "a.example", "limit": 3, "headers": {"Accept": "x", "Authorization": "Bearer y"}, "cookies": "a=b",
            })
        );
        assert!(with_secrets(stored, b"[]").is_err());
        assert!(with_secrets(stored, b"").is_err());
    }
}
