//! Embeds the SDK and the contract in the binary, for `trawl plugin new`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Embedded directories, and the extension of their files.
const EMBEDDED: [(&str, &str); 5] = [
    ("contract", "rs"),
    ("contract", "txt"),
    ("sdk", "rs"),
    ("wit", "wit"),
    ("docs", "md"),
];

/// Embedded manifests.
const MANIFESTS: [&str; 2] = ["contract/Cargo.toml", "sdk/Cargo.toml"];

/// The crate below `sdk/` that builds plugins: it is linked into the binary.
const EXCLUDED: &str = "sdk/build";

fn main() -> io::Result<()> {
    let root = PathBuf::from(variable("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::from(MANIFESTS.map(|manifest| root.join(manifest)));
    for (directory, extension) in EMBEDDED {
        println!("cargo::rerun-if-changed={}", root.join(directory).display());
        collect(
            &root.join(directory),
            extension,
            &root.join(EXCLUDED),
            &mut files,
        )?;
    }
    files.sort();
    let mut list = String::from("&[\n");
    for file in &files {
        let name = file
            .strip_prefix(&root)
            .unwrap_or(file)
            .display()
            .to_string();
        let path = file.canonicalize()?.display().to_string();
        // Writing to a string cannot fail.
        let _ = writeln!(list, "    ({name:?}, include_str!({path:?})),");
    }
    list.push_str("]\n");
    fs::write(Path::new(&variable("OUT_DIR")).join("sdk_files.rs"), list)
}

fn collect(
    dir: &Path,
    extension: &str,
    excluded: &Path,
    files: &mut Vec<PathBuf>,
) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        if path.is_dir() && path != excluded {
            collect(&path, extension, excluded, files)?;
        } else if path.extension().is_some_and(|found| found == extension) {
            files.push(path);
        }
    }
    Ok(())
}

#[expect(
    clippy::disallowed_methods,
    reason = "cargo passes parameters to build scripts in the environment"
)]
fn variable(name: &str) -> String {
    env::var(name).unwrap_or_default()
}
