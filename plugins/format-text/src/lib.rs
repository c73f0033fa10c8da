//! The `text` format: the visible text of a page.

use serde::Deserialize;
use trawl_sdk::{Document, Failure, Format, Info, Needs, Output, Source, TextOptions};

/// Renders HTML as visible text; any other textual page is returned unchanged.
pub struct Text;

/// Options of a request.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Whether hidden text is included.
    pub hidden: bool,
}

/// JSON Schema of [`Options`].
const SCHEMA: &str = r#"{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "hidden": {
      "type": "boolean",
      "default": false,
      "description": "Whether to include hidden text (`display:none`, off-screen and so on)."
    }
  }
}"#;

trawl_sdk::export!(format: Text);

impl Format for Text {
    type Options = Options;

    fn info() -> Info {
        Info::new(
            "text",
            env!("CARGO_PKG_VERSION"),
            "The text of a page as a reader sees it",
        )
        .options_schema(SCHEMA)
        .needs(Needs::SOURCE)
    }

    fn render(document: &Document, source: Source, options: Options) -> Result<Output, Failure> {
        if document.is_html() {
            return Ok(Output::Text(text(document, options)));
        }
        if document.is_binary() {
            return Err(Failure::Unsupported(format!(
                "`{}` has no text; ask for the format `bytes`",
                document.media_type()
            )));
        }
        Ok(Output::Text(source.text.into_owned()))
    }
}

/// The text of a page. Some pages have only a `<noscript>`, others are hidden until their scripts
/// run.
fn text(document: &Document, options: Options) -> String {
    let requested = TextOptions::default().with_hidden(options.hidden);
    [
        requested,
        requested.with_noscript(true),
        requested.with_hidden(true),
    ]
    .into_iter()
    .map(|options| document.text_with(options))
    .find(|text| !text.is_empty())
    .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::Text;
    use serde_json::json;
    use trawl_sdk::{Failure, testkit};

    #[track_caller]
    fn check(html: &str, expected: &str) {
        let text = testkit::page(html).render_text::<Text>(json!({}));
        assert_eq!(text, expected, "{html}");
    }

    #[test]
    fn white_space_is_folded_as_a_browser_does_it() {
        check("<p>  a \n b<b> c</b>d <i> e </i> f</p>", "a b cd e f");
        check("a<br>b <br> c", "a\nb\nc");
        check("<pre>a\n  b\n</pre>", "a\n  b");
        check("a&nbsp;&nbsp;b", "a\u{a0}\u{a0}b");
    }

    #[test]
    fn blocks_start_a_line_and_paragraphs_are_separated() {
        check("<h1>t</h1>x<p>a</p><p>b</p>", "t\n\nx\n\na\n\nb");
        check("<div>a<div>b</div></div><div></div>c", "a\nb\nc");
        check("<dl><dt>a<dd>b<dt>c<dd>d</dl>", "a\nb\nc\nd");
    }

    #[test]
    fn lists_have_their_marks() {
        check("<ul><li>a<li><p>b</p><p>c</p></ul>d", "- a\n- b\n  c\n\nd");
        check(
            "<ol start=3><li>a<ul><li>b</ul><li value=9>c<li>d</ol>",
            "3. a\n  - b\n9. c\n10. d",
        );
        check("<ol reversed><li>a<li>b</ol>", "2. a\n1. b");
        check("<ul><li><li>b</ul>", "- b");
    }

    #[test]
    fn cells_are_separated_by_tabs() {
        check(
            "<table><tr><th>a</th> <th>b<tr><td><p>c</p> <td> d </table>e",
            "a\tb\nc\td\n\ne",
        );
        check("<table><tr><td><td>x</table>", "\tx");
    }

    #[test]
    fn hidden_text_is_omitted() {
        check(
            "<title>t</title>a<script>s</script><style>s</style><template>s</template><noscript>s</noscript>
             <p hidden>s</p><p style='color:red; Display : none !important'>s</p><dialog>s</dialog><select><option>s</select>b",
            "a b",
        );
        check(
            "<div hidden>s</div>a<span hidden>s</span>b<dialog open>c</dialog>",
            "ab\nc",
        );
    }

    #[test]
    fn hidden_text_is_shown_on_request() {
        let html =
            "<p>a<p style='position:absolute;left:-9999px'>b<i aria-hidden=true class=popup>c</i>";
        let page = testkit::page(html);
        assert_eq!(page.render_text::<Text>(json!({})), "a");
        assert_eq!(page.render_text::<Text>(json!({"hidden": true})), "a\n\nbc");
    }

    #[test]
    fn a_fully_hidden_page_is_rendered() {
        check("<div style='display:none'>a</div>", "a");
        check("<noscript><h1>a</h1><p>b</noscript>", "a\n\nb");
    }

    #[test]
    fn controls_svg_and_icons_are_not_text() {
        check(
            "a<textarea>s</textarea><progress>s</progress><svg><title>s</title></svg><i class=material-icons>s</i>b",
            "ab",
        );
        check("a<button>Go</button>b<label>c</label>", "a Go bc");
        check(
            "<math><mi>E</mi><annotation encoding=application/x-tex>s</annotation></math>",
            "E",
        );
    }

    #[test]
    fn permalinks_are_not_text() {
        check(
            "<h2>Usage<a href='#u'>¶</a></h2><h3>More <a href='b#m'><span>#</span></a></h3>see <a href='#u'>Usage</a>",
            "Usage\n\nMore\n\nsee Usage",
        );
    }

    #[test]
    fn a_ruby_reading_is_in_brackets() {
        check(
            "<ruby>漢<rp>(</rp><rt>kan</rt><rp>)</rp>字<rt>ji</rt></ruby>",
            "漢(kan)字(ji)",
        );
    }

    #[test]
    fn inline_style_can_make_a_block_and_keep_blanks() {
        check("a<span style='display:block'>b</span>c", "a\nb\nc");
        check("<p style='white-space:pre'>a  b\n c</p>", "a  b\n c");
        check("lo<wbr>ng so&shy;ft", "long so\u{ad}ft");
    }

    #[test]
    fn filtered_elements_are_omitted() {
        let page = testkit::page("<nav>n</nav><p>a</p>").without("nav");
        assert_eq!(page.render_text::<Text>(json!({})), "a");
    }

    #[test]
    fn other_text_is_returned_unchanged() {
        let page = testkit::page("{\"a\": 1}\n").content_type("application/json");
        assert_eq!(page.render_text::<Text>(json!({})), "{\"a\": 1}\n");
    }

    #[test]
    fn an_image_is_refused_by_its_type() {
        let page = testkit::page("").content_type("image/png");
        assert_eq!(
            page.render::<Text>(json!({})),
            Err(Failure::Unsupported(
                "`image/png` has no text; ask for the format `bytes`".to_owned()
            ))
        );
    }
}
