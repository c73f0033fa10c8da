//! The answers that XPath is measured by are still those of the browser: `tests/fixtures/xpath` (see its README) keeps them, and
//! the evaluator's own test compares with them.

use std::path::Path;

use serde_json::{Value, json};

use super::Stage;

const PAGES: [&str; 4] = ["guide", "manual", "shop", "tables"];
/// Of some 700 expressions a page: what another version of the browser may answer in another way.
const OTHER_ANSWERS_MAX: usize = 7;

fn fixture(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/xpath");
    std::fs::read_to_string(folder.join(name)).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn the_browser_answers_expressions_as_it_is_written_down() {
    let stage = Stage::new().await;
    let text = fixture("expressions.txt");
    let is_expression = |line: &&str| !line.trim().is_empty() && !line.starts_with("# ");
    let expressions: Vec<&str> = text.lines().filter(is_expression).collect();
    assert!(expressions.len() >= 200);
    let asks = fixture("evaluate.js").replace("__EXPRESSIONS__", &json!(expressions).to_string());
    for name in PAGES {
        let url = stage.page(&format!("/{name}"), &fixture(&format!("pages/{name}.html")));
        let kept = fixture(&format!("expected/{name}.json"));
        let compares = format!(
            "((kept, now) => JSON.stringify([now.length, kept.flatMap((answer, at) => answer === now[at] ? [] : [[at, answer, now[at]]])]))\
             ({kept}, JSON.parse({asks}))"
        );
        let steps = json!({"automation_scripts": {"*": [{"Evaluate": compares}]}});
        let entry = stage.rendered(&url, steps).await;
        let told = &entry["metadata"]["automation_data"][0]["result"];
        let found: Value = serde_json::from_str(told.as_str().unwrap_or_default())
            .unwrap_or_else(|error| panic!("{name}: {error}: {}", entry["metadata"]));
        assert_eq!(found[0], expressions.len());
        let others = found[1].as_array().unwrap();
        assert!(others.len() <= OTHER_ANSWERS_MAX, "{name}: {found}");
    }
    stage.ends().await;
}
