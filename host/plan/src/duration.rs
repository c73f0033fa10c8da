//! Durations as requests write them: a number in the unit of the parameter, `{"secs", "nanos"}`,
//! or one of these in `{"timeout": …}`. Decision D58.

use std::time::Duration;

use serde_json::Value;

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

/// The value itself, or the one in its `timeout`.
fn innermost(value: &Value) -> &Value {
    let inner = match value {
        Value::Object(parts) => parts.get("timeout").filter(|inner| !inner.is_null()),
        _ => None,
    };
    inner.unwrap_or(value)
}

/// The bare number that a value is, itself or in its `timeout`; `None` if it has another form.
pub fn number(value: &Value) -> Option<u64> {
    innermost(value).as_u64()
}

/// The duration that a value says; `None` for `null` and an object that says none.
///
/// # Errors
/// It has none of the forms.
pub fn read(value: &Value, unit: Unit) -> Result<Option<Duration>, String> {
    match innermost(value) {
        Value::Null => Ok(None),
        Value::Number(number) => match number.as_i64().map(u64::try_from) {
            Some(Ok(number)) => Ok(Some(unit.times(number))),
            _ => Err("is not a whole number of at least 0".to_owned()),
        },
        Value::Object(parts) => {
            let part = |name: &str| match parts.get(name) {
                None | Some(Value::Null) => Ok(None),
                Some(part) => part
                    .as_u64()
                    .map(Some)
                    .ok_or_else(|| format!("`{name}` is not a whole number of at least 0")),
            };
            Ok(of_parts(part("secs")?, part("nanos")?))
        }
        _ => Err("is neither a number nor an object with `secs` and `nanos`".to_owned()),
    }
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
        let longest = read(&json!({"secs": u64::MAX, "nanos": u64::MAX}), Unit::Seconds);
        assert_eq!(longest, Ok(Some(Duration::MAX)));
        for bad in [
            json!("1"),
            json!(-1),
            json!(1.5),
            json!([1]),
            json!({"secs": "1"}),
        ] {
            assert!(read(&bad, Unit::Millis).is_err(), "{bad}");
        }
    }
}
