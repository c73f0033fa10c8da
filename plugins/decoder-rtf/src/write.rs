//! Writes a document as HTML.

use trawl_sdk::decoder::Html;

use crate::blocks::{Block, Paragraph, Run};

/// Writes blocks; items in a row are a list, and rows a table.
pub(crate) fn blocks(html: &mut Html, blocks: &[Block]) {
    let mut open: Option<&'static str> = None;
    for block in blocks {
        let around = match block {
            Block::Row(_) => Some("table"),
            Block::Paragraph(paragraph) => paragraph.label.as_deref().map(list),
        };
        if open != around {
            if open.is_some() {
                html.close();
            }
            if let Some(name) = around {
                html.open(name);
            }
            open = around;
        }
        match block {
            Block::Row(cells) => row(html, cells),
            Block::Paragraph(paragraph) => self::paragraph(html, paragraph),
        }
    }
    if open.is_some() {
        html.close();
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

fn row(html: &mut Html, cells: &[Vec<Paragraph>]) {
    html.open("tr");
    for cell in cells {
        html.open("td");
        for (index, paragraph) in cell.iter().enumerate() {
            if index > 0 {
                html.open("br");
            }
            runs(html, &paragraph.runs);
        }
        html.close();
    }
    html.close();
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
