//! Fields of pages with other source.

use extractor_selectors::Selectors;
use serde_json::{Value, json};
use trawl_sdk::testkit::SourceVariant;

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
    SourceVariant::check_fixtures(|page| {
        let found = page.extract::<Selectors>(json!({"map": {"*": fields()}}));
        serde_json::to_string_pretty(&found.expect("lists")).expect("JSON")
    });
}
