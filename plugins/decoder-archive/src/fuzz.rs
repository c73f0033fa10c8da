//! Fuzzing of archives.

use serde_json::json;
use trawl_sdk::testkit;

use crate::Archive;

#[test]
fn archive() {
    trawl_fuzz::fuzz!("archive", |body| {
        let document = testkit::document("application/octet-stream", body);
        for options in [json!({}), json!({"inner": "ships.csv"})] {
            let decoded = document.decode::<Archive>(options.clone());
            assert_eq!(decoded, document.decode::<Archive>(options), "twice");
            match decoded {
                Ok(decoded) => {
                    assert!(decoded.html.ends_with("</body></html>"));
                    let page = testkit::page(&decoded.html);
                    let page = page.document();
                    let scripts = page.select("script, style").expect("a selector");
                    assert_eq!(scripts.count(), 0);
                }
                Err(failure) => assert!(!failure.to_string().is_empty()),
            }
        }
    });
}
