//! Writes a document as HTML.

use trawl_sdk::decoder::Html;

use crate::blocks::{Block, Cell, Comment, Paragraph, Run};
use crate::tables;

/// Writes blocks; items that follow each other are a list, and rows a table.
pub(crate) fn blocks(html: &mut Html, blocks: &[Block]) {
    let mut rest = blocks;
    while let Some(first) = rest.first() {
        let name = list_of(first);
        let is_row = |block: &&Block| matches!(block, Block::Row(_));
        let n_more = match (is_row(&first), name) {
            (true, _) => rest.iter().take_while(is_row).count(),
            (false, Some(_)) => rest.iter().take_while(|it| list_of(it) == name).count(),
            (false, None) => 1,
        };
        let (part, after) = rest.split_at(n_more.max(1));
        rest = after;
        let rows: Vec<&[Cell]> = part
            .iter()
            .filter_map(|block| match block {
                Block::Row(cells) => Some(cells.as_slice()),
                Block::Paragraph(_) => None,
            })
            .collect();
        if !rows.is_empty() {
            tables::write(html, &rows, &mut cell);
            continue;
        }
        if let Some(name) = name {
            html.open(name);
        }
        for block in part {
            if let Block::Paragraph(paragraph) = block {
                self::paragraph(html, paragraph);
            }
        }
        if name.is_some() {
            html.close();
        }
    }
}

/// The list that a block is an item of.
fn list_of(block: &Block) -> Option<&'static str> {
    match block {
        Block::Paragraph(paragraph) => paragraph.label.as_deref().map(list),
        Block::Row(_) => None,
    }
}

/// The list of an item: numbered if its label has a digit, or a letter with a mark.
fn list(label: &str) -> &'static str {
    let label = label.trim();
    let is_lettered = label.len() > 1 && label.starts_with(|it: char| it.is_ascii_alphabetic());
    match label.contains(|it: char| it.is_ascii_digit()) || is_lettered {
        true => "ol",
        false => "ul",
    }
}

/// Writes the footnotes, if there are any.
pub(crate) fn notes(html: &mut Html, notes: &[Vec<Run>]) {
    if notes.is_empty() {
        return;
    }
    html.open_with("section", &[("class", "footnotes")])
        .open("ol");
    for (number, note) in (1..).zip(notes) {
        html.open_with("li", &[("id", &format!("note-{number}"))]);
        runs(html, note);
        html.close();
    }
    html.close().close();
}

/// Writes the comments, if there are any.
pub(crate) fn comments(html: &mut Html, comments: &[Comment]) {
    html.comments(
        comments,
        |comment| &comment.author,
        |html, comment| {
            html.open("p");
            runs(html, &comment.runs);
            html.close();
        },
    );
}

fn cell(html: &mut Html, cell: &Cell) {
    for (index, paragraph) in cell.paragraphs.iter().enumerate() {
        if index > 0 {
            html.open("br");
        }
        runs(html, &paragraph.runs);
    }
}

fn paragraph(html: &mut Html, paragraph: &Paragraph) {
    let name = match (paragraph.level, &paragraph.label) {
        (_, Some(_)) => "li",
        (Some(1), None) => "h1",
        (Some(2), None) => "h2",
        (Some(3), None) => "h3",
        (Some(4), None) => "h4",
        (Some(5), None) => "h5",
        (Some(_), None) => "h6",
        (None, None) => "p",
    };
    html.open(name);
    runs(html, &paragraph.runs);
    html.close();
}

fn runs(html: &mut Html, runs: &[Run]) {
    for run in runs {
        if let Some(number) = run.note {
            let target = format!("#note-{number}");
            html.open("sup")
                .link(Some(&target), &number.to_string())
                .close();
            continue;
        }
        // Emphasis of blanks says nothing.
        let is_blank = run.text.trim().is_empty();
        let looks = [
            (run.is_bold && !is_blank, "strong"),
            (run.is_italic && !is_blank, "em"),
        ];
        let looks = looks.into_iter().filter(|(is_on, _)| *is_on);
        let mut n_open = 0;
        if let Some(url) = &run.link {
            let url: &str = url;
            html.open_with("a", &[("href", url)]);
            n_open += 1;
        }
        for (_, name) in looks {
            html.open(name);
            n_open += 1;
        }
        for (index, line) in run.text.split('\n').enumerate() {
            if index > 0 {
                html.open("br");
            }
            html.text(line);
        }
        for _ in 0..n_open {
            html.close();
        }
    }
}
