//! Fuzzing of Office files and books.

use serde_json::json;
use trawl_sdk::testkit;

use crate::Office;
use crate::tests::archive;

#[test]
fn office() {
    trawl_fuzz::fuzz!("office", |body| {
        check(body);
        // Random bytes seldom are an archive, so they stand for its parts as well.
        let text = String::from_utf8_lossy(body);
        let relations = "<r><Relationship Id='a' Type='/officeDocument' Target='m.xml'/></r>";
        check(&archive(&[("_rels/.rels", relations), ("m.xml", &text)]));
        check(&archive(&[("content.xml", &text)]));
    });
}

fn check(body: &[u8]) {
    let document = testkit::document("application/octet-stream", body);
    if let Some(decoded) = document.decode_any::<Office>(&json!({})) {
        let n_outside = testkit::page(&decoded.html).count("html > :not(head, body)");
        assert_eq!(n_outside, 0);
    }
}
