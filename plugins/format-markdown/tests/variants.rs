//! Markdown of pages with other source.

use format_markdown::Markdown;
use serde_json::json;
use trawl_sdk::testkit::SourceVariant;

#[test]
fn only_what_a_reader_sees_counts() {
    SourceVariant::check_fixtures(|page| page.render_text::<Markdown>(json!({})));
}
