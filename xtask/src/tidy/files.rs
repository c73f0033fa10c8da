//! Files: too long, or with traces of unfinished work or of one machine.

use std::path::{Path, PathBuf};

/// A longer Rust file wants a second noun: a warning.
const LINES_WANTED: usize = 500;

/// A longer one is refused.
const LINES_MAX: usize = 800;

/// Longest comment line, in characters.
const COMMENT_COLUMNS_MAX: usize = 100;

/// Endings of the files that people write.
const WRITTEN: [&str; 7] = ["rs", "toml", "md", "wit", "sh", "yml", "run"];

/// Folders that hold no text of ours.
const SKIPPED: [&str; 2] = ["target", ".git"];

/// Folders of test data, among it pages of others, unless they are modules.
const DATA: [&str; 3] = ["data", "cases", "pages"];

/// Checks every file that people write under `root`.
pub(super) fn check(root: &Path) -> anyhow::Result<Vec<String>> {
    let mut violations = Vec::new();
    for file in below(root, &WRITTEN)? {
        // A file that is not text is none that people write.
        let Ok(text) = std::fs::read_to_string(&file) else {
            continue;
        };
        let path = file
            .strip_prefix(root)
            .unwrap_or(&file)
            .display()
            .to_string();
        violations.extend(traces(&path, &text));
        violations.extend(length(&path, &text));
        violations.extend(comments(&path, &text));
    }
    Ok(violations)
}

fn length(path: &str, text: &str) -> Option<String> {
    let lines = text.lines().count();
    if !path.ends_with(".rs") || lines <= LINES_WANTED {
        return None;
    }
    if lines <= LINES_MAX {
        eprintln!(
            "tidy: warning: `{path}` has {lines} lines; over {LINES_WANTED} it wants a second noun"
        );
        return None;
    }
    Some(format!(
        "`{path}` has {lines} lines, at most {LINES_MAX} are allowed: make two files of it"
    ))
}

fn comments(path: &str, text: &str) -> Vec<String> {
    if !path.ends_with(".rs") {
        return Vec::new();
    }
    let is_long = |line: &&str| {
        line.trim_start().starts_with("//") && line.chars().count() > COMMENT_COLUMNS_MAX
    };
    let numbered = text.lines().enumerate();
    numbered
        .filter(|(_, line)| is_long(line))
        .map(|(index, _)| {
            format!(
                "`{path}:{}` is a comment beyond column {COMMENT_COLUMNS_MAX}",
                index + 1
            )
        })
        .collect()
}

fn traces(path: &str, text: &str) -> Vec<String> {
    let numbered = text.lines().enumerate();
    let found = numbered.filter_map(|(index, line)| trace(line).map(|what| (index + 1, what)));
    found
        .map(|(number, what)| format!("`{path}:{number}` has {what}"))
        .collect()
}

/// Needles are put together here so that this file does not hold them.
fn trace(line: &str) -> Option<String> {
    for unfinished in ["todo", "unimplemented", "dbg"] {
        if line.contains(&format!("{unfinished}!(")) {
            return Some(format!("`{unfinished}!`"));
        }
    }
    for home in ["root", "home", "work", "Users"] {
        let needle = format!("/{home}/");
        if line
            .match_indices(&needle)
            .any(|(at, _)| starts_a_path(line, at))
        {
            return Some(format!("a path of one machine (`{needle}`)"));
        }
    }
    None
}

/// Whether an absolute path begins at `at`, rather than a path's middle or an address's.
fn starts_a_path(line: &str, at: usize) -> bool {
    let before = line[..at].chars().next_back();
    before.is_none_or(|c| c.is_whitespace() || "\"'`(=:[<".contains(c))
}

fn is_skipped(folder: &Path, name: &str) -> bool {
    let is_data = DATA.contains(&name) && !folder.join("mod.rs").is_file();
    SKIPPED.contains(&name) || is_data
}

/// Rust files under `dir`, in order of path.
pub(super) fn rust_files(dir: &Path) -> anyhow::Result<Vec<PathBuf>> {
    below(dir, &["rs"])
}

/// Files under `dir` with one of the endings (a whole name counts as an ending), in order of path.
pub(super) fn below(dir: &Path, endings: &[&str]) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut waiting = vec![dir.to_path_buf()];
    while let Some(dir) = waiting.pop() {
        for entry in std::fs::read_dir(&dir)? {
            let path = entry?.path();
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            let ending = path
                .extension()
                .map_or(name.clone(), |ending| ending.to_string_lossy().into_owned());
            if path.is_dir() && !path.is_symlink() && !is_skipped(&path, &name) {
                waiting.push(path);
            } else if path.is_file() && endings.contains(&ending.as_str()) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unfinished_work_is_named_with_its_line() {
        let line = format!("fn a() {{}}\nfn b() {{ {}!() }}\n", "todo");
        let expected = format!("`a.rs:2` has `{}!`", "todo");
        assert_eq!(traces("a.rs", &line), [expected]);
    }

    #[test]
    fn a_machine_path_is_named_and_an_address_is_not() {
        let path = format!("let p = \"/{}/someone/file\";", "home");
        assert_eq!(traces("a.rs", &path).len(), 1);
        let address = format!("https://site.test/{}/page", "home");
        assert_eq!(traces("a.rs", &address), [""; 0]);
    }

    #[test]
    fn long_comments_are_named_and_long_code_is_not() {
        let text = format!("{}\n// {}\n", "x".repeat(200), "x".repeat(98));
        let expected = "`a.rs:2` is a comment beyond column 100";
        assert_eq!(comments("a.rs", &text), [expected]);
        assert_eq!(comments("a.md", &text), [""; 0]);
    }

    #[test]
    fn only_a_very_long_file_is_refused() {
        assert_eq!(length("a.rs", &"\n".repeat(LINES_MAX)), None);
        assert!(length("a.rs", &"\n".repeat(LINES_MAX + 1)).is_some());
        assert_eq!(length("a.md", &"\n".repeat(LINES_MAX + 1)), None);
    }

    #[test]
    fn files_are_found_below_and_skipped_folders_are_not() {
        let dir = tempfile::tempdir().expect("a folder");
        for file in ["a/b/x.rs", "data/mod.rs", "pages/x.rs", "target/x.rs"] {
            let file = dir.path().join(file);
            std::fs::create_dir_all(file.parent().expect("has one")).expect("made");
            std::fs::write(file, "").expect("written");
        }
        assert_eq!(
            rust_files(dir.path()).expect("readable"),
            [dir.path().join("a/b/x.rs"), dir.path().join("data/mod.rs")]
        );
    }
}
