//! `ARCHITECTURE.md`, the map: short, and every file that it names is there.

use std::path::Path;

/// Longest map that a new reader reads in one go.
const LINES_MAX: usize = 150;

/// Checks the text of the map of the repository at `root`.
pub(super) fn check(root: &Path, map: &str) -> Vec<String> {
    let n_lines = map.lines().count();
    let is_long = n_lines > LINES_MAX;
    let length = is_long
        .then(|| format!("`ARCHITECTURE.md` has {n_lines} lines, at most {LINES_MAX} are allowed"));
    let missing = paths(map).filter(|path| !root.join(path).exists());
    let missing =
        missing.map(|path| format!("`ARCHITECTURE.md` names `{path}`, which is not there"));
    length.into_iter().chain(missing).collect()
}

/// The paths from the root in backticks: those that begin with a folder of code.
fn paths(map: &str) -> impl Iterator<Item = &str> {
    const FOLDERS: [&str; 10] = [
        "host/",
        "wit/",
        "sdk/",
        "plugins/",
        "providers/",
        "tests/",
        "bench/",
        "docs/",
        "xtask/",
        "contract/",
    ];
    let spans = map
        .lines()
        .flat_map(|line| line.split('`').skip(1).step_by(2));
    spans.filter(|span| FOLDERS.iter().any(|folder| span.starts_with(folder)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_map_and_missing_files_are_named() {
        let root = tempfile::tempdir().expect("a folder");
        std::fs::create_dir_all(root.path().join("host/a")).expect("created");
        let map = "`host/a` and `host/`\n`host/a/b.rs`, `a/c.rs`, `cargo run`\n";
        let expected = "`ARCHITECTURE.md` names `host/a/b.rs`, which is not there";
        assert_eq!(check(root.path(), map), [expected]);
        let long = "\n".repeat(LINES_MAX + 1);
        let expected = "`ARCHITECTURE.md` has 151 lines, at most 150 are allowed";
        assert_eq!(check(root.path(), &long), [expected]);
        assert_eq!(check(root.path(), &"\n".repeat(LINES_MAX)), [""; 0]);
    }
}
