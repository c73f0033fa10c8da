//! `trawl plugin build`: compiles a plugin crate to a component.

use std::io::Write;
use std::path::{Path, PathBuf};

use trawl_guest_build::{BuildRequest, Component};

use super::crate_dir;

pub(super) fn run(
    dir: &Path,
    target_dir: Option<PathBuf>,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let dir = crate_dir::absolute(dir)?;
    let request = BuildRequest {
        out_dir: dir.join("target/guests"),
        target_dir: crate_dir::target(&dir, target_dir)?.join("guest-build"),
        manifest_dir: dir,
        packages: Vec::new(),
        way: None,
    };
    for component in trawl_guest_build::build(&request, &mut |line| trawl_telemetry::say(line))? {
        let has_more_keys = component
            .exports
            .iter()
            .any(|it| matches!(kind_of(it), Some("decoder" | "provider" | "search")));
        let entry = if has_more_keys {
            trawl_plugins::inspect(&component.path, &crate_dir::cache(None)?)?.entry
        } else {
            None
        };
        print(&component, entry.as_deref(), out)?;
    }
    Ok(())
}

/// Prints the path of the component and the manifest entry that loads it.
fn print(component: &Component, entry: Option<&str>, out: &mut dyn Write) -> anyhow::Result<()> {
    let path = component.path.display();
    writeln!(out, "{path} ({} bytes)", component.bytes)?;
    writeln!(out, "\nadd to plugins.toml:\n")?;
    for kind in component
        .exports
        .iter()
        .filter_map(|export| kind_of(export))
    {
        writeln!(out, "[[{kind}]]")?;
        writeln!(out, "name = \"{}\"", component.name)?;
        writeln!(out, "component = \"{path}\"")?;
        if let Some(entry) = entry {
            writeln!(out, "{entry}")?;
        }
    }
    Ok(())
}

/// The plugin kind of an export: `format` for `trawl:format/format@1.0.0`.
fn kind_of(export: &str) -> Option<&str> {
    export.strip_prefix("trawl:")?.split('/').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_the_manifest_entry() {
        let component = Component {
            name: "shout".to_owned(),
            path: "/p/shout.wasm".into(),
            bytes: 1234,
            exports: vec!["trawl:format/format@1.0.0".to_owned()],
        };
        let mut out = Vec::new();
        print(&component, None, &mut out).expect("printed");
        let text = String::from_utf8(out).expect("text");
        let manifest = text
            .split("add to plugins.toml:")
            .nth(1)
            .expect("the lines");
        let manifest: toml::Table = toml::from_str(manifest).expect("parses");
        assert_eq!(manifest["format"][0]["name"].as_str(), Some("shout"));
        assert!(text.starts_with("/p/shout.wasm (1234 bytes)\n"), "{text}");
    }
}
