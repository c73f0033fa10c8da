use serde_json::{Value, json};
use trawl_sdk::testkit;

use super::{ALL_BYTES_MAX, HiddenTexts, TEXT_BYTES_MAX, TEXTS_MAX};

fn texts(html: &str) -> Vec<Value> {
    match testkit::page(html).extract::<HiddenTexts>(json!({})) {
        Ok(Value::Array(texts)) => texts,
        other => panic!("{html} gave {other:?}"),
    }
}

fn n_bytes(text: &Value) -> usize {
    text["text"].as_str().map_or(0, str::len)
}

#[track_caller]
fn check(html: &str, expected: &[(&str, &str)]) {
    let expected: Vec<_> = expected
        .iter()
        .map(|(text, by)| json!({"text": text, "by": by}))
        .collect();
    assert_eq!(texts(html), expected, "{html}");
}

#[test]
fn a_page_that_hides_nothing_gives_an_empty_list() {
    check("<p>a<script>b</script><template hidden>c</template>", &[]);
    check("", &[]);
}

#[test]
fn hidden_texts_come_in_page_order_with_what_hides_them() {
    check(
        "<p hidden>a</p>b<i style='display:none'>c  d\n e</i><b aria-hidden=true class=popup>f</b>",
        &[
            ("a", "hidden_attribute"),
            ("c d e", "display"),
            ("f", "aria_hidden"),
        ],
    );
}

#[test]
fn nested_hidden_elements_are_reported_once() {
    check(
        "<div style='visibility:hidden'>a<p hidden>b</p><p>c</div>",
        &[("a b c", "visibility")],
    );
}

#[test]
fn words_are_separated_at_block_boundaries() {
    check(
        "<div hidden>a<b>b</b> c<p>d</p>e<br>f<table><tr><td>g<td>h</table></div>",
        &[("ab c d e f g h", "hidden_attribute")],
    );
}

#[test]
fn scripts_svg_and_form_options_are_not_text() {
    check(
        "<div hidden>a<style>b</style><script>c</script><template>d</template><svg><title>e</title></svg>\
         <select><option>f</select><textarea>g</textarea></div><div hidden> \n </div>",
        &[("a", "hidden_attribute")],
    );
    check("<svg aria-hidden=true><title>a</title></svg>", &[]);
}

#[test]
fn filtered_elements_are_not_reported() {
    let page = testkit::page("<nav hidden>a</nav><p hidden>b").without("nav");
    assert_eq!(
        page.extract::<HiddenTexts>(json!({})),
        Ok(json!([{"text": "b", "by": "hidden_attribute"}]))
    );
}

#[test]
fn the_answer_is_bounded() {
    let long = texts(&format!("<p hidden>{}", "ä".repeat(TEXT_BYTES_MAX)));
    assert_eq!(n_bytes(&long[0]), TEXT_BYTES_MAX);
    assert_eq!(texts(&"<p hidden>a</p>".repeat(1000)).len(), TEXTS_MAX);
    let many = texts(&format!("<p hidden>{}</p>", "a ".repeat(2000)).repeat(100));
    let n_all: usize = many.iter().map(n_bytes).sum();
    assert!(n_all <= ALL_BYTES_MAX, "{n_all}");
}
