//! The secrets of a crawl request: left out of the request that is stored, sent again on resume.
//! Decisions D85, D86 and D180.

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use trawl_model::secret::Secret;
use trawl_parameters as parameters;
use trawl_plan::{PagePlan, PlanError, address, credentials};

use super::body::WireError;
use super::error::RequestError;

const AUTHORIZATION: &str = "authorization";
const HEADERS: &str = "headers";
const COOKIES: &str = "cookies";
const ROUTER: &str = "router";
const CREDENTIALS: &str = "credentials";
/// Names under which a webhook's URL is sent.
const WEBHOOKS: [&str; 2] = ["webhooks", "webhook"];
const SITEMAPS: [&str; 2] = ["sitemaps", "sitemap_path"];
const DOMAINS: &str = "external_domains";
const PATTERNS: [&str; 2] = ["whitelist", "blacklist"];

/// Parameters that may hold secrets, by their rows. A resume takes only these from its body, so
/// that the crawl stays the same.
fn fields() -> impl Iterator<Item = &'static str> {
    let rows = parameters::all().filter(|row| row.is_secret);
    rows.map(|row| row.name)
}

/// Those of which nothing is stored. What a browser runs and types may contain a password, so all
/// of it counts as secret; of headers and the router some keys do.
fn whole_fields() -> impl Iterator<Item = &'static str> {
    fields().filter(|field| ![HEADERS, ROUTER].contains(field))
}

/// The request object without its secrets, which must never be stored. Null takes the place of
/// one, so that a resume that lacks it can be refused.
pub(crate) fn without_secrets(object: &RawValue) -> Map<String, Value> {
    let mut request: Map<String, Value> = serde_json::from_str(object.get()).unwrap_or_default();
    for field in whole_fields() {
        blank(&mut request, field);
    }
    if let Some(Value::Object(headers)) = request.get_mut(HEADERS) {
        let names: Vec<String> = headers.keys().cloned().collect();
        let secret = names.iter();
        for name in secret.filter(|name| credentials::is_secret_header(name)) {
            blank(headers, name);
        }
    }
    if let Some(Value::Object(router)) = request.get_mut(ROUTER) {
        blank(router, "token");
        match router.get_mut(CREDENTIALS) {
            Some(Value::Object(keys)) => {
                let names: Vec<String> = keys.keys().cloned().collect();
                names.iter().for_each(|name| blank(keys, name));
            }
            _ => blank(router, CREDENTIALS),
        }
    }
    // Nothing of these is used with a password.
    for field in SITEMAPS {
        clean(&mut request, field, address::shown);
    }
    for field in PATTERNS {
        clean(&mut request, field, address::pattern);
    }
    clean(&mut request, DOMAINS, address::domain);
    request
}

/// Cleans a text, or each of a list.
fn clean(request: &mut Map<String, Value>, field: &str, clean: fn(&str) -> Cow<'_, str>) {
    if let Some(value) = request.get_mut(field) {
        each_text(value, &mut |text| {
            if let Cow::Owned(clean) = clean(text) {
                *text = clean;
            }
        });
    }
}

/// Leaves out the headers and cookies of a request that does not send them.
pub(crate) fn without_credentials(request: &mut Map<String, Value>) {
    request.remove(HEADERS);
    request.remove(COOKIES);
}

/// Refuses seeds with different passwords for a background crawl: on resume there is one
/// `Authorization`, which goes to the origin of every seed.
///
/// # Errors
/// Passwords differ, or only some seeds have one.
pub(crate) fn check_passwords(seeds: &[PagePlan]) -> Result<(), PlanError> {
    let are_same = seeds
        .windows(2)
        .all(|pair| authorization(&pair[0]) == authorization(&pair[1]));
    if are_same {
        return Ok(());
    }
    let reason = "seeds with different passwords cannot be one background crawl: send one request object for each";
    Err(PlanError::new("url", reason))
}

fn authorization(seed: &PagePlan) -> Option<&[u8]> {
    let mut sent = seed.fetch.headers.iter();
    let found = sent.find(|(name, _)| *name == AUTHORIZATION);
    found.map(|(_, value)| value.as_bytes())
}

/// Records that the password of the seed's URL, which is sent as `Authorization`, is not stored.
pub(crate) fn redact_password(request: &mut Map<String, Value>, seed: &PagePlan) {
    if authorization(seed).is_none() {
        return;
    }
    let headers = request.entry(HEADERS).or_insert_with(|| Map::new().into());
    if !headers.is_object() {
        *headers = Map::new().into();
    }
    if let Value::Object(headers) = headers
        && key_of(headers, AUTHORIZATION).is_none()
    {
        headers.insert(AUTHORIZATION.to_owned(), Value::Null);
    }
}

/// Replaces the URLs of webhooks by what may be shown of them.
pub(crate) fn hide_webhooks(request: &mut Map<String, Value>) {
    for field in WEBHOOKS {
        let Some(Value::Object(webhook)) = request.get_mut(field) else {
            continue;
        };
        for name in ["destination", "url"] {
            if let Some(Value::String(url)) = webhook.get_mut(name) {
                let receiver = address::receiver(url);
                *url = receiver.map_or_else(|_| String::new(), |receiver| receiver.to_string());
            }
        }
    }
}

/// Removes the marks of secrets that were left out.
pub(crate) fn without_marks(request: &mut Map<String, Value>) {
    for field in whole_fields() {
        if request.get(field).is_some_and(Value::is_null) {
            request.remove(field);
        }
    }
    let keep = |_: &String, value: &mut Value| !value.is_null();
    if let Some(Value::Object(headers)) = request.get_mut(HEADERS) {
        headers.retain(keep);
    }
    if let Some(Value::Object(router)) = request.get_mut(ROUTER) {
        router.retain(keep);
        if let Some(Value::Object(keys)) = router.get_mut(CREDENTIALS) {
            keys.retain(keep);
            if keys.is_empty() {
                router.remove(CREDENTIALS);
            }
        }
    }
}

/// The secrets that a stored request object waits for: `cookies`, `headers.authorization`,
/// `router.credentials.PROVIDER2_API_KEY`.
pub(crate) fn missing(request: &Map<String, Value>) -> Vec<String> {
    let mut paths = Vec::new();
    for field in fields() {
        match request.get(field) {
            Some(Value::Null) => paths.push(field.to_owned()),
            Some(Value::Object(parts)) if field == HEADERS || field == ROUTER => {
                add_nulls(parts, field, &mut paths);
                if let Some(Value::Object(keys)) = parts.get(CREDENTIALS)
                    && field == ROUTER
                {
                    add_nulls(keys, "router.credentials", &mut paths);
                }
            }
            _ => {}
        }
    }
    paths
}

fn add_nulls(parts: &Map<String, Value>, prefix: &str, paths: &mut Vec<String>) {
    let nulls = parts.iter().filter(|(_, value)| value.is_null());
    paths.extend(nulls.map(|(name, _)| format!("{prefix}.{name}")));
}

/// The stored request object with the secrets of the body `sent`. Objects are merged key by key;
/// any other value replaces the stored one. `needs_secrets`: whether it was stored without some.
///
/// # Errors
/// `sent` is not a JSON object, or lacks a secret that the request was stored without.
pub fn with_secrets(
    stored: &str,
    needs_secrets: bool,
    sent: &[u8],
) -> Result<String, RequestError> {
    let sent: Value = serde_json::from_slice(sent)
        .map_err(|_| WireError::body("the body is not JSON, send an object with the secrets"))?;
    let Value::Object(mut sent) = sent else {
        return Err(WireError::body("the body is not an object, send one with the secrets").into());
    };
    let mut request: Map<String, Value> = serde_json::from_str(stored)
        .map_err(|_| PlanError::new("id", "the stored request of this crawl cannot be read"))?;
    let waited = !missing(&request).is_empty();
    let mut n_sent = 0;
    for field in fields() {
        let Some(new) = sent.remove(field).filter(|value| !is_blank(value)) else {
            continue;
        };
        n_sent += 1;
        match (request.get_mut(field), new) {
            (Some(Value::Object(known)), Value::Object(new)) => merge(known, new),
            (_, new) => {
                request.insert(field.to_owned(), new);
            }
        }
    }
    // A request of an earlier version has no marks: it waits for at least one secret.
    let lacks_all = needs_secrets && !waited && n_sent == 0;
    let missing = missing(&request);
    if let Some(field) = fields().find(|field| {
        let first = missing.first();
        first.is_some_and(|path| path.starts_with(field)) || lacks_all
    }) {
        let names = match missing.as_slice() {
            [] => fields().collect::<Vec<_>>().join("`, `"),
            missing => missing.join("`, `"),
        };
        let reason = format!(
            "the crawl resumes only with the secrets of its request, which are not stored: send `{names}` again"
        );
        return Err(PlanError::new(field, reason).into());
    }
    Ok(Value::Object(request).to_string())
}

/// The secrets of a request object that [`without_secrets`] leaves out, as a JSON object: for as
/// long as its crawl waits in this process. A password of the seeds is among them.
pub(crate) fn secrets_of(object: &str, seeds: &[PagePlan]) -> Secret {
    let mut request: Map<String, Value> = serde_json::from_str(object).unwrap_or_default();
    let fields = fields().filter_map(|field| Some((field.to_owned(), request.remove(field)?)));
    let mut secrets: Map<String, Value> = fields.collect();
    if let Some(password) = seeds.first().and_then(authorization) {
        let headers = secrets.entry(HEADERS);
        let headers = headers.or_insert_with(|| Map::new().into());
        if let Value::Object(headers) = headers
            && key_of(headers, AUTHORIZATION).is_none()
        {
            let password = String::from_utf8_lossy(password);
            headers.insert(AUTHORIZATION.to_owned(), password.into());
        }
    }
    Secret::new(Value::Object(secrets).to_string())
}

/// The secrets of a complete request object, which its crawl was resumed with.
pub fn kept_secrets(request: &str) -> Secret {
    secrets_of(request, &[])
}

/// The stored request object with its secrets, which were kept in this process. What of them is
/// blank is left out.
pub fn with_kept_secrets(stored: &str, secrets: &Secret) -> String {
    let mut request: Map<String, Value> = serde_json::from_str(stored).unwrap_or_default();
    let secrets = serde_json::from_str::<Map<String, Value>>(secrets.expose());
    merge(&mut request, secrets.unwrap_or_default());
    without_marks(&mut request);
    Value::Object(request).to_string()
}

/// Merges objects key by key, names of headers and credentials without regard to case.
fn merge(known: &mut Map<String, Value>, new: Map<String, Value>) {
    // Both may have many names, so none is looked for among all.
    let mut names: HashMap<String, String> = HashMap::with_capacity(known.len());
    for name in known.keys() {
        let same = names.entry(name.to_ascii_lowercase());
        same.or_insert_with(|| name.clone());
    }
    for (name, value) in new.into_iter().filter(|(_, value)| !is_blank(value)) {
        let same = names.insert(name.to_ascii_lowercase(), name.clone());
        if let Some(same) = same.filter(|same| *same != name) {
            known.remove(&same);
        }
        match (known.get_mut(&name), value) {
            (Some(Value::Object(known)), Value::Object(new)) => merge(known, new),
            (_, value) => {
                known.insert(name, value);
            }
        }
    }
}

fn key_of(object: &Map<String, Value>, name: &str) -> Option<String> {
    let mut keys = object.keys();
    keys.find(|key| key.eq_ignore_ascii_case(name)).cloned()
}

/// Puts null in place of a value, or removes it if it says nothing.
fn blank(object: &mut Map<String, Value>, name: &str) {
    match object.get_mut(name) {
        Some(value) if is_blank(value) => {
            object.remove(name);
        }
        Some(value) => *value = Value::Null,
        None => {}
    }
}

/// Whether a value counts as not sent.
fn is_blank(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(parts) => parts.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Calls `change` with the text, or with each of a list.
fn each_text(value: &mut Value, change: &mut dyn FnMut(&mut String)) {
    match value {
        Value::String(text) => change(text),
        Value::Array(items) => items.iter_mut().for_each(|item| each_text(item, change)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn stored(request: &Value) -> Map<String, Value> {
        let text = request.to_string();
        without_secrets(&RawValue::from_string(text).expect("JSON"))
    }

    fn merged(stored: &Value, sent: &Value) -> Result<Value, String> {
        let merged = with_secrets(&stored.to_string(), true, sent.to_string().as_bytes());
        let merged = merged.map_err(|refusal| refusal.to_string())?;
        Ok(serde_json::from_str(&merged).expect("JSON"))
    }

    #[test]
    fn a_stored_request_has_marks_in_place_of_secrets() {
        let request = json!({
            "url": "a.example", "headers": {"Accept": "x", "X-Any": "canary", "X-None": null}, "cookies": "a=canary",
            "router": {"mode": "first", "token": "canary", "credentials": {"KEY": "canary", "NONE": ""}},
            "automation_scripts": {"/": [{"Fill": {"selector": "#p", "value": "canary"}}]},
            "evaluate_on_new_document": "canary()", "execution_scripts": {},
            "sitemaps": ["https://u:canary@a.example/s.xml", "/s.xml"], "sitemap_path": "//u:canary@a.example/",
            "external_domains": ["u:canary@b.example", "https://u:canary@c.example", ".*[.]d[.]example"],
            "whitelist": ["https://u:canary@a.example/[a-z]+", "^https?://[^/]+/x@y"],
            "blacklist": "http://u:canary@a.example/old",
        });
        let stored = stored(&request);
        assert!(!Value::from(stored.clone()).to_string().contains("canary"));
        assert_eq!(
            missing(&stored),
            [
                "headers.X-Any",
                "cookies",
                "router.token",
                "router.credentials.KEY",
                "evaluate_on_new_document",
                "automation_scripts"
            ]
        );
        assert_eq!(
            stored["sitemaps"],
            json!(["https://a.example/s.xml", "/s.xml"])
        );
        assert_eq!(
            stored["external_domains"],
            json!(["b.example", "https://c.example", ".*[.]d[.]example"])
        );
        assert_eq!(
            stored["whitelist"],
            json!(["https://a.example/[a-z]+", "^https?://[^/]+/x@y"])
        );
        assert_eq!(stored["blacklist"], "http://a.example/old");
        let mut shown = stored;
        without_marks(&mut shown);
        assert_eq!(shown["headers"], json!({"Accept": "x"}));
        assert_eq!(shown["router"], json!({"mode": "first"}));
        assert_eq!((shown.get("cookies"), missing(&shown).len()), (None, 0));
    }

    #[test]
    fn only_secrets_are_taken_and_objects_are_merged() {
        let stored = json!({"url": "a.example", "limit": 3, "headers": {"Accept": "x", "Authorization": null},
            "cookies": null, "router": {"mode": "fallback", "credentials": {"KEY": null}}});
        let sent = json!({"url": "evil.example", "limit": 9, "headers": {"authorization": "Bearer y"}, "cookies": "a=b",
            "router": {"credentials": {"KEY": "z"}}});
        assert_eq!(
            merged(&stored, &sent),
            Ok(json!({
                "url": "a.example", "limit": 3, "headers": {"Accept": "x", "authorization": "Bearer y"}, "cookies": "a=b",
                "router": {"mode": "fallback", "credentials": {"KEY": "z"}},
            }))
        );
        let stored = stored.to_string();
        assert!(with_secrets(&stored, true, b"[]").is_err());
        assert!(with_secrets(&stored, true, b"").is_err());
    }

    #[test]
    fn a_request_without_secrets_waits_for_none() {
        let stored = json!({"url": "a.example", "headers": {"Accept": "x"}}).to_string();
        let whole = with_secrets(&stored, false, b"{}").expect("nothing is missing");
        assert_eq!(whole, stored);
        assert!(with_secrets(&stored, false, b"[]").is_err());
    }

    #[test]
    fn a_resume_without_one_of_the_secrets_is_refused() {
        let stored = json!({"headers": {"Authorization": null}, "cookies": null});
        let check = |sent: Value, begin: &str, names: &str| {
            let refusal = merged(&stored, &sent).expect_err("refused");
            assert!(refusal.starts_with(begin), "{refusal}");
            assert!(refusal.contains(names), "{refusal}");
        };
        check(json!({}), "headers: ", "`headers.Authorization`, `cookies`");
        check(
            json!({"cookies": "a=b"}),
            "headers: ",
            "`headers.Authorization`",
        );
        let header = json!({"authorization": "x"});
        check(json!({"headers": header}), "cookies: ", "`cookies`");
        check(
            json!({"headers": header, "cookies": " "}),
            "cookies: ",
            "`cookies`",
        );
        check(
            json!({"headers": header, "cookies": null}),
            "cookies: ",
            "`cookies`",
        );
        let of_an_earlier_version = json!({"url": "a.example"});
        assert!(merged(&of_an_earlier_version, &json!({})).is_err());
        assert!(merged(&of_an_earlier_version, &json!({"cookies": "a=b"})).is_ok());
    }

    #[test]
    fn webhooks_are_shown_without_secrets() {
        let mut request = Map::from_iter([
            (
                "webhooks".to_owned(),
                json!({"destination": "https://u:canary@a.example/x?t=canary", "on_find": true}),
            ),
            (
                "webhook".to_owned(),
                json!({"url": "u:canary@a.example/x?t=canary"}),
            ),
        ]);
        hide_webhooks(&mut request);
        assert_eq!(
            request["webhooks"],
            json!({"destination": "https://a.example/x", "on_find": true})
        );
        assert_eq!(request["webhook"], json!({"url": "https://a.example/x"}));
    }

    #[test]
    fn a_request_is_whole_again_with_the_secrets_that_were_kept() {
        let request = json!({
            "url": "http://a.example", "headers": {"Accept": "x", "X-Any": "canary", "X-None": null, "Authorization": ""},
            "cookies": "a=canary", "limit": 3,
            "router": {"mode": "first", "token": "canary", "credentials": {"KEY": "canary", "NONE": ""}},
            "automation_scripts": {"/": [{"Fill": {"selector": "#p", "value": "canary"}}]},
            "evaluate_on_new_document": "canary()", "execution_scripts": {},
        });
        let secrets = secrets_of(&request.to_string(), &[]);
        let stored = Value::Object(stored(&request));
        assert!(!stored.to_string().contains("canary"));
        let whole = with_kept_secrets(&stored.to_string(), &secrets);
        let whole: Value = serde_json::from_str(&whole).expect("JSON");
        let mut expected = request.clone();
        expected["headers"] = json!({"Accept": "x", "X-Any": "canary"});
        expected["router"]["credentials"] = json!({"KEY": "canary"});
        let scripts = expected.as_object_mut().expect("an object");
        scripts.remove("execution_scripts");
        assert_eq!(whole, expected);
    }

    #[test]
    fn many_names_are_merged_without_looking_for_each_among_all() {
        let names = |prefix: &str| -> Value {
            let names = (0..100_000).map(|n| (format!("{prefix}{n}"), json!("1")));
            names.collect::<Map<_, _>>().into()
        };
        let (stored, sent) = (
            json!({"headers": names("X-")}),
            json!({"headers": names("x-")}),
        );
        // In a moment: all pairs would take minutes.
        let whole = merged(&stored, &sent).expect("nothing is missing");
        assert_eq!(whole, sent);
    }
}
