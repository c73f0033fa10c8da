//! Parameters and commands in the text of the guides: the former are planned, the latter parsed.

use serde_json::{Value, json};
use trawl_parameters::{self as parameters, Route, Shape, step_kind};
use trawl_plan::Ignored;
use trawl_plugins::{Plugins, PluginsConfig, Registry};
use trawl_tests::{World, run_program};
use trawl_wire::{
    PlanContext, RequestDefaults, Verb, batch_request, crawl_request, map_request, scrape_plan,
    transform_plan,
};

use super::{PAGES, blocks};

/// Names that are placeholders for a plugin of the reader's own.
const PLACEHOLDERS: [&str; 2] = ["NAME", "shout"];

/// A code span.
struct Span {
    /// The page, for messages.
    page: &'static str,
    /// The first heading of its table, if it is in the first column.
    heading: String,
    text: String,
}

/// The code spans of all pages, without blocks and without spans that leave something open.
fn spans() -> Vec<Span> {
    let mut spans = Vec::new();
    for page in PAGES {
        let text = blocks::read(page);
        // Every second part is a block.
        let prose = text.split("\n```").step_by(2);
        for paragraph in prose.flat_map(|text| text.split("\n\n")) {
            let mut add = |heading: &str, text: &str| {
                let code = text.split('`').skip(1).step_by(2);
                let is_own = |code: &str| PLACEHOLDERS.iter().any(|name| code.contains(name));
                let whole = code.filter(|code| !code.contains('…') && !is_own(code));
                spans.extend(whole.map(|code| Span {
                    page,
                    heading: heading.to_owned(),
                    text: code.to_owned(),
                }));
            };
            if paragraph.contains("``") {
                continue;
            }
            let Some(table) = paragraph.trim_start().strip_prefix("| ") else {
                add("", &paragraph.replace('\n', " "));
                continue;
            };
            let heading = table.split('|').next().unwrap_or_default().trim();
            for row in table.lines().skip(2) {
                let cells = row.trim_start_matches("| ");
                let (first, rest) = cells.split_once(" | ").unwrap_or((cells, ""));
                add(heading.trim_matches('`'), first);
                add("", rest);
            }
        }
    }
    spans
}

/// The parameters that a span shows, as a request without its URL.
fn shown(span: &Span) -> Option<Value> {
    let value = || serde_json::from_str::<Value>(&span.text).ok();
    let members = || {
        let members = span
            .text
            .starts_with('"')
            .then(|| format!("{{{}}}", span.text))?;
        serde_json::from_str::<Value>(&members).ok()
    };
    let is_known = |members: &Value| {
        let mut names = members.as_object().into_iter().flatten();
        names.all(|(name, _)| parameters::find(name).is_some())
    };
    if span.heading == "step" {
        let step = value()?;
        let name = step.as_object().and_then(|step| step.keys().next());
        let name = name.map(String::as_str).or(step.as_str());
        assert!(name.is_some_and(|name| step_kind(name).is_some()), "{step}");
        return Some(json!({"automation_scripts": {"*": [step]}}));
    }
    let Some(row) = parameters::find(&span.heading) else {
        return members().filter(is_known);
    };
    let is_object = matches!(row.shape, Shape::Object(_));
    // The name of a key alone is a string, too.
    let value = value().filter(|value| !(is_object && value.is_string()));
    let mut value = value.or_else(members)?;
    if row.name == "router" && value["mode"] == "first" {
        // What it requires.
        value["provider"] = json!("provider_1");
        value["token"] = json!("a key");
    }
    Some(json!({ (row.name): value }))
}

/// Plans a request on a route that has its parameters. `None` when there is no such route here.
fn planned(request: &Value, registry: &Registry) -> Option<Result<Ignored, String>> {
    let names = request.as_object()?.keys();
    let is_of = |route: Route| {
        let mut names = names.clone();
        names.all(|name| parameters::find(name).is_some_and(|row| row.routes.has(route)))
    };
    let mut body = request.clone();
    let context = PlanContext {
        catalog: registry,
        defaults: RequestDefaults::default(),
    };
    let mut add = |name: &str, value: Value| {
        if body.get(name).is_none() {
            body[name] = value;
        }
        body.to_string()
    };
    if is_of(Route::Scrape) {
        add("return_format", json!(["raw", "markdown"]));
        let body = add("url", json!("http://sample.trawl.test/"));
        let plan = scrape_plan(body.as_bytes(), Verb::Scrape, context);
        return Some(
            plan.map(|plan| plan.ignored)
                .map_err(|error| error.to_string()),
        );
    }
    if is_of(Route::Crawl) {
        let body = add("url", json!("http://sample.trawl.test/"));
        let plan = crawl_request(body.as_bytes(), Verb::Scrape, context);
        return Some(
            plan.map(|plan| plan.ignored)
                .map_err(|error| error.to_string()),
        );
    }
    if is_of(Route::Map) {
        let body = add("url", json!("http://sample.trawl.test/"));
        let plan = map_request(body.as_bytes(), context);
        return Some(
            plan.map(|plan| plan.ignored)
                .map_err(|error| error.to_string()),
        );
    }
    if is_of(Route::Batch) {
        let body = add("urls", json!(["http://sample.trawl.test/"]));
        let plan = batch_request(body.as_bytes(), context);
        return Some(
            plan.map(|plan| plan.ignored)
                .map_err(|error| error.to_string()),
        );
    }
    if is_of(Route::Transform) {
        let body = add("data", json!([{"html": "<p>"}]));
        let plan = transform_plan(body.as_bytes(), registry);
        return Some(
            plan.map(|plan| plan.ignored)
                .map_err(|error| error.to_string()),
        );
    }
    None
}

#[test]
fn parameters_in_the_text_are_accepted() {
    let world = World::new();
    let plugins = Plugins::start(PluginsConfig {
        manifest: world.plugins(),
        cache_dir: world.data().join("compiled"),
    });
    let registry = plugins.unwrap().snapshot();
    let mut n_planned = 0;
    for span in spans() {
        let Some(request) = shown(&span) else {
            continue;
        };
        let Some(plan) = planned(&request, &registry) else {
            continue;
        };
        let ignored = plan.unwrap_or_else(|error| panic!("{}: {request}: {error}", span.page));
        for name in ignored.names() {
            let is_known = parameters::find(name).is_some();
            assert!(is_known, "{}: {request} has no `{name}`", span.page);
        }
        n_planned += 1;
    }
    assert!(n_planned > 80, "{n_planned} are planned");
}

#[test]
fn commands_in_the_text_are_accepted() {
    let world = World::new();
    let mut n_parsed = 0;
    for span in spans() {
        let is_command = span.text.starts_with("trawl ") && !span.text.contains(['[', '<']);
        if !is_command {
            continue;
        }
        let mut words: Vec<&str> = span.text.split_whitespace().skip(1).collect();
        words.push("--help");
        let output = run_program(&world, &words, b"");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success(),
            "{}: {}: {errors}",
            span.page,
            span.text
        );
        n_parsed += 1;
    }
    assert!(n_parsed > 15, "{n_parsed} are parsed");
}
