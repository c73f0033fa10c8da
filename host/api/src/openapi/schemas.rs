//! Schemas of the document: their names, and those of request objects.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

/// Where schemas are in the document.
pub(super) const SCHEMAS: &str = "#/components/schemas/";

/// Gives the pages of lists and the rows in them schemas with names of their own: what is derived
/// as `Page_Key`, with its rows inside, becomes `KeyList` with `Key`.
pub(super) fn name_lists(document: &mut Value) {
    let schemas = document.pointer_mut("/components/schemas");
    let Some(schemas) = schemas.and_then(Value::as_object_mut) else {
        return;
    };
    let mut names = BTreeMap::new();
    for (name, mut list) in std::mem::take(schemas) {
        let Some(row) = name.strip_prefix("Page_") else {
            schemas.entry(name).or_insert(list);
            continue;
        };
        let inside = &mut list["properties"]["data"]["items"];
        if inside["$ref"].is_null() {
            schemas.insert(row.to_owned(), inside.take());
            *inside = json!({"$ref": format!("{SCHEMAS}{row}")});
        }
        let new = format!("{row}List");
        schemas.insert(new.clone(), list);
        names.insert(format!("{SCHEMAS}{name}"), format!("{SCHEMAS}{new}"));
    }
    rename_references(document, &names);
}

fn rename_references(part: &mut Value, names: &BTreeMap<String, String>) {
    match part {
        Value::Object(parts) => {
            if let Some(Value::String(reference)) = parts.get_mut("$ref")
                && let Some(new) = names.get(reference)
            {
                reference.clone_from(new);
            }
            parts
                .values_mut()
                .for_each(|part| rename_references(part, names));
        }
        Value::Array(parts) => parts
            .iter_mut()
            .for_each(|part| rename_references(part, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Describes request objects as the tables of parameters do, and leaves out the schemas that
/// nothing refers to then.
pub(super) fn describe_requests(document: &mut Value) {
    let schemas = document.pointer_mut("/components/schemas");
    if let Some(schemas) = schemas.and_then(Value::as_object_mut) {
        schemas.extend(trawl_wire::request_schemas());
    }
    loop {
        let mut used = BTreeSet::new();
        add_references(document, &mut used);
        let schemas = document.pointer_mut("/components/schemas");
        let Some(schemas) = schemas.and_then(Value::as_object_mut) else {
            return;
        };
        let n_schemas = schemas.len();
        schemas.retain(|name, _| used.contains(name));
        if schemas.len() == n_schemas {
            return;
        }
    }
}

/// Adds the names of the schemas that a part of the document refers to.
pub(super) fn add_references(part: &Value, used: &mut BTreeSet<String>) {
    match part {
        Value::Object(parts) => {
            let name = parts.get("$ref").and_then(Value::as_str);
            let name = name.and_then(|name| name.strip_prefix(SCHEMAS));
            used.extend(name.map(str::to_owned));
            parts.values().for_each(|part| add_references(part, used));
        }
        Value::Array(parts) => parts.iter().for_each(|part| add_references(part, used)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
