//! Small pages whose source has what a reader does not see.

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
fn scripts_and_styles_do_not_make_a_list_loose() {
    check(
        "<ul><li><div>A</div><script>void 0;</script><style></style><wbr><!-- --><ul><li>B</ul></ul>",
        "- A\n  - B",
    );
}

#[test]
fn identifiers_stay_whole_where_the_source_splits_them() {
    for html in [
        "pwr_led_trigger",
        "pwr_led<!-- -->_trigger",
        "pwr_led_<wbr>trigger",
        "pwr_<span>led_</span>trigger",
        "pwr_led_<script>void 0</script>trigger",
    ] {
        check(html, "pwr_led_trigger");
    }
}

#[test]
fn the_text_of_a_link_around_blocks_is_found_through_neutral_elements() {
    let long = "A long text that goes on and on. ".repeat(12);
    let long = long.trim_end();
    let plain = format!("<a href=/x>{long} rest.<p></p></a>");
    let told = format!("<a href=/x><span>{long}</span> rest.<p></p></a>");
    check(&plain, &format!("[{long} rest.](https://example.com/x)"));
    check(&told, &format!("[{long} rest.](https://example.com/x)"));
}

#[test]
fn blanks_and_comments_do_not_make_a_link_long() {
    let blanks = " ".repeat(400);
    for html in [
        "<a href=/x>A<div>B</div><p>C</p></a>".to_owned(),
        format!("<a href=/x>A\n{blanks}<div>B\n{blanks}</div><p>C</p></a>"),
        "<a href=/x>A<div><!-- -->B<!-- --></div><p><!-- --><span>C</span><!-- --></p></a>"
            .to_owned(),
    ] {
        check(&html, "[A  \nB  \nC](https://example.com/x)");
    }
    let pieces = "a<!-- -->b".repeat(10);
    let html = format!("<a href=/x><div>{pieces}</div><div>c</div></a>");
    check(
        &html,
        &format!("[{}  \nc](https://example.com/x)", "ab".repeat(10)),
    );
}

#[test]
fn a_link_without_text_is_named_by_its_image() {
    for between in ["", "<script>void 0</script>", "<!-- -->", "\n   "] {
        let html =
            format!("<a href=/x><img alt=A>{between}<div></div>{between}{between}<div></div></a>");
        check(&html, "[![A]()](https://example.com/x)");
    }
    let comments = "<!-- -->".repeat(30);
    check(
        &format!("<a href=/x><div>{comments}<img alt=A></div><div>{comments}10</div></a>"),
        "[10](https://example.com/x)",
    );
}

#[test]
fn permalinks_are_left_out_whatever_is_around_their_sign() {
    check("<h2>Usage<a href='#u'>¶</a></h2>", "## Usage");
    check("<h2 id=u><a href='#u'>Usage</a></h2>", "## Usage");
    check(
        "<section id=u><h2><a href='#u'>Usage</a></h2></section>",
        "## Usage",
    );
    check(
        "<h2 id=u><a href='https://example.com/#u'>Usage</a></h2>",
        "## Usage",
    );
    check("<a href='#u' id=u><h2>Usage</h2></a>", "## Usage");
    check("<a href='/#u'><h2 id=u>Usage</h2></a>", "## Usage");
    check(
        "<h2 id=u><a href='/other#u'>Usage</a></h2>",
        "## [Usage](https://example.com/other#u)",
    );
    check(
        "<h2 id=u><a href='#v'>Usage</a></h2>",
        "## [Usage](https://example.com/#v)",
    );
    check(
        "<h2>Usage<a href='#u'><!-- --><span><!-- -->¶<!-- --></span></a></h2>",
        "## Usage",
    );
    check("<h2>Usage<a href='#u'>\u{200b}</a></h2>", "## Usage");
    check("<h2 id=u>Usage<a href='#u'>[#]</a></h2>", "## Usage");
    check("<h2 id=u><a href='#u'>&lt;=&gt;</a></h2>", "## <=>");
    check("<h2 id=ü><a href='#%C3%BC'>Usage</a></h2>", "## Usage");
    check("<h2 id='50%'><a href='#50%'>Usage</a></h2>", "## Usage");
}

#[test]
fn a_table_in_a_cell_leaves_the_outer_table_its_columns() {
    check(
        "<table><tr><th>Name<th>Parts<th>Price<tr><td>A<td><table><tr><td>x<td>1<tr><td>y<td>2</table><td>5<tr><td>B<td>none<td>6</table>",
        "| Name | Parts | Price |\n| --- | --- | --- |\n| A | x 1<br>y 2 | 5 |\n| B | none | 6 |",
    );
    // Layout around data, and layout without a sign of data.
    check(
        "<table><tr><td><table><tr><th>a<th>b<tr><td>1<td>2</table><td>side<tr><td>c<td>d</table>",
        "| a | b |\n| --- | --- |\n| 1 | 2 |\n\nside\n\nc\n\nd",
    );
}

#[test]
fn neutral_elements_do_not_hide_a_link_in_code() {
    let of = |inside: &str| {
        let html = format!("<p><code><b>run {inside}<a href=/x>it</a></b></code></p>");
        let page = testkit::page(&html).url("https://example.com/");
        page.render_text::<Markdown>(json!({}))
    };
    let plain = of("");
    assert!(plain.contains("(https://example.com/x)"), "{plain}");
    assert_eq!(of(&"<span></span>".repeat(150)), plain);
}
