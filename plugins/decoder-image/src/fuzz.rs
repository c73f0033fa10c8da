//! Fuzzing of images.

use serde_json::json;
use trawl_sdk::testkit;

use crate::Image;

#[test]
fn image() {
    trawl_fuzz::fuzz!("image", |body| {
        let document = testkit::document("application/octet-stream", body);
        let options = json!({"place": true});
        let decoded = document.decode::<Image>(options.clone());
        assert_eq!(decoded, document.decode::<Image>(options), "twice");
        match decoded {
            Ok(decoded) => {
                assert!(decoded.html.ends_with("</body></html>"));
                assert!(decoded.metadata["width"].as_u64() > Some(0));
                let page = testkit::page(&decoded.html);
                let page = page.document();
                let images = page.select("body > figure > img").expect("a selector");
                assert_eq!(images.count(), 1);
            }
            Err(failure) => assert!(!failure.to_string().is_empty()),
        }
    });
}
