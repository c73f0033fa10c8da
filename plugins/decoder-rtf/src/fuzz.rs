//! Fuzzing of Rich Text Format.

use serde_json::json;
use trawl_sdk::testkit;

use crate::Rtf;

#[test]
fn rtf() {
    trawl_fuzz::fuzz!("rtf", |body| {
        let document = testkit::document("application/rtf", body);
        let decoded = document.decode::<Rtf>(json!({}));
        assert_eq!(decoded, document.decode::<Rtf>(json!({})), "twice");
        match decoded {
            Ok(decoded) => {
                assert!(decoded.html.ends_with("</body></html>"));
                let page = testkit::page(&decoded.html);
                let page = page.document();
                let outside = page.select("html > :not(head, body)").expect("a selector");
                assert_eq!(outside.count(), 0);
            }
            Err(failure) => assert!(!failure.to_string().is_empty()),
        }
    });
}
