use std::collections::BTreeMap;

use bytes::Bytes;
use serde_json::json;
use url::Url;

use trawl_model::{Cause, Content, Fields, PageFailure, Piece};
use trawl_plan::output::{HIDDEN_TEXT, JSON_DATA, LINKS, METADATA, READABILITY, SELECTORS};
use trawl_plan::{Chunking, Format, FormatChoice};
use trawl_test_guests::Guest;

use super::*;
use crate::extract::testing::registry;

/// The plugins that a plan can call, under the names that it uses.
fn plugins() -> Vec<Guest> {
    let extractors = [LINKS, METADATA, JSON_DATA, SELECTORS, HIDDEN_TEXT, "mine"];
    let mut plugins = vec![
        Guest::echo_format("markdown"),
        Guest::keeping_filter("mine"),
        Guest::keeping_filter(READABILITY),
        Guest::whole_chunker("whole"),
    ];
    plugins.extend(extractors.map(Guest::echo_extractor));
    plugins
}

fn plan() -> OutputPlan {
    OutputPlan::of(FormatChoice {
        name: "markdown".to_owned(),
        format: Format::Plugin("markdown".to_owned()),
        options: json!({}),
    })
}

/// A plan that has every plugin called.
fn full_plan() -> OutputPlan {
    OutputPlan {
        filters: vec![("mine".to_owned(), json!({}))],
        readability: Some(json!({})),
        extractors: BTreeMap::from([("mine".to_owned(), json!({}))]),
        metadata: true,
        links: true,
        json_data: true,
        css_fields: Some(json!({})),
        hidden_text: true,
        chunking: Some(Chunking {
            chunker: "whole".to_owned(),
            options: json!({}),
            overlap: None,
        }),
        ..plan()
    }
}

fn input() -> Input {
    Input {
        url: Url::parse("http://a/b").expect("a URL"),
        body: Bytes::from_static(b"<p>text"),
        content_type: "text/html".to_owned(),
        is_serialised: false,
        screenshot: None,
    }
}

fn key_of(registry: &Registry, input: &Input, plan: &OutputPlan) -> Option<Key> {
    OutputCache::key(registry, input, plan, &blake3::hash(&input.body))
}

#[test]
fn a_name_says_all_of_the_page_and_of_the_plan() {
    let registry = registry(&plugins(), "");
    let name = |input: &Input, plan: &OutputPlan| key_of(&registry, input, plan).expect("a name");
    let usual = name(&input(), &plan());
    assert_eq!(name(&input(), &plan()), usual);
    let others = [
        Input {
            url: Url::parse("http://a/c").expect("a URL"),
            ..input()
        },
        Input {
            body: Bytes::from_static(b"<p>Text"),
            ..input()
        },
        Input {
            content_type: "text/html; charset=latin1".to_owned(),
            ..input()
        },
        Input {
            is_serialised: true,
            ..input()
        },
    ];
    for other in others {
        assert_ne!(name(&other, &plan()), usual, "{other:?}");
    }
    let shorter = OutputPlan {
        max_size: Some(1),
        ..plan()
    };
    assert_ne!(name(&input(), &shorter), usual);
}

#[test]
fn every_plugin_of_a_plan_is_part_of_the_name() {
    let all = plugins();
    let usual = key_of(&registry(&all, ""), &input(), &full_plan()).expect("a name");
    let other_limits = registry(&all, "limits = { time_ms = 1234 }");
    assert_ne!(key_of(&other_limits, &input(), &full_plan()), Some(usual));
    for number in 0..all.len() {
        let mut changed = all.clone();
        changed[number].version = "0.2.0".to_owned();
        let name = key_of(&registry(&changed, ""), &input(), &full_plan());
        assert!(name.is_some_and(|name| name != usual), "{:?}", all[number]);
        changed.remove(number);
        let name = key_of(&registry(&changed, ""), &input(), &full_plan());
        assert_eq!(name, None, "{:?}", all[number]);
    }
    // A plugin that the plan does not name is not part of it.
    let mut changed = all.clone();
    changed[2].version = "0.2.0".to_owned();
    let names = [all, changed].map(|plugins| key_of(&registry(&plugins, ""), &input(), &plan()));
    assert_eq!(names[0], names[1]);
}

#[test]
fn fast_or_private_outputs_are_not_cached() {
    let cache = OutputCache::new(1 << 20);
    assert!(cache.is_cacheable(&plan()) && cache.is_cacheable(&full_plan()));
    assert!(!OutputCache::new(0).is_cacheable(&plan()));
    let of = |format: Format| {
        OutputPlan::of(FormatChoice {
            name: "x".to_owned(),
            format,
            options: json!({}),
        })
    };
    assert!(!cache.is_cacheable(&of(Format::Empty)));
    for picture in [Format::Screenshot, Format::ScreenshotBytes] {
        let with_links = OutputPlan {
            links: true,
            ..of(picture)
        };
        assert!(!cache.is_cacheable(&with_links));
    }
}

#[test]
fn complete_outputs_are_cached_once_paid_for() {
    let cache = OutputCache::new(1 << 20);
    let key = blake3::hash(b"a");
    let good = Outputs {
        content: Content::One(Piece::Text("text".to_owned())),
        ..Outputs::default()
    };
    assert!(cache.find(&key).is_none());
    drop(cache.write(key, &good).expect("to be cache"));
    assert!(cache.find(&key).is_none());
    cache.write(key, &good).expect("a write").commit();
    let found = cache.find(&key).expect("cache");
    let Content::One(piece) = &found.content else {
        panic!("{found:?}")
    };
    assert_eq!(piece.text().as_deref(), Some("text"));
    let failed = Outputs {
        failure: Some(PageFailure::new(Cause::Timeout, "timed out")),
        ..good
    };
    assert!(cache.write(key, &failed).is_none());
}

#[test]
fn outputs_that_would_evict_too_much_are_not_cached() {
    let part = (1 << 20) / OUTPUTS_PART_MAX as usize;
    let cache = OutputCache::new(1 << 20);
    let text = || "x".repeat(part);
    let value = || json!({"a": [text()]});
    let fields = [
        Fields {
            links: Some(value()),
            ..Fields::default()
        },
        Fields {
            metadata: value().as_object().cloned(),
            ..Fields::default()
        },
        Fields {
            json_data: Some(value()),
            ..Fields::default()
        },
        Fields {
            css_extracted: Some(value()),
            ..Fields::default()
        },
        Fields {
            extracted: value().as_object().cloned(),
            ..Fields::default()
        },
    ];
    let mut large: Vec<Outputs> = Vec::new();
    large.extend(fields.map(|fields| Outputs {
        fields,
        ..Outputs::default()
    }));
    let pieces = [
        Piece::Text(text()),
        Piece::Bytes(vec![0; part]),
        Piece::Chunks(vec![String::new(), text()]),
    ];
    large.extend(pieces.map(|piece| Outputs {
        content: Content::ByFormat(vec![("x".to_owned(), piece)]),
        ..Outputs::default()
    }));
    for outputs in large {
        assert!(cache.write(blake3::hash(b"a"), &outputs).is_none());
    }
}
