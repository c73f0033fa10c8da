//! The container image: the program, a browser and fonts in a root without a shell's tools, as an
//! OCI image layout that no daemon is needed for.

mod check;
mod layer;
mod layout;
mod packages;
mod root;
mod settings;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

use settings::{PROGRAM, emptied, machine};

use crate::{host, workspace};

/// The folder of everything that is made here.
fn folder() -> PathBuf {
    workspace::root().join("target/image")
}

/// Builds the shipped program and the image: `target/image/layout` and, as one file,
/// `target/image/trawl.tar`.
///
/// # Errors
/// This is not a Debian machine that reaches Debian's servers, or what the image has does not work
/// together.
pub(crate) fn build() -> anyhow::Result<()> {
    let machine = machine()?;
    let folder = folder();
    let program = host::dist()?;
    let root = emptied(&folder.join("root"))?;
    for package in packages::download(&folder)? {
        packages::unpack(&package, &root)?;
    }
    root::complete(&root)?;
    let upper = emptied(&folder.join("program"))?;
    install(&program, &upper)?;
    root::check_libraries(&root, machine, &[&program, &root.join(root::BROWSER)])?;
    let layout = layout::write(&folder, &[&root, &upper], machine.architecture)?;
    let file = folder.join("trawl.tar");
    layer::pack(&layout, &file)?;
    eprintln!(
        "image: target/image/trawl.tar ({} MiB), and as a folder target/image/layout",
        fs::metadata(&file)?.len().div_ceil(1 << 20)
    );
    Ok(())
}

/// Starts the image's program in the bare root of its layers, as its user, and has it fetch and
/// render a page.
///
/// # Errors
/// There is no image, this is not root, or the program is not healthy.
pub(crate) fn check() -> anyhow::Result<()> {
    let folder = folder();
    let root = emptied(&folder.join("check"))?;
    for layer in layout::layers(&folder.join("layout"))? {
        layer::unpack(&layer, &root)?;
    }
    check::run(&root)
}

/// Copies the program to its place below `upper`.
fn install(program: &Path, upper: &Path) -> anyhow::Result<()> {
    let place = upper.join(PROGRAM.trim_start_matches('/'));
    if let Some(folder) = place.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::copy(program, &place).with_context(|| format!("cannot copy `{}`", program.display()))?;
    Ok(())
}
