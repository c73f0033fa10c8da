//! Fuzzing of Rich Text Format.

use serde_json::json;
use trawl_sdk::testkit;

use crate::Rtf;

#[test]
fn rtf() {
    trawl_fuzz::fuzz!("rtf", |body| {
        let document = testkit::document("application/rtf", body);
        if let Some(decoded) = document.decode_any::<Rtf>(&json!({})) {
            let n_outside = testkit::page(&decoded.html).count("html > :not(head, body)");
            assert_eq!(n_outside, 0);
        }
    });
}
