use serde_json::json;
use trawl_sdk::decoder::{Decoded, Failure};
use trawl_sdk::testkit::{self, body};

use crate::Tables;

fn decode(media_type: &str, text: &str) -> Result<Decoded, Failure> {
    let document = testkit::document(media_type, text).url("https://example.com/ships.csv?x");
    document.decode::<Tables>(json!({}))
}

#[test]
fn a_table_has_its_header() {
    let decoded = decode("text/csv", include_str!("../cases/ships.csv")).expect("a table");
    assert_eq!(
        body(&decoded),
        "<table><thead><tr><th>Name</th><th>Length</th><th>Home page</th></tr></thead><tbody>\
         <tr><td>Anna</td><td>12.5</td>\
         <td><a href=\"https://ships.example/anna\">https://ships.example/anna</a></td></tr>\
         <tr><td>Bert, &quot;the &lt;b&gt;&quot;</td><td>30</td><td colspan=\"1\"></td></tr>\
         <tr><td>Carl</td><td></td><td>two\nlines</td></tr></tbody></table>"
    );
    assert_eq!(decoded.metadata["title"], "ships.csv");
    assert_eq!(
        decoded.metadata["columns"],
        json!(["Name", "Length", "Home page"])
    );
    assert_eq!(decoded.metadata["row_count"], 3);
}

#[test]
fn the_delimiter_is_found() {
    let decoded = decode("text/csv", include_str!("../cases/german.csv")).expect("a table");
    assert!(body(&decoded).contains("<tr><td>A</td><td>1,5</td></tr>"));
    let tabs = decode("text/tab-separated-values", "a,b\tc\n").expect("a table");
    assert!(body(&tabs).contains("<td>a,b</td><td>c</td>"));
    let bars = decode("text/csv", "a|b|c\n1|2|3\n").expect("a table");
    assert_eq!(bars.metadata["column_count"], 3);
}

#[test]
fn a_table_of_numbers_has_no_header() {
    let text = include_str!("../cases/numbers.tsv");
    let decoded = decode("text/tab-separated-values", text).expect("a table");
    assert!(body(&decoded).starts_with("<table><tbody><tr><td>1</td>"));
    let said = decode("text/csv; header=present", "1,2\n3,4").expect("a table");
    assert!(body(&said).contains("<th>1</th>"));
    let said = decode("text/csv;Header=\"absent\"", "a,b\n3,4").expect("a table");
    assert!(body(&said).contains("<td>a</td>"));
}

#[test]
fn limits_end_with_a_sentence() {
    let wide = decode("text/csv", &",".repeat(2_000).replace(',', "x,"));
    assert!(matches!(wide, Err(Failure::Limit(reason)) if reason.contains("2001 cells")));
    let long = decode("text/csv", &"1,2\n".repeat(300_000)).expect("a table");
    assert_eq!(long.warnings, ["100000 rows are left out"]);
    assert_eq!(long.metadata["row_count"], 300_000);
}

#[test]
fn an_empty_table_is_one() {
    let decoded = decode("text/csv", "").expect("a table");
    assert_eq!(body(&decoded), "<table><tbody></tbody></table>");
}
