//! State wrapped in a function so that repeated values are written once:
//! `(function(a,b){return {x:a,y:[b]}}(1,"text"))`, as in Nuxt 2.

use std::ops::Range;

use serde_json::Value;
use trawl_embedded::{Budget, after_group, after_token, is_word_byte};

/// Maximum number of parameters.
const PARAMETERS_MAX: usize = 20_000;

/// Result of a function call.
pub(crate) struct Called {
    /// The returned value.
    pub(crate) value: Value,
    /// Number of bytes read.
    pub(crate) end: usize,
}

/// Reads the call of a function that only returns a literal. The text starts with a bracket.
///
/// # Errors
/// Not such a call: the number of bytes examined to find out.
pub(crate) fn call(text: &str, budget: &mut Budget) -> Result<Called, usize> {
    let (parameters, body_at) = parameters(text).ok_or(0_usize)?;
    let returned_at = after_return(text, body_at)?;
    let returned_end = after_group(text, returned_at);
    let called = substituted(text, parameters, returned_at..returned_end, budget);
    called.ok_or(returned_end)
}

/// The returned value with the arguments substituted for the parameters.
fn substituted(
    text: &str,
    parameters: &str,
    returned: Range<usize>,
    budget: &mut Budget,
) -> Option<Called> {
    // Skip the end of the body and the function's own bracket; the arguments follow.
    let rest = text[returned.end..].trim_start_matches([';', '}', ')', ' ', '\n', '\r', '\t']);
    let mut at = text.len() - rest.strip_prefix('(')?.len();
    let mut names = Vec::new();
    for name in parameters
        .split(',')
        .map(str::trim_ascii)
        .take(PARAMETERS_MAX)
    {
        let argument = trawl_embedded::prefix(&text[at..], budget)?;
        at += argument.end;
        names.push((name, argument.value));
        let rest = text[at..].trim_ascii_start();
        at = text.len() - rest.strip_prefix(',').unwrap_or(rest).len();
    }
    names.sort_by_key(|(name, _)| *name);
    let returned = trawl_embedded::prefix_with(&text[returned], &names, budget)?;
    Some(Called {
        value: returned.value,
        end: at,
    })
}

/// The parameters of the bracketed function, and the start of its body.
fn parameters(text: &str) -> Option<(&str, usize)> {
    let rest = text.trim_start_matches(['(', ' ', '\n', '\t', '!']);
    let (rest, is_arrow) = match rest.strip_prefix("function") {
        Some(rest) => (
            rest.trim_start_matches(|c: char| c == ' ' || is_word(c)),
            false,
        ),
        // The bracket that was removed opened the parameters of an arrow function.
        None => (text.get(text.len() - rest.len() - 1..)?, true),
    };
    let inside = rest.strip_prefix('(')?;
    let after = inside.trim_start_matches(|c: char| is_word(c) || matches!(c, ',' | ' ' | '\n'));
    let parameters = &inside[..inside.len() - after.len()];
    let rest = after.strip_prefix(')')?.trim_ascii_start();
    let body = if is_arrow {
        rest.strip_prefix("=>")?.trim_ascii_start()
    } else {
        rest
    };
    Some((parameters, text.len() - body.len()))
}

fn is_word(c: char) -> bool {
    !c.is_ascii() || is_word_byte(c as u8)
}

/// Start of the returned literal, or else the number of bytes examined.
fn after_return(text: &str, body_at: usize) -> Result<usize, usize> {
    let body = &text[body_at..];
    // An arrow function may return it directly: `(a) => ({…})`.
    if let Some(value) = body.strip_prefix('(') {
        return literal_at(text, text.len() - value.len());
    }
    if !body.starts_with('{') {
        return Err(body_at);
    }
    let mut at = body_at + 1;
    while let Some(&byte) = text.as_bytes().get(at) {
        match byte {
            b'{' | b'[' | b'(' => at = after_group(text, at),
            b'}' => break,
            b'r' if text[at..].starts_with("return") && !is_word_byte(text.as_bytes()[at - 1]) => {
                return literal_at(text, at + "return".len());
            }
            _ => at = text.ceil_char_boundary(after_token(text, at).unwrap_or(at + 1)),
        }
    }
    Err(at)
}

fn literal_at(text: &str, at: usize) -> Result<usize, usize> {
    let value = text[at..].trim_ascii_start();
    match value.starts_with(['{', '[']) {
        true => Ok(text.len() - value.len()),
        false => Err(at),
    }
}

#[cfg(test)]
mod tests {
    use super::call;
    use serde_json::json;
    use trawl_embedded::Budget;

    #[test]
    fn arguments_replace_the_parameters() {
        let expected = json!({"a": null, "b": ["x, y", true], "c": {}, "d": "a"});
        for text in [
            r#"(function(a,b,c,d){return {a:a,b:[b,c],c:d,d:"a"}}(null,"x, y",true,{}));"#,
            r#"(function(a,b,c,d){return {a:a,b:[b,c],c:d,d:"a"}})(null,"x, y",true,{})"#,
            r#"(function (a, b, c, d) { a.x = {}; return {a:a,b:[b,c],c:d,d:"a"}; }(null, "x, y", !0, {}))"#,
            r#"((a,b,c,d)=>({a:a,b:[b,c],c:d,d:"a"}))(void 0,"x, y",!0,{})"#,
            r#"((a,b,c,d)=>{return {a:a,b:[b,c],c:d,d:"a"}})(null,"x, y",!0,{})"#,
        ] {
            let found = call(text, &mut Budget::default()).map(|found| found.value);
            assert_eq!(found.as_ref(), Ok(&expected), "{text}");
        }
    }

    #[test]
    fn other_functions_are_not_data() {
        for text in [
            "(function(){})()",
            "(a)",
            "(function(a){return a}(1))",
            "({a: 1})",
            "(function(",
            "((",
            "(\u{e9}",
        ] {
            assert!(call(text, &mut Budget::default()).is_err(), "{text}");
        }
    }
}
