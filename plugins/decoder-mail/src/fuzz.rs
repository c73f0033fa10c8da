//! Fuzzing of messages and mailboxes.

use serde_json::json;
use trawl_sdk::testkit;

use crate::Mail;

#[test]
fn mail() {
    trawl_fuzz::fuzz!("mail", |body| {
        let document = testkit::document("application/octet-stream", body);
        for options in [json!({}), json!({"inner": "ships.csv"})] {
            if let Some(decoded) = document.decode_any::<Mail>(&options) {
                assert_eq!(testkit::page(&decoded.html).count("script, style"), 0);
            }
        }
    });
}
