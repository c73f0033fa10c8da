//! The format `text`: a page's text as a reader sees it.

use trawl_sdk::{Document, Failure, Format, Info, Needs, Output, Source};

/// Renders HTML as the text a reader sees; any other textual page as it is.
pub struct Text;

trawl_sdk::export!(format: Text);

impl Format for Text {
    type Options = ();

    fn info() -> Info {
        Info::new(
            "text",
            env!("CARGO_PKG_VERSION"),
            "The text of a page as a reader sees it",
        )
        .needs(Needs::SOURCE)
    }

    fn render(document: &Document, source: Source, _: ()) -> Result<Output, Failure> {
        if document.is_html() {
            return Ok(Output::Text(document.text()));
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
    fn blocks_stand_on_their_own_lines_and_paragraphs_apart() {
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
    fn cells_stand_apart_by_a_tab() {
        check(
            "<table><tr><th>a</th> <th>b<tr><td><p>c</p> <td> d </table>e",
            "a\tb\nc\td\n\ne",
        );
        check("<table><tr><td><td>x</table>", "\tx");
    }

    #[test]
    fn what_is_hidden_is_left_out() {
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
    fn only_what_filters_kept_is_shown() {
        let page = testkit::page("<nav>n</nav><p>a</p>").without("nav");
        assert_eq!(page.render_text::<Text>(json!({})), "a");
    }

    #[test]
    fn other_text_comes_as_it_is() {
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
