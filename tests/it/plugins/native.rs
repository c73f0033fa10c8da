//! Plugins as shared libraries.

use std::path::Path;
use std::process::Command;

use trawl_plugins::{Fault, PageView};

use super::{PluginFolder, document, fault, render, text, view};

/// A folder with the native test format, compiled with these `--cfg` flags, and a manifest entry
/// for it with the lines `more`.
#[expect(
    clippy::disallowed_methods,
    reason = "cargo passes its compiler in the environment"
)]
fn folder(flags: &[&str], more: &str) -> PluginFolder {
    let folder = PluginFolder::new();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("guests/native/format.rs");
    let compiler = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let mut command = Command::new(compiler);
    command
        .args(["--edition", "2024", "--crate-type", "cdylib", "-o"])
        .arg(folder.path("native.so"))
        .arg(source);
    for flag in flags {
        command.args(["--cfg", flag]);
    }
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    folder.manifest(&format!(
        "allow_native = true\n[[format]]\nname = \"fast\"\nnative = \"native.so\"\n{more}\n"
    ));
    folder
}

#[test]
fn a_shared_library_is_called_like_a_component() {
    let plugins = folder(&[], "limits = { output_mib = 1 }").start().unwrap();
    let format = plugins.snapshot().format("fast").unwrap();
    assert!(format.info().native && format.info().needs.source);
    let page = document("Grüße");
    let view = PageView {
        text: "<p>",
        ..view(&page)
    };
    assert_eq!(text(format.render(&view, "{}")), "Grüße|<p>");

    assert_eq!(
        fault(render(&plugins, "fast", "", r#"{"fail":1}"#)),
        Fault::Unsupported("not today".to_owned())
    );
    assert!(matches!(
        fault(render(&plugins, "fast", "", r#"{"panic":1}"#)),
        Fault::Trap { .. }
    ));
    assert!(matches!(
        fault(render(&plugins, "fast", "", r#"{"lie":1}"#)),
        Fault::Lied(_)
    ));
    assert!(matches!(
        fault(render(&plugins, "fast", "", r#"{"latin1":1}"#)),
        Fault::Lied(_)
    ));
    let long = "x".repeat(1 << 20);
    assert!(matches!(
        fault(render(&plugins, "fast", &long, "{}")),
        Fault::OutputTooLarge {
            used_bytes: Some(1_048_577),
            allowed_mib: 1
        }
    ));
}

#[test]
fn an_incompatible_library_is_refused() {
    let refusal = folder(&["other_version"], "").refusal();
    assert!(
        refusal.contains("version 2 of the native interface"),
        "{refusal}"
    );
    let refusal = folder(&["other_kind"], "").refusal();
    assert!(refusal.contains("found a chunker"), "{refusal}");
    let broken = folder(&[], "");
    std::fs::write(broken.path("native.so"), b"not a library").unwrap();
    assert!(broken.refusal().contains("not a shared library"));
}

#[test]
fn a_replaced_library_is_loaded_again() {
    let folder = folder(&[], "");
    let plugins = folder.start().unwrap();
    let copy = std::fs::read(folder.path("native.so")).unwrap();
    let text = std::str::from_utf8(b"\"version\":\"0.1.0\"")
        .unwrap()
        .as_bytes();
    let at = copy
        .windows(text.len())
        .position(|bytes| bytes == text)
        .unwrap();
    let mut newer = copy;
    newer[at + 13] = b'7';
    std::fs::write(folder.path("native.so"), newer).unwrap();
    let registry = plugins.reload().unwrap();
    assert_eq!(registry.format("fast").unwrap().info().version, "0.7.0");
}
