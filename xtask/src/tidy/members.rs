//! Every package of the workspace has the workspace's lints: inherited, or spelled out where the
//! package must also build alone.

use anyhow::Context;
use toml::{Table, Value};

use crate::workspace::{self, Metadata};

/// Checks the manifests of the members.
pub(super) fn check(metadata: &Metadata) -> anyhow::Result<Vec<String>> {
    let root: Table = toml::from_str(&std::fs::read_to_string(
        workspace::root().join("Cargo.toml"),
    )?)?;
    let wanted = root
        .get("workspace")
        .and_then(|workspace| workspace.get("lints"));
    let wanted = wanted.context("the root manifest has no `[workspace.lints]`")?;
    let mut violations = Vec::new();
    for package in metadata.members() {
        let manifest = std::fs::read_to_string(&package.manifest_path)?;
        violations.extend(violation(
            &package.name,
            &toml::from_str(&manifest)?,
            wanted,
        ));
    }
    Ok(violations)
}

fn violation(name: &str, manifest: &Table, wanted: &Value) -> Option<String> {
    let lints = manifest.get("lints");
    let inherits = lints
        .and_then(|lints| lints.get("workspace"))
        .and_then(Value::as_bool);
    let has = inherits.unwrap_or(false) || lints.is_some_and(|lints| includes(lints, wanted));
    (!has).then(|| format!("package `{name}` lacks `[lints] workspace = true`"))
}

/// Whether every lint of `wanted` is in `lints` with the same level.
fn includes(lints: &Value, wanted: &Value) -> bool {
    match (lints, wanted) {
        (Value::Table(lints), Value::Table(wanted)) => wanted
            .iter()
            .all(|(name, level)| lints.get(name).is_some_and(|found| includes(found, level))),
        (found, level) => found == level,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_manifest(manifest: &str) -> Option<String> {
        let wanted: Table = toml::from_str("[rust]\nunsafe_code = \"deny\"\n").expect("parses");
        violation(
            "a",
            &toml::from_str(manifest).expect("parses"),
            &Value::Table(wanted),
        )
    }

    #[test]
    fn lints_are_inherited_or_spelled_out() {
        assert_eq!(check_manifest("[lints]\nworkspace = true\n"), None);
        assert_eq!(
            check_manifest("[lints.rust]\nunsafe_code = \"deny\"\nmore = \"warn\"\n"),
            None
        );
    }

    #[test]
    fn a_package_without_the_lints_is_named() {
        for manifest in [
            "",
            "[lints.rust]\nunsafe_code = \"allow\"\n",
            "[lints]\nworkspace = false\n",
        ] {
            let violation = check_manifest(manifest);
            assert!(
                violation.is_some_and(|sentence| sentence.contains("`a`")),
                "{manifest}"
            );
        }
    }
}
