//! Options, filters, and pages that are not HTML.

use format_markdown::Markdown;
use serde_json::json;
use trawl_sdk::testkit::page;

#[test]
fn links_and_images_can_be_left_out() {
    let html = "<p><a href=/a>one</a> <img src=/b.png alt=two>";
    let text = |options| page(html).render_text::<Markdown>(options);
    assert_eq!(
        text(json!({})),
        "[one](https://example.com/a) ![two](https://example.com/b.png)\n"
    );
    assert_eq!(
        text(json!({"links": "none"})),
        "one ![two](https://example.com/b.png)\n"
    );
    assert_eq!(
        text(json!({"images": false})),
        "[one](https://example.com/a)\n"
    );
}

#[test]
fn an_unknown_option_is_refused() {
    assert!(page("").render::<Markdown>(json!({"colour": 1})).is_err());
    assert!(
        page("")
            .render::<Markdown>(json!({"links": "both"}))
            .is_err()
    );
}

#[test]
fn an_empty_page_gives_an_empty_text() {
    assert_eq!(page("").render_text::<Markdown>(json!({})), "");
    assert_eq!(
        page("<p> <b> </b><script>x</script>").render_text::<Markdown>(json!({})),
        ""
    );
}

#[test]
fn filtered_elements_are_removed() {
    let html = "<nav><a href=/>home</a></nav><ul><li>a<li class=x>b<li>c</ul>";
    let text = page(html)
        .without("nav, .x")
        .render_text::<Markdown>(json!({}));
    assert_eq!(text, "- a\n- c\n");
}

#[test]
fn a_page_with_only_a_noscript_is_rendered() {
    let html = "<body><script>go()</script><noscript><h1>Thread</h1><p>First post</noscript>";
    assert_eq!(
        page(html).render_text::<Markdown>(json!({})),
        "# Thread\n\nFirst post\n"
    );
}

#[test]
fn hidden_text_is_written_on_request() {
    let html = "<p>a<p hidden>b<p style='display:none'>c<pre>d<i hidden>e</i></pre>";
    let text = |options| page(html).render_text::<Markdown>(options);
    assert_eq!(text(json!({})), "a\n\n```\nd\n```\n");
    assert_eq!(
        text(json!({"hidden": true})),
        "a\n\nb\n\nc\n\n```\nde\n```\n"
    );
}

#[test]
fn a_fully_hidden_page_is_rendered() {
    let html = "<div style='display:none'><p>All there is</p></div>";
    assert_eq!(
        page(html).render_text::<Markdown>(json!({})),
        "All there is\n"
    );
}
