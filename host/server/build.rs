//! Lists the SDK's sources and the contract, so that the binary carries what a plugin's author needs.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Folders that go along, and the endings of their files.
const CARRIED: [(&str, &str); 3] = [("sdk", "rs"), ("wit", "wit"), ("docs", "md")];

/// The crate below `sdk/` that builds plugins: the binary has it linked.
const LEFT_OUT: &str = "sdk/build";

fn main() -> io::Result<()> {
    let root = PathBuf::from(variable("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = vec![root.join("sdk/Cargo.toml")];
    for (folder, ending) in CARRIED {
        println!("cargo::rerun-if-changed={}", root.join(folder).display());
        collect(&root.join(folder), ending, &root.join(LEFT_OUT), &mut files)?;
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

fn collect(dir: &Path, ending: &str, left_out: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        if path.is_dir() && path != left_out {
            collect(&path, ending, left_out, files)?;
        } else if path.extension().is_some_and(|found| found == ending) {
            files.push(path);
        }
    }
    Ok(())
}

#[expect(
    clippy::disallowed_methods,
    reason = "cargo speaks to build scripts through the environment"
)]
fn variable(name: &str) -> String {
    env::var(name).unwrap_or_default()
}
