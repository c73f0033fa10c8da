//! Parameters that the Unlimited plan does not have.

use serde::de::Deserializer;

use super::fields::{Fields, WireError, objects};
use super::into_plan::RequestError;
use trawl_plan::PAGES_MAX;

/// Spec S26.
const OF_AI: [&str; 6] = [
    "prompt",
    "custom_prompt",
    "extraction_prompt",
    "extraction_schema",
    "model",
    "vision",
];
/// Decision D96.
const OF_OPENROUTER: &str = "openrouter";
/// Characters of a name that the refusal shows: it is the caller's own text.
const SHOWN_CHARS_MAX: usize = 64;

/// Refuses a body with a parameter of AI in any of its objects. `null` counts as absent.
///
/// Decision D96: any other value is a wish, `false` and `""` too; a key of OpenRouter is known by
/// its beginning in any case.
///
/// # Errors
/// [`RequestError::NotInPlan`] with the parameter's name, or the body is not JSON of the known shape.
pub fn refuse_ai(body: &[u8]) -> Result<(), RequestError> {
    for object in objects(body, PAGES_MAX)? {
        let mut json = serde_json::Deserializer::from_str(object.get());
        let fields = json
            .deserialize_map(Fields)
            .map_err(|error| WireError::json(None, &error))?;
        let is_asked = |(name, value): &(String, &serde_json::value::RawValue)| {
            value.get() != "null" && is_of_ai(name)
        };
        if let Some((name, _)) = fields.into_iter().find(is_asked) {
            let shown = name.chars().take(SHOWN_CHARS_MAX).collect();
            return Err(RequestError::NotInPlan(shown));
        }
    }
    Ok(())
}

fn is_of_ai(name: &str) -> bool {
    let begin = name.get(..OF_OPENROUTER.len());
    OF_AI.contains(&name) || begin.is_some_and(|begin| begin.eq_ignore_ascii_case(OF_OPENROUTER))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &str, expected: Option<&str>) {
        let refused = refuse_ai(body.as_bytes()).err();
        let refused = refused.map(|error| error.to_string());
        let name = refused.as_deref().and_then(|text| text.split(':').next());
        assert_eq!(name, expected, "{body}: {refused:?}");
    }

    #[test]
    fn parameters_of_ai_are_refused_by_name() {
        for name in OF_AI {
            check(&format!(r#"{{"url":"a","{name}":"x"}}"#), Some(name));
            check(&format!(r#"{{"url":"a","{name}":false}}"#), Some(name));
            check(&format!(r#"{{"url":"a","{name}":null}}"#), None);
        }
        check(r#"{"openrouter":{}}"#, Some("openrouter"));
        check(r#"{"openrouter_key":""}"#, Some("openrouter_key"));
        check(r#"{"openRouterModel":1}"#, Some("openRouterModel"));
        check(r#"{"openrouter_key":null,"url":"a"}"#, None);
        check(r#"{"router":{"mode":"off"},"open":1,"models":[1]}"#, None);
    }

    #[test]
    fn every_object_of_an_array_is_looked_at() {
        check(r#"[{"url":"a"},{"url":"b","model":"m"}]"#, Some("model"));
        check(r#"[{"url":"a"},{"url":"b","model":null}]"#, None);
        check(r#"{"model":null,"model":"m"}"#, Some("model"));
        let long = format!(r#"{{"openrouter{}":1}}"#, "x".repeat(500));
        let refusal = refuse_ai(long.as_bytes()).expect_err("refused").to_string();
        assert!(refusal.len() < 200, "{refusal}");
        assert!(refuse_ai(b"{").is_err());
        assert!(refuse_ai(b"3").is_err());
    }
}
