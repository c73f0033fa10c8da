//! Parsing and output that several vendors share: JSON bodies, headers, cookies and countries.

use serde_json::{Map, Value, json};

use super::{Asked, TargetPage, cookies_of};

/// A field's name and type.
pub(super) type Field = (&'static str, fn(&Value) -> bool);

/// The body as a JSON object whose fields are all among these and of their type.
pub(super) fn json_fields(asked: &Asked, known: &[Field]) -> Result<Map<String, Value>, String> {
    let content_type = asked.header("content-type").unwrap_or_default();
    if content_type.split(';').next().map(str::trim) != Some("application/json") {
        return Err("content type must be application/json".to_owned());
    }
    let body = asked.json();
    Ok(known_fields(&body, known)?.clone())
}

/// The value as an object whose fields are all among these and of their type.
pub(super) fn known_fields<'a>(
    value: &'a Value,
    known: &[Field],
) -> Result<&'a Map<String, Value>, String> {
    let fields = value.as_object().ok_or("not a JSON object")?;
    for (name, value) in fields {
        match known.iter().find(|(known, _)| known == name) {
            None => return Err(format!("\"{name}\" is not allowed")),
            Some((_, fits)) if !fits(value) => {
                return Err(format!("\"{name}\" has the wrong type"));
            }
            Some(_) => {}
        }
    }
    Ok(fields)
}

/// A text field.
pub(super) fn text_of<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    fields.get(name).and_then(Value::as_str)
}

/// A flag, off by default.
pub(super) fn flag_of(fields: &Map<String, Value>, name: &str) -> bool {
    fields.get(name).and_then(Value::as_bool) == Some(true)
}

/// The field `url`, an HTTP or HTTPS URL.
pub(super) fn url_field(fields: &Map<String, Value>) -> Result<String, String> {
    let url = text_of(fields, "url").ok_or("\"url\" is required")?;
    let rest = url
        .strip_prefix("https://")
        .or_else(|| url.strip_prefix("http://"));
    if rest.is_some_and(|rest| !rest.starts_with('/') && !rest.is_empty()) {
        Ok(url.to_owned())
    } else {
        Err("\"url\" must be a valid address".to_owned())
    }
}

/// An HTTP method in upper case, GET by default.
pub(super) fn method(name: Option<&str>) -> Result<String, String> {
    let name = name.unwrap_or("GET").to_uppercase();
    match name.as_str() {
        "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS" => Ok(name),
        _ => Err(format!("\"method\": unknown method {name}")),
    }
}

/// A country code of two letters, in upper case.
pub(super) fn country(code: &str) -> Result<String, String> {
    if code.len() == 2 && code.bytes().all(|letter| letter.is_ascii_alphabetic()) {
        Ok(code.to_uppercase())
    } else {
        Err(format!("unknown country {code}"))
    }
}

/// An object of strings, names in lower case.
pub(super) fn text_pairs(value: Option<&Value>) -> Result<Vec<(String, String)>, String> {
    let pairs = value.and_then(Value::as_object).into_iter().flatten();
    let texts = pairs.map(|(name, value)| match value.as_str() {
        Some(value) => Ok((name.to_lowercase(), value.to_owned())),
        None => Err(format!("\"{name}\" must be a string")),
    });
    texts.collect()
}

type Pairs = Vec<(String, String)>;

/// The headers without `cookie`, and the cookies in it.
pub(super) fn without_cookies(headers: Pairs) -> (Pairs, Pairs) {
    let (lines, others): (Pairs, Pairs) =
        headers.into_iter().partition(|(name, _)| name == "cookie");
    let cookies = lines
        .iter()
        .flat_map(|(_, line)| cookies_of(line))
        .collect();
    (others, cookies)
}

/// The headers of a page as an object; `set-cookie` is a list.
pub(super) fn grouped_headers(page: &TargetPage) -> Value {
    let mut headers = Map::new();
    for (name, value) in &page.headers {
        match headers.get_mut(name) {
            Some(Value::Array(lines)) => lines.push(json!(value)),
            _ if name == "set-cookie" => {
                headers.insert(name.clone(), json!([value]));
            }
            _ => {
                headers.insert(name.clone(), json!(value));
            }
        }
    }
    Value::Object(headers)
}

/// A list of target statuses.
pub(super) fn statuses(value: &Value) -> Option<Vec<u16>> {
    let codes = value.as_array()?.iter().map(|code| {
        let code = u16::try_from(code.as_u64()?).ok()?;
        (100..600).contains(&code).then_some(code)
    });
    codes.collect()
}

/// The headers of a page as an object without its cookies.
pub(super) fn headers_shown(page: &TargetPage) -> Value {
    let headers = page.headers.iter().filter(|(name, _)| name != "set-cookie");
    headers
        .map(|(name, value)| (name.clone(), json!(value)))
        .collect::<Map<_, _>>()
        .into()
}

/// The cookies of a page as a list of keys and values.
pub(super) fn cookies_shown(page: &TargetPage) -> Value {
    let cookies = page.cookies();
    cookies
        .iter()
        .map(|(name, value)| json!({"key": name, "value": value}))
        .collect()
}

/// The country code of an English country name.
pub(super) fn country_code(name: &str) -> Result<String, String> {
    let code = match name {
        "United States" => "US",
        "Germany" => "DE",
        "France" => "FR",
        "United Kingdom" => "GB",
        "Japan" => "JP",
        _ => return Err(format!("Unknown location: {name}")),
    };
    Ok(code.to_owned())
}

/// Refuses unknown kinds of devices.
pub(super) fn device(name: Option<&str>) -> Result<(), String> {
    let kind = name.map(|name| name.split('_').next().unwrap_or(name));
    match kind {
        None | Some("desktop" | "mobile" | "tablet") => Ok(()),
        Some(_) => Err("Unknown kind of device".to_owned()),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::Answered;
    use super::*;

    /// A JSON request to these vendors.
    pub(in super::super) fn post(path: &str, authorization: &str, body: &Value) -> Asked {
        Asked {
            method: "POST".to_owned(),
            path: path.to_owned(),
            query: Vec::new(),
            headers: vec![
                ("authorization".to_owned(), authorization.to_owned()),
                ("content-type".to_owned(), "application/json".to_owned()),
            ],
            body: body.to_string().into_bytes(),
            origin: "http://vendor.test".to_owned(),
        }
    }

    /// A header of a response.
    pub(in super::super) fn header<'a>(answer: &'a Answered, name: &str) -> Option<&'a str> {
        let mut headers = answer.headers.iter();
        let found = headers.find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// The body of a response as JSON.
    pub(in super::super) fn body(answer: &Answered) -> Value {
        serde_json::from_slice(&answer.body).unwrap_or_default()
    }
}
