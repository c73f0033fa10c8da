//! Parameters that the Unlimited plan does not include.

use serde::de::Deserializer;

use trawl_plan::PAGES_MAX;

use super::body::{FIELDS, WireError, objects};
use super::error::RequestError;

/// Spec S26.
const AI_PARAMETERS: [&str; 6] = [
    "prompt",
    "custom_prompt",
    "extraction_prompt",
    "extraction_schema",
    "model",
    "vision",
];
/// Decision D96.
const OPENROUTER_PREFIX: &str = "openrouter";
/// Most characters of the parameter's name in the error: the caller chooses the name.
const SHOWN_CHARS_MAX: usize = 64;

/// Refuses a body that has an AI parameter in any of its objects. `null` counts as absent.
///
/// Decision D96: any other value counts, `false` and `""` too; OpenRouter parameters are recognised
/// by their prefix, in upper or lower case.
///
/// # Errors
/// [`RequestError::NotInPlan`] with the parameter's name, or the body is not JSON of the known
/// shape.
pub fn refuse_ai(body: &[u8]) -> Result<(), RequestError> {
    for object in objects(body, PAGES_MAX)? {
        let mut json = serde_json::Deserializer::from_str(object.get());
        let fields = json
            .deserialize_map(FIELDS)
            .map_err(|error| WireError::json(None, &error))?;
        let is_set = |(name, value): &(String, &serde_json::value::RawValue)| {
            value.get() != "null" && is_ai_parameter(name)
        };
        if let Some((name, _)) = fields.into_iter().find(is_set) {
            let shown = name.chars().take(SHOWN_CHARS_MAX).collect();
            return Err(RequestError::NotInPlan(shown));
        }
    }
    Ok(())
}

fn is_ai_parameter(name: &str) -> bool {
    let prefix = name.get(..OPENROUTER_PREFIX.len());
    AI_PARAMETERS.contains(&name)
        || prefix.is_some_and(|prefix| prefix.eq_ignore_ascii_case(OPENROUTER_PREFIX))
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
    fn ai_parameters_are_refused_by_name() {
        for name in AI_PARAMETERS {
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
    fn every_object_of_an_array_is_checked() {
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
