//! Fuzzing of calendars and contacts.

use serde_json::json;
use trawl_sdk::testkit;

use crate::Calendar;

#[test]
fn calendar() {
    trawl_fuzz::fuzz!("calendar", |body| {
        let document = testkit::document("text/calendar", body);
        let decoded = document.decode::<Calendar>(json!({}));
        assert_eq!(decoded, document.decode::<Calendar>(json!({})), "twice");
        match decoded {
            Ok(decoded) => {
                assert!(decoded.html.ends_with("</body></html>"));
                let page = testkit::page(&decoded.html);
                let page = page.document();
                let articles = page.select("body > article").expect("a selector");
                assert_eq!(decoded.metadata["item_count"], articles.count());
            }
            Err(failure) => assert!(!failure.to_string().is_empty()),
        }
    });
}
