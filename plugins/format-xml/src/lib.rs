//! The `xml` format: a page as well-formed XHTML, even if its HTML is invalid.

mod serialize;

use trawl_sdk::{Document, Failure, Format, Info, Needs, Output, Source};

/// Renders HTML as well-formed XHTML; an XML page is returned unchanged.
pub struct Xml;

trawl_sdk::export!(format: Xml);

impl Format for Xml {
    type Options = ();

    fn info() -> Info {
        Info::new(
            "xml",
            env!("CARGO_PKG_VERSION"),
            "A page as well-formed XHTML",
        )
        .needs(Needs::SOURCE)
    }

    fn render(document: &Document, source: Source, _: ()) -> Result<Output, Failure> {
        let media_type = document.media_type();
        if document.is_html() {
            return Ok(Output::Text(serialize::page(document)));
        }
        if media_type.ends_with("/xml") || media_type.ends_with("+xml") {
            return Ok(Output::Text(source.text.into_owned()));
        }
        Err(Failure::Unsupported(format!(
            "`{media_type}` is neither HTML nor XML; ask for the format `text` or `bytes`"
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::Xml;
    use serde_json::json;
    use trawl_sdk::{Failure, testkit};

    const OPEN: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE html>
<html xmlns="http://www.w3.org/1999/xhtml">"#;

    #[track_caller]
    fn check(body: &str, expected: &str) {
        let html = format!("<!doctype html><body>{body}");
        let xml = testkit::page(&html).render_text::<Xml>(json!({}));
        assert_eq!(
            xml,
            format!("{OPEN}<head></head><body>{expected}</body></html>\n"),
            "{body}"
        );
    }

    #[test]
    fn elements_are_closed_and_values_quoted() {
        check(
            "<p class=a>x<br>y<img src=i><p>z",
            r#"<p class="a">x<br/>y<img src="i"/></p><p>z</p>"#,
        );
        check("<input disabled>", r#"<input disabled=""/>"#);
    }

    #[test]
    fn special_characters_are_written_as_references() {
        check("a &lt; b &amp;&nbsp;c > d", "a &lt; b &amp;\u{a0}c &gt; d");
        check(
            "<p title='\"a\nb\t&'>",
            r#"<p title="&quot;a&#10;b&#9;&amp;"></p>"#,
        );
        check(
            "<script>if (a<b && c) {}</script>",
            "<script>if (a&lt;b &amp;&amp; c) {}</script>",
        );
    }

    #[test]
    fn characters_not_permitted_in_xml_are_replaced() {
        check("a\u{1}b\u{fffe}c", "a\u{fffd}b\u{fffd}c");
        check("<!--a--b--->x", "<!--a- -b- -->x");
        check(
            "<o:p a@b=1 x:y=2 1c=3 d=4>x</o:p>",
            r#"<o_p a_b="1" x_y="2" _1c="3" d="4">x</o_p>"#,
        );
        check("<p a@b=1 a%b=2 xmlns=z xmlns:q=z>x", r#"<p a_b="1">x</p>"#);
    }

    #[test]
    fn svg_and_mathml_have_their_namespaces() {
        check(
            "<svg viewBox='0 0 1 1'><use xlink:href='#a'/><foreignObject><p>x</p></foreignObject></svg><math><mi>y</math>",
            r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><use xmlns:xlink="http://www.w3.org/1999/xlink" xlink:href="#a"></use><foreignObject><p xmlns="http://www.w3.org/1999/xhtml">x</p></foreignObject></svg><math xmlns="http://www.w3.org/1998/Math/MathML"><mi>y</mi></math>"##,
        );
    }

    #[test]
    fn a_page_without_its_root_gets_one() {
        let page = testkit::page("<p>a").without("html");
        let xml = page.render_text::<Xml>(json!({}));
        assert!(
            xml.ends_with("<html xmlns=\"http://www.w3.org/1999/xhtml\"></html>\n"),
            "{xml}"
        );
    }

    #[test]
    fn other_pages_are_taken_or_refused_by_type() {
        let page = testkit::page("<a/>").content_type("application/rss+xml");
        assert_eq!(page.render_text::<Xml>(json!({})), "<a/>");
        let page = testkit::page("{}").content_type("application/json");
        assert!(matches!(
            page.render::<Xml>(json!({})),
            Err(Failure::Unsupported(_))
        ));
    }
}
