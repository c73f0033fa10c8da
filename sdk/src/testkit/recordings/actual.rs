//! What an adapter did, in the form in which cases expect it.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::provider::{
    Charged, Content, Cost, Credential, Exchange, Failure, Page, Request, base64,
};
use crate::search::{Hit, Results};

/// Billionths of one unit.
const BILLION: u64 = 1_000_000_000;

/// A request with its delay, its memo and what is sent on cancellation.
pub(super) fn exchange(exchange: &Exchange) -> Value {
    let mut sent = request(&exchange.request);
    sent["delay_ms"] = exchange.delay_ms.into();
    sent["memo"] = memo(&exchange.memo);
    sent["on_cancel"] = exchange.on_cancel.as_ref().map(request).into();
    sent
}

/// A memo: what its JSON says, else its text; null if it is empty.
fn memo(memo: &[u8]) -> Value {
    if memo.is_empty() {
        return Value::Null;
    }
    let text = || String::from_utf8_lossy(memo).into();
    serde_json::from_slice(memo).unwrap_or_else(|_| text())
}

/// A request.
pub(super) fn request(request: &Request) -> Value {
    let url = url::Url::parse(&request.url).ok();
    let query: BTreeMap<String, String> = url
        .iter()
        .flat_map(|url| url.query_pairs().into_owned())
        .collect();
    let credentials = request.credentials.iter().map(credential);
    json!({
        "method": request.method,
        "url": request.url,
        "query": query,
        "headers": request.headers,
        "credentials": credentials.collect::<Value>(),
        "body": {
            "text": String::from_utf8_lossy(&request.body),
            "json": request.body_json(),
            "base64": base64(&request.body),
        },
        "time_ms": request.time_ms,
    })
}

fn credential(credential: &Credential) -> Value {
    match credential {
        Credential::Query(parameter, name) => json!({"query": [parameter, name]}),
        Credential::Header(header, name) => json!({"header": [header, name]}),
        Credential::Bearer(name) => json!({"bearer": name}),
        Credential::Basic(user, password) => json!({"basic": [user, password]}),
    }
}

/// A page.
pub(super) fn page(page: &Page) -> Value {
    let body = match &page.content {
        Content::Reply => json!("reply"),
        Content::Bytes(bytes) => json!({"base64": base64(bytes)}),
        Content::Text(text) => json!({"text": text}),
    };
    json!({
        "body": body,
        "status": page.status,
        "url": page.url,
        "headers": page.headers,
        "cookies": page.cookies,
        "content_type": page.content_type,
        "rendered": page.rendered,
        "variant": page.variant,
        "request_id": page.request_id,
        "screenshot": page.screenshot.as_ref().map(base64),
        "cost": cost(&page.cost),
    })
}

/// A failure.
pub(super) fn failure(failure: &Failure) -> Value {
    json!({
        "class": failure.class.name(),
        "message": failure.message,
        "code": failure.code,
        "target_status": failure.target_status,
        "retry_after": failure.retry_after,
        "retryable": failure.retryable,
        "request_id": failure.request_id,
        "cost": cost(&failure.cost),
    })
}

/// The results of a search. What a result does not have is left out.
pub(super) fn results(results: &Results) -> Value {
    let hit = |hit: &Hit| {
        let mut members = json!({"url": hit.url, "title": hit.title});
        let snippet = Some(&hit.snippet).filter(|snippet| !snippet.is_empty());
        let optional = [
            ("snippet", snippet),
            ("date", hit.date.as_ref()),
            ("site_name", hit.site_name.as_ref()),
        ];
        for (name, value) in optional {
            if let Some(value) = value {
                members[name] = value.clone().into();
            }
        }
        members
    };
    json!({
        "hits": results.hits.iter().map(hit).collect::<Value>(),
        "request_id": results.request_id,
        "cost": cost(&results.cost),
    })
}

fn cost(cost: &Cost) -> Value {
    let charged = match cost.charged {
        Charged::Yes => "yes",
        Charged::No => "no",
        Charged::Unknown => "unknown",
    };
    let mut units: BTreeMap<&str, u64> = BTreeMap::new();
    for quantity in &cost.quantities {
        *units.entry(&quantity.unit).or_default() += quantity.billionths;
    }
    let units = units.into_iter();
    let units: BTreeMap<_, _> = units
        .map(|(unit, billionths)| (unit, decimal(billionths)))
        .collect();
    json!({"charged": charged, "reported": cost.reported, "units": units})
}

/// Billionths as a decimal number of units: `5`, `0.25`.
fn decimal(billionths: u64) -> String {
    let (whole, fraction) = (billionths / BILLION, billionths % BILLION);
    let text = format!("{whole}.{fraction:09}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_decimal_numbers() {
        let check = |billionths, expected: &str| assert_eq!(decimal(billionths), expected);
        check(0, "0");
        check(10 * BILLION, "10");
        check(456_000, "0.000456");
        check(BILLION + 1, "1.000000001");
    }

    #[test]
    fn memos_that_differ_are_different() {
        assert_eq!(memo(b""), Value::Null);
        assert_eq!(memo(br#"{"run": 1}"#), json!({"run": 1}));
        assert_eq!(memo(b"zones"), "zones");
    }
}
