//! The code of a file: without comments, without what only tests have.

use std::path::Path;

/// The conditions of what only tests have.
const OF_TESTS: [&str; 2] = ["#[cfg(test)]", "#[cfg(all(test,"];

/// The code of a file before its module of tests, which is last.
pub(super) fn of(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if !is_test_condition(line) {
            code.push_str(&without_limit(without_comment(line)));
            code.push('\n');
            continue;
        }
        let Some(item) = lines.next() else {
            break;
        };
        let bare = without_visibility(item);
        if bare.starts_with("mod ") && bare.ends_with('{') {
            break;
        }
        if bare.starts_with("mod ") || bare.starts_with("use ") {
            let mut last = item;
            while !last.contains(';') {
                let Some(next) = lines.next() else {
                    break;
                };
                last = next;
            }
        } else {
            code.push_str(without_comment(item));
            code.push('\n');
        }
    }
    code
}

/// Whether a file holds tests only: by its name, by its folder's, or because the file that declares
/// it compiles it for tests only. The path is below the folder of sources.
pub(super) fn is_of_tests(source: &Path, relative: &Path) -> bool {
    let name = relative.file_stem().unwrap_or_default().to_string_lossy();
    let is_below = relative.iter().any(|part| part == "tests");
    if name.ends_with("tests") || is_below {
        return true;
    }
    let file = source.join(relative);
    let folder = file.parent().unwrap_or(source);
    let doors = ["mod.rs", "lib.rs", "main.rs"].map(|door| folder.join(door));
    let beside = folder.with_extension("rs");
    doors.iter().chain([&beside]).any(|door| {
        let text = std::fs::read_to_string(door).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        let declared = format!("mod {name};");
        let mut pairs = lines.windows(2);
        pairs.any(|pair| is_test_condition(pair[0]) && without_visibility(pair[1]) == declared)
    })
}

fn is_test_condition(line: &str) -> bool {
    OF_TESTS.iter().any(|condition| line.starts_with(condition))
}

/// A line before its comment; `//` after a colon is part of a URL.
fn without_comment(line: &str) -> &str {
    match line.find("//") {
        Some(at) if !line[..at].ends_with(':') => &line[..at],
        _ => line,
    }
}

/// A line without the path of `pub(in PATH)`, which is no use.
fn without_limit(line: &str) -> String {
    const LIMIT: &str = "pub(in ";
    let Some(at) = line.find(LIMIT) else {
        return line.to_owned();
    };
    let rest = &line[at + LIMIT.len()..];
    let after = rest.find(')').map_or("", |end| &rest[end + 1..]);
    format!("{}pub(crate){after}", &line[..at])
}

/// An item without `pub`, `pub(crate)` and the like.
pub(super) fn without_visibility(item: &str) -> &str {
    let item = item.trim();
    let Some(rest) = item.strip_prefix("pub") else {
        return item;
    };
    let rest = match rest.strip_prefix('(') {
        Some(limit) => limit.split_once(')').map_or("", |(_, rest)| rest),
        None => rest,
    };
    rest.trim_start()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tests_have_is_left_out() {
        let text = "mod a;\n#[cfg(test)]\npub(crate) mod b;\n#[cfg(test)]\nuse c::{\n    D,\n};\n\
            fn e() {} // F\n#[cfg(test)]\nfn g() {}\npub(in crate::h) struct I;\n\
            #[cfg(all(test, feature = \"x\"))]\nmod j {\n    use k::L;\n}\n";
        let expected = "mod a;\nfn e() {} \nfn g() {}\npub(crate) struct I;\n";
        assert_eq!(of(text), expected);
    }

    #[test]
    fn files_of_tests_are_known_by_name_folder_or_declaration() {
        let dir = tempfile::tempdir().expect("a folder");
        let door = "mod body;\n#[cfg(test)]\nmod faults;\n#[cfg(test)]\npub(crate) mod world;\n";
        std::fs::write(dir.path().join("mod.rs"), door).expect("written");
        std::fs::write(dir.path().join("cdp.rs"), "#[cfg(test)]\nmod fuzz;\n").expect("written");
        let is_of_tests = |name: &str| is_of_tests(dir.path(), Path::new(name));
        for name in [
            "hop_tests.rs",
            "faults.rs",
            "world.rs",
            "tests/a.rs",
            "cdp/fuzz.rs",
        ] {
            assert!(is_of_tests(name), "{name}");
        }
        for name in ["body.rs", "mod.rs", "cdp.rs", "cdp/wire.rs"] {
            assert!(!is_of_tests(name), "{name}");
        }
    }
}
