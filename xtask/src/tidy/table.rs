//! Two-column tables of `ARCHITECTURE.md`, found by their heading.

use anyhow::{Context, bail};

/// The rows under the heading that contains `heading`: names of the first cell, text of the second.
pub(super) fn rows(document: &str, heading: &str) -> anyhow::Result<Vec<(Vec<String>, String)>> {
    let is_heading = |line: &&str| line.starts_with('#') && line.contains(heading);
    let mut lines = document.lines();
    lines
        .find(is_heading)
        .with_context(|| format!("`ARCHITECTURE.md` has no heading `{heading}`"))?;
    let section = lines.take_while(|line| !line.starts_with('#'));
    // The first two lines of a table are its titles and the rule below them.
    let table = section
        .filter(|line| line.trim_start().starts_with('|'))
        .skip(2);
    let mut rows = Vec::new();
    for line in table {
        let cells: Vec<&str> = line.trim().trim_matches('|').split('|').collect();
        let &[first, second] = cells.as_slice() else {
            bail!("a row under `{heading}` has not two cells: `{line}`");
        };
        rows.push((names(first), second.trim().to_owned()));
    }
    if rows.is_empty() {
        bail!("there is no table under `{heading}`");
    }
    Ok(rows)
}

/// Names in a cell, between commas; a remark in parentheses and backticks are not part of a name.
pub(super) fn names(cell: &str) -> Vec<String> {
    let mut plain = String::new();
    let mut depth = 0_u32;
    for character in cell.chars() {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            '`' => {}
            other if depth == 0 => plain.push(other),
            _ => {}
        }
    }
    let names = plain.split(',').map(|name| name.trim().to_owned());
    names.filter(|name| !name.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_table_under_its_heading_only() {
        let document = "# A\n\n| x | y |\n|---|---|\n| no | no |\n\n## The table\n\ntext\n\n| a | b |\n|---|---|\n| `one`, two | three (part) |\n\n## Next\n| z | z |\n";
        let rows = rows(document, "The table").expect("is there");
        assert_eq!(
            rows,
            [(
                vec!["one".to_owned(), "two".to_owned()],
                "three (part)".to_owned()
            )]
        );
        assert_eq!(names(&rows[0].1), ["three"]);
    }

    #[test]
    fn a_missing_heading_and_a_broken_row_are_errors() {
        assert!(rows("# A\n", "The table").is_err());
        assert!(rows("# The table\n| a | b |\n|---|---|\n| one |\n", "The table").is_err());
    }
}
