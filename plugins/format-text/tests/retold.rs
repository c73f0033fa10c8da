//! Text of pages with other source.

use std::fs;
use std::path::Path;

use format_text::Text;
use serde_json::json;
use trawl_sdk::testkit::{self, Retelling};

#[test]
fn only_what_a_reader_sees_counts() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures");
    for name in [
        "pages/article.html",
        "xpath/pages/guide.html",
        "xpath/pages/manual.html",
        "xpath/pages/shop.html",
        "xpath/pages/tables.html",
    ] {
        let html = fs::read_to_string(folder.join(name)).expect("a fixture");
        Retelling::check_all(name, &html, |html| {
            let page = testkit::page(html).url("https://example.com/a/");
            page.render_text::<Text>(json!({}))
        });
    }
}
