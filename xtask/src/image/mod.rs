//! The container image: the program, a browser and fonts in a root without a shell's tools, as an
//! OCI image layout that no daemon is needed for.

mod check;
mod layer;
mod layout;
mod packages;
mod root;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::{host, workspace};

/// User and group that the program runs as: one that no system gives to a person or a service.
const USER: u32 = 10_001;
/// The data directory, which is a volume.
const DATA: &str = "/var/lib/trawl";
/// The program in the image.
const PROGRAM: &str = "/usr/bin/trawl";
/// Variables of the program.
const ENVIRONMENT: [(&str, &str); 4] = [
    ("PATH", "/usr/bin:/bin"),
    ("HOME", DATA),
    ("TRAWL_DATA", DATA),
    ("TRAWL_LISTEN", "0.0.0.0:8700"),
];

/// What differs between machines.
#[derive(Debug)]
struct Machine {
    /// Debian's name of the architecture, which is also the one of images.
    architecture: &'static str,
    /// Name of the folders of its libraries.
    libraries: &'static str,
    /// The program that loads libraries.
    loader: &'static str,
}

static MACHINES: [(&str, Machine); 2] = [
    (
        "x86_64",
        Machine {
            architecture: "amd64",
            libraries: "x86_64-linux-gnu",
            loader: "lib64/ld-linux-x86-64.so.2",
        },
    ),
    (
        "aarch64",
        Machine {
            architecture: "arm64",
            libraries: "aarch64-linux-gnu",
            loader: "lib/ld-linux-aarch64.so.1",
        },
    ),
];

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

fn machine() -> anyhow::Result<&'static Machine> {
    let name = std::env::consts::ARCH;
    let found = MACHINES.iter().find(|(known, _)| *known == name);
    match found {
        Some((_, machine)) => Ok(machine),
        None => bail!("there is no image for machines of the kind `{name}`"),
    }
}

/// The folder, without what an earlier run left in it.
fn emptied(folder: &Path) -> anyhow::Result<PathBuf> {
    if folder.exists() {
        fs::remove_dir_all(folder)
            .with_context(|| format!("cannot empty `{}`", folder.display()))?;
    }
    fs::create_dir_all(folder).with_context(|| format!("cannot create `{}`", folder.display()))?;
    Ok(folder.to_path_buf())
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
