//! URLs: parsing and joining. The judge is the data of the URL standard's own tests, as the package
//! `url` ships it.

use serde_json::Value;
use trawl_model::urls;

use crate::trial::{Exception, Trial};

/// What `cargo xtask judges` has put aside.
const DATA: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../target/conformance/urltestdata.json"
);

const EXCEPTIONS: [Exception; 2] = [
    Exception {
        reason: "a file, or a scheme that is not the web's: such URLs are never fetched",
        covers: |it| !it.judge.starts_with("http") && !it.input.contains("\"http"),
    },
    Exception {
        reason: "a label that is not valid Punycode is refused: no such name can be registered",
        covers: |it| it.trawl == "failure" && it.judge.to_ascii_lowercase().contains("xn--"),
    },
];

#[test]
#[cfg_attr(no_judges, ignore = "no judges: cargo xtask judges")]
fn urls_are_read_as_the_standards_tests_say() {
    let data = std::fs::read_to_string(DATA).expect("run `cargo xtask judges`");
    let rows: Value = serde_json::from_str(&data).expect("JSON");
    let mut trial = Trial::of("URLs: the standard's tests", &EXCEPTIONS);
    // Nothing is drawn: one round.
    let _draw = trial.round();
    // Comments are strings.
    for row in rows
        .as_array()
        .unwrap()
        .iter()
        .filter(|row| row.is_object())
    {
        let text = |name: &str| row[name].as_str();
        let written = text("input").expect("an input");
        let ours = match text("base") {
            None => urls::parse(written),
            Some(base) => urls::parse(base).and_then(|base| urls::join(&base, written)),
        };
        let ours = ours.map_or_else(|_| "failure".to_owned(), |url| url.to_string());
        let judge = text("href").unwrap_or("failure");
        let input = format!("{written:?} on {:?}", text("base"));
        trial.compare(&input, judge, &ours);
    }
    trial.close();
}
