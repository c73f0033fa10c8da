//! The caller's scripts: they run in the page's own world, and a result is cut down to its bound
//! before it is made into a message.

use serde::Deserialize;
use serde_json::Value;

use super::RenderError;
use super::tab::{Tab, by_value};

/// Runs a script and bounds its result, in the page.
const RUN: &str = include_str!("script.js");
/// Characters of a script's result as JSON: a table of some hundred rows. More belongs into the
/// page, which a script can write to.
pub(super) const RESULT_CHARS_MAX: usize = 10_000;

/// What `script.js` returns.
#[derive(Deserialize)]
struct Bounded {
    #[serde(default)]
    value: Value,
    /// What the script threw.
    thrown: Option<String>,
    /// Characters of a result beyond the bound; -1 when they were not counted to the end.
    size: Option<f64>,
}

/// What became of a script.
#[derive(Debug, PartialEq)]
pub(super) enum Ran {
    /// Its result.
    Value(Value),
    /// It ran, and its result is larger than a result may be. Says so, with the bound.
    TooLong(String),
    /// What it threw, or why it could not run.
    Failed(String),
}

impl Tab<'_> {
    /// Runs a script of the caller in the page's own world. Each has a scope of its own for `let`
    /// and `const`; variables of `var` and functions are the page's.
    pub(super) async fn run_script(&self, script: &str) -> Result<Ran, RenderError> {
        Ok(match self.evaluate(by_value(wrapped(script))).await? {
            Ok(value) => ran(value),
            Err(reason) => Ran::Failed(reason),
        })
    }
}

fn wrapped(script: &str) -> String {
    // A JSON string is a JavaScript string (ECMA-262, JSON superset). The indirect call of `eval`
    // makes it a script of the page rather than of the wrapper, and gives its last value.
    let script = match is_function(script) {
        // Without a name it is no statement.
        true => Value::from(format!("({}\n)", script.trim_end().trim_end_matches(';'))),
        false => Value::from(script),
    };
    format!("({RUN})(() => (0, eval)({script}), {RESULT_CHARS_MAX})")
}

/// Whether a script is a function without a name, which is meant to be called.
fn is_function(script: &str) -> bool {
    let script = script.trim_start();
    let script = script.strip_prefix("async").map_or(script, str::trim_start);
    let Some(rest) = script.strip_prefix("function") else {
        return false;
    };
    rest.trim_start().starts_with('(')
}

fn ran(value: Value) -> Ran {
    let Ok(bounded) = serde_json::from_value::<Bounded>(value) else {
        return Ran::Failed("the result cannot be read".to_owned());
    };
    if let Some(thrown) = bounded.thrown {
        return Ran::Failed(thrown);
    }
    match bounded.size {
        None => Ran::Value(bounded.value),
        Some(size) if size >= 0.0 => Ran::TooLong(format!(
            "the result has {size} characters; at most {RESULT_CHARS_MAX} are returned"
        )),
        Some(_) => Ran::TooLong(format!(
            "the result has more than {RESULT_CHARS_MAX} characters as JSON, the most that are \
             returned"
        )),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn scripts_are_quoted_whole() {
        let called = wrapped("async function () { return 1 };");
        assert!(called.contains(r#"(0, eval)("(async function () { return 1 }\n)")"#));
        assert!(!wrapped("function named() {}").contains("(\"("));
        let expression = wrapped("'\"\\\n`${1}`' // \u{2028}");
        assert!(
            expression.contains(r#"(0, eval)("'\"\\\n`${1}`' // "#),
            "{expression}"
        );
    }

    #[test]
    fn results_errors_and_sizes_are_told_apart() {
        assert_eq!(ran(json!({"value": [1]})), Ran::Value(json!([1])));
        assert_eq!(ran(json!({"value": null})), Ran::Value(Value::Null));
        assert_eq!(ran(json!({"thrown": "x"})), Ran::Failed("x".to_owned()));
        let Ran::TooLong(reason) = ran(json!({"size": 250_000_000})) else {
            panic!("it was not too long");
        };
        assert!(
            reason.contains("250000000") && reason.contains("10000"),
            "{reason}"
        );
        assert!(matches!(ran(json!({"size": -1})), Ran::TooLong(_)));
        assert!(matches!(ran(json!(7)), Ran::Failed(_)));
    }
}
