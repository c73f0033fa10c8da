//! The plugins of this repository, built as components into `target/guests`.

use std::path::Path;

use anyhow::Context;
use trawl_guest_build::{BuildRequest, Component, Way};

use crate::workspace::{self, Metadata};

/// Folders of the workspace whose packages are plugins.
const FOLDERS: [&str; 2] = ["plugins", "providers"];
/// Folders among them whose packages are libraries of plugins.
const LIBRARIES: [&str; 2] = ["plugins/lib", "plugins/analyst-base"];

/// Names of [`Way`] on the command line.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(crate) enum WayName {
    /// The Rust in use, with the target from rustup
    Rustup,
    /// A Rust on this machine with the standard library's source
    Source,
    /// Debian's packages, installed if need be
    Debian,
}

/// Builds them all.
pub(crate) fn build(way: Option<WayName>) -> anyhow::Result<()> {
    let root = workspace::root();
    let packages = packages(&Metadata::read(&["--no-deps"])?, &root);
    let request = BuildRequest {
        manifest_dir: root.clone(),
        packages,
        out_dir: root.join("target/guests"),
        target_dir: root.join("target/guest-build"),
        way: way.map(|way| match way {
            WayName::Rustup => Way::Rustup,
            WayName::Source => Way::Source,
            WayName::Debian => Way::Debian,
        }),
    };
    let built = trawl_guest_build::build(&request, &mut |line| eprintln!("guests: {line}"))
        .context("the plugins are not built")?;
    for component in &built {
        eprintln!("guests: {}", in_words(component, &root));
    }
    Ok(())
}

/// Names of the workspace's plugin packages.
fn packages(metadata: &Metadata, root: &Path) -> Vec<String> {
    let plugins = metadata
        .members()
        .filter(|package| is_plugin(&package.manifest_path, root));
    plugins.map(|package| package.name.clone()).collect()
}

/// Whether a manifest is a plugin's.
fn is_plugin(manifest: &Path, root: &Path) -> bool {
    let is_below = |folder: &str| manifest.starts_with(root.join(folder));
    FOLDERS.into_iter().any(is_below) && !LIBRARIES.into_iter().any(is_below)
}

fn in_words(component: &Component, root: &Path) -> String {
    let path = component.path.strip_prefix(root).unwrap_or(&component.path);
    format!(
        "{} ({} KiB)",
        path.display(),
        component.bytes.div_ceil(1024)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_of_plugins_are_not_built_as_components() {
        let root = Path::new("/w");
        let check = |manifest: &str| is_plugin(&root.join(manifest), root);
        assert!(check("plugins/format-html/Cargo.toml"));
        assert!(check("providers/provider-1/Cargo.toml"));
        assert!(check("plugins/analyst-qa/Cargo.toml"));
        assert!(!check("plugins/lib/chunk/Cargo.toml"));
        assert!(!check("plugins/analyst-base/Cargo.toml"));
        assert!(!check("host/plugins/Cargo.toml"));
    }
}
