//! What an analyst found on the pages of a crawl, gathered from their entries within bounds.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::{CrawlError, Crawls};
use trawl_plugins::Finding;
use trawl_store::AccountId;

/// Most bytes of the findings of one crawl: they are in memory together when they are joined, and the analyst has them in a memory of
/// its own several times over, which is bounded too.
pub const FINDINGS_BYTES_MAX: usize = 8 << 20;
/// Most bytes of findings that are joined at once where parts do: a join takes time and memory with its findings.
const PART_BYTES: usize = 1 << 20;
/// Entries that are read from the page log at once; each may have ten megabytes of content.
const ENTRIES_AT_ONCE: u32 = 8;

/// Findings of one crawl.
#[derive(Debug, Default)]
pub struct Gathered {
    findings: Vec<Finding>,
    n_bytes: usize,
    /// Pages whose findings were left out because there are too many.
    pub n_left_out: u64,
    /// Pages that were good.
    pub n_pages: u64,
    /// The first page that failed: its status and why.
    pub failure: Option<(u16, String)>,
    /// What the model did for the pages; `None` when none is configured.
    pub model: Option<ModelUse>,
}

/// Whether a model was used for a crawl's pages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelUse {
    /// For at least one page.
    pub used: bool,
    /// Why not for the first page where it was not.
    pub reason: Option<String>,
}

/// An entry, as far as it is of interest here.
#[derive(Deserialize)]
struct Entry<'a> {
    #[serde(borrow)]
    url: Cow<'a, str>,
    status: u16,
    error: Option<String>,
    #[serde(borrow)]
    contacts: Option<&'a RawValue>,
    #[serde(borrow)]
    labels: Option<&'a RawValue>,
    #[serde(borrow)]
    qa: Option<&'a RawValue>,
    #[serde(borrow)]
    filter_links: Option<&'a RawValue>,
}

/// What findings say of the model.
#[derive(Deserialize)]
struct Told {
    model: Option<ToldUse>,
}

#[derive(Deserialize)]
struct ToldUse {
    used: bool,
    reason: Option<String>,
}

impl Gathered {
    /// The findings of a crawl, from its pages as they are written down.
    ///
    /// # Errors
    /// The pages cannot be read.
    pub async fn of_crawl(
        crawls: &Crawls,
        account: &AccountId,
        id: &str,
    ) -> Result<Self, CrawlError> {
        let mut gathered = Self::default();
        let mut after = 0;
        loop {
            let pages = crawls.pages(account, id, after, ENTRIES_AT_ONCE).await?;
            let Some((last, _)) = pages.last() else {
                return Ok(gathered);
            };
            after = *last;
            for (_, entry) in &pages {
                gathered.add(entry);
            }
        }
    }

    /// Adds the finding of one page's entry.
    pub fn add(&mut self, entry: &[u8]) {
        let Ok(entry) = serde_json::from_slice::<Entry<'_>>(entry) else {
            tracing::error!("a page's entry could not be read back");
            return;
        };
        if let Some(error) = entry.error {
            self.failure.get_or_insert((entry.status, error));
            return;
        }
        self.n_pages += 1;
        let found = entry
            .contacts
            .or(entry.labels)
            .or(entry.qa)
            .or(entry.filter_links);
        let Some(found) = found else {
            return;
        };
        self.note_model(found);
        let bytes = entry.url.len() + found.get().len();
        if self.n_bytes + bytes > FINDINGS_BYTES_MAX {
            self.n_left_out += 1;
            return;
        }
        self.n_bytes += bytes;
        self.findings.push(Finding {
            url: entry.url.into_owned(),
            value: found.get().to_owned(),
        });
    }

    /// Whether nothing was found.
    pub fn is_empty(&self) -> bool {
        self.findings.is_empty()
    }

    /// Hands the findings out.
    pub(super) fn take(&mut self) -> Vec<Finding> {
        self.n_bytes = 0;
        std::mem::take(&mut self.findings)
    }

    /// The same in parts of about [`PART_BYTES`], for what is merged later anyway.
    pub(super) fn take_parts(&mut self) -> Vec<Vec<Finding>> {
        let mut parts: Vec<Vec<Finding>> = Vec::new();
        let mut room = 0;
        for finding in self.take() {
            let bytes = finding.url.len() + finding.value.len();
            match parts.last_mut().filter(|_| bytes <= room) {
                Some(part) => part.push(finding),
                None => {
                    parts.push(vec![finding]);
                    room = PART_BYTES;
                }
            }
            room = room.saturating_sub(bytes);
        }
        parts
    }

    fn note_model(&mut self, found: &RawValue) {
        let told = serde_json::from_str::<Told>(found.get()).ok();
        let Some(told) = told.and_then(|told| told.model) else {
            return;
        };
        let model = self.model.get_or_insert_default();
        model.used |= told.used;
        if !told.used && model.reason.is_none() {
            model.reason = told.reason;
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry(n: usize, finding: &serde_json::Value) -> Vec<u8> {
        json!({
            "url": format!("https://a.example/{n}?\u{1}"), "status": 200, "content": "x", "error": null, "qa": finding, "costs": {},
        })
        .to_string()
        .into_bytes()
    }

    #[test]
    fn findings_are_gathered_with_what_they_say_of_the_model() {
        let mut gathered = Gathered::default();
        gathered.add(&entry(1, &json!({"pairs": []})));
        assert_eq!(gathered.model, None);
        gathered.add(&entry(
            2,
            &json!({"model": {"used": false, "reason": "late"}}),
        ));
        gathered.add(&entry(3, &json!({"model": {"used": true}})));
        gathered.add(&entry(
            4,
            &json!({"model": {"used": false, "reason": "later"}}),
        ));
        gathered.add(b"{\"url\":\"u\",\"status\":404,\"content\":\"\",\"error\":\"gone\"}");
        gathered.add(b"no entry");
        let model = ModelUse {
            used: true,
            reason: Some("late".to_owned()),
        };
        assert_eq!(gathered.model, Some(model));
        assert_eq!((gathered.n_pages, gathered.n_left_out), (4, 0));
        assert_eq!(gathered.failure, Some((404, "gone".to_owned())));
        let findings = gathered.take();
        assert_eq!(findings.len(), 4);
        assert_eq!(findings[0].url, "https://a.example/1?\u{1}");
        assert_eq!(findings[0].value, "{\"pairs\":[]}");
        assert!(gathered.is_empty());
    }

    #[test]
    fn findings_beyond_the_bound_are_left_out_and_counted() {
        let mut gathered = Gathered::default();
        let large = json!({"passages": "x".repeat(1 << 20)});
        for n in 0..20 {
            gathered.add(&entry(n, &large));
        }
        assert_eq!((gathered.n_left_out, gathered.n_pages), (13, 20));
        let parts = gathered.take_parts();
        assert_eq!(parts.len(), 7, "each is too large to be with another");
        assert!(gathered.is_empty());
        for n in 0..5 {
            gathered.add(&entry(n, &json!({"pairs": []})));
        }
        let parts = gathered.take_parts();
        assert_eq!(parts.iter().map(Vec::len).collect::<Vec<_>>(), [5]);
    }
}
