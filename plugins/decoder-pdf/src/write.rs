//! Blocks become HTML.

use trawl_sdk::decoder::Html;

use crate::blocks::{Block, Places};
use crate::contents::Entry;
use crate::lines::Run;
use crate::page::Style;
use crate::tables::{Cell, Table};
use crate::urls;

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
    for (at, block) in blocks.iter().enumerate() {
        match block {
            Block::Item(..) => {}
            Block::Paragraph(indent, _) | Block::Code(indent, _) => lists.go_on(html, *indent),
            _ => lists.end(html),
        }
        match block {
            // It is written with them.
            Block::Heading(..) if is_contents(blocks.get(at + 1)) => {}
            Block::Heading(level, text) => heading(html, *level, text, &notes),
            Block::Paragraph(_, text) => {
                html.open("p");
                runs(html, text, true, &notes);
                html.close();
            }
            Block::Item(places, label, text) => {
                lists.item(html, *places, label.as_deref());
                runs(html, text, true, &notes);
            }
            Block::Code(_, code) => {
                html.code(code, None);
            }
            Block::Table(content) => table(html, content, &notes),
            Block::Terms(content) => terms(html, content, &notes),
            Block::Contents(entries) => {
                let title = at.checked_sub(1).and_then(|before| blocks.get(before));
                contents(html, title, entries, &notes);
            }
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

fn heading(html: &mut Html, level: u8, text: &[Run], notes: &Notes<'_>) {
    let level = usize::from(level).clamp(1, 6);
    html.open(HEADINGS[level - 1]);
    runs(html, text, false, notes);
    html.close();
}

fn is_contents(block: Option<&Block>) -> bool {
    matches!(block, Some(Block::Contents(_)))
}

/// A table of contents, with the heading before it.
fn contents(html: &mut Html, title: Option<&Block>, entries: &[Entry], notes: &Notes<'_>) {
    html.open("nav");
    if let Some(Block::Heading(level, text)) = title {
        heading(html, *level, text, notes);
    }
    let mut lists = Lists::default();
    for (indent, title) in entries {
        let (sign, text) = (*indent, *indent);
        lists.item(html, Places { sign, text }, None);
        runs(html, title, false, notes);
    }
    lists.end(html);
    html.close();
}

/// Writes text with its links; in headings, emphasis says nothing.
fn runs(html: &mut Html, runs: &[Run], has_emphasis: bool, notes: &Notes<'_>) {
    let runs = urls::linked(runs);
    let is_all = |is: fn(Style) -> bool| {
        runs.iter()
            .all(|run| is(run.style) || run.text.trim().is_empty())
    };
    let said = Style {
        is_bold: !is_all(|style| style.is_bold),
        is_italic: !is_all(|style| style.is_italic),
        is_mono: true,
        is_raised: true,
    };
    // Runs with one target are one link, whatever their styles and the lines that they stand on.
    let (mut open, mut space): (Option<&str>, &str) = (None, "");
    for run in &runs {
        let text = run.text.trim_end();
        let link = run.link.as_deref();
        let link = link.filter(|link| !text.is_empty() && !link.is_empty());
        if open != link {
            if open.is_some() {
                html.close();
            }
            html.text(space);
            if let Some(link) = link {
                html.open_with("a", &[("href", link)]);
            }
            open = link;
        } else {
            html.text(space);
        }
        let note = match run.style.is_raised && link.is_none() {
            true => notes.id(text.trim()),
            false => None,
        };
        match note {
            Some(id) => {
                let target = format!("#{id}");
                html.open("sup").link(Some(&target), text.trim()).close();
            }
            None => styled(html, text, run.style, said, has_emphasis),
        }
        space = &run.text[text.len()..];
    }
    if open.is_some() {
        html.close();
    }
    html.text(space);
}

/// Writes a text with the parts of its style that say something, if it has emphasis at all.
fn styled(html: &mut Html, text: &str, style: Style, said: Style, has_emphasis: bool) {
    let has_letters = text.chars().any(char::is_alphanumeric);
    let mut n_open = 0;
    for (is, name) in [
        (style.is_bold && said.is_bold, "strong"),
        (style.is_italic && said.is_italic, "em"),
        (style.is_mono && said.is_mono, "code"),
        (style.is_raised && said.is_raised, "sup"),
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

/// Writes terms and what is said of them. A term without a text has that of the next.
fn terms(html: &mut Html, terms: &[[Vec<Run>; 2]], notes: &Notes<'_>) {
    html.open("dl");
    for pair in terms {
        for (name, text) in ["dt", "dd"].into_iter().zip(pair) {
            if !text.is_empty() {
                html.open(name);
                runs(html, text, true, notes);
                html.close();
            }
        }
    }
    html.close();
}

fn write_cell(html: &mut Html, cell: &Cell, name: &'static str, notes: &Notes<'_>) {
    html.open_cell(name, cell.n_rows, cell.n_columns);
    runs(html, &cell.runs, name == "td", notes);
    html.close();
}

/// Lists that are open, with the places of their items, and whether they are ordered.
#[derive(Debug, Default)]
struct Lists(Vec<(Places, bool)>);

/// How far apart things may be that stand below each other, in points.
const REACH: f32 = 4.0;

impl Lists {
    /// Begins an item with these places. Items of one list stand below each other.
    fn item(&mut self, html: &mut Html, places: Places, label: Option<&str>) {
        let is_ordered = label.is_some();
        let indent = places.sign;
        while self
            .0
            .last()
            .is_some_and(|(open, _)| open.sign > indent + REACH)
        {
            self.close_one(html);
        }
        match self.0.last_mut() {
            Some((open, kind)) if (open.sign - indent).abs() <= REACH => {
                if *kind == is_ordered {
                    *open = places;
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
        self.0.push((places, is_ordered));
    }

    /// Ends the items that what stands this far from the left is not a part of.
    fn go_on(&mut self, html: &mut Html, indent: f32) {
        while self
            .0
            .last()
            .is_some_and(|(open, _)| open.text > indent + REACH)
        {
            self.close_one(html);
        }
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
