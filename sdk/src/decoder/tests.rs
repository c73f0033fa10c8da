use super::*;

#[test]
fn text_and_attributes_are_escaped() {
    let mut html = Html::new(" A & B ", Some("de"));
    html.open_with("a", &[("href", "/?a=1&b=\"2\"")])
        .text("<b>\0")
        .close();
    html.code("x < y", Some("rust"));
    html.open("section").open_with("img", &[("alt", "i")]);
    assert_eq!(
        html.finish(),
        "<!DOCTYPE html><html lang=\"de\"><head><title>A &amp; B</title></head><body>\
         <a href=\"/?a=1&amp;b=&quot;2&quot;\">&lt;b&gt;\u{FFFD}</a>\
         <pre><code class=\"language-rust\">x &lt; y</code></pre>\
         <section><img alt=\"i\"></section></body></html>"
    );
}

#[test]
fn the_body_is_not_closed_early() {
    let mut html = Html::new("", None);
    html.close().close().element("p", "x");
    assert!(html.finish().ends_with("<body><p>x</p></body></html>"));
}

#[test]
fn a_link_without_a_url_is_text() {
    let mut html = Html::new("", None);
    html.link(Some(" "), "a")
        .link(Some("/b"), "")
        .link(None, "c");
    assert!(
        html.finish()
            .contains("<body>a<a href=\"/b\">/b</a>c</body>")
    );
}

#[test]
fn a_cell_that_is_a_url_is_a_link() {
    let mut html = Html::new("", None);
    html.cell("td", "https://a.example/")
        .cell("td", "https://a.example/ b")
        .cell("th", "<c>");
    assert!(html.finish().ends_with(
        "<body><td><a href=\"https://a.example/\">https://a.example/</a></td>\
         <td>https://a.example/ b</td><th>&lt;c&gt;</th></body></html>"
    ));
}

#[test]
fn fragments_end_what_they_begin() {
    let check = |html: &str, expected: &str| assert_eq!(fragment(html), expected, "{html}");
    check("a <b>c", "a <b>c</b>");
    check("</div></p>x", "x");
    check("<p>a<p>b", "<p>a<p>b");
    check("<table><tr><td>x", "<table><tr><td>x</table>");
    check("<ul><li><em>x</ul>y", "<ul><li><em>x</em></ul>y");
    check("a<!-- b", "a");
    check("a<!-- b -->c", "ac");
    check("<script>a</b></script >c", "c");
    check("<STYLE>p{}", "");
    check("<form><input>x</form>", "x");
    check("1 < 2 <3", "1 &lt; 2 &lt;3");
    check(
        "<a title=it's onclick='x()' href='/a?b&amp;c=\"'>x</a>",
        "<a href=\"/a?b&amp;c=&quot;\">x</a>",
    );
    check("<img src=a.png alt>", "<img src=\"a.png\" alt=\"\">");
    check("x<a href='", "x");
}

#[test]
fn deep_fragments_are_flat() {
    let deep = fragment(&"<div>".repeat(10_000));
    assert_eq!(deep.matches("<div>").count(), 64);
    assert_eq!(deep.matches("</div>").count(), 64);
}

#[test]
fn pages_are_those_of_the_ranges() {
    let file = File {
        pages: vec![
            PageRange { first: 1, last: 2 },
            PageRange { first: 5, last: 5 },
        ],
        ..File::default()
    };
    let wanted: Vec<u32> = (0..8).filter(|page| file.wants_page(*page)).collect();
    assert_eq!(wanted, [1, 2, 5]);
    assert!(File::default().wants_page(7));
}

#[test]
fn a_document_has_the_name_of_its_file() {
    for (url, expected) in [
        ("https://a.example/b/c.csv?d/e#f/g", Some("c.csv")),
        ("https://a.example/b/", None),
        ("", None),
    ] {
        let file = File {
            url: Cow::Borrowed(url),
            ..File::default()
        };
        assert_eq!(file.name(), expected, "{url}");
    }
}

#[test]
fn empty_metadata_is_left_out() {
    let decoded = Decoded::new(String::new())
        .with("title", "")
        .with("authors", Vec::<String>::new())
        .with("language", None::<String>)
        .with("n", 3)
        .warn("w");
    assert_eq!(Value::Object(decoded.metadata), serde_json::json!({"n": 3}));
    assert_eq!(decoded.warnings, ["w"]);
}
