//! Fuzzing of Office files and books.

use serde_json::json;
use trawl_sdk::decoder::Failure;
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
    let decoded = document.decode::<Office>(json!({}));
    assert_eq!(decoded, document.decode::<Office>(json!({})), "twice");
    match decoded {
        Ok(decoded) => {
            assert!(decoded.html.ends_with("</body></html>"));
            let page = testkit::page(&decoded.html);
            let page = page.document();
            let outside = page.select("html > :not(head, body)").expect("a selector");
            assert_eq!(outside.count(), 0);
        }
        Err(Failure::InvalidOptions(reason)) => panic!("{reason}"),
        Err(failure) => assert!(!failure.to_string().is_empty()),
    }
}
