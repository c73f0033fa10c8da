//! ODT, ODS and ODP: the formats of OpenDocument.

use std::collections::HashMap;

use trawl_sdk::decoder::{Decoded, Failure, File, Html};
use trawl_sdk::xml::{Element, Node};

use crate::cells::{CELLS_MAX, Sheet, Value};
use crate::comments::{self, Comment};
use crate::inline::{Inline, Style, write_notes};
use crate::lists::Lists;
use crate::options::Options;
use crate::package::Package;
use crate::tables::{self, Cell, Row};

/// Rows or columns that a repeated cell with a value stands for, at most.
const REPEATED_MAX: u32 = 1_000;
/// Spaces that one element stands for, at most.
const SPACES_MAX: usize = 200;

/// Reads a document.
pub(crate) fn read(
    package: &mut Package<'_>,
    file: &File<'_>,
    options: &Options,
) -> Result<Decoded, Failure> {
    if let Some(manifest) = package.text("META-INF/manifest.xml")?
        && manifest.contains("encryption-data")
    {
        return Err(Failure::Encrypted("it needs a password".to_owned()));
    }
    let root = package.xml("content.xml")?;
    let styles = package.xml_if_any("styles.xml")?;
    let meta = package.xml_if_any("meta.xml")?;
    let meta = meta.as_ref().and_then(|root| root.child("office:meta"));
    let of_meta = |name: &str| meta.and_then(|meta| meta.child_text(name));
    let title = of_meta("dc:title").unwrap_or_default();
    let mut writer = Writer {
        styles: Styles::read([Some(&root), styles.as_ref()]),
        notes: Vec::new(),
        is_noting: false,
        comments: Vec::new(),
        n_deep_tables: 0,
    };
    let mut html = Html::new(&title, None);
    let mut decoded = Decoded::default();
    let body = root.child("office:body");
    let body = body.and_then(|body| body.elements().next());
    match body.map(|body| (body.local_name(), body)) {
        Some(("text", body)) => writer.blocks(&mut html, body, 0)?,
        Some(("spreadsheet", body)) => {
            let hidden = hidden_styles(&root, options);
            write_sheets(&mut html, body, &hidden, &mut decoded)?;
        }
        Some(("presentation" | "drawing", body)) => {
            decoded.page_count = Some(writer.slides(&mut html, body, (file, options))?);
        }
        _ => {
            let reason = "it is no text, spreadsheet or presentation".to_owned();
            return Err(Failure::Unsupported(reason));
        }
    }
    write_notes(&mut html, &writer.notes);
    if options.comments {
        comments::write(&mut html, &writer.comments);
    }
    decoded.html = html.finish();
    let author = of_meta("meta:initial-creator").or_else(|| of_meta("dc:creator"));
    let decoded = decoded
        .with("title", title)
        .with("authors", author.into_iter().collect::<Vec<String>>())
        .with("description", of_meta("dc:description"))
        .with("language", of_meta("dc:language"))
        .with("published", of_meta("meta:creation-date"))
        .with("modified", of_meta("dc:date"))
        .with("generator", of_meta("meta:generator"));
    Ok(match writer.n_deep_tables {
        0 => decoded,
        count => decoded.warn(format!("{count} deeply nested tables are left out")),
    })
}

/// The formatting of text styles, and which lists are ordered.
#[derive(Default)]
struct Styles {
    texts: HashMap<String, Style>,
    /// By style and level, from 1.
    ordered: HashMap<(String, usize), bool>,
}

impl Styles {
    fn read(parts: [Option<&Element>; 2]) -> Self {
        let mut found = Self::default();
        let groups = parts.into_iter().flatten().flat_map(|root| {
            let automatic = root.all("office:automatic-styles");
            automatic.chain(root.all("office:styles"))
        });
        for style in groups.flat_map(Element::elements) {
            let Some(name) = style.attribute("style:name") else {
                continue;
            };
            match style.name.as_str() {
                "style:style" => {
                    if let Some(properties) = style.child("style:text-properties") {
                        found
                            .texts
                            .entry(name.to_owned())
                            .or_insert_with(|| of_text(properties));
                    }
                }
                "text:list-style" => {
                    for level in style.elements() {
                        let number = level.attribute("text:level").and_then(|it| it.parse().ok());
                        let is_ordered = level.name == "text:list-level-style-number"
                            && level
                                .attribute("style:num-format")
                                .is_some_and(|it| !it.is_empty());
                        let key = (name.to_owned(), number.unwrap_or(1));
                        found.ordered.entry(key).or_insert(is_ordered);
                    }
                }
                _ => {}
            }
        }
        found
    }
}

fn of_text(properties: &Element) -> Style {
    let is = |name: &str, values: &[&str]| {
        properties
            .attribute(name)
            .is_some_and(|value| values.contains(&value))
    };
    let position = properties
        .attribute("style:text-position")
        .unwrap_or_default();
    let line = properties.attribute("style:text-line-through-style");
    Style {
        is_bold: is("fo:font-weight", &["bold", "600", "700", "800", "900"]),
        is_italic: is("fo:font-style", &["italic", "oblique"]),
        is_struck: line.is_some_and(|line| line != "none"),
        is_above: position.starts_with("super"),
        is_below: position.starts_with("sub"),
    }
}

struct Writer {
    styles: Styles,
    notes: Vec<Vec<Inline>>,
    /// Whether this is a note itself, which has no notes.
    is_noting: bool,
    /// Comments that have come, whether they are wanted or not.
    comments: Vec<Comment>,
    n_deep_tables: usize,
}

impl Writer {
    /// Writes the paragraphs, lists and tables of an element.
    fn blocks(&mut self, html: &mut Html, parent: &Element, depth: usize) -> Result<(), Failure> {
        for child in parent.elements() {
            match child.name.as_str() {
                "text:h" => {
                    let level = child.attribute("text:outline-level");
                    let level: usize = level.and_then(|it| it.parse().ok()).unwrap_or(1);
                    let names = ["h1", "h2", "h3", "h4", "h5", "h6"];
                    self.element(html, names[level.clamp(1, 6) - 1], child);
                }
                "text:p" => self.element(html, "p", child),
                "text:list" => {
                    let mut lists = Lists::default();
                    self.list(html, child, (0, None), &mut lists);
                    lists.end(html);
                }
                "table:table" if depth >= tables::DEPTH_MAX => self.n_deep_tables += 1,
                "table:table" => self.table(html, child, depth)?,
                "text:section"
                | "text:index-body"
                | "text:table-of-content"
                | "draw:text-box"
                | "draw:frame"
                | "text:index-title"
                | "draw:g"
                | "draw:custom-shape" => {
                    self.blocks(html, child, depth)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn element(&mut self, html: &mut Html, name: &'static str, paragraph: &Element) {
        let inline = self.inline(paragraph);
        if !inline.is_blank() {
            html.open(name);
            inline.write(html, name.starts_with('h'));
            html.close();
        }
    }

    /// Writes the items of a list: its level, and the style of the one that it is in.
    fn list(
        &mut self,
        html: &mut Html,
        list: &Element,
        (level, style): (usize, Option<&str>),
        lists: &mut Lists,
    ) {
        let style = list.attribute("text:style-name").or(style);
        let key = style.map(|style| (style.to_owned(), level + 1));
        let is_ordered = key.and_then(|key| self.styles.ordered.get(&key).copied());
        for item in list.elements() {
            let mut is_begun = false;
            for child in item.elements() {
                match child.name.as_str() {
                    "text:p" | "text:h" => {
                        let inline = self.inline(child);
                        if inline.is_blank() {
                            continue;
                        }
                        if is_begun {
                            html.open("br");
                        } else {
                            lists.begin_item(html, level, is_ordered.unwrap_or(false));
                        }
                        is_begun = true;
                        inline.write(html, false);
                    }
                    "text:list" => self.list(html, child, (level + 1, style), lists),
                    _ => {}
                }
            }
        }
    }

    fn table(&mut self, html: &mut Html, table: &Element, depth: usize) -> Result<(), Failure> {
        let mut rows = Vec::new();
        add_rows(table, false, &mut rows);
        tables::write(html, &rows, &mut |html, cell| {
            let mut blocks = cell.elements();
            match (blocks.next(), blocks.next()) {
                (Some(only), None) if only.name == "text:p" => {
                    self.inline(only).write(html, false);
                    Ok(())
                }
                _ => self.blocks(html, cell, depth + 1),
            }
        })
    }

    /// Writes a slide: its title first, wherever it is.
    fn slide(&mut self, html: &mut Html, page: &Element) -> Result<(), Failure> {
        let is_title = |frame: &&Element| frame.attribute("presentation:class") == Some("title");
        let (titles, others): (Vec<_>, Vec<_>) = page.elements().partition(is_title);
        for frame in titles {
            let texts: Vec<String> = frame
                .all("draw:text-box")
                .flat_map(|text| text.all("text:p"))
                .map(|paragraph| self.inline(paragraph).text())
                .collect();
            let text = texts.join(" ");
            if !text.trim().is_empty() {
                html.element("h2", text.trim());
            }
        }
        for frame in others
            .into_iter()
            .filter(|it| it.name != "presentation:notes")
        {
            self.blocks(html, frame, 0)?;
        }
        Ok(())
    }

    /// Writes the slides that are wanted. Returns how many there are.
    fn slides(
        &mut self,
        html: &mut Html,
        body: &Element,
        (file, options): (&File<'_>, &Options),
    ) -> Result<u32, Failure> {
        let mut count = 0;
        for page in body.all("draw:page") {
            count += 1;
            if file.wants_page(count) {
                html.open_with("section", &[("data-page", &count.to_string())]);
                self.slide(html, page)?;
                if options.notes {
                    self.slide_notes(html, page)?;
                }
                html.close();
            }
        }
        Ok(count)
    }

    /// Writes the notes of a slide, if it has some.
    fn slide_notes(&mut self, html: &mut Html, page: &Element) -> Result<(), Failure> {
        let Some(notes) = page.child("presentation:notes") else {
            return Ok(());
        };
        html.open("aside");
        for frame in notes.all("draw:frame") {
            for text in frame.all("draw:text-box") {
                self.blocks(html, text, 0)?;
            }
        }
        html.close();
        Ok(())
    }

    fn inline(&mut self, paragraph: &Element) -> Inline {
        let mut inline = Inline::default();
        let style = self.style(paragraph);
        // The style of a paragraph is that of a heading, or of no meaning.
        let style = Style {
            is_bold: false,
            ..style
        };
        self.add(paragraph, style, None, &mut inline);
        inline
    }

    fn style(&self, element: &Element) -> Style {
        let name = element.attribute("text:style-name");
        let style = name.and_then(|name| self.styles.texts.get(name));
        style.copied().unwrap_or_default()
    }

    fn add(&mut self, parent: &Element, style: Style, link: Option<&str>, inline: &mut Inline) {
        for child in &parent.children {
            let element = match child {
                Node::Text(text) => {
                    inline.push(&folded(text), style, link);
                    continue;
                }
                Node::Element(element) => element,
            };
            match element.name.as_str() {
                "text:span" => {
                    let own = self.style(element);
                    let both = Style {
                        is_bold: style.is_bold || own.is_bold,
                        is_italic: style.is_italic || own.is_italic,
                        is_struck: style.is_struck || own.is_struck,
                        is_above: style.is_above || own.is_above,
                        is_below: style.is_below || own.is_below,
                    };
                    self.add(element, both, link, inline);
                }
                "text:a" => {
                    let target = element.attribute("xlink:href").or(link);
                    self.add(element, style, target, inline);
                }
                "text:s" => {
                    let count = element.attribute("text:c").and_then(|it| it.parse().ok());
                    inline.push(&" ".repeat(count.unwrap_or(1).min(SPACES_MAX)), style, link);
                }
                "text:tab" => inline.push("\t", style, link),
                "text:line-break" => inline.push("\n", style, link),
                "text:note" if !self.is_noting => self.note(element, inline),
                "office:annotation" if !self.is_noting => self.comment(element),
                "text:note" | "office:annotation" | "text:tracked-changes" => {}
                "draw:frame" | "draw:a" => {
                    let described = element
                        .child_text("svg:desc")
                        .or_else(|| element.child_text("svg:title"));
                    inline.push(&described.unwrap_or_default(), style, link);
                }
                _ => self.add(element, style, link, inline),
            }
        }
    }

    fn comment(&mut self, comment: &Element) {
        self.is_noting = true;
        let paragraphs = comment.all("text:p").map(|it| self.inline(it)).collect();
        self.is_noting = false;
        self.comments.push(Comment {
            author: comment.child_text("dc:creator").unwrap_or_default(),
            paragraphs,
        });
    }

    fn note(&mut self, note: &Element, inline: &mut Inline) {
        let paragraphs = note
            .all("text:note-body")
            .flat_map(|body| body.all("text:p"));
        let paragraphs: Vec<&Element> = paragraphs.collect();
        self.is_noting = true;
        let note = paragraphs.iter().map(|it| self.inline(it)).collect();
        self.is_noting = false;
        self.notes.push(note);
        inline.push_note(self.notes.len());
    }
}

/// White space as the format has it: many are one, others have elements of their own.
fn folded(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    let mut is_space = false;
    for character in text.chars() {
        let is_white = matches!(character, ' ' | '\t' | '\n' | '\r');
        if !is_white {
            folded.push(character);
        } else if !is_space {
            folded.push(' ');
        }
        is_space = is_white;
    }
    folded
}

/// Adds the rows of a table and of the groups in it.
fn add_rows<'a>(parent: &'a Element, is_header: bool, rows: &mut Vec<Row<'a>>) {
    for child in parent.elements() {
        match child.name.as_str() {
            "table:table-row" => rows.push(Row {
                is_header,
                cells: cells(child),
            }),
            "table:table-header-rows" => add_rows(child, true, rows),
            "table:table-rows" | "table:table-row-group" => add_rows(child, is_header, rows),
            _ => {}
        }
    }
}

/// The cells of a row. What one covers to its right has elements of its own, which are left out;
/// so has what it covers below.
fn cells(row: &Element) -> Vec<Cell<'_>> {
    let mut cells = Vec::new();
    let mut n_covered = 0;
    for element in row.elements() {
        let is_covered = element.name == "table:covered-table-cell";
        for _ in 0..repeats(element, "table:number-columns-repeated").min(REPEATED_MAX) {
            if is_covered && n_covered > 0 {
                n_covered -= 1;
                continue;
            }
            let n_columns = repeats(element, "table:number-columns-spanned").min(REPEATED_MAX);
            n_covered = n_columns - 1;
            cells.push(Cell {
                element,
                n_columns: n_columns as usize,
                is_continued: is_covered,
            });
        }
    }
    cells
}

/// The styles of tables that are left out: those that are not displayed, unless they are wanted.
fn hidden_styles<'a>(root: &'a Element, options: &Options) -> Vec<&'a str> {
    if options.hidden_sheets {
        return Vec::new();
    }
    let styles = root.child("office:automatic-styles");
    let styles = styles.into_iter().flat_map(Element::elements);
    let hidden = styles.filter(|style| {
        let properties = style.child("style:table-properties");
        properties.and_then(|it| it.attribute("table:display")) == Some("false")
    });
    hidden
        .filter_map(|style| style.attribute("style:name"))
        .collect()
}

/// Writes the sheets but those of a hidden style.
fn write_sheets(
    html: &mut Html,
    body: &Element,
    hidden: &[&str],
    decoded: &mut Decoded,
) -> Result<(), Failure> {
    let (mut room, mut n_left_out) = (CELLS_MAX, 0);
    let (mut names, mut left_out) = (Vec::new(), Vec::new());
    for table in body.all("table:table") {
        let style = table.attribute("table:style-name");
        if style.is_some_and(|style| hidden.contains(&style)) {
            left_out.push(table.attribute("table:name").unwrap_or_default());
            continue;
        }
        let sheet = sheet(table)?;
        names.push(sheet.name.clone());
        n_left_out += sheet.write(html, &mut room)?;
    }
    if n_left_out > 0 {
        let warning = format!("{n_left_out} rows are left out");
        decoded.warnings.push(warning);
    }
    if !left_out.is_empty() {
        let warning = format!("hidden sheets are left out: {}", left_out.join(", "));
        decoded.warnings.push(warning);
    }
    decoded.metadata.insert("sheets".to_owned(), names.into());
    Ok(())
}

fn sheet(table: &Element) -> Result<Sheet, Failure> {
    let mut sheet = Sheet::new(table.attribute("table:name").unwrap_or_default());
    let mut rows = Vec::new();
    add_row_elements(table, &mut rows);
    let (mut number, mut room) = (0_u32, CELLS_MAX);
    for row in rows {
        let repeated = repeats(row, "table:number-rows-repeated");
        let values = values(row, number, &mut sheet.merged);
        let has_some = !values.is_empty() && room > 0;
        let n_rows = if has_some { repeated } else { 0 };
        for row in 0..n_rows.min(REPEATED_MAX) {
            for (column, n_columns, value) in &values {
                let n_columns = n_columns.min(&REPEATED_MAX);
                for cell in (0..*n_columns).take(room) {
                    let (row, column) = (number.saturating_add(row), column.saturating_add(cell));
                    sheet.put(row, column, value.clone())?;
                    room -= 1;
                }
            }
        }
        number = number.saturating_add(repeated);
    }
    Ok(sheet)
}

fn add_row_elements<'a>(parent: &'a Element, rows: &mut Vec<&'a Element>) {
    for child in parent.elements() {
        match child.name.as_str() {
            "table:table-row" => rows.push(child),
            "table:table-header-rows" | "table:table-rows" | "table:table-row-group" => {
                add_row_elements(child, rows);
            }
            _ => {}
        }
    }
}

/// The values of a row: their first column, and in how many columns each is.
fn values(row: &Element, number: u32, merged: &mut Vec<[(u32, u32); 2]>) -> Vec<(u32, u32, Value)> {
    let mut values = Vec::new();
    let mut column = 0_u32;
    for cell in row.elements() {
        let repeated = repeats(cell, "table:number-columns-repeated");
        let texts: Vec<String> = cell.all("text:p").map(|it| folded(&it.text())).collect();
        let text = texts.join("\n");
        let spans = ["table:number-rows-spanned", "table:number-columns-spanned"];
        let [n_rows, n_columns] = spans.map(|name| repeats(cell, name));
        if n_rows > 1 || n_columns > 1 {
            let last = (
                number.saturating_add(n_rows - 1),
                column.saturating_add(n_columns - 1),
            );
            merged.push([(number, column), last]);
        }
        if !text.trim().is_empty() && cell.name == "table:table-cell" {
            let link = cell.all("text:p").find_map(|it| it.child("text:a"));
            let value = Value {
                text,
                is_text: matches!(cell.attribute("office:value-type"), Some("string") | None),
                link: link
                    .and_then(|link| link.attribute("xlink:href"))
                    .map(str::to_owned),
            };
            values.push((column, repeated, value));
        }
        column = column.saturating_add(repeated);
    }
    values
}

fn repeats(element: &Element, name: &str) -> u32 {
    let count = element.attribute(name).and_then(|text| text.parse().ok());
    count.unwrap_or(1).max(1)
}
