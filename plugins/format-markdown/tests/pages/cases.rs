//! Pages in `cases/` and the expected Markdown. `UPDATE_EXPECT=1` rewrites the expectations.

use std::fs;
use std::path::{Path, PathBuf};

use format_markdown::Markdown;
use serde_json::json;
use trawl_sdk::testkit;

fn cases() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases");
    let entries = fs::read_dir(folder).expect("the folder of cases");
    let mut cases: Vec<_> = entries
        .map(|entry| entry.expect("a case").path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "html")
        })
        .collect();
    cases.sort();
    cases
}

#[expect(
    clippy::disallowed_methods,
    reason = "the one switch of this test, set by hand"
)]
fn is_update() -> bool {
    std::env::var_os("UPDATE_EXPECT").is_some()
}

#[test]
fn every_case_gives_its_markdown() {
    let update = is_update();
    let mut wrong = Vec::new();
    for case in cases() {
        let html = fs::read_to_string(&case).expect("a page in UTF-8");
        let page = testkit::page(&html).url("https://example.com/docs/page.html");
        let got = page.render_text::<Markdown>(json!({}));
        let expected = case.with_extension("md");
        if update {
            fs::write(&expected, &got).expect("a writable folder");
        } else if fs::read_to_string(&expected).unwrap_or_default() != got {
            wrong.push(format!("{}:\n{got}", case.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
