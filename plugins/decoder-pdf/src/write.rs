//! Blocks become HTML.

use trawl_sdk::decoder::Html;

use crate::blocks::Block;
use crate::contents::Entry;
use crate::lines::Run;
use crate::page::Style;
use crate::tables::{Cell, Table};

const HEADINGS: [&str; 6] = ["h1", "h2", "h3", "h4", "h5", "h6"];

/// Writes the blocks of a page.
pub(crate) fn page(html: &mut Html, number: u32, blocks: &[Block]) {
    html.open_with("section", &[("data-page", &number.to_string())]);
    let mut lists = Lists::default();
    let labels = blocks.iter().filter_map(|block| match block {
        Block::Note(label, _) => Some(label.as_str()),
        _ => None,
    });
    let notes = Notes {
        page: number,
        labels: labels.collect(),
    };
    for block in blocks {
        if !matches!(block, Block::Item(..)) {
            lists.end(html);
        }
        match block {
            Block::Heading(level, text) => {
                let level = usize::from(*level).clamp(1, 6);
                html.open(HEADINGS[level - 1]);
                runs(html, text, false, &notes);
                html.close();
            }
            Block::Paragraph(text) => {
                html.open("p");
                runs(html, text, true, &notes);
                html.close();
            }
            Block::Item(indent, label, text) => {
                lists.item(html, *indent, label.as_deref());
                runs(html, text, true, &notes);
            }
            Block::Code(code) => {
                html.code(code, None);
            }
            Block::Table(content) => table(html, content, &notes),
            Block::Contents(entries) => contents(html, entries, &notes),
            // They stand after the text.
            Block::Note(..) => {}
        }
    }
    lists.end(html);
    footnotes(html, blocks, &notes);
    html.close();
}

/// The footnotes of a page.
struct Notes<'a> {
    page: u32,
    /// Their numbers and signs.
    labels: Vec<&'a str>,
}

impl Notes<'_> {
    /// The ID of a footnote, if the page has it. Signs have no place in one, so it has their order.
    fn id(&self, label: &str) -> Option<String> {
        let at = self.labels.iter().position(|own| *own == label)?;
        Some(format!("note-{}-{}", self.page, at + 1))
    }
}

fn footnotes(html: &mut Html, blocks: &[Block], notes: &Notes<'_>) {
    if notes.labels.is_empty() {
        return;
    }
    html.open_with("section", &[("class", "footnotes")]);
    let mut n_written = 0;
    for block in blocks {
        if let Block::Note(label, text) = block {
            n_written += 1;
            let id = format!("note-{}-{n_written}", notes.page);
            html.open_with("p", &[("id", &id)]).element("sup", label);
            html.text(" ");
            runs(html, text, true, notes);
            html.close();
        }
    }
    html.close();
}

fn contents(html: &mut Html, entries: &[Entry], notes: &Notes<'_>) {
    html.open("nav");
    let mut lists = Lists::default();
    for (indent, title) in entries {
        lists.item(html, *indent, None);
        runs(html, title, false, notes);
    }
    lists.end(html);
    html.close();
}

/// Writes text with its links; in headings, emphasis says nothing.
fn runs(html: &mut Html, runs: &[Run], has_emphasis: bool, notes: &Notes<'_>) {
    let is_all = |is: fn(Style) -> bool| {
        runs.iter()
            .all(|run| is(run.style) || run.text.trim().is_empty())
    };
    let (all_bold, all_italic) = (
        is_all(|style| style.is_bold),
        is_all(|style| style.is_italic),
    );
    for run in runs {
        let text = run.text.trim_end();
        let mut n_open = 0;
        let link = run.link.as_deref().filter(|_| !text.is_empty());
        if let Some(link) = link {
            html.open_with("a", &[("href", link)]);
            n_open += 1;
        }
        let note = match run.style.is_raised && link.is_none() {
            true => notes.id(text.trim()),
            false => None,
        };
        if let Some(id) = note {
            let target = format!("#{id}");
            html.open("sup").link(Some(&target), text.trim()).close();
            html.text(&run.text[text.len()..]);
            continue;
        }
        let has_letters = text.chars().any(char::is_alphanumeric);
        for (is, name) in [
            (run.style.is_bold && !all_bold, "strong"),
            (run.style.is_italic && !all_italic, "em"),
            (run.style.is_mono, "code"),
            (run.style.is_raised, "sup"),
        ] {
            if is && has_emphasis && has_letters {
                html.open(name);
                n_open += 1;
            }
        }
        html.text(text);
        for _ in 0..n_open {
            html.close();
        }
        html.text(&run.text[text.len()..]);
    }
}

fn table(html: &mut Html, table: &Table, notes: &Notes<'_>) {
    html.open("table");
    for (number, row) in table.rows.iter().enumerate() {
        html.open("tr");
        let name = if number == 0 && table.has_header {
            "th"
        } else {
            "td"
        };
        for cell in row {
            write_cell(html, cell, name, notes);
        }
        html.close();
    }
    html.close();
}

fn write_cell(html: &mut Html, cell: &Cell, name: &'static str, notes: &Notes<'_>) {
    html.open_cell(name, cell.n_rows, cell.n_columns);
    for (number, line) in cell.lines.iter().enumerate() {
        if number > 0 {
            html.text(" ");
        }
        runs(html, line, name == "td", notes);
    }
    html.close();
}

/// Lists that are open, with the place of their items.
#[derive(Debug, Default)]
struct Lists(Vec<(f32, bool)>);

impl Lists {
    /// Begins an item at this distance from the left. Items of one list stand below each other.
    fn item(&mut self, html: &mut Html, indent: f32, label: Option<&str>) {
        let is_ordered = label.is_some();
        while self.0.last().is_some_and(|(open, _)| *open > indent + 4.0) {
            self.close_one(html);
        }
        match self.0.last() {
            Some((open, kind)) if (open - indent).abs() <= 4.0 => {
                if *kind == is_ordered {
                    html.close().open("li");
                    return;
                }
                self.close_one(html);
            }
            _ => {}
        }
        match label.filter(|label| *label != "1" && label.bytes().all(|byte| byte.is_ascii_digit()))
        {
            Some(start) => html.open_with("ol", &[("start", start)]),
            None => html.open(if is_ordered { "ol" } else { "ul" }),
        };
        html.open("li");
        self.0.push((indent, is_ordered));
    }

    fn end(&mut self, html: &mut Html) {
        while !self.0.is_empty() {
            self.close_one(html);
        }
    }

    fn close_one(&mut self, html: &mut Html) {
        self.0.pop();
        html.close().close();
    }
}
