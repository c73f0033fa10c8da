//! Cycles between the files of one crate, which no compiler refuses.
//!
//! A file uses another one if its code names a path that leads into it: `crate::a::b`, `super::b`.
//! A folder's `mod.rs` and the crate's `lib.rs` list and re-export their children, so edges between
//! a file and its ancestors do not count; everything else must be acyclic. Code of tests is exempt.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Path of a module below the crate's root, `["frontier", "caps"]`.
type Module = Vec<String>;

/// Checks every crate below `host`; one sentence for each cycle.
pub(super) fn check(host: &Path) -> anyhow::Result<Vec<String>> {
    let mut violations = Vec::new();
    let mut crates: Vec<_> = std::fs::read_dir(host)?.collect::<Result<_, _>>()?;
    crates.sort_by_key(std::fs::DirEntry::file_name);
    for folder in crates {
        let source = folder.path().join("src");
        if !source.is_dir() {
            continue;
        }
        let name = folder.file_name().to_string_lossy().into_owned();
        for cycle in cycles(&graph(&source)?) {
            let files: Vec<String> = cycle.iter().map(|module| module.join("/")).collect();
            violations.push(format!(
                "files of `host/{name}` use each other in a circle: {}",
                files.join(", ")
            ));
        }
    }
    Ok(violations)
}

/// Every file of a crate with the files that it uses.
fn graph(source: &Path) -> anyhow::Result<BTreeMap<Module, BTreeSet<Module>>> {
    let mut texts: BTreeMap<Module, String> = BTreeMap::new();
    for file in super::files::rust_files(source)? {
        if super::files::is_of_tests(&file) {
            continue;
        }
        let module = module_path(file.strip_prefix(source).unwrap_or(&file));
        texts.insert(module, without_tests(&std::fs::read_to_string(&file)?));
    }
    let uses = |module: &Module, text: &str| {
        let named = named_paths(text, module);
        let used = named.iter().filter_map(|path| owner(path, &texts));
        used.filter(|used| !used.starts_with(module) && !module.starts_with(used))
            .collect()
    };
    Ok(texts
        .iter()
        .map(|(module, text)| (module.clone(), uses(module, text)))
        .collect())
}

/// The file that a path leads into: the longest prefix that is a module.
fn owner(path: &[String], texts: &BTreeMap<Module, String>) -> Option<Module> {
    (1..=path.len())
        .rev()
        .map(|length| path[..length].to_vec())
        .find(|prefix| texts.contains_key(prefix))
}

/// `page/mod.rs` is `[page]`, `page/outcome.rs` is `[page, outcome]`, `lib.rs` and `main.rs` are
/// `[]`.
fn module_path(relative: &Path) -> Module {
    let parts = relative.with_extension("");
    let names = parts
        .components()
        .map(|part| part.as_os_str().to_string_lossy().into_owned());
    names
        .filter(|name| !["mod", "lib", "main"].contains(&name.as_str()))
        .collect()
}

/// The code before the file's tests, which are last, without comments.
fn without_tests(text: &str) -> String {
    let end = text.find("#[cfg(test)]\nmod ").unwrap_or(text.len());
    let code = |line: &str| match line.find("//") {
        Some(at) if !line[..at].ends_with(':') => line[..at].to_owned(),
        _ => line.to_owned(),
    };
    text[..end].lines().map(|line| code(line) + "\n").collect()
}

/// Absolute paths below the crate's root that the text of `module` names.
fn named_paths(text: &str, module: &Module) -> Vec<Module> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices("crate::") {
        if !is_inside_word(text, at) {
            found.extend(expand(Vec::new(), &text[at + "crate::".len()..]));
        }
    }
    for (at, _) in text.match_indices("super::") {
        if is_inside_word(text, at) {
            continue;
        }
        let mut base = module.clone();
        let mut rest = &text[at..];
        while let Some(shorter) = rest.strip_prefix("super::") {
            base.pop();
            rest = shorter;
        }
        found.extend(expand(base, rest));
    }
    found
}

fn is_inside_word(text: &str, at: usize) -> bool {
    let before = text[..at].chars().next_back();
    before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '$' || c == ':')
}

/// The paths that `text` begins with: `a::b`, or a group `{a, b::{c, d}}`.
fn expand(base: Module, text: &str) -> Vec<Module> {
    let text = text.trim_start();
    if let Some(group) = text.strip_prefix('{') {
        let items = items(group);
        return items
            .into_iter()
            .flat_map(|item| expand(base.clone(), item))
            .collect();
    }
    let end = text
        .find(|c: char| !c.is_alphanumeric() && c != '_')
        .unwrap_or(text.len());
    if end == 0 {
        return Vec::new();
    }
    let mut path = base;
    path.push(text[..end].to_owned());
    match text[end..].strip_prefix("::") {
        Some(rest) if rest.starts_with('{') || rest.starts_with(char::is_alphabetic) => {
            expand(path, rest)
        }
        _ => vec![path],
    }
}

/// The items of a group whose opening brace has been read.
fn items(group: &str) -> Vec<&str> {
    let (mut items, mut depth, mut begin) = (Vec::new(), 0_u32, 0);
    for (at, character) in group.char_indices() {
        match character {
            '{' => depth += 1,
            '}' if depth == 0 => {
                items.push(&group[begin..at]);
                break;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                items.push(&group[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    items
}

/// Groups of files that reach each other.
fn cycles(graph: &BTreeMap<Module, BTreeSet<Module>>) -> Vec<Vec<Module>> {
    let reach: BTreeMap<&Module, BTreeSet<&Module>> = graph
        .keys()
        .map(|module| (module, reachable(graph, module)))
        .collect();
    let mut seen: BTreeSet<&Module> = BTreeSet::new();
    let mut found = Vec::new();
    for module in graph.keys() {
        if seen.contains(module) || !reach[module].contains(module) {
            continue;
        }
        let circle: Vec<&Module> = reach[module]
            .iter()
            .copied()
            .filter(|other| reach.get(other).is_some_and(|back| back.contains(module)))
            .collect();
        seen.extend(&circle);
        found.push(circle.into_iter().cloned().collect());
    }
    found
}

fn reachable<'a>(
    graph: &'a BTreeMap<Module, BTreeSet<Module>>,
    from: &Module,
) -> BTreeSet<&'a Module> {
    let mut reached = BTreeSet::new();
    let mut waiting: Vec<&Module> = graph[from].iter().collect();
    while let Some(module) = waiting.pop() {
        if reached.insert(module) {
            waiting.extend(graph.get(module).into_iter().flatten());
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sentences about a crate `x` with these files.
    fn check_files(files: &[(&str, &str)]) -> Vec<String> {
        let host = tempfile::tempdir().expect("a folder");
        for (path, text) in files {
            let file = host.path().join("x/src").join(path);
            std::fs::create_dir_all(file.parent().expect("has one")).expect("created");
            std::fs::write(&file, text).expect("written");
        }
        check(host.path()).expect("readable")
    }

    #[test]
    fn files_that_use_each_other_are_named() {
        let found = check_files(&[
            ("a.rs", "use crate::b::B;\n"),
            ("b.rs", "use super::{c::C, d};\n"),
            ("c.rs", "fn f() { crate::a::f() }\n"),
            ("d.rs", "use crate::{e, f::g};\n"),
        ]);
        assert_eq!(
            found,
            ["files of `host/x` use each other in a circle: a, b, c"]
        );
    }

    #[test]
    fn a_folder_and_its_files_may_name_each_other() {
        let found = check_files(&[
            ("lib.rs", "mod a;\npub use a::b::B;\n"),
            ("a/mod.rs", "mod b;\nuse crate::a::b::B;\n"),
            ("a/b.rs", "use super::A;\nuse crate::Root;\n"),
        ]);
        assert_eq!(found, [""; 0]);
    }

    #[test]
    fn tests_and_comments_do_not_count() {
        let found = check_files(&[
            (
                "a.rs",
                "/// [`crate::b`]\nfn f() {}\n#[cfg(test)]\nmod tests {\n    use crate::b::B;\n}\n",
            ),
            ("b.rs", "use crate::a::f;\n"),
        ]);
        assert_eq!(found, [""; 0]);
    }
}
