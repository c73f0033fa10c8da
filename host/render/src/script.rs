//! The caller's scripts: they run in the page's own world, and a result is cut down to its bound
//! before it is made into a message.

use chromiumoxide::cdp::js_protocol::runtime::CallFunctionOnParams;
use serde::Deserialize;
use serde_json::Value;

use super::calls::{by_value, outcome};
use super::error::RenderError;
use super::tab::Tab;

/// Runs a script and bounds its result, in the page.
const RUN: &str = include_str!("script.js");
/// Characters of a script's result as JSON: a table of some hundred rows. More belongs into the
/// page, which a script can write to.
pub(super) const RESULT_CHARS_MAX: usize = 10_000;
/// Characters that `script.js` counts in addition to those of a text.
const QUOTES: usize = 3;
const UNREADABLE: &str = "the result cannot be read";

/// What `script.js` returns.
#[derive(Deserialize)]
struct Bounded {
    #[serde(default)]
    value: Value,
    /// What the script threw.
    thrown: Option<String>,
    /// Characters of a result beyond the bound; -1 when they were not counted to the end.
    size: Option<f64>,
    /// Whether the page has replaced `eval`, so that the script was not run.
    #[serde(default)]
    replaced: bool,
}

/// What became of a script.
#[derive(Debug, PartialEq)]
pub(super) enum ScriptOutcome {
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
    pub(super) async fn run_script(&self, script: &str) -> Result<ScriptOutcome, RenderError> {
        let value = match self.evaluate(by_value(wrapped(script))).await? {
            Ok(value) => value,
            Err(reason) => return Ok(ScriptOutcome::Failed(reason)),
        };
        match serde_json::from_value::<Bounded>(value) {
            Ok(bounded) if bounded.replaced => self.run_without_eval(script).await,
            Ok(bounded) => Ok(ran(bounded)),
            Err(_) => Ok(ScriptOutcome::Failed(UNREADABLE.to_owned())),
        }
    }

    /// Runs a script in a page that has replaced `eval`. What it gives is bounded by a second call,
    /// unless it is a text or a number, which arrive with the first.
    async fn run_without_eval(&self, script: &str) -> Result<ScriptOutcome, RenderError> {
        let mut params = by_value(block(script));
        params.return_by_value = Some(false);
        let answer = self.try_call(params).await;
        let answer = answer.map(|answer| (answer.result, answer.exception_details));
        let result = match outcome(answer)? {
            Ok(result) => result,
            Err(reason) => return Ok(ScriptOutcome::Failed(reason)),
        };
        let Some(object) = result.object_id else {
            return Ok(primitive(result.value.unwrap_or_default()));
        };
        let mut bound = CallFunctionOnParams::new(format!(
            "function() {{ return ({RUN})(() => this, {RESULT_CHARS_MAX}, true); }}"
        ));
        bound.object_id = Some(object);
        bound.return_by_value = Some(true);
        bound.await_promise = Some(true);
        bound.user_gesture = Some(true);
        let answer = self.try_call(bound).await;
        let answer = answer.map(|answer| (answer.result, answer.exception_details));
        let result = match outcome(answer)? {
            Ok(result) => result,
            Err(reason) => return Ok(ScriptOutcome::Failed(reason)),
        };
        let bounded = serde_json::from_value(result.value.unwrap_or_default());
        Ok(bounded.map_or_else(|_| ScriptOutcome::Failed(UNREADABLE.to_owned()), ran))
    }
}

/// A script with a scope of its own for `let` and `const`.
fn block(script: &str) -> String {
    match is_function(script) {
        true => called(script),
        false => format!("{{\n{script}\n}}"),
    }
}

/// A function without a name as an expression.
fn called(script: &str) -> String {
    format!("({}\n)", script.trim_end().trim_end_matches(';'))
}

/// A text, number or truth value as a result.
fn primitive(value: Value) -> ScriptOutcome {
    let size = value.as_str().map(|text| text.encode_utf16().count());
    match size.filter(|size| size + QUOTES > RESULT_CHARS_MAX) {
        Some(size) => ScriptOutcome::TooLong(too_long(size)),
        None => ScriptOutcome::Value(value),
    }
}

fn wrapped(script: &str) -> String {
    // A JSON string is a JavaScript string (ECMA-262, JSON superset). The indirect call of `eval`
    // makes it a script of the page rather than of the wrapper, and gives its last value.
    let script = match is_function(script) {
        // Without a name it is not a statement.
        true => Value::from(called(script)),
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

fn too_long(size: impl std::fmt::Display) -> String {
    format!("the result has {size} characters; at most {RESULT_CHARS_MAX} are returned")
}

fn ran(bounded: Bounded) -> ScriptOutcome {
    if let Some(thrown) = bounded.thrown {
        return ScriptOutcome::Failed(thrown);
    }
    match bounded.size {
        None => ScriptOutcome::Value(bounded.value),
        Some(size) if size >= 0.0 => ScriptOutcome::TooLong(too_long(size)),
        Some(_) => ScriptOutcome::TooLong(format!(
            "the result has more than {RESULT_CHARS_MAX} characters as JSON, \
             the limit of a result"
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
    fn a_script_without_eval_has_its_own_scope() {
        assert_eq!(block("let a = 1; a"), "{\nlet a = 1; a\n}");
        assert_eq!(
            block("function () { return 1 };"),
            "(function () { return 1 }\n)"
        );
        assert_eq!(primitive(Value::from(7)), ScriptOutcome::Value(json!(7)));
        let text = |size: usize| primitive(Value::from("x".repeat(size)));
        assert!(matches!(
            text(RESULT_CHARS_MAX - QUOTES),
            ScriptOutcome::Value(_)
        ));
        assert!(matches!(text(RESULT_CHARS_MAX), ScriptOutcome::TooLong(_)));
    }

    #[test]
    fn results_errors_and_sizes_are_told_apart() {
        let ran = |value: Value| super::ran(serde_json::from_value(value).expect("a result"));
        assert_eq!(ran(json!({"value": [1]})), ScriptOutcome::Value(json!([1])));
        assert_eq!(
            ran(json!({"value": null})),
            ScriptOutcome::Value(Value::Null)
        );
        assert_eq!(
            ran(json!({"thrown": "x"})),
            ScriptOutcome::Failed("x".to_owned())
        );
        let ScriptOutcome::TooLong(reason) = ran(json!({"size": 250_000_000})) else {
            panic!("it was not too long");
        };
        assert!(
            reason.contains("250000000") && reason.contains("10000"),
            "{reason}"
        );
        assert!(matches!(
            ran(json!({"size": -1})),
            ScriptOutcome::TooLong(_)
        ));
        assert!(serde_json::from_value::<Bounded>(json!(7)).is_err());
        let replaced: Bounded = serde_json::from_value(json!({"replaced": true})).expect("read");
        assert!(replaced.replaced);
    }
}
