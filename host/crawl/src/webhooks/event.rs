//! Events and their JSON bodies. Decision D105.

use serde_json::{Map, Value, json};
use url::Url;

use trawl_model::clock::Timestamp;
use trawl_model::outcome::BatchPlace;
use trawl_model::{Cause, Nanodollars, StopReason};
use trawl_plan::address::Receiver;
use trawl_store::{AccountId, OutboxRow};

use super::kind::EventKind;

/// Most bytes of content in one event. Longer content is truncated; receivers can get all of it
/// from `GET /crawl/{id}/pages`.
pub const CONTENT_BYTES_MAX: usize = 1024 * 1024;

/// An event to deliver. It may have a megabyte, so that only tests copy it.
#[derive(Debug, PartialEq)]
#[cfg_attr(test, derive(Clone))]
pub struct Event {
    id: String,
    account: AccountId,
    destination: Receiver,
    kind: EventKind,
    body: Value,
}

/// A page in events.
#[derive(Clone, Copy, Debug)]
pub struct FoundPage<'a> {
    /// The crawl's id.
    pub crawl_id: &'a str,
    /// Number of the page in its crawl.
    pub n: u64,
    /// Its URL.
    pub url: &'a str,
    /// Its HTTP status.
    pub status: u16,
    /// What went wrong with it, if it failed.
    pub cause: Option<Cause>,
    /// Where the request of a batch names it.
    pub place: Option<&'a BatchPlace>,
}

/// A crawl that ended, in events.
#[derive(Clone, Copy, Debug)]
pub struct EndedCrawl<'a> {
    /// Its id.
    pub id: &'a str,
    /// The URL of its seed.
    pub seed: &'a str,
    /// Why it ended.
    pub stop: StopReason,
    /// Number of its pages.
    pub n_pages: u64,
    /// Its duration in milliseconds.
    pub duration_ms: u64,
}

impl Event {
    /// A page was crawled. `content` is its entry's.
    pub fn find(
        account: &AccountId,
        destination: &Receiver,
        page: FoundPage<'_>,
        content: Value,
    ) -> Self {
        let (domain, pathname) = domain_and_path(page.url);
        let body = json!({
            "crawl_id": page.crawl_id,
            "url": page.url,
            "status_code": page.status,
            "content": truncated(content),
            "domain": domain,
            "pathname": pathname,
        });
        page.event(EventKind::Find, account, destination, body)
    }

    /// A page was crawled: its URL, status and headers.
    pub fn find_metadata(
        account: &AccountId,
        destination: &Receiver,
        page: FoundPage<'_>,
        headers: &[(String, String)],
    ) -> Self {
        let (domain, pathname) = domain_and_path(page.url);
        let headers = headers.iter();
        let headers: Map<String, Value> = headers
            .map(|(name, value)| (name.clone(), value.as_str().into()))
            .collect();
        let body = json!({
            "crawl_id": page.crawl_id,
            "url": page.url,
            "status_code": page.status,
            "headers": headers,
            "domain": domain,
            "pathname": pathname,
        });
        page.event(EventKind::FindMetadata, account, destination, body)
    }

    /// A crawl ended.
    pub fn website_status(
        account: &AccountId,
        destination: &Receiver,
        crawl: EndedCrawl<'_>,
    ) -> Self {
        let (domain, _) = domain_and_path(crawl.seed);
        let body = json!({
            "crawl_id": crawl.id,
            "url": crawl.seed,
            "mode": "complete",
            "stop_reason": crawl.stop.name(),
            "domain": domain,
            "links": crawl.n_pages,
            "crawl_duration": crawl.duration_ms,
        });
        let kind = EventKind::WebsiteStatus;
        Self {
            id: format!("{}:{}", crawl.id, kind.name()),
            account: account.clone(),
            destination: destination.clone(),
            kind,
            body,
        }
    }

    /// The account's credits run out during this crawl; once for each crawl. `kind` is one of the
    /// two for credits.
    pub fn credits(
        kind: EventKind,
        account: &AccountId,
        destination: &Receiver,
        crawl_id: &str,
        left: Nanodollars,
    ) -> Self {
        Self {
            id: format!("{crawl_id}:{}", kind.name()),
            account: account.clone(),
            destination: destination.clone(),
            kind,
            body: json!({ "account": account.as_str(), "credits": left.whole_credits() }),
        }
    }

    /// The balance fell below a threshold for the `number`th time. `kind` is one of the two for
    /// balances.
    pub fn balance(
        kind: EventKind,
        account: &AccountId,
        destination: &Receiver,
        number: u64,
        left: Nanodollars,
    ) -> Self {
        Self {
            id: format!("{account}:{}:{number}", kind.name()),
            account: account.clone(),
            destination: destination.clone(),
            kind,
            body: json!({ "account": account.as_str(), "credits": left.whole_credits() }),
        }
    }

    /// Bytes of its texts.
    pub(crate) fn bytes(&self) -> usize {
        text_bytes(&self.body)
    }

    pub(super) fn into_row(mut self, now: Timestamp) -> OutboxRow {
        if let Value::Object(body) = &mut self.body {
            body.insert("event".to_owned(), self.kind.name().into());
        }
        OutboxRow {
            id: self.id,
            account: self.account,
            destination: self.destination.expose().to_owned(),
            event: self.kind.name().to_owned(),
            body: self.body.to_string(),
            created: now,
            due: now,
            n_attempts: 0,
            last_failure: None,
        }
    }
}

/// Bytes of the texts in a value.
fn text_bytes(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(text_bytes).sum(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| name.len() + text_bytes(value))
            .sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

impl FoundPage<'_> {
    fn event(
        self,
        kind: EventKind,
        account: &AccountId,
        destination: &Receiver,
        mut body: Value,
    ) -> Event {
        if let Some(cause) = self.cause {
            body["cause"] = cause.name().into();
        }
        if let Some(place) = self.place {
            body["index"] = place.index.into();
            if !place.duplicates.is_empty() {
                body["duplicates"] = json!(place.duplicates);
            }
        }
        Event {
            id: format!("{}:{}:{}", self.crawl_id, self.n, kind.name()),
            account: account.clone(),
            destination: destination.clone(),
            kind,
            body,
        }
    }
}

/// Host and path of a URL; both empty when it cannot be parsed.
fn domain_and_path(url: &str) -> (String, String) {
    let Ok(url) = Url::parse(url) else {
        return Default::default();
    };
    let domain = url.host_str().unwrap_or_default().to_owned();
    (domain, url.path().to_owned())
}

/// Content truncated to [`CONTENT_BYTES_MAX`]: a text at a character, a list after a whole element,
/// an object format by format.
fn truncated(content: Value) -> Value {
    let mut room = CONTENT_BYTES_MAX;
    truncate(content, &mut room)
}

fn truncate(content: Value, room: &mut usize) -> Value {
    match content {
        Value::String(mut text) => {
            text.truncate(text.floor_char_boundary(*room));
            *room -= text.len();
            Value::String(text)
        }
        Value::Array(elements) => {
            let mut fitting = Vec::new();
            for element in elements {
                let bytes = match &element {
                    Value::String(text) => text.len(),
                    // A byte as a decimal number with a comma.
                    _ => 4,
                };
                if bytes > *room {
                    break;
                }
                *room -= bytes;
                fitting.push(element);
            }
            Value::Array(fitting)
        }
        Value::Object(formats) => {
            let formats = formats.into_iter();
            Value::Object(
                formats
                    .map(|(name, content)| (name, truncate(content, room)))
                    .collect(),
            )
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::super::kind::FieldType;
    use super::*;

    const PAGE: FoundPage<'_> = FoundPage {
        crawl_id: "c1",
        n: 7,
        url: "https://a.example:8443/b/c?d#e",
        status: 200,
        cause: None,
        place: None,
    };

    fn row(event: Event) -> (String, Value) {
        let row = event.into_row(Timestamp(5));
        (row.id, serde_json::from_str(&row.body).expect("JSON"))
    }

    fn account_and_hook() -> (AccountId, Receiver) {
        let url = Url::parse("http://hook.example/").expect("a URL");
        (AccountId::new("acc"), url.into())
    }

    #[test]
    fn page_events_have_content_or_headers() {
        let (account, hook) = account_and_hook();
        let (id, body) = row(Event::find(&account, &hook, PAGE, "text".into()));
        assert_eq!(id, "c1:7:on_find");
        assert_eq!(
            body,
            json!({"event": "on_find", "crawl_id": "c1", "url": PAGE.url, "status_code": 200, "content": "text",
                "domain": "a.example", "pathname": "/b/c"})
        );
        let headers = [("server".to_owned(), "x".to_owned())];
        let (id, body) = row(Event::find_metadata(&account, &hook, PAGE, &headers));
        assert_eq!(id, "c1:7:on_find_metadata");
        assert_eq!(body["headers"], json!({"server": "x"}));
        assert_eq!(body.get("content"), None);
    }

    #[test]
    fn the_fields_of_events_are_described() {
        let (account, hook) = account_and_hook();
        let place = BatchPlace {
            index: 3,
            duplicates: vec![4, 9],
        };
        let page = FoundPage {
            cause: Some(Cause::Robots),
            place: Some(&place),
            ..PAGE
        };
        let crawl = EndedCrawl {
            id: "c1",
            seed: PAGE.url,
            stop: StopReason::Balance,
            n_pages: 1,
            duration_ms: 1,
        };
        let left = Nanodollars::from_credits(50);
        for kind in EventKind::ALL {
            let event = match kind {
                EventKind::Find => Event::find(&account, &hook, page, "text".into()),
                EventKind::FindMetadata => Event::find_metadata(&account, &hook, page, &[]),
                EventKind::WebsiteStatus => Event::website_status(&account, &hook, crawl),
                EventKind::CreditsDepleted | EventKind::CreditsHalfDepleted => {
                    Event::credits(kind, &account, &hook, "c1", left)
                }
                EventKind::LowBalance | EventKind::EmptyBalance => {
                    Event::balance(kind, &account, &hook, 1, left)
                }
            };
            let (_, body) = row(event);
            assert_eq!(body["event"], kind.name());
            let fields = kind.fields();
            let n_fields = body.as_object().expect("an object").len();
            assert_eq!(n_fields, fields.len() + 1, "{body}");
            for field in fields {
                let value = &body[field.name];
                let is_of_type = match field.value {
                    FieldType::Text => value.is_string(),
                    FieldType::Integer => value.is_u64(),
                    FieldType::Integers => *value == json!([4, 9]),
                    FieldType::Texts => value.is_object(),
                    FieldType::Content => value == "text",
                };
                assert!(is_of_type, "{}: {value}", field.name);
            }
        }
    }

    #[test]
    fn the_event_of_a_page_of_a_batch_says_where_its_request_names_it() {
        let (account, hook) = account_and_hook();
        let mut place = BatchPlace {
            index: 3,
            duplicates: vec![4],
        };
        let event = |place: &BatchPlace| {
            let page = FoundPage {
                place: Some(place),
                ..PAGE
            };
            row(Event::find(&account, &hook, page, "x".into())).1
        };
        let body = event(&place);
        assert_eq!(
            (&body["index"], &body["duplicates"]),
            (&json!(3), &json!([4]))
        );
        place.duplicates.clear();
        let body = event(&place);
        assert_eq!((&body["index"], body.get("duplicates")), (&json!(3), None));
    }

    #[test]
    fn the_event_of_a_page_that_failed_names_the_cause() {
        let (account, hook) = account_and_hook();
        let page = FoundPage {
            status: 526,
            cause: Some(Cause::Robots),
            ..PAGE
        };
        let (_, body) = row(Event::find_metadata(&account, &hook, page, &[]));
        assert_eq!(
            (&body["status_code"], &body["cause"]),
            (&json!(526), &json!("robots"))
        );
    }

    #[test]
    fn events_of_crawls_and_balances_have_stable_ids() {
        let (account, hook) = account_and_hook();
        let crawl = EndedCrawl {
            id: "c1",
            seed: "http://a.example/x",
            stop: StopReason::Balance,
            n_pages: 12,
            duration_ms: 3_400,
        };
        let event = Event::website_status(&account, &hook, crawl);
        let (id, body) = row(event);
        assert_eq!(id, "c1:on_website_status");
        assert_eq!(
            body,
            json!({"event": "on_website_status", "crawl_id": "c1", "url": "http://a.example/x", "mode": "complete", "stop_reason": "balance", "domain": "a.example",
                "links": 12, "crawl_duration": 3_400})
        );
        let kind = EventKind::CreditsHalfDepleted;
        let left = Nanodollars::from_credits(50);
        let (id, body) = row(Event::credits(kind, &account, &hook, "c1", left));
        assert_eq!(id, "c1:on_credits_half_depleted");
        assert_eq!(
            body,
            json!({"event": "on_credits_half_depleted", "account": "acc", "credits": 50})
        );
        let low = Event::balance(EventKind::LowBalance, &account, &hook, 3, left);
        let (id, body) = row(low);
        assert_eq!(id, "acc:on_low_balance:3");
        assert_eq!(
            body,
            json!({"event": "on_low_balance", "account": "acc", "credits": 50})
        );
    }

    #[test]
    fn long_content_is_truncated_at_a_character() {
        let text = "ü".repeat(CONTENT_BYTES_MAX);
        let cut = truncated(Value::from(format!("a{text}")));
        let cut = cut.as_str().expect("text");
        assert_eq!(cut.len(), CONTENT_BYTES_MAX - 1);
        let list = truncated(json!(["short", text, "short"]));
        assert_eq!(list, json!(["short"]));
        let object = truncated(json!({"first": "short", "second": text}));
        assert_eq!(object["first"], "short");
    }
}
