//! New plugins, as `trawl plugin new` makes them with nothing but the binary: one of each kind
//! builds, passes its own tests and is a plugin.
//!
//! A decoder that was written from the SDK's guide alone, as a third party does, begins as such a
//! skeleton too.
//!
//! They are members of one workspace, so that the SDK and what it uses are compiled once. What an
//! author does with a single one is in `docs/providers.md`, whose commands are tests.

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use trawl_guest_build::BuildRequest;

use crate::workspace;

const KINDS: [&str; 8] = [
    "format",
    "filter",
    "extractor",
    "chunker",
    "analyst",
    "decoder",
    "provider",
    "search",
];
/// A plugin of a third party: its kind, its name, and the folder with what its author wrote.
const THIRD_PARTY: (&str, &str, &str) = ("decoder", "bibtex", "tests/third-party/bibtex");
/// What a manifest says that is not of a member of a workspace.
const STANDALONE: &str = "[workspace]\n";
/// Where a manifest has its SDK, and where the manifests of the workspace have theirs.
const OWN_SDK: &str = ".trawl/sdk";
const SDK: &str = "../sdk/sdk";

/// Makes, builds, tests and checks them.
pub(crate) fn check() -> anyhow::Result<()> {
    let root = workspace::root();
    let dir = root.join("target/skeletons");
    if dir.exists() {
        std::fs::remove_dir_all(&dir).context("older skeletons are in the way")?;
    }
    std::fs::create_dir_all(&dir)?;
    let mut names = Vec::from(KINDS.map(|kind| format!("new_{kind}")));
    for (kind, name) in KINDS.into_iter().zip(&names) {
        trawl(&dir, &["new", kind, name])?;
        join(&dir, name)?;
    }
    let (kind, name, written) = THIRD_PARTY;
    trawl(&dir, &["new", kind, name])?;
    join(&dir, name)?;
    copy(&root.join(written), &dir.join(name))?;
    names.push(name.to_owned());
    let members: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
    let members = members.join(", ");
    let manifest =
        format!("[workspace]\nresolver = \"3\"\nmembers = [{members}]\nexclude = [\"sdk\"]\n");
    std::fs::write(dir.join("Cargo.toml"), manifest)?;
    // The versions that our own plugins were just built with.
    std::fs::copy(root.join("Cargo.lock"), dir.join("Cargo.lock"))?;
    trawl(&dir, &["test"])?;
    let request = BuildRequest {
        out_dir: dir.join("guests"),
        target_dir: root.join("target/guest-build"),
        manifest_dir: dir.clone(),
        packages: names,
        way: None,
    };
    let built = trawl_guest_build::build(&request, &mut |line| eprintln!("skeletons: {line}"))?;
    let files = built.into_iter().map(|component| component.path);
    inspect(&dir, &files.collect::<Vec<_>>())
}

/// Puts the files of a folder over those of another.
fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let path = entry?.path();
        let Some(name) = path.file_name() else {
            continue;
        };
        if path.is_dir() {
            copy(&path, &to.join(name))?;
        } else {
            let copied = std::fs::copy(&path, to.join(name));
            copied.with_context(|| format!("cannot copy `{}`", path.display()))?;
        }
    }
    Ok(())
}

/// Makes a new plugin a member of the workspace that uses the SDK of the first.
fn join(dir: &Path, name: &str) -> anyhow::Result<()> {
    let (own, shared) = (dir.join(name).join(".trawl"), dir.join("sdk"));
    if !shared.exists() {
        std::fs::rename(&own, &shared)?;
    }
    let path = dir.join(name).join("Cargo.toml");
    let manifest = std::fs::read_to_string(&path)?;
    std::fs::write(&path, as_member(&manifest)?)?;
    Ok(())
}

/// The manifest of a member.
fn as_member(manifest: &str) -> anyhow::Result<String> {
    let is_complete = manifest.contains(STANDALONE) && manifest.contains(OWN_SDK);
    if !is_complete {
        bail!("a new plugin has another manifest than expected:\n{manifest}");
    }
    Ok(manifest.replace(STANDALONE, "").replace(OWN_SDK, SDK))
}

/// Checks the components side by side: each is compiled first.
fn inspect(dir: &Path, files: &[PathBuf]) -> anyhow::Result<()> {
    std::thread::scope(|scope| {
        let checks: Vec<_> = files
            .iter()
            .map(|file| scope.spawn(move || inspect_one(dir, file)))
            .collect();
        let mut ended = checks.into_iter().map(|check| {
            let joined = check.join();
            joined.unwrap_or_else(|_| Err(anyhow!("the check of a component panicked")))
        });
        ended.try_for_each(|ended| ended)
    })
}

fn inspect_one(dir: &Path, file: &Path) -> anyhow::Result<()> {
    let file = file.to_str().context("a path that is not text")?;
    trawl(dir, &["check", file])
}

fn trawl(dir: &Path, arguments: &[&str]) -> anyhow::Result<()> {
    let root = workspace::root();
    let mut command = trawl_guest_build::cargo(root.join("target/debug/trawl"));
    command.env("TRAWL_PLUGIN_TARGET_DIR", root.join("target"));
    workspace::run(command.current_dir(dir).arg("plugin").args(arguments))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_put_over_others() {
        let folder = tempfile::tempdir().expect("a folder");
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        std::fs::create_dir_all(from.join("src")).expect("a folder");
        std::fs::create_dir_all(to.join("src")).expect("a folder");
        for (path, text) in [("from/src/a", "new"), ("to/src/a", "old"), ("to/b", "left")] {
            std::fs::write(folder.path().join(path), text).expect("a file");
        }
        copy(&from, &to).expect("is copied");
        let read = |path: &str| std::fs::read_to_string(to.join(path)).expect("a file");
        assert_eq!(
            (read("src/a"), read("b")),
            ("new".to_owned(), "left".to_owned())
        );
    }

    #[test]
    fn a_new_plugin_becomes_a_member() {
        let manifest = "[dependencies]\ntrawl-sdk = { path = \".trawl/sdk\" }\n\n[workspace]\n";
        let member = as_member(manifest).expect("a manifest");
        assert_eq!(
            member,
            "[dependencies]\ntrawl-sdk = { path = \"../sdk/sdk\" }\n\n"
        );
        assert!(as_member("[package]\n").is_err());
    }
}
