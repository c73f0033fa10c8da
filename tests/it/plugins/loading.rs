//! Plugins that cannot be loaded, and the error messages.

use std::fs;
use std::sync::Mutex;

use trawl_plugins::{Compiling, Plugins, PluginsConfig, inspect};
use trawl_test_guests::{Guest, hostile};

use super::{PluginFolder, cache_dir, entry};

/// Loads one component and checks the error message.
#[track_caller]
fn check(guest: &Guest, says: &[&str]) {
    check_message(
        &PluginFolder::of(std::slice::from_ref(guest)).refusal(),
        says,
    );
}

#[track_caller]
fn check_manifest(manifest: &str, says: &[&str]) {
    let folder = PluginFolder::of(&[Guest::echo_format("echo")]);
    folder.manifest(manifest);
    check_message(&folder.refusal(), says);
}

#[track_caller]
fn check_message(message: &str, says: &[&str]) {
    for part in says {
        assert!(message.contains(part), "`{part}` is not in: {message}");
    }
    assert!(!message.contains('\n'), "more than one line: {message}");
}

#[test]
fn an_unsupported_contract_version_is_named_with_the_supported_one() {
    check(
        &hostile::from_the_future("future"),
        &[
            "format `future`",
            "trawl:format/format@9.0.0",
            "trawl:format/format@1.0.0",
        ],
    );
}

#[test]
fn the_error_for_a_wrong_kind_names_the_right_one() {
    let folder = PluginFolder::of(&[Guest::keeping_filter("all")]);
    folder.manifest("[[format]]\nname = \"all\"\ncomponent = \"all.wasm\"\n");
    check_message(
        &folder.refusal(),
        &["format `all`", "trawl:filter/filter@1.0.0", "`[[filter]]`"],
    );
}

#[test]
fn an_unknown_import_is_named() {
    check(
        &hostile::unknown_import("greedy"),
        &[
            "format `greedy`",
            "`acme:net/fetch@1.0.0`",
            "import nothing",
        ],
    );
}

#[test]
fn the_error_for_other_files_names_their_format() {
    let whole = Guest::echo_format("echo").build();
    let module = wat_module();
    let broken = {
        let mut bytes = whole.clone();
        let middle = bytes.len() / 2;
        bytes[middle..].iter_mut().for_each(|byte| *byte ^= 0x55);
        bytes
    };
    for (bytes, says) in [
        (&b"#!/bin/sh\n"[..], "not a WebAssembly file"),
        (&[], "not a WebAssembly file"),
        (&module, "a core module"),
        (&whole[..whole.len() / 2], "truncated or damaged"),
        (&whole[..8], "no exported interface"),
        (&broken, "`echo`: "),
    ] {
        let folder = PluginFolder::of(&[Guest::echo_format("echo")]);
        folder.put_bytes("echo", bytes);
        check_message(&folder.refusal(), &["format `echo`", says]);
    }
}

/// The smallest core module.
fn wat_module() -> Vec<u8> {
    b"\0asm\x01\0\0\0".to_vec()
}

#[test]
fn a_missing_file_is_named() {
    let folder = PluginFolder::of(&[Guest::echo_format("echo")]);
    fs::remove_file(folder.path("echo.wasm")).unwrap();
    check_message(
        &folder.refusal(),
        &["format `echo`", "echo.wasm", "cannot be read"],
    );
}

#[test]
fn a_plugin_whose_describe_fails_is_refused() {
    check(
        &hostile::trap_in_describe("bad"),
        &["format `bad`", "`describe` crashed", "unreachable"],
    );
    let guest = hostile::loop_in_describe("bad");
    let folder = PluginFolder::of(std::slice::from_ref(&guest));
    folder.manifest(&entry(&guest, "limits = { time_ms = 30 }"));
    check_message(
        &folder.refusal(),
        &["`describe` ran out of time", "allowed 30 ms"],
    );
}

#[test]
fn a_plugin_that_fails_on_a_small_page_is_refused() {
    check(
        &Guest::new("format", "bad", hostile::TRAP),
        &["format `bad`", "sample page", "crashed"],
    );
}

#[test]
fn an_invalid_description_is_refused() {
    let good = || Guest::echo_format("echo");
    check(
        &Guest {
            schema: "{".to_owned(),
            ..good()
        },
        &["options schema", "not JSON"],
    );
    check(
        &Guest {
            schema: r#"{"type":"objekt"}"#.to_owned(),
            ..good()
        },
        &["options schema"],
    );
    check(
        &Guest {
            schema: r#"{"$ref":"http://127.0.0.1:1/schema"}"#.to_owned(),
            ..good()
        },
        &["options schema"],
    );
    check(
        &Guest {
            version: String::new(),
            ..good()
        },
        &["version"],
    );
    let folder = PluginFolder::new();
    folder.put_bytes(
        "echo",
        &Guest {
            name: "Echo!".to_owned(),
            ..good()
        }
        .build(),
    );
    folder.manifest("[[format]]\nname = \"echo\"\ncomponent = \"echo.wasm\"\n");
    check_message(&folder.refusal(), &["`Echo!` is not a name"]);
}

#[test]
fn manifest_errors_name_the_entry() {
    let echo = "[[format]]\nname = \"echo\"\ncomponent = \"echo.wasm\"\n";
    check_manifest("[[formatt]]\n", &["line 1", "unknown field `formatt`"]);
    check_manifest("\n= 1", &["line 2"]);
    check_manifest(
        &format!("{echo}limts = {{}}\n"),
        &["format `echo`", "unknown field `limts`"],
    );
    check_manifest(
        &format!("{echo}limits = {{ memory = 3 }}\n"),
        &["format `echo`", "unknown field `memory`"],
    );
    check_manifest(
        &format!("{echo}limits = {{ time_ms = 0 }}\n"),
        &["format `echo`", "`limits.time_ms` is 0"],
    );
    check_manifest(
        &format!("{echo}limits = {{ memory_mib = 4096 }}\n"),
        &["`limits.memory_mib` is 4096", "1 to 2048"],
    );
    check_manifest(
        &format!("{echo}{echo}"),
        &["format `echo`", "two of this name"],
    );
    check_manifest(
        &echo.replace("\"echo\"", "\"Echo\""),
        &["`Echo` is not a name"],
    );
    check_manifest(
        &echo.replace("\"echo\"", "\"screenshot\""),
        &["format `screenshot`", "built in"],
    );
    check_manifest(
        "[[chunker]]\nname = \"none\"\ncomponent = \"x\"\n",
        &["chunker `none`", "built in"],
    );
    check_manifest(
        "[[format]]\ncomponent = \"x\"\n",
        &["without a name", "missing field `name`"],
    );
    check_manifest(
        "[[format]]\nname = \"x\"\n",
        &["format `x`", "either `component` or `native`"],
    );
    check_manifest(
        "[[format]]\nname = \"x\"\nnative = \"x.so\"\n",
        &["format `x`", "allow_native = true"],
    );
    check_manifest(
        &format!("{echo}blake3 = \"12\"\n"),
        &["format `echo`", "64 hex digits"],
    );
    check_manifest(
        &format!("{echo}blake3 = \"{}\"\n", "0".repeat(64)),
        &["format `echo`", "has the hash", "the manifest wants 0000"],
    );
}

#[test]
fn a_missing_manifest_is_named() {
    check_message(
        &PluginFolder::new().refusal(),
        &["plugins.toml", "cannot be read"],
    );
}

#[test]
fn a_file_can_be_inspected_without_a_manifest() {
    let folder = PluginFolder::of(&[hostile::sleeper("sleepy")]);
    let found = inspect(&folder.path("sleepy.wasm"), &cache_dir()).unwrap();
    assert_eq!(found.info.name, "sleepy");
    assert_eq!(found.info.contract, "trawl:format@1.0.0");
    assert!(
        found
            .imports
            .iter()
            .any(|name| name.starts_with("wasi:io/poll"))
    );
    assert_eq!(found.sample.failure, None);
    assert!(found.sample.memory_peak_bytes > 0);
    let refusal = inspect(&folder.path("plugins.toml"), &cache_dir()).unwrap_err();
    check_message(
        &refusal.to_string(),
        &["plugins.toml", "not a WebAssembly file"],
    );
}

#[test]
fn what_is_compiled_is_reported_and_what_is_cached_is_not() {
    static REPORTED: Mutex<Vec<(String, usize)>> = Mutex::new(Vec::new());
    fn report(compiling: Compiling<'_>) {
        let mut reported = REPORTED.lock().unwrap();
        reported.push((compiling.name.to_owned(), compiling.n_all));
    }
    let folder = PluginFolder::of(&[
        Guest::echo_format("echo"),
        Guest::keeping_filter("all"),
        Guest::whole_chunker("whole"),
    ]);
    let start = || {
        let config = PluginsConfig {
            manifest: folder.path("plugins.toml"),
            cache_dir: folder.path("compiled"),
        };
        Plugins::start_reporting(config, report).unwrap();
        std::mem::take(&mut *REPORTED.lock().unwrap())
    };
    // The first component may be compiled before it is reported.
    let first = start();
    assert!((2..=3).contains(&first.len()), "{first:?}");
    assert!(first.iter().all(|(_, n_all)| *n_all == 3), "{first:?}");
    assert!(start().is_empty(), "all are cached");
}
