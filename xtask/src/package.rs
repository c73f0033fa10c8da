//! The Debian package: the shipped program, its service, completion scripts and manual pages. What
//! is in it, and where, is in `host/server/Cargo.toml` under `[package.metadata.deb]`.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};

use crate::{host, workspace};

/// Files of the package that the program writes, below `target`.
const FOLDER: &str = "target/package";
/// Shells, and the names under which they look for a script.
const SCRIPTS: [(&str, &str); 3] = [
    ("bash", "completions/trawl"),
    ("zsh", "completions/_trawl"),
    ("fish", "completions/trawl.fish"),
];

/// Builds the package: `target/debian/trawl_VERSION_ARCHITECTURE.deb`.
///
/// # Errors
/// Among others, `cargo-deb` is not installed.
pub(crate) fn build() -> anyhow::Result<()> {
    if !has_cargo_deb() {
        bail!("`cargo-deb` is missing: run `cargo install cargo-deb --locked`");
    }
    let program = host::dist()?;
    write_files(&program, &workspace::root().join(FOLDER))?;
    // The plugins are behind the end of the program, where stripping would cut them off.
    workspace::run(&mut workspace::cargo(&[
        "deb",
        "--package",
        "trawl",
        "--no-build",
        "--no-strip",
    ]))
}

fn has_cargo_deb() -> bool {
    let asked = workspace::cargo(&["deb", "--version"]).output();
    asked.is_ok_and(|output| output.status.success())
}

/// Has the program write what shells and `man` read.
fn write_files(program: &Path, folder: &Path) -> anyhow::Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    for (shell, name) in SCRIPTS {
        let file = folder.join(name);
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut command = Command::new(program);
        let output = command
            .args(["completions", shell])
            .output()
            .with_context(|| format!("cannot start `{}`", program.display()))?;
        if !output.status.success() {
            bail!("`{}` failed", workspace::in_words(&command));
        }
        fs::write(&file, output.stdout)
            .with_context(|| format!("cannot write `{}`", file.display()))?;
    }
    workspace::run(Command::new(program).arg("man").arg(folder.join("man")))
}

#[cfg(test)]
mod tests {
    use toml::Table;

    use super::*;

    /// The assets of the package: source, folder or file, rights.
    fn assets() -> Vec<[String; 3]> {
        let manifest = workspace::root().join("host/server/Cargo.toml");
        let manifest = fs::read_to_string(manifest).expect("a manifest");
        let manifest: Table = toml::from_str(&manifest).expect("parses");
        let assets = manifest["package"]["metadata"]["deb"]["assets"].clone();
        assets.try_into().expect("a list of triples")
    }

    #[test]
    fn files_of_the_package_exist_or_are_written_for_it() {
        let written: Vec<String> = SCRIPTS
            .map(|(_, name)| format!("../../{FOLDER}/{name}"))
            .into();
        let man = format!("../../{FOLDER}/man/*.1");
        let server = workspace::root().join("host/server");
        for [source, place, rights] in assets() {
            let is_made = source == man
                || written.contains(&source)
                || source == "target/release/bundle/trawl";
            let is_there = server.join(&source).is_file();
            assert!(is_made || is_there, "{source}");
            assert!(!place.starts_with('/') && rights.parse::<u32>().is_ok());
        }
    }
}
