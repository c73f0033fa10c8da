//! Paths in Rust code.

use super::code::without_visibility;

/// A path that code names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Leaf {
    /// Its segments.
    pub(super) path: Vec<String>,
    /// The name that a `use` gives it: its last segment, the name after `as`, or `*`.
    pub(super) name: String,
}

/// The paths that the statements `use` of code import or re-export.
pub(super) fn imports(code: &str) -> Vec<Leaf> {
    let statements = statements(code).into_iter();
    let paths = statements.map(|(at, end)| without_visibility(&code[at..end]));
    let paths = paths.filter_map(|statement| statement.strip_prefix("use "));
    paths.flat_map(|paths| leaves(&[], paths)).collect()
}

/// Code without re-exports.
pub(super) fn without_lists(code: &str) -> String {
    let mut rest = String::with_capacity(code.len());
    let mut from = 0;
    for (at, end) in statements(code) {
        let is_public = code[at..end].trim_start().starts_with("pub");
        if is_public {
            rest.push_str(&code[from..at]);
            from = end;
        }
    }
    rest.push_str(&code[from..]);
    rest
}

/// Where each statement `use` begins and ends: at the start of its line, and before its semicolon.
fn statements(code: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut at = 0;
    for line in code.split_inclusive('\n') {
        if without_visibility(line).starts_with("use ") {
            let end = code[at..].find(';').map_or(code.len(), |end| at + end);
            found.push((at, end));
        }
        at += line.len();
    }
    found
}

/// The paths that begin with this word.
pub(super) fn beginning_with(code: &str, word: &str) -> Vec<Leaf> {
    let needle = format!("{word}::");
    let places = code.match_indices(&needle);
    let starts = places.filter(|(at, _)| !is_inside_word(code, *at));
    starts
        .flat_map(|(at, _)| leaves(&[], &code[at..]))
        .collect()
}

fn is_inside_word(code: &str, at: usize) -> bool {
    let before = code[..at].chars().next_back();
    before.is_some_and(|c| c.is_alphanumeric() || "_$:.".contains(c))
}

/// The paths that `text` begins with: `a::b`, or a group `{a, b::{c, d as e}}`.
fn leaves(base: &[String], text: &str) -> Vec<Leaf> {
    let text = text.trim_start();
    if let Some(group) = text.strip_prefix('{') {
        let items = items(group).into_iter();
        return items.flat_map(|item| leaves(base, item)).collect();
    }
    let leaf = |path: &[String], name: &str| {
        vec![Leaf {
            path: path.to_vec(),
            name: name.to_owned(),
        }]
    };
    if text.starts_with('*') {
        return leaf(base, "*");
    }
    let (segment, rest) = word(text);
    if segment.is_empty() {
        return Vec::new();
    }
    let mut path = base.to_vec();
    // `a::{self}` is `a`.
    if segment != "self" || base.is_empty() {
        path.push(segment.to_owned());
    }
    let goes_deeper =
        |rest: &&str| rest.starts_with(|c: char| c.is_alphabetic() || "_{*".contains(c));
    if let Some(rest) = rest.strip_prefix("::").filter(goes_deeper) {
        return leaves(&path, rest);
    }
    let renamed = rest.trim_start().strip_prefix("as ").map(word);
    let own = path.last().cloned().unwrap_or_default();
    let name = renamed.map_or(own.as_str(), |(name, _)| name);
    leaf(&path, name)
}

/// The word that `text` begins with, which may be empty, and what follows.
fn word(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_');
    text.split_at(end.unwrap_or(text.len()))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(leaves: &[Leaf]) -> Vec<String> {
        let shown = |leaf: &Leaf| format!("{} as {}", leaf.path.join("::"), leaf.name);
        leaves.iter().map(shown).collect()
    }

    #[test]
    fn groups_and_new_names_are_read() {
        let code = "use crate::{a, b::{self, C as D},\n    e::*};\npub(super) use f::G;\n";
        let expected = [
            "crate::a as a",
            "crate::b as b",
            "crate::b::C as D",
            "crate::e as *",
            "f::G as G",
        ];
        assert_eq!(shown(&imports(code)), expected);
        assert_eq!(
            without_lists(code),
            "use crate::{a, b::{self, C as D},\n    e::*};\n;\n"
        );
    }

    #[test]
    fn paths_in_code_are_read_to_their_end() {
        let code = "fn f(x: super::super::A<super::B>) { my_super::c(); $crate::d(); x.super::e }";
        let expected = ["super::super::A as A", "super::B as B"];
        assert_eq!(shown(&beginning_with(code, "super")), expected);
        assert_eq!(
            shown(&beginning_with("a::B::new::<C>()", "a")),
            ["a::B::new as new"]
        );
    }
}
