//! Regular expressions that callers write: an engine that runs in linear time, and small ones only.

use regex::Regex;

use super::PlanError;

/// Most bytes of a compiled pattern: enough for any pattern people write, and callers may send
/// many.
const REGEX_BYTES_MAX: usize = 1 << 20;

/// Compiles an expression for an engine that runs in linear time.
pub(super) fn compile(
    field: &'static str,
    expression: &str,
    written: &str,
) -> Result<Regex, PlanError> {
    let compiled = regex::RegexBuilder::new(expression)
        .size_limit(REGEX_BYTES_MAX)
        .dfa_size_limit(REGEX_BYTES_MAX)
        .build();
    compiled.map_err(|error| {
        let reason = error.to_string();
        // The last line has the reason; those before draw the expression.
        let reason = reason.lines().last().unwrap_or_default();
        PlanError::new(
            field,
            format!("`{}` is no regular expression: {reason}", shown(written)),
        )
    })
}

pub(super) fn shown(text: &str) -> String {
    text.chars().take(100).collect()
}
