use serde_json::{Value, json};
use trawl_sdk::decoder::{Decoded, Failure};
use trawl_sdk::testkit::{self, body};

use crate::Rtf;

fn decode(text: &str) -> Result<Decoded, Failure> {
    testkit::document("application/rtf", text).decode::<Rtf>(json!({}))
}

#[test]
fn a_document_has_headings_lists_tables_links_and_notes() {
    let decoded = decode(include_str!("../cases/ships.rtf")).expect("a document");
    assert_eq!(
        body(&decoded),
        "<h1>Ships</h1><p>A <strong>bold</strong> and <em>italic</em> word, ä€—Пр.\
         <sup><a href=\"#note-1\">1</a></sup> <br>end</p>\
         <p><a href=\"https://a.example/?b=1&amp;c\">link</a> 😀</p>\
         <ul><li>one</li><li>two</li></ul><ol><li>first</li></ol>\
         <table><tr><td>Name</td><td>Length</td></tr><tr><td>Anna<br>tall</td><td>12</td></tr></table>\
         <h2>End</h2><p>a\u{A0}b{c}</p>\
         <section class=\"footnotes\"><ol><li id=\"note-1\">A <strong>note</strong>.<br></li></ol></section>"
    );
    assert_eq!(
        Value::Object(decoded.metadata),
        json!({"title": "Ships & sea", "authors": ["Anna Müller"]})
    );
    assert!(decoded.warnings.is_empty(), "{:?}", decoded.warnings);
}

#[test]
fn cells_span_columns_and_rows() {
    // Wide by its edge, merged with the cell on its left, merged with the cell above.
    let decoded = decode(include_str!("../cases/spans.rtf")).expect("a document");
    assert_eq!(
        body(&decoded),
        "<table><tr><td>A</td><td>B</td><td>C</td></tr>\
         <tr><td colspan=\"2\">wide</td><td>D</td></tr>\
         <tr><td colspan=\"2\">left</td><td rowspan=\"2\">high</td></tr>\
         <tr><td>E</td><td>F</td></tr></table><p>High tide.</p>"
    );
}

#[test]
fn comments_are_written_on_request() {
    let rtf = include_str!("../cases/spans.rtf");
    let document = testkit::document("application/rtf", rtf);
    let decoded = document.decode::<Rtf>(json!({"comments": true}));
    let decoded = decoded.expect("a document");
    let (_, after) = body(&decoded).split_once("</table>").expect("a table");
    assert_eq!(
        after,
        "<p>High tide.</p><section class=\"comments\"><article><h4>Anna M.</h4>\
         <p>Which<strong> one</strong>?</p></article></section>"
    );
}

#[test]
fn damaged_and_hostile_files_end_with_a_sentence() {
    let cut = decode("{\\rtf1 a{\\b b").expect("a document");
    assert_eq!(body(&cut), "<p>a<strong>b</strong></p>");
    assert_eq!(cut.warnings, ["the file is cut off"]);
    let deep = decode(&format!("{{\\rtf1 {}", "{".repeat(5_000)));
    assert_eq!(
        deep,
        Err(Failure::Limit(
            "groups are more than 1000 levels deep".to_owned()
        ))
    );
    let many = decode(&format!("{{\\rtf1 {}}}", "a\\par ".repeat(500_001)));
    assert!(matches!(many, Err(Failure::Limit(_))));
    let other = decode("plain");
    assert!(matches!(other, Err(Failure::Unsupported(_))), "{other:?}");
    let closed = decode("{\\rtf1 a}}}}\\par b").expect("a document");
    assert_eq!(body(&closed), "<p>a</p><p>b</p>");
}
