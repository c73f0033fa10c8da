//! Which room may use which crate from outside, from the table in `ARCHITECTURE.md`.

use std::path::Path;

use super::table;

const HEADING: &str = "Who knows which crate";

/// Checks every Rust file under `source` for the crates that only some rooms may know.
pub(super) fn check(source: &Path, architecture: &str) -> anyhow::Result<Vec<String>> {
    let rows = table::rows(architecture, HEADING)?;
    let mut violations = Vec::new();
    for file in super::files::rust_files(source)? {
        let relative = file
            .strip_prefix(source)
            .unwrap_or(&file)
            .with_extension("");
        let room = relative
            .components()
            .next()
            .map(|part| part.as_os_str().to_string_lossy().into_owned());
        let Some(room) = room else { continue };
        if super::files::is_of_tests(&file) {
            continue;
        }
        let text = std::fs::read_to_string(&file)?;
        for (crates, rooms) in &rows {
            let known = crates.iter().filter(|name| names_crate(&text, name));
            let allowed = table::names(rooms).contains(&room);
            violations.extend(known.filter(|_| !allowed).map(|name| {
                format!(
                    "`{}.rs` names the crate `{name}`, which only {rooms} may",
                    relative.display()
                )
            }));
        }
    }
    violations.sort();
    Ok(violations)
}

/// Whether a line of code has `name::` as the start of a path.
fn names_crate(text: &str, name: &str) -> bool {
    let code = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    let path = format!("{name}::");
    code.into_iter().any(|line| {
        line.match_indices(&path).any(|(at, _)| {
            let before = line[..at].chars().next_back();
            !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':')
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str =
        "## Who knows which crate\n\n| crate | rooms |\n|---|---|\n| `wasmtime` | plugins |\n";

    #[test]
    fn a_crate_outside_its_room_is_named() {
        let dir = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(dir.path().join("plugins")).expect("made");
        std::fs::write(
            dir.path().join("plugins/engine.rs"),
            "use wasmtime::Engine;\n",
        )
        .expect("written");
        std::fs::write(
            dir.path().join("scrape.rs"),
            "// wasmtime::Engine\nuse wasmtime_x::A;\n",
        )
        .expect("written");
        assert_eq!(check(dir.path(), TABLE).expect("readable"), [""; 0]);

        std::fs::write(dir.path().join("scrape.rs"), "use wasmtime::Engine;\n").expect("written");
        let violations = check(dir.path(), TABLE).expect("readable");
        assert_eq!(
            violations,
            ["`scrape.rs` names the crate `wasmtime`, which only plugins may"]
        );
    }
}
