//! Circles between the files of one crate, which no compiler refuses.
//!
//! A file uses another one if its code names something that is defined there, also by way of a
//! `use` of a third file: `super::Name` leads to where the folder's `mod.rs` has `Name` from. A
//! `mod` and a `pub use` are lists of what a folder has, not uses. Code of tests is exempt.

mod code;
mod graph;
mod listed;
mod modules;
mod paths;

use std::path::{Path, PathBuf};

use graph::{Graph, Module};
use listed::{LISTED, Shared};
use modules::Modules;

/// Folders below which every crate is checked.
const FOLDERS: [&str; 6] = ["host", "contract", "sdk", "plugins", "providers", "xtask"];

/// Checks every crate of the repository; one sentence for each circle, and for each row of the list
/// that breaks none.
pub(super) fn check(root: &Path) -> anyhow::Result<Vec<String>> {
    check_with(root, LISTED)
}

fn check_with(root: &Path, listed: &[Shared]) -> anyhow::Result<Vec<String>> {
    let mut violations = Vec::new();
    let mut needless: Vec<&Shared> = listed.iter().collect();
    for folder in crates(root)? {
        let name = folder.strip_prefix(root).unwrap_or(&folder).display();
        let name = name.to_string();
        let uses = Modules::read(&folder.join("src"))?.uses();
        let of_crate = listed.iter().filter(|row| row.of == name);
        let shared: Vec<&str> = of_crate.map(|row| row.file).collect();
        for circle in graph::circles(&without(&uses, &shared)) {
            let files: Vec<String> = circle.iter().map(shown).collect();
            violations.push(format!(
                "files of `{name}` use each other in a circle: {}",
                files.join(", ")
            ));
        }
        needless.retain(|row| row.of != name || !breaks_circle(&uses, &shared, row.file));
    }
    violations.extend(needless.into_iter().map(|row| {
        format!(
            "`{}` of `{}` is in no circle, remove it from `tidy/cycles/listed.rs`: {}",
            row.file, row.of, row.reason
        )
    }));
    Ok(violations)
}

/// The graph without the uses of these files.
fn without(uses: &Graph, files: &[&str]) -> Graph {
    let is_counted = |used: &&Module| !files.contains(&shown(used).as_str());
    let counted = uses.iter().map(|(module, used)| {
        let used = used.iter().filter(is_counted).cloned();
        (module.clone(), used.collect())
    });
    counted.collect()
}

/// Whether a file would be in a circle if it were not among the shared ones.
fn breaks_circle(uses: &Graph, shared: &[&str], file: &str) -> bool {
    let others: Vec<&str> = shared.iter().copied().filter(|it| *it != file).collect();
    let circles = graph::circles(&without(uses, &others));
    circles.iter().flatten().any(|module| shown(module) == file)
}

/// The folders of crates, in order.
fn crates(root: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for folder in FOLDERS.map(|name| root.join(name)) {
        if !folder.is_dir() {
            continue;
        }
        let files = super::files::below(&folder, &["toml"])?;
        let manifests = files.iter().filter(|file| file.ends_with("Cargo.toml"));
        let folders = manifests.filter_map(|manifest| manifest.parent());
        let with_source = folders.filter(|it| it.join("src").is_dir());
        found.extend(with_source.map(Path::to_path_buf));
    }
    found.sort();
    Ok(found)
}

/// A module in sentences and in the list.
fn shown(module: &Module) -> String {
    if module.is_empty() {
        return "lib".to_owned();
    }
    module.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sentences about a crate `host/x` with these files.
    fn check_files(files: &[(&str, &str)], listed: &[Shared]) -> Vec<String> {
        let root = tempfile::tempdir().expect("a folder");
        let folder = root.path().join("host/x");
        for (path, text) in [("Cargo.toml", "")].iter().chain(files) {
            let below = if *path == "Cargo.toml" { "" } else { "src" };
            let file = folder.join(below).join(path);
            std::fs::create_dir_all(file.parent().expect("has one")).expect("created");
            std::fs::write(&file, text).expect("written");
        }
        check_with(root.path(), listed).expect("readable")
    }

    #[test]
    fn files_that_use_each_other_are_named() {
        let found = check_files(
            &[
                ("a.rs", "use crate::b::B;\n"),
                ("b.rs", "use super::{c::C, d};\n"),
                ("c.rs", "fn f() { crate::a::f() }\n"),
                ("d.rs", "use crate::{e, f::g};\n"),
            ],
            &[],
        );
        assert_eq!(
            found,
            ["files of `host/x` use each other in a circle: a, b, c"]
        );
    }

    #[test]
    fn crates_of_every_folder_are_checked() {
        let root = tempfile::tempdir().expect("a folder");
        for folder in ["sdk", "plugins/p", "plugins/lib/l", "providers/v", "tests"] {
            let source = root.path().join(folder).join("src");
            std::fs::create_dir_all(&source).expect("created");
            std::fs::write(root.path().join(folder).join("Cargo.toml"), "").expect("written");
            std::fs::write(source.join("a.rs"), "use crate::b::B;\n").expect("written");
            std::fs::write(source.join("b.rs"), "use crate::a::A;\n").expect("written");
        }
        let found = check_with(root.path(), &[]).expect("readable");
        let expected = ["plugins/lib/l", "plugins/p", "providers/v", "sdk"]
            .map(|name| format!("files of `{name}` use each other in a circle: a, b"));
        assert_eq!(found, expected);
    }

    #[test]
    fn a_child_and_its_ancestor_are_a_circle() {
        let found = check_files(
            &[
                ("lib.rs", "mod a;\n\nfn f() { a::b::g() }\nstruct Root;\n"),
                ("a/mod.rs", "pub(crate) mod b;\n"),
                ("a/b.rs", "use crate::Root;\n"),
            ],
            &[],
        );
        assert_eq!(
            found,
            ["files of `host/x` use each other in a circle: lib, a/b"]
        );
        let found = check_files(
            &[
                ("lib.rs", "mod a;\n"),
                (
                    "a/mod.rs",
                    "mod b;\nuse b::g;\n#[cfg(test)]\nmod tests;\npub struct A;\n",
                ),
                ("a/b.rs", "pub fn g(_: super::A) {}\n"),
            ],
            &[],
        );
        assert_eq!(
            found,
            ["files of `host/x` use each other in a circle: a, a/b"]
        );
    }

    #[test]
    fn lists_of_a_folder_are_no_uses() {
        let found = check_files(
            &[
                (
                    "lib.rs",
                    "mod a;\npub use a::b::B;\npub(crate) use a::{A, b::{C,\n D}};\n",
                ),
                (
                    "a/mod.rs",
                    "mod b;\npub(crate) use b::{B, C, D};\npub struct A;\n",
                ),
                ("a/b.rs", "use super::A;\npub(in crate::a) struct B;\n"),
            ],
            &[],
        );
        assert_eq!(found, [""; 0]);
    }

    #[test]
    fn a_name_leads_to_where_it_is_defined() {
        let files = [
            (
                "lib.rs",
                "mod a;\nmod b;\npub use a::One;\nuse b::Two as Renamed;\n",
            ),
            ("a.rs", "use crate::Renamed;\npub struct One;\n"),
            ("b.rs", "pub struct Two;\n"),
        ];
        assert_eq!(check_files(&files, &[]), [""; 0]);
        let back = [
            files[0],
            files[1],
            ("b.rs", "use super::One;\npub struct Two;\n"),
        ];
        assert_eq!(
            check_files(&back, &[]),
            ["files of `host/x` use each other in a circle: a, b"]
        );
    }

    #[test]
    fn tests_and_comments_do_not_count() {
        let found = check_files(
            &[
                ("lib.rs", "mod a;\nmod b;\n#[cfg(test)]\nmod t;\n"),
                (
                    "a.rs",
                    "/// [`crate::b`]\nfn f() {}\n#[cfg(test)]\nuse crate::b::{\n  B,\n};\n#[cfg(test)]\npub(crate) mod tests {\n    use crate::b::B;\n}\n",
                ),
                ("b.rs", "use crate::a::f;\n"),
                ("t.rs", "use crate::tests::u::V;\n"),
                ("tests/u.rs", "use crate::t::T;\n"),
            ],
            &[],
        );
        assert_eq!(found, [""; 0]);
    }

    #[test]
    fn code_below_the_line_of_a_test_file_counts() {
        let found = check_files(
            &[
                ("lib.rs", "mod a;\nmod b;\n"),
                (
                    "a.rs",
                    "#[cfg(test)]\nmod tests;\n\nuse crate::b::B;\nstruct A;\n",
                ),
                ("b.rs", "use crate::a::A;\n"),
            ],
            &[],
        );
        assert_eq!(
            found,
            ["files of `host/x` use each other in a circle: a, b"]
        );
    }

    #[test]
    fn folders_of_code_may_have_names_of_data() {
        let found = check_files(
            &[
                ("lib.rs", "mod b;\nmod pages;\n"),
                ("b.rs", "use crate::pages::P;\nstruct B;\n"),
                ("pages/mod.rs", "use crate::b::B;\npub struct P;\n"),
            ],
            &[],
        );
        assert_eq!(
            found,
            ["files of `host/x` use each other in a circle: b, pages"]
        );
    }

    #[test]
    fn a_listed_file_may_be_used_and_must_be_in_a_circle() {
        let row = |file| Shared {
            of: "host/x",
            file,
            reason: "each has the other's type",
        };
        let files = [
            ("a.rs", "use crate::b::B;\n"),
            ("b.rs", "use crate::{a::A, c::C};\n"),
            ("c.rs", "use crate::d::D;\n"),
            ("d.rs", "use crate::c::C;\n"),
        ];
        assert_eq!(check_files(&files, &[row("b"), row("c")]), [""; 0]);
        let circle = "files of `host/x` use each other in a circle: c, d";
        assert_eq!(check_files(&files, &[row("a")]), [circle]);
        assert_eq!(
            check_files(&files, &[row("c"), row("b"), row("a"), row("e")]),
            ["b", "a", "e"].map(|file| format!(
                "`{file}` of `host/x` is in no circle, remove it from `tidy/cycles/listed.rs`: \
                each has the other's type"
            ))
        );
    }
}
