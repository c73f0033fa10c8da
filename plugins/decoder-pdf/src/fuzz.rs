//! Fuzzing of PDF documents.

use serde_json::json;
use trawl_sdk::decoder::Failure;
use trawl_sdk::testkit;

use crate::Pdf;
use crate::tests::pdf as file;

#[test]
fn pdf() {
    trawl_fuzz::fuzz!("pdf", |body| {
        check(body);
        // Random bytes seldom are a document, so they stand for the content of a page as well.
        check(&file(&[body], ""));
    });
}

fn check(body: &[u8]) {
    let document = testkit::document("application/pdf", body);
    match document.decode::<Pdf>(json!({})) {
        Ok(decoded) => assert!(decoded.html.ends_with("</body></html>")),
        Err(Failure::InvalidOptions(reason)) => panic!("{reason}"),
        Err(failure) => assert!(!failure.to_string().is_empty()),
    }
}
