//! Fuzzing of data files.

use serde_json::json;
use trawl_sdk::testkit;

use crate::DataFiles;

#[test]
fn data() {
    const TYPES: [&str; 5] = [
        "application/json",
        "application/jsonl",
        "application/toml",
        "application/xml",
        "text/x-rust",
    ];
    trawl_fuzz::fuzz!("data", |body| {
        for media_type in TYPES {
            let document = testkit::document(media_type, body);
            let decoded = document.decode::<DataFiles>(json!({}));
            assert_eq!(decoded, document.decode::<DataFiles>(json!({})), "twice");
            let decoded = decoded.expect("every text is code at least");
            assert!(decoded.html.ends_with("</body></html>"));
            let page = testkit::page(&decoded.html);
            let page = page.document();
            let shown = page
                .select("body > table, body > pre > code")
                .expect("a selector");
            assert_eq!(shown.count(), 1, "{media_type}");
        }
    });
}
