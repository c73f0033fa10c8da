//! Data in scripts, and in the attribute that Inertia uses for its page object.

use serde::de::IgnoredAny;
use serde_json::{Map, Value, json};
use trawl_embedded::Budget;
use trawl_sdk::{Document, Element, Tag};

use crate::assignment::{self, Event};
use crate::call::{self, some_data};
use crate::flat::{Style, revive};
use crate::flight;
use crate::sources::Sources;

/// Script types with JSON for the browser itself.
const BROWSER_TYPES: [&str; 2] = ["importmap", "speculationrules"];

/// The script type of JSON-LD.
const JSON_LD: &str = "application/ld+json";

/// Script types that are code.
const CODE_TYPES: [&str; 6] = [
    "",
    "text/javascript",
    "module",
    "application/javascript",
    "text/ecmascript",
    "application/x-javascript",
];

/// Reads all scripts, JSON first, so that code cannot exhaust the budget before it.
pub(crate) fn read(document: &Document<'_>, sources: &mut Sources, budget: &mut Budget) {
    let mut code = Vec::new();
    for element in document.live_elements() {
        if element.tag() != Tag::Script {
            read_inertia(element, sources, budget);
        } else if !read_data(element, sources, budget) {
            code.push(element);
        }
    }
    let mut streams = Streams::default();
    for script in code {
        let text = trawl_embedded::script_text(script);
        let is_module = trawl_embedded::script_type(script).eq_ignore_ascii_case("module");
        assignment::scan(&text, is_module, budget, |event, budget| match event {
            Event::Assigned(name, value) => sources.set_state(name, value),
            Event::Called(name, argument) => streams.called(name, argument, sources, budget),
        });
    }
    streams.finish(sources, budget);
}

/// Reads a data script; `false` if it is code.
fn read_data(script: Element<'_>, sources: &mut Sources, budget: &mut Budget) -> bool {
    let kind = trawl_embedded::script_type(script).to_ascii_lowercase();
    if CODE_TYPES.contains(&kind.as_str()) {
        return false;
    }
    if BROWSER_TYPES.contains(&kind.as_str()) {
        return true;
    }
    let text = trawl_embedded::script_text(script);
    let is_json = kind == "application/json"
        || kind.ends_with("/json")
        || kind.ends_with("+json")
        || kind.ends_with("-json");
    let text = text.trim_ascii();
    // Other types are mostly templates, so only strictly valid JSON counts.
    let is_correct = || serde_json::from_str::<IgnoredAny>(text).is_ok();
    let is_data = is_json || (text.starts_with(['{', '[']) && is_correct());
    if !is_data {
        return true;
    }
    let values = if kind == JSON_LD {
        trawl_embedded::read_json_ld(text, budget)
    } else if text.contains("{&q;") {
        trawl_embedded::read_within(&angular_text(text), budget)
    } else {
        trawl_embedded::read_within(text, budget)
    };
    for value in values {
        place(script, &kind, value, sources, budget);
    }
    true
}

/// Stores the value of a JSON script by its type and id.
fn place(
    script: Element<'_>,
    kind: &str,
    mut value: Value,
    sources: &mut Sources,
    budget: &mut Budget,
) {
    let id = script.id().unwrap_or_default();
    if kind == JSON_LD {
        sources.push("json_ld", value);
    } else if id == "__NUXT_DATA__" || script.has_attr("data-nuxt-data") {
        match revive(&value, Style::Devalue, budget) {
            Some(state) => sources.set_state("__NUXT__", state),
            None => sources.push("other_scripts", value),
        }
    } else if script.has_attr("data-sveltekit-fetched") {
        let url = script.attr("data-url").unwrap_or_default();
        sources.push_in("sveltekit", "fetched", fetched(url, &mut value, budget));
    } else if !sources.set_by_id(id, &mut value) {
        sources.push("other_scripts", value);
    }
}

/// A response that SvelteKit fetched on the server; its body is JSON in a string.
fn fetched(url: &str, answer: &mut Value, budget: &mut Budget) -> Value {
    let body = match answer.get_mut("body").map(Value::take) {
        Some(Value::String(text)) => {
            let parsed = trawl_embedded::read_within(&text, budget)
                .into_iter()
                .next();
            parsed.unwrap_or(Value::String(text))
        }
        body => body.unwrap_or_default(),
    };
    json!({"url": url, "status": answer.get("status"), "body": body})
}

/// Undoes the escaping of JSON in older Angular versions.
fn angular_text(text: &str) -> String {
    let text = text
        .replace("&q;", "\"")
        .replace("&s;", "'")
        .replace("&l;", "<")
        .replace("&g;", ">");
    text.replace("&a;", "&")
}

/// Inertia stores its page object in an attribute of its root element.
fn read_inertia(element: Element<'_>, sources: &mut Sources, budget: &mut Budget) {
    let page = element
        .attr("data-page")
        .filter(|page| page.starts_with("{\"component\""));
    if let Some(page) = page
        && let Some(Value::Object(page)) =
            trawl_embedded::read_within(page, budget).into_iter().next()
    {
        sources.set_object("inertia", page);
    }
}

/// Data delivered in chunks, one per call.
#[derive(Default)]
struct Streams {
    flight: String,
    remix: String,
    /// Whether the call that starts SvelteKit was read: there is only one per page.
    is_started: bool,
}

impl Streams {
    fn called(&mut self, name: &str, argument: &str, sources: &mut Sources, budget: &mut Budget) {
        if name.ends_with("__next_f.push") {
            self.flight += &flight::chunk(argument, budget).unwrap_or_default();
        } else if name.ends_with("enqueue") {
            let string = argument.trim_ascii_start();
            if string.starts_with(['"', '\''])
                && let Some(found) = trawl_embedded::prefix(string, budget)
                && let Value::String(chunk) = found.value
            {
                self.remix += &chunk;
            }
        } else if !self.is_started {
            self.is_started = true;
            let data = sveltekit_data(argument, budget);
            data.into_iter()
                .for_each(|data| sources.set_in("sveltekit", "data", data));
        }
    }

    fn finish(self, sources: &mut Sources, budget: &mut Budget) {
        sources.set_object("next_flight", flight::rows(&self.flight, budget));
        // The first line is the response, the others resolve its promises.
        let line = self.remix.lines().next().unwrap_or_default();
        if line.is_empty() {
            return;
        }
        let list = trawl_embedded::read_within(line, budget)
            .into_iter()
            .next()
            .unwrap_or_default();
        if let Some(Value::Object(mut state)) =
            revive(&list, Style::TurboStream, budget).and_then(some_data)
        {
            let mut context = Map::new();
            context.append(&mut state);
            sources.set_state("__remixContext", json!({"state": context}));
        }
    }
}

/// The `data` of `kit.start(app, element, {node_ids: […], data: […]})`.
fn sveltekit_data(arguments: &str, budget: &mut Budget) -> Option<Value> {
    /// Maximum length of the arguments before the object, in bytes.
    const ARGUMENTS_BYTES_MAX: usize = 200;
    let head = &arguments.as_bytes()[..arguments.len().min(ARGUMENTS_BYTES_MAX)];
    let at = head.iter().position(|&byte| byte == b'{')?;
    let options = call::literal_with(arguments, at, &[], budget)?.value?;
    options.get("data").cloned().and_then(some_data)
}
