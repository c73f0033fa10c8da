//! Structured data: JSON-LD and microdata. The judge is the package `extruct`.

use serde_json::{Map, Value, json};
use trawl_tests::TestApp;

use crate::draw::Draw;
use crate::pages::escaped;
use crate::python::PythonJudge;
use crate::trial::{Exception, Trial};
use crate::world::world;

const EXCEPTIONS: [Exception; 0] = [];

/// Pages a request.
const PAGES: usize = 20;
const ADDRESS: &str = "https://shop.example/kettles/k2";
const NAMES: [&str; 8] = [
    "name", "price", "offers", "brand", "url", "image", "sku", "author",
];
const TYPES: [&str; 4] = ["Product", "Offer", "Person", "Thing"];
const TEXTS: [&str; 8] = [
    "Kettle",
    "19.99",
    "a b",
    "é 日本",
    "",
    "x & y",
    "\"q\"",
    "<b>",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_judges, ignore = "no judges: cargo xtask judges")]
async fn extruct_finds_the_same_items() {
    let app = TestApp::of(world()).await;
    let mut judge = PythonJudge::start("items.py");
    let mut trial = Trial::of("structured data: extruct", &EXCEPTIONS);
    while let Some(mut draw) = trial.round() {
        let pages: Vec<String> = (0..PAGES).map(|_| page(&mut draw)).collect();
        let data = pages
            .iter()
            .map(|html| json!({"html": html, "url": ADDRESS}));
        let body = json!({
            "data": data.collect::<Vec<_>>(), "return_format": "empty", "return_json_data": true,
        });
        let answer = app.post("/transform", &[], &body).await.json();
        let theirs = judge.ask(&json!({"pages": pages, "url": ADDRESS}));
        for (at, html) in pages.iter().enumerate() {
            for (key, theirs) in theirs[at].as_object().unwrap() {
                let found = answer["json_data"][at].get(key);
                let ours = found.cloned().unwrap_or_else(|| json!([]));
                let (theirs, ours) = (plain(theirs), plain(&ours));
                trial.compare(
                    &format!("{key} of {html}"),
                    &theirs.to_string(),
                    &ours.to_string(),
                );
            }
        }
    }
    trial.close();
}

/// Items in one form: a type is a list, an item without one has none, the values of a property are
/// a list (the judge writes a single one alone), and the names of an object are in order.
fn plain(value: &Value) -> Value {
    match value {
        Value::Array(values) => Value::Array(values.iter().map(plain).collect()),
        Value::Object(object) => {
            let is_item = object.get("properties").is_some_and(Value::is_object);
            let mut names: Vec<&String> = object.keys().collect();
            names.sort_unstable();
            let mut sorted = Map::new();
            for name in names {
                let value = match &object[name] {
                    Value::Array(types) if is_item && name == "type" && types.is_empty() => {
                        continue;
                    }
                    Value::String(one) if is_item && name == "type" => json!([one]),
                    Value::Object(properties) if is_item && name == "properties" => {
                        let lists = properties.iter().map(|(name, value)| match value {
                            Value::Array(_) => (name.clone(), value.clone()),
                            one => (name.clone(), json!([one])),
                        });
                        plain(&Value::Object(lists.collect()))
                    }
                    value => plain(value),
                };
                sorted.insert(name.clone(), value);
            }
            Value::Object(sorted)
        }
        other => other.clone(),
    }
}

fn page(draw: &mut Draw) -> String {
    let mut html = "<!DOCTYPE html><html><head><title>Kettles</title>".to_owned();
    for _ in 0..draw.below(3) {
        html += &script(draw);
    }
    html += "</head><body><p>Kettles and cups.</p>";
    for _ in 0..draw.below(4) {
        html += &item(draw, 0, None);
    }
    html + "</body></html>"
}

/// A script with items of JSON-LD.
fn script(draw: &mut Draw) -> String {
    let mut value = match draw.below(4) {
        0 => Value::Array((0..draw.below(3)).map(|_| linked(draw, 0)).collect()),
        1 => {
            json!({"@context": "https://schema.org", "@graph": [linked(draw, 0), linked(draw, 0)]})
        }
        _ => linked(draw, 0),
    }
    .to_string();
    if draw.often(20) {
        value = format!("\n  {value}\n");
    }
    // A `<` ends nothing by itself, but `</script` would.
    let source = value.replace('<', "\\u003c");
    format!("<script type=\"application/ld+json\">{source}</script>")
}

/// An item of JSON-LD.
fn linked(draw: &mut Draw, depth: usize) -> Value {
    let mut item = Map::new();
    item.insert("@type".to_owned(), draw.one(&TYPES).into());
    for _ in 0..draw.below(5) {
        let value = match draw.below(if depth > 2 { 5 } else { 7 }) {
            0..3 => Value::from(draw.one(&TEXTS)),
            3 => Value::from(draw.below(1_000)),
            4 => draw
                .one(&[&json!(true), &json!(null), &json!(1.5), &json!([])])
                .clone(),
            5 => linked(draw, depth + 1),
            _ => Value::Array(
                (0..draw.below(3))
                    .map(|_| linked(draw, depth + 1))
                    .collect(),
            ),
        };
        item.insert(draw.one(&NAMES).to_owned(), value);
    }
    Value::Object(item)
}

/// An item of microdata, as a property of another with these names.
fn item(draw: &mut Draw, depth: usize, names: Option<&str>) -> String {
    let mut html = "<div itemscope".to_owned();
    if draw.often(80) {
        html += &format!(" itemtype=\"https://schema.org/{}\"", draw.one(&TYPES));
        if draw.often(20) {
            html += " itemid=\"https://a.example/k\"";
        }
    }
    if let Some(names) = names {
        html += &format!(" itemprop=\"{names}\"");
    }
    html += ">";
    // Of an item without properties the judge makes a text.
    for _ in 0..draw.between(1, 6) {
        html += &property(draw, depth);
    }
    html + "</div>"
}

fn property(draw: &mut Draw, depth: usize) -> String {
    let other = draw.one(&NAMES);
    let names = match draw.often(10) {
        true => format!("{} {other}", draw.one(&["gtin", "mpn", "logo"])),
        false => other.to_owned(),
    };
    let text = escaped(draw.one(&TEXTS));
    let path = draw.one(&[
        "/a",
        "b.png",
        "https://cdn.example/c",
        "../d",
        "?e=1",
        "//e.example/f",
    ]);
    match draw.below(if depth > 2 { 10 } else { 13 }) {
        0..3 => format!("<span itemprop=\"{names}\">{text}</span>"),
        3 => format!("<p itemprop=\"{names}\">{text}</p>"),
        4 => format!("<meta itemprop=\"{names}\" content=\"{text}\">"),
        5 => format!("<a itemprop=\"{names}\" href=\"{path}\">{text}</a>"),
        6 => format!("<img itemprop=\"{names}\" src=\"{path}\">"),
        7 => format!("<link itemprop=\"{names}\" href=\"{path}\">"),
        8 => format!("<time itemprop=\"{names}\" datetime=\"2026-05-04\">{text}</time>"),
        9 => format!("<data itemprop=\"{names}\" value=\"{text}\">x</data>"),
        10 => format!(
            "<div>{}<span>beside</span></div>",
            property(draw, depth + 1)
        ),
        _ => item(draw, depth + 1, Some(&names)),
    }
}
