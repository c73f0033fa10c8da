//! Every package of the workspace takes the workspace's lints.

use crate::workspace::Metadata;

/// Checks the manifests of the members.
pub(super) fn check(metadata: &Metadata) -> anyhow::Result<Vec<String>> {
    let mut violations = Vec::new();
    for package in metadata.members() {
        let manifest = std::fs::read_to_string(&package.manifest_path)?;
        violations.extend(violation(&package.name, &manifest)?);
    }
    Ok(violations)
}

fn violation(name: &str, manifest: &str) -> anyhow::Result<Option<String>> {
    let manifest: toml::Table = toml::from_str(manifest)?;
    let lints = manifest
        .get("lints")
        .and_then(|lints| lints.get("workspace"));
    let inherits = lints.and_then(toml::Value::as_bool).unwrap_or(false);
    Ok((!inherits).then(|| format!("package `{name}` lacks `[lints] workspace = true`")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_without_the_lints_is_named() {
        let with = "[package]\nname = \"a\"\n[lints]\nworkspace = true\n";
        assert_eq!(violation("a", with).expect("parses"), None);
        let without = violation("a", "[package]\nname = \"a\"\n").expect("parses");
        assert!(without.is_some_and(|sentence| sentence.contains("`a`")));
    }
}
