//! What all kinds of plugins share on the host's side: validation of options, limits on input and
//! output, counters.

use std::time::{Duration, Instant};

use jsonschema::error::ValidationErrorKind;
use jsonschema::{ValidationError, Validator};
use serde_json::Value;

use trawl_model::nearest::nearest_name;
use trawl_model::timing;

use super::stats::{Counts, Ending, Stats};
use crate::error::{Fault, PluginError};
use crate::info::PluginInfo;

/// Most characters of an option's name in an error: the caller chooses the name.
const NAME_CHARS_MAX: usize = 64;

/// A loaded plugin, whatever its kind.
pub(crate) struct Core {
    pub(crate) info: PluginInfo,
    schema: Validator,
    stats: Stats,
}

/// The outcome of a call and what it consumed.
pub(crate) struct Measured<R> {
    pub(crate) result: Result<R, Fault>,
    /// Wall-clock time, from instantiation to result.
    pub(crate) elapsed: Duration,
    /// Peak of linear memory in bytes; 0 for native plugins.
    pub(crate) memory_peak: u64,
}

impl Core {
    /// A plugin with this description, whose options are validated against `schema`.
    pub(crate) fn new(info: PluginInfo, schema: Validator) -> Self {
        let stats = Stats::new(info.kind, &info.name);
        Self {
            info,
            schema,
            stats,
        }
    }

    /// Checks options against the plugin's schema.
    ///
    /// # Errors
    /// A message with the JSON Pointer into the options and what is wrong there.
    pub(crate) fn check_options(&self, options: &Value) -> Result<(), String> {
        self.schema.validate(options).map_err(|error| {
            let place = error.instance_path().to_string();
            let reason = refusal(&error, options, &self.info.options_schema);
            if place.is_empty() {
                reason
            } else {
                format!("`{place}`: {reason}")
            }
        })
    }

    /// Makes one call that copies `input_bytes` to the plugin, checks its result and counts it.
    pub(crate) fn run<R, T>(
        &self,
        input_bytes: u64,
        call: impl FnOnce() -> Measured<R>,
        check: impl FnOnce(R) -> Result<T, Fault>,
    ) -> Result<T, PluginError> {
        if input_bytes > self.info.limits.input_bytes() {
            return Err(self.error(Fault::InputTooLarge {
                used_bytes: input_bytes,
                allowed_mib: self.info.limits.input_mib,
            }));
        }
        let name = self.info.name.as_str();
        let span = tracing::debug_span!("plugin", kind = %self.info.kind, name);
        let began = Instant::now();
        let Measured {
            result,
            elapsed,
            memory_peak,
        } = span.in_scope(call);
        timing::note_plugin(name, began);
        let checked = result.and_then(check);
        let ending = match &checked {
            Ok(_) => Ending::Good,
            Err(fault) if fault.is_trap() => Ending::Trapped,
            Err(_) => Ending::Failed,
        };
        self.stats.count(ending, elapsed, memory_peak);
        checked.map_err(|fault| self.error(fault))
    }

    /// Refuses a result larger than the limit.
    pub(crate) fn check_output(&self, bytes: usize) -> Result<(), Fault> {
        if bytes as u64 <= self.info.limits.output_bytes() {
            return Ok(());
        }
        Err(Fault::OutputTooLarge {
            used_bytes: Some(bytes as u64),
            allowed_mib: self.info.limits.output_mib,
        })
    }

    /// Current values of the counters.
    pub(crate) fn counts(&self) -> Counts {
        self.stats.counts()
    }

    fn error(&self, fault: Fault) -> PluginError {
        PluginError {
            kind: self.info.kind,
            plugin: self.info.name.clone(),
            fault,
        }
    }
}

/// What is wrong with options. A name that the schema does not have comes with those it has, and
/// with the closest one.
fn refusal(error: &ValidationError<'_>, options: &Value, schema: &Value) -> String {
    let (path, keyword) = (error.instance_path().as_str(), error.schema_path().as_str());
    let unknown = match error.kind() {
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            unexpected.first().map(String::as_str)
        }
        // A schema without any name refuses every value, and does not say whose it is.
        ValidationErrorKind::FalseSchema if keyword.ends_with("/additionalProperties") => {
            let object = options.pointer(path).and_then(Value::as_object);
            object.and_then(|object| object.keys().next().map(String::as_str))
        }
        _ => None,
    };
    let Some(wrong) = unknown else {
        return error.to_string();
    };
    let noun = if path.is_empty() { "option" } else { "key" };
    // The keyword is a member of the schema whose `properties` are the known names.
    let object = keyword.rsplit_once('/').map_or("", |(object, _)| object);
    let known = schema.pointer(object);
    let known = known.and_then(|object| object["properties"].as_object());
    let known: Vec<&str> = known
        .into_iter()
        .flat_map(|known| known.keys().map(String::as_str))
        .collect();
    let shown: String = wrong.chars().take(NAME_CHARS_MAX).collect();
    if known.is_empty() {
        return format!("unknown {noun} `{shown}`, there are no {noun}s");
    }
    let meant = nearest_name(wrong, known.iter().copied());
    let meant = meant.map(|name| format!(", did you mean `{name}`?"));
    format!(
        "unknown {noun} `{shown}`{} The {noun}s are {}",
        meant.as_deref().unwrap_or("."),
        known.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::info::compile_schema;

    #[test]
    fn an_unknown_option_comes_with_the_known_ones() {
        let schema = json!({
            "type": "object", "additionalProperties": false,
            "properties": {
                "links": {"type": "boolean"},
                "tables": {"type": "string"},
                "map": {"type": "object", "additionalProperties": {
                    "type": "object", "additionalProperties": false, "properties": {"name": true},
                }},
            },
        });
        let (schema, validator) = compile_schema(&schema.to_string()).expect("a schema");
        let check = |options: Value, expected: &str| {
            let error = validator.validate(&options).expect_err("wrong options");
            assert_eq!(refusal(&error, &options, &schema), expected);
        };
        check(
            json!({"tabels": "x"}),
            "unknown option `tabels`, did you mean `tables`? The options are links, map, tables",
        );
        check(
            json!({"colour": 1}),
            "unknown option `colour`. The options are links, map, tables",
        );
        check(
            json!({"map": {"a": {"nam": 1}}}),
            "unknown key `nam`, did you mean `name`? The keys are name",
        );
        check(json!({"links": 1}), "1 is not of type \"boolean\"");
        let (schema, validator) = compile_schema("{\"additionalProperties\": false}").expect("ok");
        let options = json!({"a": 1});
        let error = validator.validate(&options).expect_err("wrong options");
        let expected = "unknown option `a`, there are no options";
        assert_eq!(refusal(&error, &options, &schema), expected);
    }
}
