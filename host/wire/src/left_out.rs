//! What a crawl left out because of a limit. It is stored with the request of the crawl, for
//! the same time. Decision D222.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What a crawl left out because of a limit.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize, ToSchema)]
#[serde(default)]
pub struct Omitted {
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

impl Omitted {
    /// URLs of a text that are not crawled.
    pub fn of_urls(n: u64) -> Self {
        let mut left_out = Self::default();
        add(&mut left_out.urls, n);
        left_out
    }

    /// Reads it as it is stored; nothing was left out if it cannot be read.
    pub fn read(stored: Option<&str>) -> Self {
        let read = stored.and_then(|stored| serde_json::from_str(stored).ok());
        read.unwrap_or_default()
    }

    /// The JSON object that is stored; `None` if nothing was left out.
    pub fn written(&self) -> Option<String> {
        if self.is_empty() {
            return None;
        }
        serde_json::to_string(self).ok()
    }

    /// Whether nothing was left out.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
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
    fn it_is_written_and_read_back() {
        let mut left_out = Omitted::of_urls(0);
        left_out.add_pages(0, "nothing");
        assert!(left_out.is_empty(), "{left_out:?}");
        assert_eq!(left_out.written(), None);
        left_out.add_pages(2, "too large");
        left_out.add_contacts(3, "too many");
        left_out.add_contacts(4, "too many");
        let shown = json!({"pages": 2, "contacts": 7, "reasons": ["too large", "too many"]});
        assert_eq!(serde_json::to_value(&left_out).ok(), Some(shown));
        for left_out in [left_out, Omitted::of_urls(4)] {
            let written = left_out.written();
            assert_eq!(Omitted::read(written.as_deref()), left_out);
        }
        for unreadable in [None, Some("no object"), Some("5"), Some("{\"urls\":-1}")] {
            assert!(Omitted::read(unreadable).is_empty(), "{unreadable:?}");
        }
    }
}
