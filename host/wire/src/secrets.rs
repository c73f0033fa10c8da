//! The secrets of a crawl request: removed before the request is stored, merged in again on resume.

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use trawl_plan::{PagePlan, PlanError, credentials};

use super::error::RequestError;
use super::fields::WireError;

/// Fields that may hold secrets. A resume takes only these from its body, so that the crawl stays
/// the same.
const FIELDS: [&str; 3] = ["headers", "cookies", "router"];

/// The request object without secrets, which must never be stored, and whether it had any. Decision
/// D85.
pub(crate) fn without_secrets(object: &RawValue) -> (Map<String, Value>, bool) {
    let mut request: Map<String, Value> = serde_json::from_str(object.get()).unwrap_or_default();
    let mut had_secrets = remove(&mut request, "cookies");
    if let Some(Value::Object(headers)) = request.get_mut("headers") {
        let secret: Vec<String> = headers
            .keys()
            .filter(|name| credentials::is_secret_header(name))
            .cloned()
            .collect();
        for name in secret {
            had_secrets |= remove(headers, &name);
        }
    }
    if let Some(Value::Object(router)) = request.get_mut("router") {
        had_secrets |= remove(router, "token");
        had_secrets |= remove(router, "credentials");
    }
    (request, had_secrets)
}

/// The seed's URL without user name and password, and whether it had any.
pub(crate) fn without_password(page: &PagePlan) -> (String, bool) {
    let url = &page.url;
    if url.password().is_none() && url.username().is_empty() {
        return (page.requested.clone(), false);
    }
    let mut url = url.clone();
    // These fail only for URLs without a host, which have neither.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    (url.into(), true)
}

/// Whether the field was there and not null.
fn remove(object: &mut Map<String, Value>, name: &str) -> bool {
    object.remove(name).is_some_and(|value| !value.is_null())
}

/// The stored request object with the secrets of the body `sent`. Objects are merged key by key;
/// any other value replaces the stored one.
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
        .map_err(|_| PlanError::new("id", "the stored request of this crawl cannot be read"))?;
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
        let merged = with_secrets(stored, sent).expect("an object");
        let merged: Value = serde_json::from_str(&merged).expect("JSON");
        assert_eq!(
            merged,
            serde_json::json!({
                "url": "a.example", "limit": 3, "headers": {"Accept": "x", "Authorization": "Bearer y"}, "cookies": "a=b",
            })
        );
        assert!(with_secrets(stored, b"[]").is_err());
        assert!(with_secrets(stored, b"").is_err());
    }
}
