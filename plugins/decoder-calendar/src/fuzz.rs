//! Fuzzing of calendars and contacts.

use serde_json::json;
use trawl_sdk::testkit;

use crate::Calendar;

#[test]
fn calendar() {
    trawl_fuzz::fuzz!("calendar", |body| {
        let document = testkit::document("text/calendar", body);
        if let Some(decoded) = document.decode_any::<Calendar>(&json!({})) {
            let n_articles = testkit::page(&decoded.html).count("body > article");
            assert_eq!(decoded.metadata["item_count"], n_articles);
        }
    });
}
