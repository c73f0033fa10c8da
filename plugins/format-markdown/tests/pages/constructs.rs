//! Constructs of web pages that Markdown writes in one way only.

use format_markdown::Markdown;
use serde_json::json;
use trawl_sdk::testkit;

#[track_caller]
fn check(html: &str, expected: &str) {
    let page = testkit::page(html).url("https://example.com/");
    let got = page.render_text::<Markdown>(json!({}));
    assert_eq!(got.trim_end(), expected, "{html}");
}

#[test]
fn a_tilde_next_to_struck_text_does_not_lengthen_its_delimiter() {
    check("<p><s>a ~ </s>b", r"~~a \~~~ b");
    check("<p>~<s>a</s>", r"\~~~a~~");
    check("<p><s>a</s>~", r"~~a~~\~");
    check("<p>~ 5", "~ 5");
}

#[test]
fn no_break_spaces_and_spaces_at_the_end_of_a_mark_are_written_after_it() {
    check("<p><b>Note: &nbsp;</b>text", "**Note:** \u{a0}text");
    check(
        "<p><b>Note:&nbsp; &nbsp;</b>text",
        "**Note:**\u{a0} \u{a0}text",
    );
    check(
        "<p><a href=/q>z &nbsp;</a>w",
        "[z](https://example.com/q) \u{a0}w",
    );
    check("<p><b>a <i>b &nbsp;</i></b>c", "**a *b*** \u{a0}c");
}
