//! Fuzzing of feeds and sitemaps.

use serde_json::json;
use trawl_sdk::decoder::Failure;
use trawl_sdk::testkit;

use crate::Feeds;

#[test]
fn feed() {
    trawl_fuzz::fuzz!("feed", |body| {
        let document = testkit::document("application/xml", body);
        let decoded = document.decode::<Feeds>(json!({}));
        assert_eq!(decoded, document.decode::<Feeds>(json!({})), "twice");
        match decoded {
            Ok(decoded) => {
                assert!(decoded.html.ends_with("</body></html>"));
                assert_eq!(decoded.html.matches("<script").count(), 0);
                let page = testkit::page(&decoded.html);
                let page = page.document();
                let body = page.select("body").expect("a selector").next();
                // Whatever an item contains, it ends with the item.
                let outside = page.select("html > :not(head, body)").expect("a selector");
                assert!(body.is_some() && outside.count() == 0);
            }
            Err(Failure::InvalidOptions(reason)) => panic!("{reason}"),
            Err(failure) => assert!(!failure.to_string().is_empty()),
        }
    });
}
