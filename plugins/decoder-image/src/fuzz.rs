//! Fuzzing of images.

use serde_json::json;
use trawl_sdk::testkit;

use crate::Image;

#[test]
fn image() {
    trawl_fuzz::fuzz!("image", |body| {
        let document = testkit::document("application/octet-stream", body);
        if let Some(decoded) = document.decode_any::<Image>(&json!({"place": true})) {
            assert!(decoded.metadata["width"].as_u64() > Some(0));
            let n_images = testkit::page(&decoded.html).count("body > figure > img");
            assert_eq!(n_images, 1);
        }
    });
}
