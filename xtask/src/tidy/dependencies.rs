//! Dependencies: licences and duplicate versions, by the rules of `deny.toml` (which `cargo deny`
//! reads too).

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::workspace::Metadata;

/// The part of `deny.toml` that is checked here.
#[derive(Debug, Deserialize)]
struct Rules {
    licenses: Licenses,
    bans: Bans,
}

#[derive(Debug, Deserialize)]
struct Licenses {
    allow: BTreeSet<String>,
}

#[derive(Debug, Deserialize)]
struct Bans {
    #[serde(default)]
    skip: Vec<Skip>,
}

/// A crate that may be there in more than one version.
#[derive(Debug, Deserialize)]
struct Skip {
    #[serde(rename = "crate")]
    name: String,
    reason: String,
}

/// Checks the packages of a resolved workspace.
pub(super) fn check(metadata: &Metadata, deny: &str) -> anyhow::Result<Vec<String>> {
    let rules: Rules = toml::from_str(deny)?;
    let mut violations = Vec::new();
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for package in &metadata.packages {
        versions
            .entry(&package.name)
            .or_default()
            .push(&package.version);
        let licence = package.license.as_deref().unwrap_or("none");
        if !allows(licence, &rules.licenses.allow) {
            violations.push(format!(
                "`{} {}` has the licence `{licence}`, which `deny.toml` does not allow",
                package.name, package.version
            ));
        }
    }
    violations.extend(duplicates(&versions, &rules.bans.skip));
    Ok(violations)
}

fn duplicates(versions: &BTreeMap<&str, Vec<&str>>, skips: &[Skip]) -> Vec<String> {
    let skipped = |name: &str| {
        skips
            .iter()
            .any(|skip| skip.name == name && !skip.reason.is_empty())
    };
    let several = versions.iter().filter(|(_, versions)| versions.len() > 1);
    let unexplained = several
        .filter(|(name, _)| !skipped(name))
        .map(|(name, versions)| {
            format!(
                "`{name}` is there in versions {}: `deny.toml` gives no reason",
                versions.join(", ")
            )
        });
    let needless = skips.iter().filter(|skip| {
        versions
            .get(skip.name.as_str())
            .is_none_or(|found| found.len() < 2)
    });
    let needless =
        needless.map(|skip| format!("`deny.toml` skips `{}`, which has one version", skip.name));
    unexplained.chain(needless).collect()
}

/// Whether the allowed licences fulfil an SPDX expression: `AND` binds closer than `OR`, as does
/// `/` of old manifests.
fn allows(expression: &str, allowed: &BTreeSet<String>) -> bool {
    let spaced = expression
        .replace('(', " ( ")
        .replace(')', " ) ")
        .replace('/', " OR ");
    let tokens: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = tokens.as_slice();
    either(&mut rest, allowed) && rest.is_empty()
}

fn either(tokens: &mut &[&str], allowed: &BTreeSet<String>) -> bool {
    let mut holds = both(tokens, allowed);
    while take(tokens, "OR") {
        holds |= both(tokens, allowed);
    }
    holds
}

fn both(tokens: &mut &[&str], allowed: &BTreeSet<String>) -> bool {
    let mut holds = single(tokens, allowed);
    while take(tokens, "AND") {
        holds &= single(tokens, allowed);
    }
    holds
}

fn single(tokens: &mut &[&str], allowed: &BTreeSet<String>) -> bool {
    if take(tokens, "(") {
        let holds = either(tokens, allowed);
        return take(tokens, ")") && holds;
    }
    let Some((&licence, rest)) = tokens.split_first() else {
        return false;
    };
    *tokens = rest;
    if take(tokens, "WITH") {
        let Some((&exception, rest)) = tokens.split_first() else {
            return false;
        };
        *tokens = rest;
        return allowed.contains(&format!("{licence} WITH {exception}"));
    }
    allowed.contains(licence)
}

fn take(tokens: &mut &[&str], word: &str) -> bool {
    match tokens.split_first() {
        Some((&first, rest)) if first == word => {
            *tokens = rest;
            true
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::Package;

    fn allowed() -> BTreeSet<String> {
        [
            "MIT",
            "Apache-2.0",
            "Apache-2.0 WITH LLVM-exception",
            "Unicode-3.0",
        ]
        .map(str::to_owned)
        .into()
    }

    #[test]
    fn expressions_are_weighed() {
        for good in [
            "MIT",
            "MIT OR GPL-3.0",
            "GPL-3.0/MIT",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception OR Zlib",
        ] {
            assert!(allows(good, &allowed()), "{good}");
        }
        for bad in [
            "GPL-3.0",
            "MIT AND GPL-3.0",
            "none",
            "",
            "(MIT",
            "Apache-2.0 WITH other",
        ] {
            assert!(!allows(bad, &allowed()), "{bad}");
        }
    }

    fn package(name: &str, version: &str, license: &str) -> Package {
        Package {
            id: format!("{name}@{version}"),
            name: name.to_owned(),
            version: version.to_owned(),
            license: Some(license.to_owned()),
            manifest_path: "Cargo.toml".into(),
            dependencies: Vec::new(),
        }
    }

    fn check_with(packages: Vec<Package>, deny: &str) -> Vec<String> {
        let metadata = Metadata {
            packages,
            workspace_members: Vec::new(),
        };
        check(&metadata, deny).expect("rules parse")
    }

    #[test]
    fn a_licence_that_is_not_listed_is_named() {
        let deny = "[licenses]\nallow = [\"MIT\"]\n[bans]\n";
        assert_eq!(
            check_with(vec![package("a", "1.0.0", "MIT")], deny),
            [""; 0]
        );
        let violations = check_with(vec![package("a", "1.0.0", "GPL-3.0")], deny);
        assert!(violations[0].contains("`a 1.0.0`"), "{violations:?}");
    }

    #[test]
    fn two_versions_need_a_reason_and_a_reason_needs_two_versions() {
        let two = || vec![package("a", "1.0.0", "MIT"), package("a", "2.0.0", "MIT")];
        let bare = "[licenses]\nallow = [\"MIT\"]\n[bans]\n";
        assert_eq!(check_with(two(), bare).len(), 1);
        let skip = "[licenses]\nallow = [\"MIT\"]\n[bans]\nskip = [{ crate = \"a\", reason = \"b wants 1\" }]\n";
        assert_eq!(check_with(two(), skip), [""; 0]);
        assert_eq!(
            check_with(vec![package("a", "1.0.0", "MIT")], skip).len(),
            1
        );
    }
}
