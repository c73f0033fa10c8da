//! Compares the browser with the expected results in `tests/fixtures/xpath` (see its README), which
//! the XPath evaluator's own test uses.

use std::path::Path;

use serde_json::{Value, json};

use super::Stage;

const PAGES: [&str; 4] = ["guide", "manual", "shop", "tables"];
/// Upper bound on differing results of some 700 expressions per page, for other versions of the
/// browser.
const DIFFERENCES_MAX: usize = 7;

/// Refers to a variable, of which a page has none. Chromium 148 does not report that: its renderer
/// crashes, so it is not asked.
fn crashes_browser(expression: &str) -> bool {
    expression.contains('$')
}

fn fixture(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/xpath");
    std::fs::read_to_string(folder.join(name)).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn the_browser_agrees_with_the_expected_results() {
    let stage = Stage::new().await;
    let text = fixture("expressions.txt");
    let is_expression = |line: &&str| !line.trim().is_empty() && !line.starts_with("# ");
    let expressions: Vec<&str> = text.lines().filter(is_expression).collect();
    assert!(expressions.len() >= 200);
    let asked = expressions.iter();
    let asked = asked.map(|expression| {
        if crashes_browser(expression) {
            "/"
        } else {
            expression
        }
    });
    let asked = json!(asked.collect::<Vec<_>>()).to_string();
    let asks = fixture("evaluate.js").replace("__EXPRESSIONS__", &asked);
    for name in PAGES {
        let url = stage.page(&format!("/{name}"), &fixture(&format!("pages/{name}.html")));
        let expected = fixture(&format!("expected/{name}.json"));
        let compares = format!(
            "((expected, now) => JSON.stringify([now.length, expected.flatMap((answer, at) => answer === now[at] ? [] : [[at, answer, now[at]]])]))\
             ({expected}, JSON.parse({asks}))"
        );
        let steps = json!({"automation_scripts": {"*": [{"Evaluate": compares}]}});
        let entry = stage.rendered(&url, steps).await;
        let reported = &entry["metadata"]["automation_data"][0]["result"];
        let found: Value = serde_json::from_str(reported.as_str().unwrap_or_default())
            .unwrap_or_else(|error| panic!("{name}: {error}: {}", entry["metadata"]));
        assert_eq!(found[0], expressions.len());
        let differences = found[1].as_array().unwrap().iter();
        let was_asked = |difference: &&Value| {
            let at = difference[0]
                .as_u64()
                .and_then(|at| usize::try_from(at).ok());
            !crashes_browser(expressions[at.unwrap()])
        };
        let n_differences = differences.filter(was_asked).count();
        assert!(n_differences <= DIFFERENCES_MAX, "{name}: {found}");
    }
    stage.close().await;
}
