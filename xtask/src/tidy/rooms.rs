//! Room arrows: which room of the host may name which other, from the table in `ARCHITECTURE.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::table;

const HEADING: &str = "Who may use whom";

/// Files of the crate's root that join the rooms, and so may use all of them.
const ABOVE_THE_ROOMS: [&str; 3] = ["main", "lib", "app"];

/// Which rooms a room may use.
#[derive(Debug, PartialEq, Eq)]
enum Grant {
    Everything,
    These(BTreeSet<String>),
}

/// The table, read.
#[derive(Debug)]
struct Arrows {
    grants: BTreeMap<String, Grant>,
    /// Rooms that anyone may use.
    open: BTreeSet<String>,
}

/// Checks every Rust file of every room under `source`.
pub(super) fn check(source: &Path, architecture: &str) -> anyhow::Result<Vec<String>> {
    let arrows = Arrows::parse(architecture)?;
    let mut violations = Vec::new();
    for file in super::files::rust_files(source)? {
        let relative = file.strip_prefix(source).unwrap_or(&file);
        let modules = module_path(relative);
        let Some(room) = modules
            .first()
            .filter(|room| !ABOVE_THE_ROOMS.contains(&room.as_str()))
        else {
            continue;
        };
        let Some(grant) = arrows.grants.get(room) else {
            violations.push(format!(
                "room `{room}` has no row under `{HEADING}` in `ARCHITECTURE.md`"
            ));
            continue;
        };
        if super::files::is_of_tests(&file) {
            continue;
        }
        let text = without_tests(&without_comments(&std::fs::read_to_string(&file)?)).to_owned();
        for used in used_rooms(&text, modules.len()) {
            let known = arrows.grants.contains_key(&used);
            let allowed = match grant {
                Grant::Everything => true,
                Grant::These(rooms) => rooms.contains(&used),
            };
            if known && used != *room && !allowed && !arrows.open.contains(&used) {
                violations.push(format!(
                    "`{}` uses `{used}`, which `{room}` may not",
                    relative.display()
                ));
            }
        }
    }
    violations.sort();
    violations.dedup();
    Ok(violations)
}

impl Arrows {
    fn parse(architecture: &str) -> anyhow::Result<Self> {
        let mut grants = BTreeMap::new();
        let mut open = BTreeSet::new();
        for (rooms, cell) in table::rows(architecture, HEADING)? {
            for room in rooms {
                if cell.contains("anyone may use") {
                    open.insert(room.clone());
                }
                grants.insert(room, Grant::parse(&cell));
            }
        }
        Ok(Self { grants, open })
    }
}

impl Grant {
    /// `everything`, `nothing`, or names; words after a `;` are for people.
    fn parse(cell: &str) -> Self {
        let granted = cell.split(';').next().unwrap_or_default().trim();
        if granted.starts_with("everything") {
            return Self::Everything;
        }
        let names = table::names(granted).into_iter();
        Self::These(names.filter(|name| !name.starts_with("nothing")).collect())
    }
}

/// Modules from the crate's root to a file: `page/mod.rs` is `[page]`, `page/outcome.rs` is `[page, outcome]`.
fn module_path(relative: &Path) -> Vec<String> {
    let parts = relative.with_extension("");
    let names = parts
        .components()
        .map(|part| part.as_os_str().to_string_lossy().into_owned());
    names.filter(|name| name != "mod").collect()
}

/// Line comments blanked, doc links among them: a mention is no use.
fn without_comments(text: &str) -> String {
    let code = |line: &str| match line.find("//") {
        Some(at) if !line[..at].ends_with(':') => line[..at].to_owned(),
        _ => line.to_owned(),
    };
    text.lines().map(|line| code(line) + "\n").collect()
}

/// The text before the file's test module, which stands last and may use anything.
fn without_tests(text: &str) -> &str {
    match text
        .find("#[cfg(test)]\nmod ")
        .or_else(|| text.find("#[cfg(test)]\n#["))
    {
        Some(at) => &text[..at],
        None => text,
    }
}

/// Names right below the crate's root that the text uses: `crate::x`, `crate::{x, y::z}`, and as many `super::` as lead there.
fn used_rooms(text: &str, depth: usize) -> BTreeSet<String> {
    let to_root = "super::".repeat(depth);
    let mut used = BTreeSet::new();
    for prefix in ["crate::", to_root.as_str()] {
        for (at, _) in text.match_indices(prefix) {
            let before = text[..at].chars().next_back();
            let is_longer_word =
                before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '$' || c == ':');
            if !is_longer_word {
                used.extend(heads(&text[at + prefix.len()..]));
            }
        }
    }
    used
}

/// First names of the path or group at the start of `text`.
fn heads(text: &str) -> Vec<String> {
    let Some(group) = text.strip_prefix('{') else {
        return identifier(text).into_iter().collect();
    };
    let mut found: Vec<String> = identifier(group.trim_start()).into_iter().collect();
    let mut depth = 1_u32;
    for (at, character) in group.char_indices() {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 1 => found.extend(identifier(group[at + 1..].trim_start())),
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    found
}

fn identifier(text: &str) -> Option<String> {
    let end = text
        .find(|c: char| !c.is_alphanumeric() && c != '_')
        .unwrap_or(text.len());
    (end > 0).then(|| text[..end].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "## Who may use whom\n\n| room | may use |\n|---|---|\n| model | nothing; anyone may use it |\n| plan | nothing of ours |\n| page, scrape | plan (checked), fetch |\n| fetch | nothing |\n| cli | everything above |\n";

    fn check_file(path: &str, text: &str) -> Vec<String> {
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join(path);
        std::fs::create_dir_all(file.parent().expect("has one")).expect("made");
        std::fs::write(&file, text).expect("written");
        check(dir.path(), TABLE).expect("readable")
    }

    #[test]
    fn an_arrow_of_the_table_passes() {
        assert_eq!(
            check_file(
                "page/mod.rs",
                "use crate::{plan::Plan, fetch, model::{a, b}};\n"
            ),
            [""; 0]
        );
        assert_eq!(check_file("cli/run.rs", "use crate::page;\n"), [""; 0]);
    }

    #[test]
    fn an_arrow_that_is_not_in_the_table_is_named() {
        let violation = ["`fetch/body.rs` uses `page`, which `fetch` may not"];
        assert_eq!(
            check_file("fetch/body.rs", "use crate::page::run;\n"),
            violation
        );
        assert_eq!(
            check_file(
                "fetch/body.rs",
                "use crate::{\n    model::Url,\n    page,\n};\n"
            ),
            violation
        );
        assert_eq!(
            check_file("fetch/body.rs", "fn f() { super::super::page::run() }\n"),
            violation
        );
        assert_eq!(
            check_file("fetch.rs", "use super::page;\n"),
            ["`fetch.rs` uses `page`, which `fetch` may not"]
        );
    }

    #[test]
    fn a_mention_and_a_test_are_no_use() {
        assert_eq!(
            check_file("fetch/body.rs", "/// See [`crate::page`].\nfn f() {}\n"),
            [""; 0]
        );
        assert_eq!(
            check_file(
                "fetch/body.rs",
                "#[cfg(test)]\nmod tests {\n    use crate::page;\n}\n"
            ),
            [""; 0]
        );
        assert_eq!(check_file("fetch/body.rs", "use super::page;\n"), [""; 0]);
    }

    #[test]
    fn a_room_without_a_row_is_named() {
        let violations = check_file("attic/mod.rs", "");
        assert_eq!(violations.len(), 1);
        assert!(violations[0].contains("`attic`"), "{violations:?}");
    }
}
