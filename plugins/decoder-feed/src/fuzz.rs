//! Fuzzing of feeds and sitemaps.

use serde_json::json;
use trawl_sdk::testkit;

use crate::Feeds;

#[test]
fn feed() {
    trawl_fuzz::fuzz!("feed", |body| {
        let document = testkit::document("application/xml", body);
        if let Some(decoded) = document.decode_any::<Feeds>(&json!({})) {
            assert_eq!(decoded.html.matches("<script").count(), 0);
            let page = testkit::page(&decoded.html);
            // Whatever an item contains, it ends with the item.
            assert!(page.count("body") > 0 && page.count("html > :not(head, body)") == 0);
        }
    });
}
