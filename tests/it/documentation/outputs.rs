//! What commands print, and the JSON with gaps that a page shows of it.

use serde_json::Value;

/// The JSON values in the output of commands. They begin a line; several may share one.
pub(super) fn values(output: &str) -> Vec<Value> {
    let lines = output.lines().filter(|line| line.starts_with(['{', '[']));
    let values = lines.flat_map(|line| {
        let values = serde_json::Deserializer::from_str(line).into_iter::<Value>();
        values.map_while(Result::ok)
    });
    values.collect()
}

/// Checks that no page entry among the values has an error or a field that was not found. Returns
/// how many entries there are.
///
/// # Panics
/// When one has.
pub(super) fn check_entries(place: &str, values: &[Value]) -> usize {
    let flat = values.iter().flat_map(|value| match value {
        Value::Array(items) => items.as_slice(),
        one => std::slice::from_ref(one),
    });
    let entries = flat.filter(|value| value.get("error").is_some());
    let mut n_entries = 0;
    for entry in entries {
        n_entries += 1;
        let error = &entry["error"];
        assert!(error.is_null() || error == "", "{place}: {entry}");
        let fields = entry["css_extracted"].as_object().into_iter().flatten();
        for (name, value) in fields {
            assert!(!value.is_null(), "{place}: there is no `{name}` in {entry}");
        }
    }
    n_entries
}

/// The JSON of a page where `…` replaces what is left out.
///
/// # Panics
/// When it is not JSON apart from that.
pub(super) fn pattern(place: &str, text: &str) -> Value {
    let mut json = String::new();
    let (mut is_in_string, mut is_escaped) = (false, false);
    for letter in text.trim().chars() {
        if letter == '…' && !is_in_string {
            let end = json.trim_end().trim_end_matches(',').len();
            json.truncate(end);
            continue;
        }
        is_in_string ^= letter == '"' && !is_escaped;
        is_escaped = letter == '\\' && !is_escaped;
        json.push(letter);
    }
    serde_json::from_str(&json).unwrap_or_else(|error| panic!("{place}: {error} in {json}"))
}

/// Whether a value is as the pattern shows it: with the same keys or more, the same items or more
/// between them, the same strings up to their gaps. Fractions are examples of numbers.
pub(super) fn is_like(pattern: &Value, value: &Value) -> bool {
    match (pattern, value) {
        (Value::Object(shown), Value::Object(actual)) => shown.iter().all(|(key, shown)| {
            let actual = actual.get(key);
            actual.is_some_and(|actual| is_like(shown, actual))
        }),
        (Value::Array(shown), Value::Array(actual)) => {
            let mut actual = actual.iter();
            let mut shown = shown.iter();
            shown.all(|shown| actual.any(|actual| is_like(shown, actual)))
        }
        (Value::String(shown), Value::String(actual)) => has_pieces(shown, actual),
        (Value::Number(shown), Value::Number(_)) if shown.is_f64() => true,
        (shown, actual) => shown == actual,
    }
}

/// Whether a text consists of the pieces between the gaps, with anything in the gaps.
fn has_pieces(shown: &str, actual: &str) -> bool {
    let mut pieces = shown.split('…');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = actual.strip_prefix(first) else {
        return false;
    };
    let mut pieces: Vec<&str> = pieces.collect();
    let Some(last) = pieces.pop() else {
        return rest.is_empty();
    };
    for piece in pieces {
        let Some((_, after)) = rest.split_once(piece) else {
            return false;
        };
        rest = after;
    }
    rest.ends_with(last)
}

#[test]
fn what_is_left_out_matches_anything() {
    let check = |shown: &str, actual: &str, expected: bool| {
        let actual: Value = serde_json::from_str(actual).unwrap();
        let shown = pattern("here", shown);
        assert_eq!(is_like(&shown, &actual), expected, "{shown} {actual}");
    };
    check(r#"[{"a":1,…}]"#, r#"[{"a":1,"b":2}]"#, true);
    check(r#"[{"a":1,…}]"#, r#"[{"a":2,"b":2}]"#, false);
    check(r#"{"a":"x…z", …}"#, r#"{"a":"xyz"}"#, true);
    check(r#"{"a":"x…z"}"#, r#"{"a":"xyzw"}"#, false);
    check(r#"{"a":"…y…"}"#, r#"{"a":"xyz"}"#, true);
    check(r#"{"a":"…y…"}"#, r#"{"a":"xz"}"#, false);
    check(r#"{"a":"x"}"#, r#"{"a":"xx"}"#, false);
    check(r#"{"a":[…],"b":0.5}"#, r#"{"a":[1],"b":7e-9}"#, true);
    check(r#"{"a":[1,3]}"#, r#"{"a":[1,2,3]}"#, true);
    check(r#"{"a":[3,1]}"#, r#"{"a":[1,2,3]}"#, false);
    check(r#"{"a":null}"#, r#"{"a":1}"#, false);
}
