//! The object that ends the stream of a crawl, if the request asks for it.

use serde::Serialize;

use trawl_model::{Nanodollars, StopReason};

use super::costs::dollars;

/// The end of a crawl, after its pages. It has no `url`, which every page has.
#[derive(Debug, Serialize)]
pub struct FinalEntry<'a> {
    /// Id of the crawl.
    crawl_id: &'a str,
    /// Why it ended, as in `GET /crawl/{id}`.
    stop_reason: &'static str,
    /// Pages delivered, including failed ones.
    pages: u64,
    /// Pages that failed.
    failed: u64,
    /// What the crawl cost, in dollars.
    total_cost: f64,
}

impl<'a> FinalEntry<'a> {
    /// The end of a crawl of so many pages, of which so many failed.
    pub fn new(id: &'a str, stop: StopReason, pages: [u64; 2], spent: Nanodollars) -> Self {
        let [pages, failed] = pages;
        Self {
            crawl_id: id,
            stop_reason: stop.name(),
            pages,
            failed,
            total_cost: dollars(spent),
        }
    }

    /// Its JSON.
    pub fn json(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_says_why() {
        let end = FinalEntry::new("c1", StopReason::Limit, [3, 1], Nanodollars(2_000));
        let expected =
            r#"{"crawl_id":"c1","stop_reason":"limit","pages":3,"failed":1,"total_cost":2e-6}"#;
        let json: serde_json::Value = serde_json::from_slice(&end.json()).expect("JSON");
        let expected: serde_json::Value = serde_json::from_str(expected).expect("JSON");
        assert_eq!(json, expected);
    }
}
