//! DOCX: text documents of Office Open XML.

use std::collections::HashMap;

use trawl_sdk::decoder::{Decoded, Failure, Html};
use trawl_sdk::xml::{Element, Node};

use crate::comments::{self, Comment};
use crate::inline::{Inline, Style, write_notes};
use crate::lists::Lists;
use crate::options::Options;
use crate::package::{Package, Relation};
use crate::styles::{Styles, of_run};
use crate::tables::{self, Cell, Row};

/// Reads a document with this main part.
pub(crate) fn read(
    package: &mut Package<'_>,
    main: &str,
    root: &Element,
    options: &Options,
) -> Result<Decoded, Failure> {
    let (folder, _) = main.rsplit_once('/').unwrap_or(("", main));
    let styles = Styles::read(package, folder)?;
    let relations = package.relations(main)?;
    let title = package.title()?;
    let mut html = Html::new(&title, None);
    let mut writer = Writer {
        styles: &styles,
        relations: &relations,
        notes: Vec::new(),
        is_noting: false,
        n_deep_tables: 0,
    };
    if let Some(body) = root.child("w:body") {
        writer.blocks(&mut html, body, 0)?;
    }
    let asked = std::mem::take(&mut writer.notes);
    let mut notes = Vec::with_capacity(asked.len());
    for (part, tag) in [("footnotes", "w:footnote"), ("endnotes", "w:endnote")] {
        let name = format!("{folder}/{part}.xml");
        if !asked.iter().any(|(of, _)| *of == part) {
            continue;
        }
        let Some(all) = package.xml_if_any(&name)? else {
            continue;
        };
        let relations = package.relations(&name)?;
        let mut writer = Writer {
            relations: &relations,
            notes: Vec::new(),
            is_noting: true,
            ..writer
        };
        for (index, (_, id)) in asked.iter().enumerate().filter(|(_, (of, _))| *of == part) {
            let note = all.all(tag).find(|note| note.attribute("w:id") == Some(id));
            let paragraphs = note.into_iter().flat_map(|note| note.all("w:p"));
            let paragraphs: Vec<Inline> = paragraphs.map(|it| writer.inline(it)).collect();
            notes.push((index, paragraphs));
        }
    }
    notes.sort_by_key(|(index, _)| *index);
    let notes: Vec<Vec<Inline>> = notes.into_iter().map(|(_, note)| note).collect();
    write_notes(&mut html, &notes);
    let n_deep_tables = writer.n_deep_tables;
    if options.comments {
        let found = read_comments(package, folder, &styles)?;
        comments::write(&mut html, &found);
    }
    let decoded = package.with_properties(Decoded::new(html.finish()))?;
    Ok(match n_deep_tables {
        0 => decoded,
        count => decoded.warn(format!("{count} deeply nested tables are left out")),
    })
}

/// The comments of the document.
fn read_comments(
    package: &mut Package<'_>,
    folder: &str,
    styles: &Styles,
) -> Result<Vec<Comment>, Failure> {
    let name = format!("{folder}/comments.xml");
    let Some(root) = package.xml_if_any(&name)? else {
        return Ok(Vec::new());
    };
    let relations = package.relations(&name)?;
    let mut writer = Writer {
        styles,
        relations: &relations,
        notes: Vec::new(),
        is_noting: true,
        n_deep_tables: 0,
    };
    let read = root.all("w:comment").map(|comment| Comment {
        author: comment.attribute("w:author").unwrap_or_default().to_owned(),
        paragraphs: comment.all("w:p").map(|it| writer.inline(it)).collect(),
    });
    Ok(read.collect())
}

struct Writer<'a> {
    styles: &'a Styles,
    relations: &'a HashMap<String, Relation>,
    /// Notes that the text refers to: their part and ID.
    notes: Vec<(&'static str, String)>,
    /// Whether this is a note itself, which has no notes.
    is_noting: bool,
    n_deep_tables: usize,
}

impl Writer<'_> {
    /// Writes the paragraphs and tables of an element.
    fn blocks(&mut self, html: &mut Html, parent: &Element, depth: usize) -> Result<(), Failure> {
        let mut lists = Lists::default();
        self.more_blocks(html, parent, depth, &mut lists)?;
        lists.end(html);
        Ok(())
    }

    fn more_blocks(
        &mut self,
        html: &mut Html,
        parent: &Element,
        depth: usize,
        lists: &mut Lists,
    ) -> Result<(), Failure> {
        for child in parent.elements() {
            match child.name.as_str() {
                "w:p" => self.paragraph(html, child, lists),
                "w:tbl" if depth >= tables::DEPTH_MAX => self.n_deep_tables += 1,
                "w:tbl" => {
                    lists.end(html);
                    self.table(html, child, depth)?;
                }
                // Insertions are accepted, content controls are what they contain.
                "w:sdt" | "w:sdtContent" | "w:ins" | "w:moveTo" | "w:customXml" => {
                    self.more_blocks(html, child, depth, lists)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn paragraph(&mut self, html: &mut Html, paragraph: &Element, lists: &mut Lists) {
        let inline = self.inline(paragraph);
        if inline.is_blank() {
            return;
        }
        let properties = paragraph.child("w:pPr");
        if let Some(level) = self.styles.heading(properties) {
            lists.end(html);
            let names = ["h1", "h2", "h3", "h4", "h5", "h6"];
            html.open(names[level.clamp(1, 6) - 1]);
            inline.write(html, true);
            html.close();
        } else if let Some((level, is_ordered)) = self.styles.list(properties) {
            // The item stays open for items of deeper levels.
            lists.begin_item(html, level, is_ordered);
            inline.write(html, false);
        } else {
            lists.end(html);
            html.open("p");
            inline.write(html, false);
            html.close();
        }
    }

    fn table(&mut self, html: &mut Html, table: &Element, depth: usize) -> Result<(), Failure> {
        let rows: Vec<Row<'_>> = table.all("w:tr").map(row).collect();
        tables::write(html, &rows, &mut |html, cell| self.cell(html, cell, depth))
    }

    /// Writes a cell: a single paragraph without an element of its own.
    fn cell(&mut self, html: &mut Html, cell: &Element, depth: usize) -> Result<(), Failure> {
        let mut blocks = cell.elements().filter(|child| child.name != "w:tcPr");
        match (blocks.next(), blocks.next()) {
            (Some(only), None) if only.name == "w:p" => {
                self.inline(only).write(html, false);
                Ok(())
            }
            _ => self.blocks(html, cell, depth + 1),
        }
    }

    fn inline(&mut self, paragraph: &Element) -> Inline {
        let mut inline = Inline::default();
        let mut fields = Vec::new();
        self.add(paragraph, None, &mut fields, &mut inline);
        inline
    }

    fn add(
        &mut self,
        parent: &Element,
        link: Option<&str>,
        fields: &mut Vec<Field>,
        inline: &mut Inline,
    ) {
        for child in parent.elements() {
            match child.name.as_str() {
                "w:r" => self.run(child, link, fields, inline),
                "w:hyperlink" => {
                    let relation = child
                        .attribute("r:id")
                        .and_then(|id| self.relations.get(id));
                    let anchor = child
                        .attribute("w:anchor")
                        .map(|anchor| format!("#{anchor}"));
                    let target = relation.map(|relation| relation.target.clone());
                    let target = match (target, anchor) {
                        (Some(url), Some(anchor)) => Some(url + &anchor),
                        (url, anchor) => url.or(anchor),
                    };
                    self.add(child, target.as_deref().or(link), fields, inline);
                }
                "w:fldSimple" => {
                    let target = child.attribute("w:instr").and_then(hyperlink);
                    self.add(child, target.as_deref().or(link), fields, inline);
                }
                "w:ins" | "w:moveTo" | "w:smartTag" | "w:sdt" | "w:sdtContent" | "w:customXml"
                | "w:bdo" | "w:dir" => self.add(child, link, fields, inline),
                _ => {}
            }
        }
    }

    fn run(
        &mut self,
        run: &Element,
        link: Option<&str>,
        fields: &mut Vec<Field>,
        inline: &mut Inline,
    ) {
        let style = of_run(run);
        for child in run.elements() {
            let is_hidden = fields.iter().any(|field| !field.is_result);
            let of_field = fields.iter().rev().find_map(|field| field.link.clone());
            let link = of_field.as_deref().or(link);
            match child.name.as_str() {
                "w:fldChar" => match child.attribute("w:fldCharType") {
                    Some("begin") => fields.push(Field::default()),
                    Some("separate") => {
                        if let Some(field) = fields.last_mut() {
                            field.is_result = true;
                            field.link = hyperlink(&field.instruction);
                        }
                    }
                    Some("end") => drop(fields.pop()),
                    _ => {}
                },
                "w:instrText" => {
                    if let Some(field) = fields.last_mut() {
                        field.instruction += &child.text();
                    }
                }
                _ if is_hidden => {}
                "w:t" => inline.push(&child.text(), style, link),
                "w:tab" | "w:ptab" => inline.push("\t", style, link),
                "w:br" | "w:cr" if child.attribute("w:type").is_none() => {
                    inline.push("\n", style, link);
                }
                "w:noBreakHyphen" => inline.push("-", style, link),
                "w:footnoteReference" => self.note("footnotes", child, inline),
                "w:endnoteReference" => self.note("endnotes", child, inline),
                "w:drawing" | "w:pict" => inline.push(&described(child), Style::default(), link),
                _ => {}
            }
        }
    }

    fn note(&mut self, part: &'static str, reference: &Element, inline: &mut Inline) {
        if let (Some(id), false) = (reference.attribute("w:id"), self.is_noting) {
            self.notes.push((part, id.to_owned()));
            inline.push_note(self.notes.len());
        }
    }
}

/// A field: its instruction, then its result.
#[derive(Default)]
struct Field {
    instruction: String,
    is_result: bool,
    link: Option<String>,
}

/// The target of the instruction `HYPERLINK "url"`.
fn hyperlink(instruction: &str) -> Option<String> {
    let rest = instruction
        .trim_start()
        .strip_prefix("HYPERLINK")?
        .trim_start();
    let (is_anchor, rest) = match rest.strip_prefix("\\l") {
        Some(rest) => (true, rest.trim_start()),
        None => (false, rest),
    };
    let (target, _) = rest.strip_prefix('"')?.split_once('"')?;
    Some(if is_anchor {
        format!("#{target}")
    } else {
        target.to_owned()
    })
}

/// What a picture shows, as its author described it, and the text inside a drawing.
fn described(drawing: &Element) -> String {
    let mut text = String::new();
    let mut todo: Vec<&Node> = drawing.children.iter().rev().collect();
    while let Some(node) = todo.pop() {
        let Node::Element(element) = node else {
            continue;
        };
        match element.local_name() {
            "docPr" => text += element.attribute("descr").unwrap_or_default(),
            // The same again for older programs.
            "Fallback" => continue,
            "t" if element.name == "w:t" => {
                text += &element.text();
                text.push(' ');
            }
            _ => {}
        }
        todo.extend(element.children.iter().rev());
    }
    text.trim().to_owned()
}

fn row(row: &Element) -> Row<'_> {
    let is_header = row
        .child("w:trPr")
        .is_some_and(|it| it.child("w:tblHeader").is_some());
    let cells = row.elements().flat_map(|child| match child.name.as_str() {
        "w:tc" => vec![child],
        "w:sdt" => child
            .all("w:sdtContent")
            .flat_map(|it| it.all("w:tc"))
            .collect(),
        _ => Vec::new(),
    });
    let cell = |element| {
        let properties = Element::child(element, "w:tcPr");
        let span = properties.and_then(|it| it.child("w:gridSpan")?.attribute("w:val"));
        let merge = properties.and_then(|it| it.child("w:vMerge"));
        Cell {
            element,
            n_columns: span.and_then(|span| span.parse().ok()).unwrap_or(1),
            is_continued: merge.is_some_and(|it| it.attribute("w:val") != Some("restart")),
        }
    };
    Row {
        is_header,
        cells: cells.map(cell).collect(),
    }
}
