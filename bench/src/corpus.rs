//! The page corpus: the HTML documentation that ships with the Rust toolchain.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

/// Root folder of the toolchain's HTML documentation.
pub(crate) fn root() -> anyhow::Result<PathBuf> {
    let output = Command::new("rustc")
        .args(["--print", "sysroot"])
        .output()
        .context("cannot run `rustc`")?;
    let root = Path::new(String::from_utf8(output.stdout)?.trim()).join("share/doc/rust/html");
    anyhow::ensure!(
        root.is_dir(),
        "the toolchain has no documentation at `{}`: `rustup component add rust-docs`",
        root.display()
    );
    Ok(root.canonicalize()?)
}

/// Sample of the corpus: every 90th page of 8 to 300 KiB, sorted by path, at most 200 of them.
/// Paths are relative to [`root`].
pub(crate) fn pages() -> anyhow::Result<Vec<PathBuf>> {
    let root = root()?;
    let mut found = Vec::new();
    collect(&root, &mut found)?;
    found.sort_by(|a, b| a.as_os_str().cmp(b.as_os_str()));
    let every_90th = found.into_iter().skip(89).step_by(90).take(200);
    every_90th
        .map(|path| Ok(path.strip_prefix(&root)?.to_owned()))
        .collect()
}

/// Contents of [`pages`].
pub(crate) fn texts() -> anyhow::Result<Vec<String>> {
    let root = root()?;
    pages()?
        .iter()
        .map(|page| Ok(std::fs::read_to_string(root.join(page))?))
        .collect()
}

/// Adds the HTML files below `folder` that `find -name '*.html' -size +8k -size -300k` prints:
/// sizes are rounded up to whole KiB.
fn collect(folder: &Path, found: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            collect(&entry.path(), found)?;
        } else if kind.is_file() && entry.path().extension().is_some_and(|end| end == "html") {
            let kib = entry.metadata()?.len().div_ceil(1024);
            if kib > 8 && kib < 300 {
                found.push(entry.path());
            }
        }
    }
    Ok(())
}

/// Root folder of the repository this program was built from.
pub(crate) fn checkout() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}
