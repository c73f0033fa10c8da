//! The arguments of tools as JSON Schemas: those of the interface's parameters come from the rows
//! by which it checks requests.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};

/// Where the interface's document has the schemas that others refer to.
const COMPONENTS: &str = "#/components/schemas/";
/// The objects that a time may be instead of a number. Agents give numbers.
const TIMES: [&str; 3] = ["Duration", "LongDuration", "Parts"];
/// Members of nested objects that say what another says: every start of an agent reads the list.
const LEFT_OUT: [&str; 3] = ["secs", "nanos", "idle_network0"];
/// What begins the sentence on the pages on which a parameter has an effect.
const EFFECT: &str = " It has an effect ";

/// The schemas of all request objects and of what is nested in them.
static SCHEMAS: LazyLock<Map<String, Value>> = LazyLock::new(trawl_wire::request_schemas);

/// The schema of a parameter of a request object, for itself: nothing refers to another schema.
/// Null is left out, and so is what agents have no use for. `default` replaces the default of the
/// interface. `None` if the request object does not have the parameter.
pub(crate) fn parameter(request: &str, name: &str, default: Option<&Value>) -> Option<Value> {
    let property = SCHEMAS.get(request)?.get("properties")?.get(name)?;
    let mut schema = plain(property);
    if let Some(default) = default {
        let text = schema["description"].as_str().unwrap_or_default();
        let (text, _) = text.split_once(" Default: ").unwrap_or((text, ""));
        schema["description"] = text.into();
        schema["default"] = default.clone();
    }
    Some(schema)
}

/// The schema of an answer's structured content.
pub(crate) fn answer() -> Map<String, Value> {
    let schema = json!({
        "type": "object",
        "properties": {
            "costs": {
                "type": "object",
                "description": "In dollars.",
                "properties": {"total_cost": {"type": "number"}},
                "required": ["total_cost"],
            },
            "next_cursor": {
                "type": "string",
                "description": "`cursor` of the next call; absent at the end.",
            },
            "error": {"description": "Why it failed."},
        },
        "required": ["costs"],
    });
    object(schema)
}

/// The members of an object.
pub(crate) fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

/// A schema with everything that it refers to, without null.
fn plain(schema: &Value) -> Value {
    let members = match schema {
        Value::Object(members) => members,
        Value::Array(items) => return items.iter().map(plain).collect(),
        other => return other.clone(),
    };
    let mut plainer = Map::new();
    for (name, value) in members {
        match (name.as_str(), value) {
            ("$ref", Value::String(to)) => {
                let named = to
                    .strip_prefix(COMPONENTS)
                    .and_then(|name| SCHEMAS.get(name));
                let named = object(named.map(plain).unwrap_or_default());
                add_missing(&mut plainer, named);
            }
            ("type", Value::Array(types)) => {
                let types = types.iter().filter(|one| *one != "null").cloned();
                let types: Vec<Value> = types.collect();
                let one = if types.len() == 1 {
                    types.first().cloned()
                } else {
                    None
                };
                plainer.insert(name.clone(), one.unwrap_or(types.into()));
            }
            ("oneOf", Value::Array(forms)) => add_forms(&mut plainer, forms),
            ("properties", Value::Object(properties)) => {
                plainer.insert(name.clone(), nested(properties));
            }
            ("format", Value::String(format)) if format == "int64" => {}
            _ => {
                plainer.insert(name.clone(), plain(value));
            }
        }
    }
    if let (Some(unit), Some(text)) = (unit(members), members.get("description")) {
        let text = text.as_str().unwrap_or_default();
        plainer.insert(
            "description".to_owned(),
            format!("{text} Value: {unit}.").into(),
        );
        // It may be an object.
        plainer.remove("examples");
    }
    plainer.into()
}

/// Adds the forms that a value may have. The only one stands for itself.
fn add_forms(members: &mut Map<String, Value>, forms: &[Value]) {
    let forms = forms
        .iter()
        .filter(|form| form["type"] != "null" && !is_time(form));
    let mut forms: Vec<Value> = forms.map(plain).collect();
    match forms.len() {
        1 => add_missing(members, object(forms.remove(0))),
        _ => {
            members.insert("oneOf".to_owned(), forms.into());
        }
    }
}

/// The members of an object, without examples and without the pages on which they have an effect.
fn nested(properties: &Map<String, Value>) -> Value {
    let properties = properties
        .iter()
        .filter(|(name, _)| !LEFT_OUT.contains(&name.as_str()));
    let schemas = properties.map(|(name, property)| {
        let mut property = property.clone();
        if let Some(members) = property.as_object_mut() {
            members.remove("examples");
            let text = members.get("description").and_then(Value::as_str);
            let short = text.and_then(|text| text.split_once(EFFECT));
            if let Some(short) = short.map(|(short, _)| Value::from(short)) {
                members.insert("description".to_owned(), short);
            }
        }
        (name.clone(), plain(&property))
    });
    schemas.collect()
}

/// Whether a form is a time as an object.
fn is_time(form: &Value) -> bool {
    let name = form["$ref"].as_str();
    let name = name.and_then(|to| to.strip_prefix(COMPONENTS));
    name.is_some_and(|name| TIMES.contains(&name))
}

/// The unit of the number that a time may be.
fn unit(members: &Map<String, Value>) -> Option<&str> {
    let forms = members.get("oneOf")?.as_array()?;
    let units = || forms.iter().find_map(|form| form["description"].as_str());
    forms.iter().any(is_time).then(units)?
}

/// Adds the members that are not there.
fn add_missing(members: &mut Map<String, Value>, others: Map<String, Value>) {
    for (name, value) in others {
        members.entry(name).or_insert(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_stands_for_itself() {
        for (request, schema) in &*SCHEMAS {
            let properties = schema["properties"].as_object().into_iter().flatten();
            for (name, _) in properties {
                let schema = parameter(request, name, None).expect("a property");
                let text = schema.to_string();
                assert!(!text.contains("$ref"), "{request}.{name}: {text}");
                let description = schema["description"].as_str().unwrap_or_default();
                assert!(!description.is_empty(), "{request}.{name}");
                assert!(jsonschema::validator_for(&schema).is_ok(), "{text}");
            }
        }
        assert_eq!(parameter("ScrapeRequest", "data", None), None);
        assert_eq!(parameter("NoRequest", "url", None), None);
    }

    #[test]
    fn null_is_left_out() {
        let switch = parameter("ScrapeRequest", "metadata", None).expect("a switch");
        assert_eq!(switch["type"], "boolean");
        let map = parameter("ScrapeRequest", "css_extraction_map", None).expect("an object");
        assert_eq!(map["type"], "object");
        assert_eq!(map.get("oneOf"), None);
    }

    #[test]
    fn a_time_is_a_number_with_its_unit() {
        let timeout = parameter("ScrapeRequest", "request_timeout", None).expect("a time");
        assert_eq!(timeout["type"], "integer", "{timeout}");
        let text = timeout["description"].as_str().expect("a text");
        assert!(text.contains("Value: seconds, or milliseconds"), "{text}");
        let wait = parameter("ScrapeRequest", "wait_for", None).expect("conditions");
        let members = &wait["oneOf"][1]["properties"];
        let delay =
            json!({"type": "integer", "minimum": 0, "description": "For this time. Value: ms."});
        assert_eq!(members["delay"], delay, "{wait}");
        assert!(members["selector"]["properties"]["timeout"].is_object());
        assert!(!wait.to_string().contains("nanos"), "{wait}");
    }

    #[test]
    fn a_default_of_a_tool_replaces_that_of_the_interface() {
        let limit = parameter("CrawlRequest", "limit", Some(&50.into())).expect("a count");
        assert_eq!(
            (&limit["type"], &limit["default"]),
            (&"integer".into(), &50.into())
        );
        let text = limit["description"].as_str().expect("a text");
        assert!(!text.contains("Default:"), "{text}");
        let plain = parameter("CrawlRequest", "limit", None).expect("a count");
        assert!(plain["description"].to_string().contains("Default: 0."));
    }
}
