//! `trawl plugin test`: runs the tests of a plugin crate natively, with the SDK's test kit.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use super::crate_dir;

pub(super) fn run(dir: &Path, target_dir: Option<PathBuf>) -> anyhow::Result<()> {
    let dir = crate_dir::absolute(dir)?;
    if !dir.join("Cargo.toml").is_file() {
        bail!(
            "`{}` has no `Cargo.toml`, give the directory of a plugin crate",
            dir.display()
        );
    }
    let target_dir = crate_dir::target(&dir, target_dir)?;
    let mut cargo = trawl_guest_build::cargo("cargo");
    cargo
        .current_dir(&dir)
        .arg("test")
        .arg("--target-dir")
        .arg(target_dir);
    let status = cargo.status().context("cannot run `cargo`, install Rust")?;
    if !status.success() {
        bail!("the tests of the plugin failed, see the output above");
    }
    Ok(())
}
