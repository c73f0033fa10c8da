//! `trawl plugin new`: creates a crate that builds, passes its tests and loads.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use trawl_model::PluginKind;

use super::{sdk, skeleton};

/// Maximum length of a plugin name in bytes (the contract's `info.name`).
const NAME_BYTES_MAX: usize = 64;

pub(super) fn run(
    kind: PluginKind,
    name: &str,
    dir: Option<PathBuf>,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    check_name(name)?;
    let dir = dir.unwrap_or_else(|| PathBuf::from(name));
    write(kind, name, &dir)?;
    let dir = dir.display();
    writeln!(out, "created the {kind} `{name}` in `{dir}`; next:")?;
    writeln!(out, "  cd {dir}")?;
    writeln!(out, "  trawl plugin test")?;
    writeln!(out, "  trawl plugin build")?;
    Ok(())
}

fn write(kind: PluginKind, name: &str, dir: &Path) -> anyhow::Result<()> {
    let occupied = std::fs::read_dir(dir).is_ok_and(|mut files| files.next().is_some());
    if occupied {
        bail!(
            "`{}` is not empty, choose another directory with `--dir`",
            dir.display()
        );
    }
    for (path, text) in skeleton::files(kind, name) {
        let path = dir.join(path);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)
                .with_context(|| format!("cannot create `{}`", folder.display()))?;
        }
        std::fs::write(&path, text)
            .with_context(|| format!("cannot write `{}`", path.display()))?;
    }
    sdk::write(&dir.join(".trawl"))
}

/// Checks a name against the contract; valid names are also valid package names.
fn check_name(name: &str) -> anyhow::Result<()> {
    let is_allowed = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_');
    let is_valid = name.len() <= NAME_BYTES_MAX
        && name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.bytes().all(is_allowed);
    if is_valid {
        return Ok(());
    }
    bail!(
        "`{name}` is not a plugin name: use at most 64 lower-case letters, digits and `_`, starting with a letter"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skeleton_of_each_kind_is_complete() {
        for kind in PluginKind::ALL {
            let dir = tempfile::tempdir().expect("a folder");
            let plugin = dir.path().join("shout");
            run(kind, "shout", Some(plugin.clone()), &mut Vec::new()).expect("writes");
            let manifest = std::fs::read_to_string(plugin.join("Cargo.toml")).expect("there");
            let manifest: toml::Table = toml::from_str(&manifest).expect("parses");
            assert_eq!(manifest["package"]["name"].as_str(), Some("shout"));
            let source = std::fs::read_to_string(plugin.join("src/lib.rs")).expect("there");
            assert!(
                source.contains(&format!("export!({kind}: Shout)")),
                "{source}"
            );
            assert!(!source.contains("NAME"), "{source}");
            assert!(plugin.join(".trawl/sdk/Cargo.toml").is_file());
            assert!(plugin.join(".trawl/contract/Cargo.toml").is_file());
            assert!(plugin.join(".trawl/wit/types/1/types.wit").is_file());
        }
    }

    #[test]
    fn nothing_is_overwritten() {
        let dir = tempfile::tempdir().expect("a folder");
        std::fs::write(dir.path().join("mine"), "").expect("written");
        let dir = Some(dir.path().to_path_buf());
        let error = run(PluginKind::Format, "shout", dir, &mut Vec::new()).expect_err("occupied");
        assert!(error.to_string().contains("is not empty"), "{error}");
    }

    #[test]
    fn names_follow_the_contract() {
        let long = "a".repeat(65);
        for bad in ["", "Shout", "1up", "a-b", "a b", "../x", long.as_str()] {
            assert!(check_name(bad).is_err(), "{bad}");
        }
        for good in ["a", "my_format2"] {
            assert!(check_name(good).is_ok(), "{good}");
        }
    }
}
