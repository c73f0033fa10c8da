//! What the interface answered, as items with a text each.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use trawl_model::{Nanodollars, money};

use crate::indent::indented;

/// Members of a page entry that are above its text.
const HEAD: [&str; 4] = ["url", "status", "error", "cause"];
/// Members that are not in its text: what it is made of, and how a request or a crawl came to the
/// page. The content comes first.
const APART: [&str; 9] = [
    "content",
    "costs",
    "duration_elasped_ms",
    "index",
    "duplicates",
    "depth",
    "referrer",
    "anchor",
    "redirects",
];
/// Members of the metadata that say how the page was served, whether it was asked for or not. They
/// are no part of the text: they differ from call to call, and a cursor is of one text.
const SERVING: [&str; 6] = [
    "cache",
    "rendered_by",
    "render_reason",
    "provider_attempts",
    "vendor_cost_source",
    // A note at the end names them.
    "ignored",
];
/// The cost that is the sum of the others.
const TOTAL: &str = "total_cost";

/// What a call found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// The items.
    pub(crate) items: Vec<Item>,
    /// Number of the first of them.
    pub(crate) first: usize,
    /// Whether others may follow the last.
    pub(crate) has_more: bool,
    /// The member of the structured content that lists the items; `None` if there is one item whose
    /// members are those of the structured content.
    pub(crate) list: Option<&'static str>,
    /// What the call was charged for.
    pub(crate) costs: Costs,
    /// Sentences for the end of the text.
    pub(crate) notes: Vec<String>,
}

/// A page, or the URLs of a site.
#[derive(Debug, Default)]
pub(crate) struct Item {
    /// The lines above its text.
    pub(crate) head: String,
    /// Its text.
    pub(crate) text: String,
    /// Its members if its whole text is shown.
    pub(crate) whole: Map<String, Value>,
    /// Its members next to `content` if a part of its text is shown.
    pub(crate) part: Map<String, Value>,
    /// Whether it failed.
    pub(crate) has_failed: bool,
}

/// A sum of costs, by their names.
#[derive(Debug, Default)]
pub(crate) struct Costs(BTreeMap<String, Nanodollars>);

impl Costs {
    /// Adds the `costs` of a page entry.
    pub(crate) fn add(&mut self, costs: &Value) {
        for (name, amount) in costs.as_object().into_iter().flatten() {
            if let Some(dollars) = amount.as_f64() {
                let sum = self.0.entry(name.clone()).or_default();
                *sum = Nanodollars(sum.0.saturating_add(nanodollars(dollars)));
            }
        }
    }

    /// The total.
    pub(crate) fn total(&self) -> Nanodollars {
        self.0.get(TOTAL).copied().unwrap_or_default()
    }

    /// As JSON, which always has the total.
    pub(crate) fn json(&self) -> Value {
        let amounts = self.0.iter().map(|(name, sum)| (name.clone(), *sum));
        let total = (TOTAL.to_owned(), self.total());
        let amounts = amounts.chain([total]);
        amounts
            .map(|(name, sum)| (name, Value::from(trawl_wire::dollars(sum))))
            .collect()
    }
}

/// Dollars as the whole number of nanodollars that they are.
fn nanodollars(dollars: f64) -> i64 {
    (dollars * money::PER_DOLLAR as f64).round() as i64
}

impl Found {
    /// The pages of an answer, which is an array of page entries.
    pub(crate) fn pages(answer: Value) -> Self {
        let mut found = Self {
            list: Some("pages"),
            ..Self::default()
        };
        for entry in entries(answer) {
            found.costs.add(&entry["costs"]);
            found.items.push(Item::page(entry));
        }
        found
    }

    /// The URLs of a map, whose last entry is its end.
    pub(crate) fn map(answer: Value) -> Self {
        let mut entries = entries(answer);
        let end = entries.pop().unwrap_or_default();
        let mut found = Self::default();
        found.costs.add(&json!({TOTAL: end[TOTAL]}));
        let failure = end["start_page"]["error"].as_str();
        found.notes.extend(failure.map(|error| {
            format!("The start page failed ({error}), so its links are not in the list.")
        }));
        let is_cut = end["is_cut"] == true;
        if is_cut {
            let note = "The list is not complete: the site may have more URLs.";
            found.notes.push(note.to_owned());
        }
        let lines: Vec<String> = entries.iter().map(map_line).collect();
        let head = format!("{} of {} known URLs", end["n_urls"], end["n_found"]);
        let mut whole = Map::new();
        whole.insert("urls".to_owned(), entries.into());
        whole.insert("may_have_more".to_owned(), is_cut.into());
        found.items.push(Item {
            head,
            text: lines.join("\n"),
            whole,
            ..Item::default()
        });
        found
    }

    /// The results of a web search.
    pub(crate) fn results(mut answer: Value) -> Self {
        let mut found = Self::default();
        found.costs.add(&answer["costs"]);
        let results = answer["content"].take();
        let lines = results.as_array().into_iter().flatten().map(result_lines);
        let lines: Vec<String> = lines.collect();
        let engine = answer["engine"].as_str().unwrap_or_default();
        let head = format!("{} results of {engine}", lines.len());
        let mut whole = Map::new();
        whole.insert("results".to_owned(), results);
        found.items.push(Item {
            head,
            text: lines.join("\n\n"),
            whole,
            ..Item::default()
        });
        found
    }

    /// The one document of a transformation.
    pub(crate) fn document(mut answer: Value) -> Self {
        let mut found = Self::default();
        found.costs.add(&answer["costs"]);
        let mut entry = Map::new();
        for name in ["content", "metadata", "links", "json_data", "css_extracted"] {
            // A list with an item a document.
            let list = answer.get_mut(name);
            let value = list.and_then(|list| list.get_mut(0)).map(Value::take);
            entry.extend(value.map(|value| (name.to_owned(), value)));
        }
        for name in ["error", "cause"] {
            if let Some(text) = answer[name].as_str() {
                entry.insert(name.to_owned(), text.into());
            }
        }
        found.items.push(Item::page(entry.into()));
        found
    }

    /// Whether there are items and all of them failed.
    pub(crate) fn has_failed(&self) -> bool {
        !self.items.is_empty() && self.items.iter().all(|item| item.has_failed)
    }
}

fn entries(answer: Value) -> Vec<Value> {
    match answer {
        Value::Array(entries) => entries,
        one => vec![one],
    }
}

/// A URL of a map with what is known of it.
fn map_line(entry: &Value) -> String {
    let text = |name: &str| entry[name].as_str().unwrap_or_default();
    let known = [text("anchor"), text("lastmod")];
    let known = known.iter().filter(|text| !text.is_empty());
    known.fold(text("url").to_owned(), |line, text| {
        format!("{line}  ({text})")
    })
}

/// A result of a web search: its title, URL, date and description.
fn result_lines(result: &Value) -> String {
    let text = |name: &str| result[name].as_str().unwrap_or_default();
    let title = format!("{}. {}", result["position"], text("title"));
    let parts = [
        title.as_str(),
        text("url"),
        text("date"),
        text("description"),
    ];
    let parts = parts.into_iter().filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("\n")
}

impl Item {
    /// The item of a page entry.
    pub(crate) fn page(entry: Value) -> Self {
        let Value::Object(mut entry) = entry else {
            return Self::default();
        };
        let has_failed = entry.get("error").is_some_and(Value::is_string);
        let part: Map<String, Value> = entry
            .iter()
            .filter(|(name, _)| HEAD.contains(&name.as_str()) || *name == "costs")
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        let (head, text) = (head(&entry), text(&entry));
        entry.remove("duration_elasped_ms");
        Self {
            head,
            text,
            whole: entry,
            part,
            has_failed,
        }
    }

    /// Adds a member, and a line above the text.
    pub(crate) fn add(&mut self, name: &str, title: &str, value: &str) {
        self.head = format!("{}\n{title}: {value}", self.head);
        for members in [&mut self.whole, &mut self.part] {
            members.insert(name.to_owned(), value.into());
        }
    }
}

/// The lines above the text of an entry.
fn head(entry: &Map<String, Value>) -> String {
    let said = |name: &str| entry.get(name).filter(|value| !value.is_null());
    let mut lines = Vec::new();
    for (name, title) in [("url", "URL"), ("status", "Status"), ("error", "Error")] {
        if let Some(value) = said(name) {
            let text = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            lines.push(format!("{title}: {text}"));
        }
    }
    lines.join("\n")
}

/// The text of an entry: its content, and all else that was asked for.
fn text(entry: &Map<String, Value>) -> String {
    let content = entry.get("content").map(content).unwrap_or_default();
    let others = entry.iter().filter(|(name, _)| {
        let name = name.as_str();
        !HEAD.contains(&name) && !APART.contains(&name)
    });
    let others = others.filter_map(|(name, value)| Some((name, shown(name, value)?)));
    let mut others: Vec<_> = others.collect();
    // What stands alone needs no name.
    if content.is_empty() && others.len() == 1 {
        return others.remove(0).1;
    }
    let mut parts = Vec::new();
    parts.extend((!content.is_empty()).then_some(content));
    parts.extend(others.iter().map(|(name, text)| format!("{name}:\n{text}")));
    parts.join("\n\n")
}

/// What the text of an entry says of a member; `None` if that is nothing.
fn shown(name: &str, value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::Object(members) if name == "metadata" => {
            let mut of_page = members.clone();
            of_page.retain(|name, _| !SERVING.contains(&name.as_str()));
            (!of_page.is_empty()).then(|| indented(&of_page.into()))
        }
        value => Some(joined(value, "\n")),
    }
}

/// The content of an entry: a text, chunks, or several formats.
fn content(content: &Value) -> String {
    match content {
        Value::Null => String::new(),
        content => joined(content, "\n\n"),
    }
}

/// A text, or a list of texts with this between them; all else as JSON.
fn joined(value: &Value, separator: &str) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(texts) if texts.iter().all(Value::is_string) => {
            let texts = texts.iter().filter_map(Value::as_str);
            texts.collect::<Vec<_>>().join(separator)
        }
        other => indented(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_a_head_and_a_text() {
        let item = Item::page(json!({
            "url": "https://a.example/", "status": 200, "content": "# A", "error": null,
            "duration_elasped_ms": 3, "links": ["https://b.example/"], "metadata": {"title": "A"},
            "costs": {"total_cost": 0.5},
        }));
        assert_eq!(item.head, "URL: https://a.example/\nStatus: 200");
        let parts = [
            "# A",
            "links:\nhttps://b.example/",
            "metadata:\n{\n  \"title\": \"A\"\n}",
        ];
        assert!(item.text.starts_with("# A\n\n"), "{}", item.text);
        for part in parts {
            assert!(item.text.contains(part), "{}", item.text);
        }
        assert!(!item.text.contains("duration") && !item.text.contains("cost"));
        assert!(!item.has_failed);
        assert_eq!(item.whole["links"], json!(["https://b.example/"]));
        assert_eq!(item.part.get("content"), None);
        assert_eq!(item.part["costs"]["total_cost"], 0.5);
    }

    #[test]
    fn how_a_page_was_served_is_not_in_its_text() {
        let entry = |age: u64, metadata: Value| {
            let mut entry = json!({
                "content": "# A", "metadata": metadata, "depth": 1, "redirects": [],
                "referrer": "https://a.example/",
            });
            entry["metadata"]["cache"] = json!({"status": "hit", "age_ms": age});
            entry["metadata"]["rendered_by"] = "http".into();
            Item::page(entry)
        };
        let item = entry(1, json!({}));
        assert_eq!(item.text, "# A");
        assert_eq!(item.whole["metadata"]["cache"]["age_ms"], 1);
        assert_eq!(item.whole["depth"], 1);
        let [first, again] = [1, 2].map(|age| entry(age, json!({"title": "A"})).text);
        assert_eq!(first, "# A\n\nmetadata:\n{\n  \"title\": \"A\"\n}");
        assert_eq!(first, again, "a cursor is still of it");
    }

    #[test]
    fn a_failure_says_why() {
        let item = Item::page(json!({
            "url": "https://a.example/", "status": 525, "content": "", "cause": "dns",
            "error": "the host name does not resolve", "costs": {},
        }));
        assert!(item.has_failed);
        assert!(item.head.ends_with("Error: the host name does not resolve"));
        assert_eq!(item.text, "");
        let found = Found::pages(json!([{"error": "x"}, {"error": null}]));
        assert!(!found.has_failed());
        assert!(Found::pages(json!([{"error": "x"}])).has_failed());
        assert!(!Found::pages(json!([])).has_failed());
    }

    #[test]
    fn what_stands_alone_has_no_name() {
        let links = Item::page(json!({"content": "", "links": ["a", "b"], "error": null}));
        assert_eq!(links.text, "a\nb");
        let chunks = Item::page(json!({"content": ["a", "b"]}));
        assert_eq!(chunks.text, "a\n\nb");
        let formats = Item::page(json!({"content": {"text": "a"}}));
        assert_eq!(formats.text, "{\n  \"text\": \"a\"\n}");
    }

    #[test]
    fn costs_are_summed_to_the_nanodollar() {
        let mut costs = Costs::default();
        for _ in 0..3 {
            let page = json!({"total_cost": 0.000_000_1, "ai_cost": 0.0, "vendor": {"x": 1}});
            costs.add(&page);
        }
        assert_eq!(costs.total(), Nanodollars(300));
        let sums = json!({"total_cost": 0.000_000_3, "ai_cost": 0.0});
        assert_eq!(costs.json(), sums);
        assert_eq!(Costs::default().json(), json!({"total_cost": 0.0}));
    }

    #[test]
    fn a_map_is_a_list_of_lines() {
        let found = Found::map(json!([
            {"url": "https://a.example/1", "found": "links", "anchor": "One"},
            {"url": "https://a.example/2", "found": "sitemap", "lastmod": "2026-01-31"},
            {"n_urls": 2, "n_found": 9, "is_cut": true, "total_cost": 0.25, "start_page": {"error": "gone"}},
        ]));
        let [item] = found.items.as_slice() else {
            panic!("one item")
        };
        assert_eq!(item.head, "2 of 9 known URLs");
        let lines = "https://a.example/1  (One)\nhttps://a.example/2  (2026-01-31)";
        assert_eq!(item.text, lines);
        assert_eq!(item.whole["urls"][1]["found"], "sitemap");
        assert!(found.notes.concat().contains("gone"));
        assert!(found.notes.concat().contains("not complete"));
        assert_eq!(item.whole["may_have_more"], true);
        assert_eq!(found.costs.json(), json!({"total_cost": 0.25}));
        let whole = Found::map(json!([{"n_urls": 0, "n_found": 0, "is_cut": false}]));
        assert_eq!(whole.notes, [""; 0]);
        assert_eq!(whole.items[0].whole["may_have_more"], false);
    }

    #[test]
    fn results_have_what_is_known_of_them() {
        let found = Found::results(json!({
            "content": [
                {"position": 1, "url": "https://a.example/", "title": "A", "description": "First."},
                {"position": 2, "url": "https://b.example/", "title": "B", "description": "",
                    "date": "2026-01-31"},
            ],
            "engine": "searxng", "costs": {"total_cost": 0.25}, "status": 200,
        }));
        let item = &found.items[0];
        assert_eq!(item.head, "2 results of searxng");
        let lines = "1. A\nhttps://a.example/\nFirst.\n\n2. B\nhttps://b.example/\n2026-01-31";
        assert_eq!(item.text, lines);
        assert_eq!(item.whole["results"][1]["title"], "B");
        assert_eq!(found.costs.json(), json!({"total_cost": 0.25}));
        assert!(!found.has_failed());
    }

    #[test]
    fn a_document_is_the_first_item_of_each_list() {
        let found = Found::document(json!({
            "content": ["# A"], "links": [["https://b.example/"]], "error": null, "status": 200,
            "cost": {"total_cost": 0.5}, "costs": {"total_cost": 0.5},
        }));
        let item = &found.items[0];
        assert_eq!(item.text, "# A\n\nlinks:\nhttps://b.example/");
        assert!(!item.has_failed);
        let failed = Found::document(json!({"content": [null], "error": "no format"}));
        assert!(failed.has_failed());
    }
}
