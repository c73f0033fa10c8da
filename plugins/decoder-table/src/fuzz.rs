//! Fuzzing of tables.

use serde_json::json;
use trawl_sdk::testkit;

use crate::Tables;

#[test]
fn table() {
    trawl_fuzz::fuzz!("table", |body| {
        for media_type in ["text/csv", "text/tab-separated-values"] {
            let document = testkit::document(media_type, body);
            let decoded = document.decode::<Tables>(json!({}));
            assert_eq!(decoded, document.decode::<Tables>(json!({})), "twice");
            let Ok(decoded) = decoded else { continue };
            let page = testkit::page(&decoded.html);
            let page = page.document();
            let rows = page.select("tbody > tr").expect("a selector").count();
            assert_eq!(decoded.metadata["row_count"], rows, "{media_type}");
            assert_eq!(page.select("body > *").expect("a selector").count(), 1);
        }
    });
}
