//! Structured data of pages with other source.

use extractor_json_data::JsonData;
use serde_json::json;
use trawl_sdk::testkit::SourceVariant;

#[test]
fn only_what_a_reader_sees_counts() {
    SourceVariant::check_fixtures(|page| {
        let found = page.extract::<JsonData>(json!({})).expect("an object");
        serde_json::to_string_pretty(&found).expect("JSON")
    });
}
