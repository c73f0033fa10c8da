//! The contract's released folders: `wit/FROZEN` holds a hash of every file of theirs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

/// Name of the list, in the contract's folder.
const LIST: &str = "FROZEN";

/// Compares the released folders with the list, and every folder's version with its package line.
pub(super) fn check(wit: &Path) -> anyhow::Result<Vec<String>> {
    let frozen = read(wit)?;
    let mut violations = Vec::new();
    for (path, hash) in &frozen {
        match std::fs::read(wit.join(path)) {
            Ok(bytes) if blake3::hash(&bytes).to_string() == *hash => {}
            Ok(_) => violations.push(format!(
                "`wit/{path}` is released and has changed: add a new version"
            )),
            Err(_) => violations.push(format!("`wit/{path}` is released and is gone")),
        }
    }
    let folders: BTreeSet<&str> = frozen.keys().filter_map(|path| folder_of(path)).collect();
    for file in contract_files(wit)? {
        let Some(folder) = folder_of(&file) else {
            continue;
        };
        if folders.contains(folder) && !frozen.contains_key(&file) {
            violations.push(format!(
                "`wit/{file}` is new in a released folder: add a new version"
            ));
        }
        violations.extend(version_violation(wit, &file, folder)?);
    }
    Ok(violations)
}

/// Adds the files of a folder (`wit/format/1`) to the list.
pub(crate) fn freeze(root: &Path, folder: &str) -> anyhow::Result<()> {
    let wit = root.join("wit");
    let folder = folder.trim_start_matches("wit/").trim_end_matches('/');
    let frozen = read(&wit)?;
    let files: Vec<String> = contract_files(&wit)?
        .into_iter()
        .filter(|file| folder_of(file) == Some(folder))
        .collect();
    if files.is_empty() {
        bail!("`wit/{folder}` has no contract: give a folder such as `wit/format/1`");
    }
    let mut list = std::fs::read_to_string(wit.join(LIST)).unwrap_or_default();
    for file in files {
        let hash = blake3::hash(&std::fs::read(wit.join(&file))?).to_string();
        match frozen.get(&file) {
            Some(old) if *old == hash => {}
            Some(_) => {
                bail!("`wit/{file}` is released and has changed: add a new version")
            }
            None => list.push_str(&format!("{hash}  {file}\n")),
        }
    }
    std::fs::write(wit.join(LIST), list).context("cannot write `wit/FROZEN`")
}

/// The list: path below `wit` to hash. Lines that begin with `#` are for people.
fn read(wit: &Path) -> anyhow::Result<BTreeMap<String, String>> {
    let text = std::fs::read_to_string(wit.join(LIST)).context("cannot read `wit/FROZEN`")?;
    let lines = text
        .lines()
        .filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    let pairs = lines.map(|line| {
        let (hash, path) = line
            .split_once("  ")
            .with_context(|| format!("`wit/FROZEN`: odd line `{line}`"))?;
        Ok((path.to_owned(), hash.to_owned()))
    });
    pairs.collect()
}

/// `format/1` of `format/1/format.wit`.
fn folder_of(file: &str) -> Option<&str> {
    file.rsplit_once('/').map(|(folder, _)| folder)
}

/// Paths below `wit` of the contract's files.
fn contract_files(wit: &Path) -> anyhow::Result<Vec<String>> {
    let files: Vec<PathBuf> = super::files::below(wit, &["wit"])?;
    let relative = files.iter().filter_map(|file| file.strip_prefix(wit).ok());
    Ok(relative
        .map(|file| file.to_string_lossy().into_owned())
        .collect())
}

/// A file in `format/1` belongs to a package `trawl:format@1.…`.
fn version_violation(wit: &Path, file: &str, folder: &str) -> anyhow::Result<Option<String>> {
    let Some((kind, version)) = folder.split_once('/') else {
        return Ok(None);
    };
    let text = std::fs::read_to_string(wit.join(file))?;
    let Some(package) = text.lines().find_map(|line| line.strip_prefix("package ")) else {
        return Ok(None);
    };
    let fits = package.starts_with(&format!("trawl:{kind}@{version}."));
    Ok(
        (!fits)
            .then(|| format!("`wit/{file}` declares `{package}`, which does not fit its folder")),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A contract with one folder, frozen.
    fn frozen_contract() -> tempfile::TempDir {
        let dir = tempfile::tempdir().expect("a folder");
        let folder = dir.path().join("wit/format/1");
        std::fs::create_dir_all(&folder).expect("made");
        std::fs::write(folder.join("format.wit"), "package trawl:format@1.0.0;\n")
            .expect("written");
        std::fs::write(dir.path().join("wit/FROZEN"), "# released\n").expect("written");
        freeze(dir.path(), "wit/format/1").expect("is a folder");
        dir
    }

    fn check_with(path: &str, text: &str) -> Vec<String> {
        let dir = frozen_contract();
        std::fs::write(dir.path().join(path), text).expect("written");
        check(&dir.path().join("wit")).expect("readable")
    }

    #[test]
    fn what_is_unchanged_passes() {
        let dir = frozen_contract();
        assert_eq!(check(&dir.path().join("wit")).expect("readable"), [""; 0]);
        freeze(dir.path(), "wit/format/1").expect("again is nothing new");
    }

    #[test]
    fn a_change_of_a_released_file_is_named() {
        let violations = check_with("wit/format/1/format.wit", "package trawl:format@1.0.1;\n");
        assert_eq!(violations.len(), 1);
        assert!(violations[0].contains("has changed"), "{violations:?}");
    }

    #[test]
    fn a_new_file_in_a_released_folder_is_named() {
        let violations = check_with("wit/format/1/more.wit", "package trawl:format@1.0.0;\n");
        assert_eq!(violations.len(), 1);
        assert!(violations[0].contains("is new"), "{violations:?}");
    }

    #[test]
    fn a_lost_file_is_named() {
        let dir = frozen_contract();
        std::fs::remove_file(dir.path().join("wit/format/1/format.wit")).expect("was there");
        let violations = check(&dir.path().join("wit")).expect("readable");
        assert!(violations[0].contains("is gone"), "{violations:?}");
    }

    #[test]
    fn a_version_that_does_not_fit_its_folder_is_named() {
        let dir = frozen_contract();
        std::fs::create_dir_all(dir.path().join("wit/format/2")).expect("made");
        std::fs::write(
            dir.path().join("wit/format/2/a.wit"),
            "package trawl:format@1.1.0;\n",
        )
        .expect("written");
        let violations = check(&dir.path().join("wit")).expect("readable");
        assert!(violations[0].contains("does not fit"), "{violations:?}");
    }

    #[test]
    fn a_folder_without_a_contract_cannot_be_frozen() {
        assert!(freeze(frozen_contract().path(), "wit/attic/1").is_err());
    }
}
