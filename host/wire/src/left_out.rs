//! What a crawl left out because of a limit. It is stored within the request object of the crawl,
//! so it is there as long as the crawl is. Decision D222.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// Its name in a stored request object: no parameter begins with U+001E.
const NAME: &str = "\u{1e}left_out";

/// What a crawl left out because of a limit.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize, ToSchema)]
#[serde(default)]
pub struct LeftOut {
    /// `crawl-text`: URLs beyond the first 100,000 of the text, which are not crawled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub urls: Option<u64>,
    /// `extract-contacts`: pages whose contacts are in their entries but not in `/data/contacts`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pages: Option<u64>,
    /// `extract-contacts`: contacts of the other pages that are not in `/data/contacts`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contacts: Option<u64>,
    /// Why pages and contacts were left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
}

/// The part of a stored request object that is read here.
#[derive(Default, Deserialize)]
struct Stored {
    #[serde(default, rename = "\u{1e}left_out")]
    left_out: LeftOut,
}

impl LeftOut {
    /// What the crawl with this stored request object left out.
    pub fn of(stored: &str) -> Self {
        let stored: Stored = serde_json::from_str(stored).unwrap_or_default();
        stored.left_out
    }

    /// A stored request object with what the crawl left out. `None` if it cannot be read.
    pub fn written_into(&self, stored: &str) -> Option<String> {
        let mut request: Map<String, Value> = serde_json::from_str(stored).ok()?;
        self.put(&mut request);
        Some(Value::Object(request).to_string())
    }

    /// Whether nothing was left out.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Counts URLs.
    pub(crate) fn add_urls(&mut self, n: u64) {
        add(&mut self.urls, n);
    }

    /// Counts pages, with the reason.
    pub fn add_pages(&mut self, n: u64, reason: &str) {
        if add(&mut self.pages, n) {
            self.add_reason(reason);
        }
    }

    /// Counts contacts, with the reason.
    pub fn add_contacts(&mut self, n: u64, reason: &str) {
        if add(&mut self.contacts, n) {
            self.add_reason(reason);
        }
    }

    /// Adds a reason, once.
    pub fn add_reason(&mut self, reason: &str) {
        if !self.reasons.iter().any(|known| known == reason) {
            self.reasons.push(reason.to_owned());
        }
    }

    /// Writes it into a request object that is to be stored, in place of what the caller may have
    /// sent under its name.
    pub(crate) fn put(&self, request: &mut Map<String, Value>) {
        request.remove(NAME);
        if !self.is_empty()
            && let Ok(value) = serde_json::to_value(self)
        {
            request.insert(NAME.to_owned(), value);
        }
    }

    /// Removes it from a stored request object that is to be shown.
    pub(crate) fn take(request: &mut Map<String, Value>) -> Self {
        let stored = request.remove(NAME).unwrap_or_default();
        serde_json::from_value(stored).unwrap_or_default()
    }
}

/// Adds to a count; `false` if there is nothing to add.
fn add(count: &mut Option<u64>, n: u64) -> bool {
    if n > 0 {
        *count.get_or_insert(0) += n;
    }
    n > 0
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn it_is_stored_in_the_request_and_read_back() {
        let mut left_out = LeftOut::default();
        left_out.add_pages(0, "nothing");
        assert!(left_out.is_empty(), "{left_out:?}");
        left_out.add_pages(2, "too large");
        left_out.add_contacts(3, "too many");
        left_out.add_contacts(4, "too many");
        let shown = json!({"pages": 2, "contacts": 7, "reasons": ["too large", "too many"]});
        assert_eq!(serde_json::to_value(&left_out).ok(), Some(shown));

        let stored = left_out.written_into("{\"url\":\"a.example\"}");
        let stored = stored.expect("an object");
        assert_eq!(LeftOut::of(&stored), left_out);
        let again = left_out.written_into(&stored);
        assert_eq!(again.as_ref(), Some(&stored), "a crash may repeat it");
        let mut request = serde_json::from_str(&stored).expect("an object");
        assert_eq!(LeftOut::take(&mut request), left_out);
        assert_eq!(Value::Object(request), json!({"url": "a.example"}));

        assert!(LeftOut::of("{\"url\":\"a.example\"}").is_empty());
        assert!(LeftOut::of("no object").is_empty());
        assert_eq!(left_out.written_into("no object"), None);
    }
}
