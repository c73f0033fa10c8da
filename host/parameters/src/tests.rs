use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;
use trawl_model::Cause;
use trawl_plan::render::STEP_NAMES;

use super::*;

/// Calls `visit` for every row of the tables with its path, nested ones and steps too.
fn each(visit: &mut dyn FnMut(&str, &'static Parameter)) {
    fn shape(of: &'static Shape, path: &str, visit: &mut dyn FnMut(&str, &'static Parameter)) {
        match of {
            Shape::Object(object) => rows(object.rows, path, visit),
            Shape::List(item) | Shape::Map(_, item) => shape(item, path, visit),
            Shape::Either(forms) => forms.iter().for_each(|form| shape(form, path, visit)),
            _ => {}
        }
    }
    fn rows(
        all: &'static [Parameter],
        path: &str,
        visit: &mut dyn FnMut(&str, &'static Parameter),
    ) {
        for row in all {
            let path = format!("{path}.{}", row.name);
            visit(&path, row);
            shape(&row.shape, &path, visit);
        }
    }
    for group in GROUPS {
        rows(group.rows, "", visit);
    }
}

#[test]
fn the_page_of_the_documentation_is_current() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference.md");
    let written = std::fs::read_to_string(&file).unwrap_or_default();
    let current = reference();
    if written != current {
        let copy = std::env::temp_dir().join("trawl-reference.md");
        std::fs::write(&copy, current).expect("a file");
        panic!(
            "docs/reference.md is not what the tables say: copy {} over it",
            copy.display()
        );
    }
}

#[test]
fn names_are_unique_and_every_row_says_what_it_is() {
    let mut names = BTreeSet::new();
    for row in all() {
        for name in std::iter::once(&row.name).chain(row.aliases) {
            assert!(names.insert(name), "{name}");
        }
    }
    for mistaken in all().flat_map(|row| row.mistaken) {
        // One of another route may be meant.
        let known = find(mistaken);
        assert!(
            known.is_none_or(|row| row.routes != Routes::ALL),
            "{mistaken}"
        );
    }
    each(&mut |path, row| {
        assert!(row.doc.ends_with('.') && !row.default.is_empty(), "{path}");
        let example = serde_json::from_str::<Value>(row.example);
        assert!(example.is_ok(), "{path}: {:?}", row.example);
        assert_ne!(row.routes.to_string(), "", "{path}");
    });
    for kind in STEPS {
        assert!(serde_json::from_str::<Value>(kind.example).is_ok());
        assert_eq!(
            step_kind(&kind.name.to_uppercase()).map(|kind| kind.name),
            Some(kind.name)
        );
    }
}

#[test]
fn options_of_the_command_line_have_names_of_their_own() {
    let mut names = BTreeSet::new();
    for row in all() {
        let Some(option) = row.option else {
            continue;
        };
        let long = option.long();
        assert!(option.name == format!("--{long}") && names.insert(long));
        let is_switch = option.value.is_empty();
        match row.shape {
            Shape::Switch => assert!(is_switch, "{long}"),
            // An object may say more than that it is on.
            Shape::Either([Shape::Switch, Shape::Object(_)]) => {}
            _ => assert!(!is_switch, "{long}"),
        }
        assert!(is_switch || option.form != OptionForm::Off, "{long}");
        // What another parameter is called would be looked for under that name.
        let named = find(&long.replace('-', "_"));
        assert!(named.is_none_or(|named| named.name == row.name), "{long}");
    }
    assert!(names.len() > 15, "{names:?}");
}

#[test]
fn the_steps_that_are_read_have_a_row_in_the_same_order() {
    let described: Vec<&str> = STEPS.iter().map(|kind| kind.name).collect();
    assert_eq!(described, STEP_NAMES);
}

#[test]
fn every_cause_is_described_once_in_the_order_of_statuses() {
    let described: Vec<Cause> = CAUSES.iter().map(|row| row.cause).collect();
    for cause in Cause::ALL {
        let n_rows = described.iter().filter(|known| **known == cause).count();
        assert_eq!(n_rows, 1, "{cause:?}");
    }
    assert_eq!(described.len(), Cause::ALL.len());
    assert!(described.is_sorted_by_key(|cause| cause.status()));
    for row in CAUSES {
        assert!(row.meaning.ends_with('.') && row.advice.ends_with('.'));
    }
}

#[test]
fn every_status_of_an_error_says_what_to_do() {
    let errors = statuses::ANSWERS.iter().filter(|row| row.code >= 400);
    let codes: Vec<u16> = errors.clone().map(|row| row.code).collect();
    assert!(codes.is_sorted() && codes.contains(&402) && codes.contains(&403));
    for row in errors {
        assert!(
            row.meaning.ends_with('.') && row.advice.ends_with('.'),
            "{row:?}"
        );
    }
    let advice = |code| {
        let mut rows = statuses::ANSWERS.iter();
        rows.find(|row| row.code == code)
            .map_or("", |row| row.advice)
    };
    for part in [
        "what is missing",
        "what the request needs",
        "top up",
        "the budget of the key",
    ] {
        assert!(advice(402).contains(part), "{part}");
    }
    assert!(advice(403).contains("a key without a budget"));
}

#[test]
fn routes_are_written_shortly() {
    let check = |routes: Routes, expected: &str| assert_eq!(routes.to_string(), expected);
    check(Routes::ALL, "all routes");
    check(Routes::PAGES, "all routes but `/transform`");
    check(Routes::RUNS, "crawls, `/links`, `/batch` and pipelines");
    check(Routes::SCRAPE.and(Routes::CRAWL), "`/scrape`, `/crawl`");
    check(
        Routes::PAGES.without(Routes::CRAWL_TEXT),
        "all routes but `/transform`, `/pipeline/crawl-text`",
    );
    check(
        Routes::ALL.without(Routes::LINKS),
        "all routes but `/links`",
    );
}
