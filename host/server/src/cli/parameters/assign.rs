//! `--set NAME=VALUE`: a parameter or a key of one, with a value that is read by the shape of its
//! row.

use anyhow::anyhow;
use serde_json::{Map, Value};

use trawl_parameters::{self as parameters, Object, Parameter, Route, Shape, nearest};

/// JSON that only a plugin knows.
const FREE: Shape = Shape::Any(
    "any value",
    &["string", "number", "integer", "boolean", "array", "object"],
);

/// Most characters of a name in an error.
const SHOWN_CHARS_MAX: usize = 60;

/// The parameters that these arguments set, by their first names. Keys of the same object and items
/// of the same list add up.
///
/// # Errors
/// A text that names the argument without its value, which may be a secret.
pub(super) fn all(arguments: &[String], route: Route) -> anyhow::Result<Map<String, Value>> {
    let mut request = Map::new();
    for argument in arguments {
        let (path, value) = match argument.split_once('=') {
            Some((path, value)) => (path.trim(), Some(value)),
            None => (argument.trim(), None),
        };
        set(&mut request, path, value, route)
            .map_err(|reason| anyhow!("`--set {}`: {reason}", shown(path)))?;
    }
    Ok(request)
}

/// The part of the text that can be a name.
fn shown(path: &str) -> String {
    let is_name = |c: &char| c.is_alphanumeric() || "_-./*".contains(*c);
    let name = path.chars().take_while(is_name);
    name.take(SHOWN_CHARS_MAX).collect()
}

fn set(
    request: &mut Map<String, Value>,
    path: &str,
    value: Option<&str>,
    route: Route,
) -> Result<(), String> {
    let (name, rest) = split(path);
    let Some(row) = parameters::find(name) else {
        let of_route = parameters::all().filter(|row| row.routes.has(route));
        let meant = nearest(name, of_route).or_else(|| nearest(name, parameters::all()));
        return Err(unknown("", meant));
    };
    let slot = request.entry(row.name).or_insert(Value::Null);
    put(slot, &row.shape, row.name, rest, value)
}

/// The first name of a path, and the others.
fn split(path: &str) -> (&str, Option<&str>) {
    match path.split_once('.') {
        Some((name, rest)) => (name, Some(rest)),
        None => (path, None),
    }
}

fn unknown(place: &str, meant: Option<&Parameter>) -> String {
    match meant {
        Some(row) => format!(
            "there is no such parameter, did you mean `{place}{}`?",
            row.name
        ),
        None => "there is no such parameter, `--help` lists all".to_owned(),
    }
}

/// The keys that values of a shape have.
enum Keys {
    /// The keys of the object.
    Known(&'static Object),
    /// Any, with values of this shape.
    Chosen(&'static Shape),
}

fn keys(shape: &Shape) -> Option<Keys> {
    match shape {
        Shape::Object(object) => Some(Keys::Known(object)),
        Shape::Map(_, of) => Some(Keys::Chosen(of)),
        Shape::Options(_) => Some(Keys::Chosen(&FREE)),
        Shape::Any(_, types) if types.contains(&"object") => Some(Keys::Chosen(&FREE)),
        Shape::Either(shapes) => shapes.iter().find_map(keys),
        _ => None,
    }
}

/// Puts a value at the path `rest` below `slot`, which is at the path `at`.
fn put(
    slot: &mut Value,
    shape: &Shape,
    at: &str,
    rest: Option<&str>,
    value: Option<&str>,
) -> Result<(), String> {
    let Some(rest) = rest else {
        return add(slot, read(shape, value)?);
    };
    match keys(shape) {
        None => Err(format!("`{at}` is {}, without keys", shape.phrase())),
        Some(Keys::Known(object)) => {
            let (key, rest) = split(rest);
            let row = object
                .find(key)
                .ok_or_else(|| unknown(&format!("{at}."), nearest(key, object.rows.iter())))?;
            let at = format!("{at}.{}", row.name);
            put(entry(slot, row.name)?, &row.shape, &at, rest, value)
        }
        Some(Keys::Chosen(of)) => {
            // A name of the caller's choice may have dots, unless keys can follow it.
            let (key, rest) = match keys(of) {
                Some(_) => split(rest),
                None => (rest, None),
            };
            put(entry(slot, key)?, of, &format!("{at}.{key}"), rest, value)
        }
    }
}

/// The value of a key in the object at `slot`.
fn entry<'a>(slot: &'a mut Value, key: &str) -> Result<&'a mut Value, String> {
    if slot.is_null() {
        *slot = Map::new().into();
    }
    match slot {
        Value::Object(object) => Ok(object.entry(key).or_insert(Value::Null)),
        _ => Err("it is set already, to a value without keys".to_owned()),
    }
}

fn add(slot: &mut Value, value: Value) -> Result<(), String> {
    match (slot, value) {
        (Value::Array(items), Value::Array(more)) => items.extend(more),
        (slot @ Value::Null, value) => *slot = value,
        _ => return Err("it is set twice, give it once".to_owned()),
    }
    Ok(())
}

/// Reads a value: a text as it is, anything else as JSON; a single item stands for a list of one.
/// A value of a wrong type is left to the check of the request, which says what is expected.
fn read(shape: &Shape, value: Option<&str>) -> Result<Value, String> {
    let Some(text) = value else {
        let is_switch = takes(shape, &Value::Bool(true));
        return is_switch
            .then_some(Value::Bool(true))
            .ok_or_else(|| format!("it needs a value: {}, after a `=`", shape.phrase()));
    };
    let json = serde_json::from_str::<Value>(text).ok();
    if let Some(json) = &json
        && takes(shape, json)
    {
        return Ok(json.clone());
    }
    if is_text(shape) {
        return Ok(text.into());
    }
    if let Some(item) = item(shape) {
        return Ok(vec![read(item, value)?].into());
    }
    Ok(json.unwrap_or_else(|| text.into()))
}

/// Whether a shape takes this JSON, which is not plain text.
fn takes(shape: &Shape, json: &Value) -> bool {
    match shape {
        Shape::Switch => json.is_boolean(),
        Shape::Count(_) | Shape::Number(_) => json.is_number(),
        Shape::Text(_) | Shape::Name(_) | Shape::Scalar => false,
        Shape::List(_) | Shape::Bytes | Shape::Steps => json.is_array(),
        Shape::Object(_) | Shape::Map(..) | Shape::Options(_) => json.is_object(),
        Shape::Either(shapes) => shapes.iter().any(|shape| takes(shape, json)),
        Shape::Any(_, types) => {
            let kinds: &[&str] = match json {
                Value::Null => &[],
                Value::Bool(_) => &["boolean"],
                Value::Number(_) => &["number", "integer"],
                Value::String(_) => &["string"],
                Value::Array(_) => &["array"],
                Value::Object(_) => &["object"],
            };
            kinds.iter().any(|kind| types.contains(kind))
        }
    }
}

fn is_text(shape: &Shape) -> bool {
    match shape {
        Shape::Text(_) | Shape::Name(_) | Shape::Scalar => true,
        Shape::Either(shapes) => shapes.iter().any(is_text),
        Shape::Any(_, types) => types.contains(&"string"),
        _ => false,
    }
}

/// The shape of the items of a list.
fn item(shape: &Shape) -> Option<&'static Shape> {
    match shape {
        Shape::List(item) => Some(item),
        Shape::Either(shapes) => shapes.iter().find_map(item),
        Shape::Any(_, types) if types.contains(&"array") => Some(&FREE),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read_all(arguments: &[&str]) -> Result<Value, String> {
        let arguments: Vec<String> = arguments.iter().map(|&text| text.to_owned()).collect();
        let read = all(&arguments, Route::Crawl);
        read.map(Value::Object).map_err(|error| error.to_string())
    }

    #[test]
    fn values_are_read_by_the_shape_of_their_parameter() {
        let check = |arguments: &[&str], expected: Value| {
            assert_eq!(read_all(arguments), Ok(expected), "{arguments:?}");
        };
        check(&["limit=3"], json!({"limit": 3}));
        check(&["readability"], json!({"readability": true}));
        check(&["full_page=false"], json!({"full_page": false}));
        check(&["user_agent=3"], json!({"user_agent": "3"}));
        check(
            &["root_selector=a[href]"],
            json!({"root_selector": "a[href]"}),
        );
        check(&["root_selector="], json!({"root_selector": ""}));
        check(&["wait_for=1000"], json!({"wait_for": 1000}));
        check(&["cookies=a=b; c=d"], json!({"cookies": "a=b; c=d"}));
        check(&["cache.max_age=0"], json!({"cache": {"max_age": 0}}));
        check(&["cache=false"], json!({"cache": false}));
        check(
            &["return_format=[\"markdown\", \"text\"]"],
            json!({"return_format": ["markdown", "text"]}),
        );
        check(&["return_format=text"], json!({"return_format": "text"}));
        check(
            &["blacklist=/a,b", "blacklist=[\"/c\"]"],
            json!({"blacklist": ["/a,b", "/c"]}),
        );
        check(
            &["external_domains=b.example"],
            json!({"external_domains": ["b.example"]}),
        );
        check(&["labels=news"], json!({"labels": ["news"]}));
        // The check of the request refuses it, and says what is expected.
        check(&["limit=many"], json!({"limit": "many"}));
    }

    #[test]
    fn keys_of_objects_add_up() {
        let check = |arguments: &[&str], expected: Value| {
            assert_eq!(read_all(arguments), Ok(expected), "{arguments:?}");
        };
        check(
            &["viewport.width=390", "viewport.has_touch"],
            json!({"viewport": {"width": 390, "has_touch": true}}),
        );
        check(
            &["wait_for.selector.selector=.price", "wait_for.delay=500"],
            json!({"wait_for": {"selector": {"selector": ".price"}, "delay": 500}}),
        );
        check(
            &["webhook.url=https://b.example/"],
            json!({"webhooks": {"destination": "https://b.example/"}}),
        );
        check(
            &["headers.X-Forwarded.For=1", "headers.Accept=text/html"],
            json!({"headers": {"X-Forwarded.For": "1", "Accept": "text/html"}}),
        );
        check(
            &["budget./blog.html=20", "budget.*=100"],
            json!({"budget": {"/blog.html": 20, "*": 100}}),
        );
        check(
            &["router.credentials.PROVIDER2_API_KEY=1"],
            json!({"router": {"credentials": {"PROVIDER2_API_KEY": "1"}}}),
        );
        check(
            &["format_options.markdown.hidden=true", "filters.prune=true"],
            json!({"format_options": {"markdown": {"hidden": true}}, "filters": {"prune": true}}),
        );
        check(
            &["css_extraction_map.title=h1"],
            json!({"css_extraction_map": {"title": "h1"}}),
        );
    }

    #[test]
    fn wrong_names_are_refused_with_the_closest_right_one() {
        let check = |arguments: &[&str], expected: &str| {
            let text = read_all(arguments).expect_err("refused");
            assert!(text.contains(expected), "{arguments:?}: {text}");
        };
        check(
            &["limt=3"],
            "`--set limt`: there is no such parameter, did you mean `limit`?",
        );
        check(&["wait-for=3"], "did you mean `wait_for`?");
        check(&["max_depth=3"], "did you mean `depth`?");
        check(&["viewport.wdth=3"], "did you mean `viewport.width`?");
        check(&["nothing_like_it=3"], "`--help` lists all");
        check(
            &["limit.x=3"],
            "`limit` is a whole number of pages, without keys",
        );
        check(&["limit=3", "limit=4"], "it is set twice");
        check(&["cache=false", "cache.max_age=0"], "it is set already");
        check(&["limit"], "it needs a value: a whole number of pages");
    }

    #[test]
    fn errors_do_not_show_values() {
        for secret in ["cookis=canary", "headers: canary=x", "cookies.x=canary"] {
            let text = read_all(&[secret]).expect_err("refused");
            assert!(!text.contains("canary"), "{text}");
        }
    }
}
