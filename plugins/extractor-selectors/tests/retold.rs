//! Fields of pages with other source.

use std::fs;
use std::path::Path;

use extractor_selectors::Selectors;
use serde_json::{Value, json};
use trawl_sdk::testkit::{self, Retelling};

fn fields() -> Vec<Value> {
    const SELECTORS: [&str; 22] = [
        "body",
        "main",
        "p",
        "h1",
        "h2",
        "li",
        "td",
        "th",
        "dt",
        "dd",
        "a",
        "a@href",
        "b",
        "em",
        "table",
        "ul > li:first-child",
        "//p",
        "//td[2]",
        "//li/a",
        "//img/@src",
        "count(//p)",
        "normalize-space(//h1)",
    ];
    let field = |selector: &&str| json!({"name": selector, "selectors": [selector]});
    SELECTORS.iter().map(field).collect()
}

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
            let found = page.extract::<Selectors>(json!({"map": {"*": fields()}}));
            serde_json::to_string_pretty(&found.expect("lists")).expect("JSON")
        });
    }
}
