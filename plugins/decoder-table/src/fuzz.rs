//! Fuzzing of tables.

use serde_json::json;
use trawl_sdk::testkit;

use crate::Tables;

#[test]
fn table() {
    trawl_fuzz::fuzz!("table", |body| {
        for media_type in ["text/csv", "text/tab-separated-values"] {
            let document = testkit::document(media_type, body);
            let Some(decoded) = document.decode_any::<Tables>(&json!({})) else {
                continue;
            };
            let page = testkit::page(&decoded.html);
            let n_rows = page.count("tbody > tr");
            assert_eq!(decoded.metadata["row_count"], n_rows, "{media_type}");
            assert_eq!(page.count("body > *"), 1);
        }
    });
}
