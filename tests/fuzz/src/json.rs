//! Changes of JSON values.

use serde_json::{Map, Value, json};

use crate::Recipe;
use crate::seeds::BYTES_MAX;

/// Levels that one change adds: deeper values are the business of the JSON reader.
const NESTING_MAX: usize = 40;
/// Longest made-up string, in repetitions of its part, and longest list.
const LENGTH_MAX: usize = 400;

/// Replaces, removes, renames, adds or nests one member of `value`, chosen by the recipe.
pub(crate) fn change(value: &mut Value, seeds: &[Value], recipe: &mut Recipe<'_>) {
    let place = place(value, recipe);
    match (recipe.below(8), place) {
        (0, Value::Object(members)) => {
            let name = name(members, recipe);
            members.remove(&name);
        }
        (1 | 2, Value::Object(members)) => {
            let (from, like) = member(seeds, recipe);
            let value = if recipe.once_in(2) {
                like
            } else {
                trouble(recipe)
            };
            members.insert(from, value);
        }
        (3, Value::Object(members)) => {
            let (old, (new, _)) = (name(members, recipe), member(seeds, recipe));
            if let Some(value) = members.remove(&old) {
                members.insert(new, value);
            }
        }
        (0, Value::Array(items)) => drop(items.pop()),
        (1, Value::Array(items)) => items.push(trouble(recipe)),
        (2, Value::Array(items)) if !items.is_empty() => {
            let item = recipe.one_of(items).clone();
            let room = BYTES_MAX / (1 + item.to_string().len());
            items.resize(items.len() + recipe.below(LENGTH_MAX).min(room), item);
        }
        (4, place) => *place = member(seeds, recipe).1,
        (5, place) => {
            let nested = place.take();
            let levels = recipe.below(NESTING_MAX);
            *place = (0..levels).fold(nested, |inner, _| json!([inner]));
        }
        (6, Value::String(text)) => change_text(text, recipe),
        (_, place) => *place = trouble(recipe),
    }
}

/// A value in `value`, or it itself.
fn place<'a>(value: &'a mut Value, recipe: &mut Recipe<'_>) -> &'a mut Value {
    let mut here = value;
    while !recipe.once_in(4) && !recipe.is_over() {
        let n_children = match here {
            Value::Object(members) => members.len(),
            Value::Array(items) => items.len(),
            _ => 0,
        };
        if n_children == 0 {
            break;
        }
        let child = recipe.below(n_children);
        here = match here {
            Value::Object(members) => members.values_mut().nth(child).expect("it is below"),
            Value::Array(items) => &mut items[child],
            _ => unreachable!("it has children"),
        };
    }
    here
}

fn name(members: &Map<String, Value>, recipe: &mut Recipe<'_>) -> String {
    let names: Vec<&String> = members.keys().collect();
    match names.as_slice() {
        [] => String::new(),
        names => (*recipe.one_of(names)).clone(),
    }
}

/// A member of some object in the seeds.
fn member(seeds: &[Value], recipe: &mut Recipe<'_>) -> (String, Value) {
    let mut here = recipe.one_of(seeds);
    loop {
        match here {
            Value::Object(members) if !members.is_empty() => {
                let name = name(members, recipe);
                let value = &members[&name];
                if recipe.once_in(2) || !(value.is_object() || value.is_array()) {
                    return (name, value.clone());
                }
                here = value;
            }
            Value::Array(items) if !items.is_empty() => here = recipe.one_of(items),
            value => return (String::from("x"), value.clone()),
        }
    }
}

/// A value that readers trip over.
fn trouble(recipe: &mut Recipe<'_>) -> Value {
    match recipe.below(20) {
        0 => Value::Null,
        1 => json!(true),
        2 => json!(false),
        3 => json!(0),
        4 => json!(-1),
        5 => json!(u64::MAX),
        6 => json!(i64::MIN),
        7 => json!(0.1),
        8 => json!(1e308),
        9 => json!(""),
        10 => json!([]),
        11 => json!({}),
        12 => json!("\0\r\n\u{202e}é"),
        13 => json!("http://[::1]:99999/"),
        14 => json!("http://user:pass@a.example/?#"),
        15 => json!("x".repeat(1 + 100 * recipe.below(LENGTH_MAX))),
        16 => json!(vec![Value::Null; recipe.below(LENGTH_MAX)]),
        17 => json!(recipe.below(1 << 16)),
        18 => json!({"": null, "\u{0}": [{}]}),
        _ => json!(String::from_utf8_lossy(recipe.bytes(24))),
    }
}

fn change_text(text: &mut String, recipe: &mut Recipe<'_>) {
    let mut cut = recipe.below(text.len() + 1);
    while !text.is_char_boundary(cut) {
        cut -= 1;
    }
    match recipe.below(4) {
        0 => text.truncate(cut),
        1 => text.insert_str(cut, &String::from_utf8_lossy(recipe.bytes(12))),
        2 => *text = text.repeat(recipe.below(20).min(BYTES_MAX / (1 + text.len()))),
        _ => text.insert(
            cut,
            *recipe.one_of(&['\0', '"', '\\', '/', ':', '@', '%', '\u{feff}', ' ']),
        ),
    }
}
