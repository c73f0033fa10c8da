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
            let decoded = document.decode_any::<DataFiles>(&json!({}));
            let decoded = decoded.expect("every text is code at least");
            let n_shown = testkit::page(&decoded.html).count("body > table, body > pre > code");
            assert_eq!(n_shown, 1, "{media_type}");
        }
    });
}
