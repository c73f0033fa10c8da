//! Which crate of the host may depend on which package, from the table in `ARCHITECTURE.md`.

use std::path::Path;

use super::table;
use crate::workspace::{Metadata, Package};

const HEADING: &str = "Who knows which crate";

/// Checks the dependencies of every package below `host`. What tests alone need is not restricted.
pub(super) fn check(
    metadata: &Metadata,
    host: &Path,
    architecture: &str,
) -> anyhow::Result<Vec<String>> {
    let rows = table::rows(architecture, HEADING)?;
    let mut violations = Vec::new();
    for package in metadata.members() {
        let Some(folder) = folder_below(host, package) else {
            continue;
        };
        for (external, allowed) in &rows {
            let allowed = table::names(allowed);
            let used = package.dependencies.iter().filter(|dependency| {
                dependency.kind.is_none() && external.contains(&dependency.name.replace('-', "_"))
            });
            violations.extend(used.filter(|_| !allowed.contains(&folder)).map(|used| {
                let who = match allowed.as_slice() {
                    [] => "no crate of the host".to_owned(),
                    some => format!("only {}", some.join(", ")),
                };
                format!(
                    "`host/{folder}` depends on `{}`, which {who} may",
                    used.name
                )
            }));
        }
    }
    violations.sort();
    Ok(violations)
}

/// Name of the package's folder if it lies directly below `host`.
fn folder_below(host: &Path, package: &Package) -> Option<String> {
    let folder = package.manifest_path.parent()?;
    let name = folder.strip_prefix(host).ok()?;
    Some(name.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::Dependency;

    const TABLE: &str = "## Who knows which crate\n\n| crate | crates of ours |\n|---|---|\n| `wasmtime` | plugins |\n| `trawl_sdk` | (none) |\n";

    fn metadata(folder: &str, used: &str, kind: Option<&str>) -> Metadata {
        let package = Package {
            id: "x".to_owned(),
            name: "x".to_owned(),
            version: "1.0.0".to_owned(),
            license: None,
            manifest_path: format!("/repository/host/{folder}/Cargo.toml").into(),
            dependencies: vec![Dependency {
                name: used.to_owned(),
                kind: kind.map(str::to_owned),
            }],
        };
        Metadata {
            packages: vec![package],
            workspace_members: vec!["x".to_owned()],
        }
    }

    fn check_one(folder: &str, kind: Option<&str>) -> Vec<String> {
        let host = Path::new("/repository/host");
        let metadata = metadata(folder, "wasmtime", kind);
        check(&metadata, host, TABLE).expect("the table parses")
    }

    #[test]
    fn a_dependency_of_another_crate_is_named() {
        assert_eq!(
            check_one("api", None),
            ["`host/api` depends on `wasmtime`, which only plugins may"]
        );
    }

    #[test]
    fn a_package_of_plugins_is_for_no_crate_of_the_host() {
        let host = Path::new("/repository/host");
        let found = check(&metadata("plugins", "trawl-sdk", None), host, TABLE);
        assert_eq!(
            found.expect("the table parses"),
            ["`host/plugins` depends on `trawl-sdk`, which no crate of the host may"]
        );
    }

    #[test]
    fn the_crate_of_the_table_and_dependencies_of_tests_pass() {
        assert_eq!(check_one("plugins", None), [""; 0]);
        assert_eq!(check_one("api", Some("dev")), [""; 0]);
    }
}
