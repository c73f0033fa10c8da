use serde_json::json;
use trawl_sdk::decoder::{Decoded, Failure};
use trawl_sdk::testkit::{self, body};

use crate::DataFiles;

fn decode(media_type: &str, text: &str) -> Decoded {
    let document = testkit::document(media_type, text).url("https://example.com/d/file.x?y/z");
    document.decode::<DataFiles>(json!({})).expect("decoded")
}

#[test]
fn like_records_are_a_table() {
    let decoded = decode("application/json", include_str!("../cases/ships.json"));
    assert_eq!(
        body(&decoded),
        "<dl><dt>harbour</dt><dd>Kiel</dd><dt>count</dt><dd>3</dd></dl><table><thead><tr>\
         <th>name</th><th>length</th><th>tags</th><th>url</th><th>crew</th></tr></thead><tbody>\
         <tr><td>Anna</td><td>12.5</td><td>old, red</td>\
         <td><a href=\"https://ships.example/anna\">https://ships.example/anna</a></td><td></td></tr>\
         <tr><td>Bert &lt;b&gt;</td><td>30</td><td></td><td></td><td></td></tr>\
         <tr><td>Carl</td><td></td><td></td><td></td><td>{&quot;n&quot;: 2}</td></tr></tbody></table>"
    );
    assert_eq!(decoded.metadata["title"], "file.x");
    assert_eq!(decoded.metadata["item_count"], 3);
    assert!(decoded.warnings.is_empty());
}

#[test]
fn everything_else_is_code() {
    let text = include_str!("../cases/config.json");
    let decoded = decode("application/vnd.api+json", text);
    assert_eq!(
        body(&decoded),
        "<pre><code class=\"language-json\">{&quot;a&quot;: {&quot;b&quot;: [1, 2, \
         {&quot;c&quot;: &quot;&lt;d&gt;&quot;}]}}\n</code></pre>"
    );
    let decoded = decode("text/x-python", "if a < b:\n    pass\n");
    assert_eq!(
        body(&decoded),
        "<pre><code class=\"language-python\">if a &lt; b:\n    pass\n</code></pre>"
    );
    assert_eq!(decoded.metadata["data_format"], "python");
    for text in [
        "[1, 2]",
        "[{\"a\": 1}]",
        "3",
        "[{\"a\": 1}, 2]",
        "[{\"a\": 1}, {\"b\": 1}, {\"c\": 2}]",
    ] {
        assert!(
            body(&decode("application/json", text)).starts_with("<pre>"),
            "{text}"
        );
    }
}

#[test]
fn other_languages_have_records_too() {
    let decoded = decode("application/toml", include_str!("../cases/ships.toml"));
    let table = body(&decoded);
    assert!(
        table.starts_with("<dl><dt>title</dt><dd>Ships</dd></dl><table>"),
        "{table}"
    );
    assert!(
        table.contains("1979-05-27") && table.contains("<td>Bert</td>"),
        "{table}"
    );
    let decoded = decode("text/xml", include_str!("../cases/ships.xml"));
    assert_eq!(
        body(&decoded),
        "<table><thead><tr><th>id</th><th>name</th><th>port</th></tr></thead><tbody>\
         <tr><td>1</td><td>Anna</td><td>Kiel, Bonn</td></tr>\
         <tr><td>2</td><td>Bert</td><td></td></tr></tbody></table>"
    );
    let decoded = decode("application/x-ndjson", include_str!("../cases/lines.jsonl"));
    assert!(body(&decoded).contains("<tr><td>2</td><td>y</td></tr>"));
}

#[test]
fn a_damaged_file_is_code_with_a_warning() {
    for (media_type, text, expected) in [
        ("application/json", "{\"a\": ", "the JSON is invalid: "),
        ("application/jsonl", "{}\n{", "line 2 is not JSON"),
        ("application/toml", "a = ", "the TOML is invalid"),
        ("application/xml", "<a><b></a>", "the XML is invalid"),
        ("application/xml", "x", "no XML"),
    ] {
        let decoded = decode(media_type, text);
        assert!(body(&decoded).starts_with("<pre>"), "{text}");
        assert!(
            decoded.warnings[0].contains(expected),
            "{:?}",
            decoded.warnings
        );
    }
}

#[test]
fn deep_and_large_files_are_code() {
    let deep = decode("application/json", &"[".repeat(100_000));
    assert!(
        deep.warnings[0].contains("recursion limit"),
        "{:?}",
        deep.warnings
    );
    let xml = decode("application/xml", &"<a>".repeat(100_000));
    assert!(
        xml.warnings[0].contains("levels deep"),
        "{:?}",
        xml.warnings
    );
    let record = "{\"a\": 1, \"b\": 2},".repeat(600_000);
    let large = decode(
        "application/json",
        &format!("[{}]", record.trim_end_matches(',')),
    );
    assert!(body(&large).starts_with("<pre>"));
    let record = "{\"a\": 1, \"b\": 2},".repeat(300_000);
    let long = decode(
        "application/json",
        &format!("[{}]", record.trim_end_matches(',')),
    );
    assert_eq!(long.warnings, ["100000 records are left out of the table"]);
}

#[test]
fn other_types_are_left_to_other_decoders() {
    let decoded = testkit::document("image/png", "x").decode::<DataFiles>(json!({}));
    assert!(matches!(decoded, Err(Failure::Unsupported(_))));
}
