//! Inputs and outputs of well-behaved plugins.

use serde_json::json;
use trawl_plugins::{PageView, PluginKind, Rendered};
use trawl_test_guests::Guest;

use super::{PluginFolder, document, entry, render, text, view};

#[test]
fn each_kind_is_called_by_its_configured_name() {
    let folder = PluginFolder::of(&[
        Guest::echo_format("echo"),
        Guest::keeping_filter("all"),
        Guest::echo_extractor("options"),
        Guest::whole_chunker("whole"),
    ]);
    let plugins = folder.start().unwrap();
    assert_eq!(text(render(&plugins, "echo", "Grüße", "{}")), "Grüße");

    let registry = plugins.snapshot();
    let page = document("x");
    let mask = registry.filter("all").unwrap().keep(&view(&page), "{}");
    assert_eq!(mask.unwrap(), [0b11]);
    let fields = registry
        .extractor("options")
        .unwrap()
        .extract(&view(&page), r#"{"b":1,"a":[2]}"#);
    assert_eq!(fields.unwrap(), json!({"b": 1, "a": [2]}));
    let spans = registry.chunker("whole").unwrap().chunk("ünö", "{}");
    assert_eq!(spans.unwrap(), vec![0..5]);
    assert_eq!(registry.names(PluginKind::Format), ["echo"]);
    assert!(registry.format("all").is_none());
}

#[test]
fn a_filter_cannot_restore_a_removed_node() {
    let folder = PluginFolder::of(&[Guest::new(
        "filter",
        "nothing",
        "(call $ok (i32.const 0) (i32.const 0))",
    )]);
    let plugins = folder.start().unwrap();
    let page = document("x");
    let view = PageView {
        kept: &[0b01],
        ..view(&page)
    };
    let mask = plugins
        .snapshot()
        .filter("nothing")
        .unwrap()
        .keep(&view, "{}");
    assert_eq!(mask.unwrap(), [0b01]);
}

#[test]
fn source_and_body_are_passed_only_on_request() {
    let lengths = "(i32.store8 (i32.const 512) (i32.add (i32.const 48) (i32.load offset=144 (local.get $args)))) \
                   (i32.store8 (i32.const 513) (i32.add (i32.const 48) (i32.load offset=152 (local.get $args)))) \
                   (call $ok_text (i32.const 512) (i32.const 2))";
    let asking = |name, needs| Guest {
        needs,
        ..Guest::new("format", name, lengths)
    };
    let folder = PluginFolder::of(&[
        asking("none", 0),
        asking("source", 1),
        asking("body", 2),
        asking("both", 3),
    ]);
    let plugins = folder.start().unwrap();
    let page = document("x");
    let view = PageView {
        text: "12345",
        body: b"1234567",
        ..view(&page)
    };
    for (name, seen) in [
        ("none", "00"),
        ("source", "50"),
        ("body", "07"),
        ("both", "57"),
    ] {
        let format = plugins.snapshot().format(name).unwrap();
        assert_eq!(text(format.render(&view, "{}")), seen, "{name}");
    }
}

#[test]
fn a_format_may_return_bytes() {
    let mut guest = Guest::new(
        "format",
        "raw_bytes",
        "(drop (call $ok_text (i32.const 512) (i32.const 3))) (i32.store8 (i32.const 20) (i32.const 1)) (i32.const 16)",
    );
    guest.extra = r#"(data (i32.const 512) "\ff\00\01")"#.to_owned();
    let plugins = PluginFolder::of(&[guest]).start().unwrap();
    assert_eq!(
        render(&plugins, "raw_bytes", "", "{}").unwrap(),
        Rendered::Bytes(vec![255, 0, 1])
    );
}

#[test]
fn options_are_checked_against_the_plugins_schema() {
    let guest = Guest {
        schema: r#"{"type":"object","properties":{"width":{"type":"integer","minimum":1}},"additionalProperties":false}"#.to_owned(),
        ..Guest::echo_format("wide")
    };
    let plugins = PluginFolder::of(&[guest]).start().unwrap();
    let format = plugins.snapshot().format("wide").unwrap();
    assert_eq!(format.check_options(&json!({"width": 3})), Ok(()));
    let wrong = format.check_options(&json!({"width": 0})).unwrap_err();
    assert!(wrong.starts_with("`/width`: 0 is less than"), "{wrong}");
    assert!(format.check_options(&json!({"hight": 3})).is_err());
}

#[test]
fn status_lists_plugins_and_their_statistics() {
    let folder = PluginFolder::of(&[]);
    let guest = Guest::echo_format("echo").when_asked("unreachable");
    folder.put(&guest);
    folder.manifest(&entry(&guest, "limits = { memory_mib = 8 }"));
    let plugins = folder.start().unwrap();
    for options in ["{}", "{}", r#"{"trap":1}"#] {
        let _ = render(&plugins, "echo", "x", options);
    }
    let status = serde_json::to_value(plugins.status()).unwrap();
    let plugin = &status["plugins"][0];
    assert_eq!(status["generation"], 1);
    assert_eq!(status.get("last_error"), None);
    for (key, value) in [
        ("kind", json!("format")),
        ("name", json!("echo")),
        ("contract", json!("trawl:format@1.0.0")),
        ("calls", json!(3)),
        ("traps", json!(1)),
        ("native", json!(false)),
        ("memory_peak_bytes", json!(131_072)),
    ] {
        assert_eq!(plugin[key], value, "{key}");
    }
    assert_eq!(plugin["limits"]["memory_mib"], 8);
    assert_eq!(plugin["hash"].as_str().unwrap().len(), 64);
}
