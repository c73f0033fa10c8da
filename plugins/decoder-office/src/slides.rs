//! PPTX: presentations of Office Open XML.

use std::collections::HashMap;

use trawl_sdk::decoder::{Decoded, Failure, File, Html};
use trawl_sdk::xml::Element;

use crate::inline::{Inline, Style};
use crate::lists::Lists;
use crate::options::Options;
use crate::package::{Package, Relation};
use crate::tables::{self, Cell, Row};

/// Most slides that are read.
const SLIDES_MAX: usize = 5_000;

/// Reads a presentation with this main part.
pub(crate) fn read(
    package: &mut Package<'_>,
    main: &str,
    root: &Element,
    (file, options): (&File<'_>, &Options),
) -> Result<Decoded, Failure> {
    let relations = package.relations(main)?;
    let slides = root.listed("p:sldIdLst", "p:sldId");
    let slides: Vec<&Relation> = slides
        .filter_map(|slide| relations.get(slide.attribute("r:id")?))
        .collect();
    let title = package.title()?;
    let mut html = Html::new(&title, None);
    for (index, slide) in slides.iter().take(SLIDES_MAX).enumerate() {
        let number = u32::try_from(index + 1).unwrap_or(u32::MAX);
        if !file.wants_page(number) {
            continue;
        }
        let Some(root) = package.xml_if_any(&slide.target)? else {
            continue;
        };
        let relations = package.relations(&slide.target)?;
        html.open_with("section", &[("data-page", &number.to_string())]);
        if let Some(shapes) = root.child("p:cSld").and_then(|it| it.child("p:spTree")) {
            write_shapes(&mut html, shapes, &relations)?;
        }
        if options.notes {
            write_notes(&mut html, package, &relations)?;
        }
        html.close();
    }
    let mut decoded = package.with_properties(Decoded::new(html.finish()))?;
    decoded.page_count = u32::try_from(slides.len()).ok();
    Ok(match slides.len().saturating_sub(SLIDES_MAX) {
        0 => decoded,
        count => decoded.warn(format!("{count} slides are left out")),
    })
}

/// Writes the notes of the slide with these relations, if it has some.
fn write_notes(
    html: &mut Html,
    package: &mut Package<'_>,
    slide: &HashMap<String, Relation>,
) -> Result<(), Failure> {
    let mut relations = slide.values();
    let Some(part) = relations.find(|relation| relation.kind == "notesSlide") else {
        return Ok(());
    };
    let Some(root) = package.xml_if_any(&part.target)? else {
        return Ok(());
    };
    let relations = package.relations(&part.target)?;
    let shapes = root.child("p:cSld").and_then(|it| it.child("p:spTree"));
    let bodies = shapes.into_iter().flat_map(flat);
    let bodies = bodies.filter(|shape| placeholder(shape) == Some("body"));
    let notes = bodies.flat_map(paragraphs);
    let notes = notes.map(|paragraph| inline(paragraph, &relations));
    let notes: Vec<Inline> = notes.filter(|note| !note.is_blank()).collect();
    if notes.is_empty() {
        return Ok(());
    }
    html.open("aside");
    for note in &notes {
        html.open("p");
        note.write(html, false);
        html.close();
    }
    html.close();
    Ok(())
}

/// Writes the shapes of a slide: its title first, wherever it is.
fn write_shapes(
    html: &mut Html,
    shapes: &Element,
    relations: &HashMap<String, Relation>,
) -> Result<(), Failure> {
    let all = flat(shapes);
    let (titles, others): (Vec<_>, Vec<_>) = all
        .into_iter()
        .partition(|shape| matches!(placeholder(shape), Some("title" | "ctrTitle")));
    for shape in titles {
        let text: Vec<String> = paragraphs(shape)
            .map(|paragraph| inline(paragraph, relations).text())
            .collect();
        let text = text.join(" ");
        if !text.trim().is_empty() {
            html.element("h2", text.trim());
        }
    }
    for shape in others {
        match shape.name.as_str() {
            "p:graphicFrame" => {
                let graphic = shape
                    .child("a:graphic")
                    .and_then(|it| it.child("a:graphicData"));
                if let Some(table) = graphic.and_then(|it| it.child("a:tbl")) {
                    write_table(html, table, relations)?;
                }
            }
            "p:pic" => {
                let described = shape.child("p:nvPicPr").and_then(|it| it.child("p:cNvPr"));
                let text = described
                    .and_then(|it| it.attribute("descr"))
                    .unwrap_or_default();
                if !text.trim().is_empty() {
                    html.open("figure")
                        .element("figcaption", text.trim())
                        .close();
                }
            }
            // What is repeated on every slide.
            _ if matches!(placeholder(shape), Some("ftr" | "sldNum" | "dt")) => {}
            _ => write_text(html, shape, relations),
        }
    }
    Ok(())
}

/// The shapes of a slide, those of groups too.
fn flat(shapes: &Element) -> Vec<&Element> {
    let mut all = Vec::new();
    for shape in shapes.elements() {
        match shape.name.as_str() {
            "p:grpSp" => all.extend(flat(shape)),
            "p:sp" | "p:pic" | "p:graphicFrame" | "p:cxnSp" => all.push(shape),
            _ => {}
        }
    }
    all
}

/// What a shape stands for: `title`, `body`; `None` for a shape of its own.
fn placeholder(shape: &Element) -> Option<&str> {
    let place = shape.child("p:nvSpPr")?.child("p:nvPr")?.child("p:ph")?;
    Some(place.attribute("type").unwrap_or("body"))
}

fn paragraphs(shape: &Element) -> impl Iterator<Item = &Element> {
    let body = shape.child("p:txBody");
    body.into_iter().flat_map(|body| body.all("a:p"))
}

/// Writes a text: items of a list if it is the body of a slide, or has bullets of its own.
fn write_text(html: &mut Html, shape: &Element, relations: &HashMap<String, Relation>) {
    let is_body = matches!(placeholder(shape), Some("body" | "obj"));
    let is_listed = is_body && paragraphs(shape).count() > 1;
    let mut lists = Lists::default();
    for paragraph in paragraphs(shape) {
        let text = inline(paragraph, relations);
        if text.is_blank() {
            continue;
        }
        let properties = paragraph.child("a:pPr");
        let has = |name: &str| properties.is_some_and(|it| it.child(name).is_some());
        let is_ordered = has("a:buAutoNum");
        if (is_listed || is_ordered || has("a:buChar")) && !has("a:buNone") {
            let level = properties.and_then(|it| it.attribute("lvl")?.parse().ok());
            lists.begin_item(html, level.unwrap_or(0), is_ordered);
            text.write(html, false);
        } else {
            lists.end(html);
            html.open("p");
            text.write(html, false);
            html.close();
        }
    }
    lists.end(html);
}

fn inline(paragraph: &Element, relations: &HashMap<String, Relation>) -> Inline {
    let mut inline = Inline::default();
    for run in paragraph.elements() {
        let properties = run.child("a:rPr");
        let is_on = |name: &str| {
            let value = properties.and_then(|it| it.attribute(name));
            matches!(value, Some("1" | "true"))
        };
        let style = Style {
            is_bold: is_on("b"),
            is_italic: is_on("i"),
            ..Style::default()
        };
        let link = properties.and_then(|it| it.child("a:hlinkClick")?.attribute("r:id"));
        let link = link.and_then(|id| relations.get(id));
        let link = link
            .filter(|it| it.kind == "hyperlink")
            .map(|it| it.target.as_str());
        match run.name.as_str() {
            "a:r" | "a:fld" => {
                let text: String = run.all("a:t").map(Element::text).collect();
                inline.push(&text, style, link);
            }
            "a:br" => inline.push("\n", style, None),
            _ => {}
        }
    }
    inline
}

fn write_table(
    html: &mut Html,
    table: &Element,
    relations: &HashMap<String, Relation>,
) -> Result<(), Failure> {
    let properties = table.child("a:tblPr");
    let has_header = properties.is_some_and(|it| it.attribute("firstRow") == Some("1"));
    let rows = table.all("a:tr").enumerate().map(|(index, row)| Row {
        is_header: has_header && index == 0,
        // Cells below a merged one are there; those to its right are dropped.
        cells: row
            .all("a:tc")
            .filter(|cell| cell.attribute("hMerge") != Some("1"))
            .map(|element| Cell {
                element,
                n_columns: element
                    .attribute("gridSpan")
                    .and_then(|it| it.parse().ok())
                    .unwrap_or(1),
                is_continued: element.attribute("vMerge") == Some("1"),
            })
            .collect(),
    });
    let rows: Vec<Row<'_>> = rows.collect();
    tables::write(html, &rows, &mut |html, cell| {
        let paragraphs = cell.listed("a:txBody", "a:p");
        for (index, paragraph) in paragraphs.enumerate() {
            if index > 0 {
                html.open("br");
            }
            inline(paragraph, relations).write(html, false);
        }
        Ok(())
    })
}
