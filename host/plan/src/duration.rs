//! Durations as requests write them: a number in the unit of the parameter, `{"secs", "nanos"}`,
//! or one of these in `{"timeout": …}`. Decision D58.

use std::time::Duration;

use serde_json::{Map, Value};

/// What a bare number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Milliseconds.
    Millis,
    /// Seconds.
    Seconds,
}

impl Unit {
    /// So many of them.
    pub const fn times(self, number: u64) -> Duration {
        match self {
            Self::Millis => Duration::from_millis(number),
            Self::Seconds => Duration::from_secs(number),
        }
    }
}

/// The sum of seconds and nanoseconds; `None` if neither is there.
pub fn of_parts(secs: Option<u64>, nanos: Option<u64>) -> Option<Duration> {
    if secs.is_none() && nanos.is_none() {
        return None;
    }
    let nanos = Duration::from_nanos(nanos.unwrap_or(0));
    Some(Duration::from_secs(secs.unwrap_or(0)).saturating_add(nanos))
}

/// The whole number that a JSON value is, at least 0 and of 63 bits, as interfaces describe it.
pub(crate) fn whole(value: &Value) -> Option<u64> {
    value.as_i64().and_then(|number| u64::try_from(number).ok())
}

/// The bare number that a value is, itself or in its `timeout`; `None` if it has another form.
pub fn number(value: &Value) -> Option<u64> {
    match value.get("timeout").filter(|inner| !inner.is_null()) {
        Some(inner) => number(inner),
        None => whole(value),
    }
}

/// The duration that a value says; `None` for `null` and an object that says none.
///
/// # Errors
/// It has none of the forms.
pub fn read(value: &Value, unit: Unit) -> Result<Option<Duration>, String> {
    match value {
        Value::Null => Ok(None),
        Value::Number(_) => match whole(value) {
            Some(number) => Ok(Some(unit.times(number))),
            None => Err("is not a whole number of at least 0".to_owned()),
        },
        Value::Object(parts) => {
            // Checked also where a `timeout` in the same object overrides them.
            let own = in_parts(parts)?;
            match parts.get("timeout").filter(|inner| !inner.is_null()) {
                Some(inner) => read(inner, unit),
                None => Ok(own),
            }
        }
        _ => Err("is neither a number nor an object with `secs` and `nanos`".to_owned()),
    }
}

/// The duration of `secs` and `nanos`, if there is one of them.
fn in_parts(parts: &Map<String, Value>) -> Result<Option<Duration>, String> {
    let part = |name: &str| match parts.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(part) => match whole(part) {
            Some(part) => Ok(Some(part)),
            None => Err(format!("`{name}` is not a whole number of at least 0")),
        },
    };
    Ok(of_parts(part("secs")?, part("nanos")?))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn all_forms_say_the_same() {
        let check = |value: Value, millis: Option<u64>| {
            let expected = Ok(millis.map(Duration::from_millis));
            assert_eq!(read(&value, Unit::Millis), expected, "{value}");
        };
        check(json!(1_500), Some(1_500));
        check(json!({"secs": 1, "nanos": 500_000_000}), Some(1_500));
        check(
            json!({"timeout": {"secs": 1, "nanos": 500_000_000}}),
            Some(1_500),
        );
        check(json!({"timeout": 1_500}), Some(1_500));
        check(json!({"secs": 2}), Some(2_000));
        check(json!({"timeout": null, "secs": 2}), Some(2_000));
        check(json!({"timeout": {}}), None);
        check(json!({}), None);
        check(json!(null), None);
        assert_eq!(number(&json!({"timeout": 1_500})), Some(1_500));
        assert_eq!(number(&json!({"secs": 1})), None);
        let seconds = read(&json!({"timeout": 3}), Unit::Seconds);
        assert_eq!(seconds, Ok(Some(Duration::from_secs(3))));
        let longest = read(&json!({"secs": i64::MAX, "nanos": i64::MAX}), Unit::Seconds);
        assert!(longest.is_ok_and(|longest| longest > Some(Duration::from_secs(1 << 62))));
        for bad in [
            json!("1"),
            json!({"secs": u64::MAX}),
            json!({"secs": -1, "timeout": 1}),
            json!(-1),
            json!(1.5),
            json!([1]),
            json!({"secs": "1"}),
        ] {
            assert!(read(&bad, Unit::Millis).is_err(), "{bad}");
        }
    }
}
