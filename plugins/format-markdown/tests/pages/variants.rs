//! Markdown of pages with other source.

use format_markdown::Markdown;
use serde_json::json;
use trawl_sdk::testkit::{self, SourceVariant};

#[test]
fn only_what_a_reader_sees_counts() {
    SourceVariant::check_fixtures(|page| page.render_text::<Markdown>(json!({})));
}

#[test]
fn comments_in_code_change_nothing_however_many() {
    let comments = "<!-- x -->".repeat(200);
    for html in [
        "<p>Run <code>|<b>make</b></code>.</p>",
        "<p>Run <code><b>make</b> |<i>all</i></code>.</p>",
        "<p>Run <code>a <a href=b>|b</a></code>.</p>",
        "<table>|<tr><td class=blob-code>let a = 1;</td></tr></table>",
    ] {
        let render = |html: &str| testkit::page(html).render_text::<Markdown>(json!({}));
        let expected = render(&html.replace('|', ""));
        assert_eq!(render(&html.replace('|', &comments)), expected, "{html}");
    }
}
