//! The `html` format: a page's HTML, as served or as filtered.

mod serialize;

use trawl_sdk::{Document, Failure, Format, Info, Needs, Output, Source};

/// Returns the decoded source; if filters removed something, the remaining tree is serialized.
pub struct Html;

/// Options of [`Html`].
#[derive(Debug, Default, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Omit what only a browser needs: scripts, styles, comments, event handlers.
    clean: bool,
}

trawl_sdk::export!(format: Html);

impl Format for Html {
    type Options = Options;

    fn info() -> Info {
        Info::new(
            "html",
            env!("CARGO_PKG_VERSION"),
            "The HTML of a page, as served or as filtered",
        )
        .needs(Needs::SOURCE)
        .options_schema(
            r#"{
                "type": "object",
                "properties": {
                    "clean": {
                        "type": "boolean",
                        "default": false,
                        "description": "Omit scripts, styles, comments, event handlers and style attributes"
                    }
                },
                "additionalProperties": false
            }"#,
        )
    }

    fn render(document: &Document, source: Source, options: Options) -> Result<Output, Failure> {
        if document.is_binary() {
            return Err(Failure::Unsupported(format!(
                "`{}` is not text; ask for the format `bytes`",
                document.media_type()
            )));
        }
        let is_as_served = !document.is_filtered() && !options.clean;
        if is_as_served || !document.is_html() {
            return Ok(Output::Text(source.text.into_owned()));
        }
        Ok(Output::Text(serialize::page(document, options.clean)))
    }
}

#[cfg(test)]
mod tests {
    use super::Html;
    use serde_json::json;
    use trawl_sdk::testkit;

    #[test]
    fn an_unfiltered_page_is_returned_as_served() {
        let source = "<!doctype html><P Class=a>x & y<br/>";
        assert_eq!(testkit::page(source).render_text::<Html>(json!({})), source);
    }

    #[track_caller]
    fn check_filtered(html: &str, expected: &str) {
        let page = testkit::page(html).without(".drop");
        assert_eq!(page.render_text::<Html>(json!({})), expected);
    }

    #[test]
    fn a_filtered_page_is_serialized() {
        check_filtered(
            "<!doctype html><p class=drop>x<p title='\"<&>\u{a0}'>a &lt; b &amp; c&nbsp;<br>d<!-- e -->",
            "<!DOCTYPE html><html><head></head><body><p title=\"&quot;&lt;&amp;&gt;&nbsp;\">a &lt; b &amp; c&nbsp;<br>d<!-- e --></p></body></html>",
        );
        check_filtered(
            "<script>if (a < b && c) {}</script><template><i>t</i></template><body><svg viewBox='0 0 1 1'><path/></svg>",
            "<html><head><script>if (a < b && c) {}</script><template><i>t</i></template></head><body><svg viewBox=\"0 0 1 1\"><path></path></svg></body></html>",
        );
    }

    #[test]
    fn clean_leaves_out_what_only_a_browser_needs() {
        let page = testkit::page(
            "<!doctype html><link rel=stylesheet href=s><link rel=canonical href=c><style>s</style><body onload=f()>
<!-- c --><p style='color:red' class=k onClick=g()>a<script>s</script><a href=' JavaScript:h()'>b</a></p><noscript>n</noscript>",
        );
        assert_eq!(
            page.render_text::<Html>(json!({"clean": true})),
            "<!DOCTYPE html><html><head><link rel=\"canonical\" href=\"c\"></head><body>\n<p class=\"k\">a<a>b</a></p></body></html>"
        );
    }

    #[test]
    fn what_a_style_hides_stays_hidden_in_clean_html() {
        for (html, clean) in [
            ("<p style='display:none'>a", "<p hidden=\"\">a</p>"),
            (
                "<p style='visibility:hidden' class=k>a",
                "<p class=\"k\" hidden=\"\">a</p>",
            ),
            (
                "<p style='display:none' hidden=until-found>a",
                "<p hidden=\"\">a</p>",
            ),
            ("<p hidden style='color:red'>a", "<p hidden=\"\">a</p>"),
            ("<dialog style='color:red'>a</dialog>", "<dialog>a</dialog>"),
            ("<p style='color:red'>a", "<p>a</p>"),
        ] {
            // More text, so that the hidden part is not the whole page.
            let more = "<p>Some text that everybody sees, and that is longer.";
            let page = testkit::page(&format!("{html}{more}"));
            let text = page.render_text::<Html>(json!({"clean": true}));
            assert!(text.contains(&format!("<body>{clean}<p>Some")), "{text}");
        }
    }

    #[test]
    fn a_wrong_option_is_named() {
        let failure = testkit::page("").render::<Html>(json!({"clean": "yes"}));
        assert!(
            failure
                .expect_err("a wrong option")
                .to_string()
                .contains("`clean`")
        );
    }
}
