//! Fuzzing of archives.

use serde_json::json;
use trawl_sdk::testkit;

use crate::Archive;

#[test]
fn archive() {
    trawl_fuzz::fuzz!("archive", |body| {
        let document = testkit::document("application/octet-stream", body);
        for options in [json!({}), json!({"inner": "ships.csv"})] {
            if let Some(decoded) = document.decode_any::<Archive>(&options) {
                assert_eq!(testkit::page(&decoded.html).count("script, style"), 0);
            }
        }
    });
}
