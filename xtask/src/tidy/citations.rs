//! Comments that cite `docs/decisions.md` by number: `Decision D42`, `Spec S7`.

use std::collections::BTreeSet;
use std::path::Path;

/// Marks of a citation and the letter that its number begins with.
const MARKS: [(&str, char); 2] = [("Decision D", 'D'), ("Spec S", 'S')];

/// Every number that is cited must be the number of a paragraph.
pub(super) fn check(root: &Path) -> anyhow::Result<Vec<String>> {
    let known = numbers(&std::fs::read_to_string(root.join("docs/decisions.md"))?);
    let mut violations = Vec::new();
    for file in super::files::below(root, &["rs", "wit", "toml"])? {
        let Ok(text) = std::fs::read_to_string(&file) else {
            continue;
        };
        let path = file.strip_prefix(root).unwrap_or(&file).display();
        for cited in cited(&text).difference(&known) {
            violations.push(format!(
                "`{path}` cites {cited}, which `docs/decisions.md` does not have"
            ));
        }
    }
    Ok(violations)
}

/// Numbers of the paragraphs: each begins with `**D42. Title.**`.
fn numbers(document: &str) -> BTreeSet<String> {
    let marked = document.split("**").skip(1).step_by(2);
    marked
        .filter_map(|text| text.split('.').next())
        .filter(|text| is_number(text))
        .map(str::to_owned)
        .collect()
}

fn is_number(text: &str) -> bool {
    let mut letters = text.chars();
    matches!(letters.next(), Some('D' | 'S'))
        && !letters.as_str().is_empty()
        && letters.all(|c| c.is_ascii_digit())
}

fn cited(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (mark, letter) in MARKS {
        for (at, _) in text.match_indices(mark) {
            let digits: String = text[at + mark.len()..]
                .chars()
                .take_while(char::is_ascii_digit)
                .collect();
            if !digits.is_empty() {
                found.insert(format!("{letter}{digits}"));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_without_a_paragraph_is_found() {
        let known = numbers("# Title\n\n**D1. One.** Text.\n\n**S2. Two.** Text, **bold**.\n");
        assert_eq!(known, ["D1".to_owned(), "S2".to_owned()].into());
        let text = format!(
            "/// {}1 and {}2.\n// {}3\n",
            "Decision D", "Spec S", "Decision D"
        );
        let missing: Vec<_> = cited(&text).difference(&known).cloned().collect();
        assert_eq!(missing, ["D3"]);
    }
}
