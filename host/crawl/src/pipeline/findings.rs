//! The findings of an analyst on the pages of a crawl, gathered from their entries up to a size
//! limit.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::value::RawValue;

use trawl_plugins::Finding;
use trawl_store::StoreError;
use trawl_wire::PageEntry;

use crate::stored_pages::StoredPages;

/// Most bytes of the findings of one crawl: they are joined in memory, and need several times as
/// much of the analyst's memory, which is limited.
pub const FINDINGS_BYTES_MAX: usize = 8 << 20;
/// Bytes of findings that are joined at once where a crawl can be joined in parts.
const PART_BYTES: usize = 1 << 20;

/// The findings of one crawl.
#[derive(Debug, Default)]
pub struct Gathered {
    findings: Vec<Finding>,
    n_bytes: usize,
    /// Pages whose findings were left out because of the size limit.
    pub n_left_out: u64,
    /// Pages that did not fail.
    pub n_pages: u64,
    /// The first page that failed.
    pub failure: Option<FirstFailure>,
    /// Parameters that had no effect on a page, each once. Decision D232.
    pub ignored: BTreeSet<String>,
    /// Whether the model was used; `None` when none is configured.
    pub model: Option<ModelUse>,
}

/// The failure of a page, as its entry has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirstFailure {
    /// Status of the entry.
    pub status: u16,
    /// What went wrong, as a name; `None` in entries of earlier versions.
    pub cause: Option<String>,
    /// Why it failed.
    pub error: String,
}

/// Whether a model was used for a crawl's pages.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
pub struct ModelUse {
    /// For at least one page.
    pub used: bool,
    /// Why it was not used for the first page where it was not.
    pub reason: Option<String>,
}

/// The part of a finding that says whether the model was used.
#[derive(Deserialize)]
struct FindingModel {
    model: Option<ModelUse>,
}

impl Gathered {
    /// The findings of a crawl, read from its stored pages.
    ///
    /// # Errors
    /// The store failed.
    pub(super) async fn of_crawl(mut pages: StoredPages) -> Result<Self, StoreError> {
        let mut gathered = Self::default();
        while let Some((_, entry)) = pages.next().await? {
            gathered.add(&entry);
        }
        Ok(gathered)
    }

    /// Adds the finding of one page's entry.
    pub fn add(&mut self, entry: &[u8]) {
        let entry = match PageEntry::read(entry) {
            Ok(entry) => entry,
            Err(error) => {
                tracing::error!(error = %error, "could not read the entry of a page");
                return;
            }
        };
        if let Some(error) = entry.error() {
            self.failure.get_or_insert_with(|| FirstFailure {
                status: entry.status(),
                cause: entry.cause().map(str::to_owned),
                error: error.to_owned(),
            });
            return;
        }
        self.n_pages += 1;
        self.ignored.extend(entry.ignored());
        let Some(finding) = entry.finding() else {
            return;
        };
        self.note_model(finding);
        let bytes = entry.url().len() + finding.get().len();
        if self.n_bytes + bytes > FINDINGS_BYTES_MAX {
            self.n_left_out += 1;
            return;
        }
        self.n_bytes += bytes;
        self.findings.push(Finding {
            url: entry.url().to_owned(),
            value: finding.get().to_owned(),
        });
    }

    /// Whether there are no findings.
    pub fn is_empty(&self) -> bool {
        self.findings.is_empty()
    }

    /// Takes the findings out.
    pub(super) fn take(&mut self) -> Vec<Finding> {
        self.n_bytes = 0;
        std::mem::take(&mut self.findings)
    }

    /// Takes the findings out in parts of about [`PART_BYTES`].
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

    fn note_model(&mut self, finding: &RawValue) {
        let read = serde_json::from_str::<FindingModel>(finding.get()).ok();
        let Some(noted) = read.and_then(|finding| finding.model) else {
            return;
        };
        let model = self.model.get_or_insert_default();
        model.used |= noted.used;
        if !noted.used && model.reason.is_none() {
            model.reason = noted.reason;
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn costs() -> serde_json::Value {
        json!({"ai_cost": 0.0, "compute_cost": 0.0, "file_cost": 0.0, "bytes_transferred_cost": 0.0,
            "transform_cost": 0.0, "total_cost": 0.0})
    }

    fn entry(n: usize, finding: &serde_json::Value) -> Vec<u8> {
        json!({
            "url": format!("https://a.example/{n}?\u{1}"), "status": 200, "content": "x", "error": null, "qa": finding,
            "costs": costs(),
        })
        .to_string()
        .into_bytes()
    }

    fn failed(status: u16, error: &str) -> Vec<u8> {
        json!({"url": "u", "status": status, "content": "", "error": error, "cause": "http_status", "costs": costs()})
            .to_string()
            .into_bytes()
    }

    #[test]
    fn findings_are_gathered_with_the_use_of_the_model() {
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
        gathered.add(&failed(404, "gone"));
        gathered.add(b"no entry");
        let model = ModelUse {
            used: true,
            reason: Some("late".to_owned()),
        };
        assert_eq!(gathered.model, Some(model));
        assert_eq!((gathered.n_pages, gathered.n_left_out), (4, 0));
        let failure = FirstFailure {
            status: 404,
            cause: Some("http_status".to_owned()),
            error: "gone".to_owned(),
        };
        assert_eq!(gathered.failure, Some(failure));
        let findings = gathered.take();
        assert_eq!(findings.len(), 4);
        assert_eq!(findings[0].url, "https://a.example/1?\u{1}");
        assert_eq!(findings[0].value, "{\"pairs\":[]}");
        assert!(gathered.is_empty());
    }

    #[test]
    fn parameters_without_effect_are_named_once() {
        let page = |ignored: serde_json::Value| {
            let mut page =
                json!({"url": "u", "status": 200, "content": "", "error": null, "costs": costs()});
            page["metadata"] = json!({"title": "t", "ignored": ignored});
            page.to_string().into_bytes()
        };
        let mut gathered = Gathered::default();
        gathered.add(&page(json!(["viewport", "wait_for.dom"])));
        gathered.add(&page(json!(["viewport", "cache.allow_stale"])));
        gathered.add(&failed(404, "gone"));
        let names: Vec<_> = gathered.ignored.iter().map(String::as_str).collect();
        assert_eq!(names, ["cache.allow_stale", "viewport", "wait_for.dom"]);
    }

    #[test]
    fn findings_beyond_the_size_limit_are_left_out_and_counted() {
        let mut gathered = Gathered::default();
        let large = json!({"passages": "x".repeat(1 << 20)});
        for n in 0..20 {
            gathered.add(&entry(n, &large));
        }
        assert_eq!((gathered.n_left_out, gathered.n_pages), (13, 20));
        let parts = gathered.take_parts();
        assert_eq!(parts.len(), 7, "no two fit into one part");
        assert!(gathered.is_empty());
        for n in 0..5 {
            gathered.add(&entry(n, &json!({"pairs": []})));
        }
        let parts = gathered.take_parts();
        assert_eq!(parts.iter().map(Vec::len).collect::<Vec<_>>(), [5]);
    }
}
