//! XLSX: spreadsheets of Office Open XML.

use std::collections::HashMap;

use trawl_sdk::decoder::{Decoded, Failure, Html};
use trawl_sdk::xml::Element;

use crate::cells::{CELLS_MAX, Sheet, Value};
use crate::number::NumberFormat;
use crate::options::Options;
use crate::package::{Package, Relation};

/// Reads a spreadsheet with this main part.
pub(crate) fn read(
    package: &mut Package<'_>,
    main: &str,
    root: &Element,
    options: &Options,
) -> Result<Decoded, Failure> {
    let relations = package.relations(main)?;
    let book = Book::read(package, root, &relations)?;
    let title = package.title()?;
    let mut html = Html::new(&title, None);
    let (mut room, mut n_left_out) = (CELLS_MAX, 0);
    let mut hidden = Vec::new();
    let mut names = Vec::new();
    for sheet in root.listed("sheets", "sheet") {
        let name = sheet.attribute("name").unwrap_or_default();
        let is_hidden = matches!(sheet.attribute("state"), Some("hidden" | "veryHidden"));
        if is_hidden && !options.hidden_sheets {
            hidden.push(name.to_owned());
            continue;
        }
        let relation = sheet.attribute("r:id").and_then(|id| relations.get(id));
        let Some(relation) = relation.filter(|relation| relation.kind == "worksheet") else {
            continue;
        };
        let Some(root) = package.xml_if_any(&relation.target)? else {
            continue;
        };
        let of_sheet = package.relations(&relation.target)?;
        names.push(name.to_owned());
        let sheet = book.sheet(name, &root, &of_sheet)?;
        n_left_out += sheet.write(&mut html, &mut room)?;
    }
    let decoded = Decoded::new(html.finish()).with("sheets", names);
    let mut decoded = package.with_properties(decoded)?;
    if n_left_out > 0 {
        decoded = decoded.warn(format!("{n_left_out} rows are left out"));
    }
    if !hidden.is_empty() {
        decoded = decoded.warn(format!("hidden sheets are left out: {}", hidden.join(", ")));
    }
    Ok(decoded)
}

struct Book {
    texts: Vec<String>,
    /// Number formats by cell style.
    formats: Vec<NumberFormat>,
    is_1904: bool,
}

impl Book {
    /// Reads what its sheets refer to.
    fn read(
        package: &mut Package<'_>,
        root: &Element,
        relations: &HashMap<String, Relation>,
    ) -> Result<Self, Failure> {
        let target = |kind: &str| {
            let mut all = relations.values().filter(|relation| relation.kind == kind);
            all.next().map(|relation| relation.target.clone())
        };
        Ok(Self {
            texts: match target("sharedStrings") {
                Some(name) => texts(package.xml_if_any(&name)?.as_ref()),
                None => Vec::new(),
            },
            formats: match target("styles") {
                Some(name) => formats(package.xml_if_any(&name)?.as_ref()),
                None => Vec::new(),
            },
            is_1904: root
                .child("workbookPr")
                .and_then(|it| it.attribute("date1904"))
                .is_some_and(|it| matches!(it, "1" | "true")),
        })
    }

    fn sheet(
        &self,
        name: &str,
        root: &Element,
        relations: &HashMap<String, Relation>,
    ) -> Result<Sheet, Failure> {
        let mut sheet = Sheet::new(name);
        let mut next_row = 0;
        for row in root.listed("sheetData", "row") {
            let number = row.attribute("r").and_then(|text| text.parse::<u32>().ok());
            let number = number.map_or(next_row, |number| number.saturating_sub(1));
            next_row = number.saturating_add(1);
            let mut next_column = 0;
            for cell in row.all("c") {
                let place = cell.attribute("r").and_then(place);
                let column = place.map_or(next_column, |(_, column)| column);
                next_column = column.saturating_add(1);
                if let Some(value) = self.value(cell) {
                    sheet.put(number, column, value)?;
                }
            }
        }
        for link in root.listed("hyperlinks", "hyperlink") {
            let url = link.attribute("r:id").and_then(|id| relations.get(id));
            let at = link
                .attribute("ref")
                .and_then(|text| place(text.split(':').next()?));
            if let (Some(relation), Some((row, column))) = (url, at)
                && let Some(value) = sheet
                    .rows
                    .get_mut(&row)
                    .and_then(|row| row.get_mut(&column))
            {
                value.link = Some(relation.target.clone());
            }
        }
        let merged = root.listed("mergeCells", "mergeCell");
        sheet.merged = merged
            .filter_map(|merge| {
                let (first, last) = merge.attribute("ref")?.split_once(':')?;
                Some([place(first)?, place(last)?])
            })
            .take(MERGED_MAX)
            .collect();
        Ok(sheet)
    }

    /// The value of a cell; `None` if it is empty.
    fn value(&self, cell: &Element) -> Option<Value> {
        let kind = cell.attribute("t").unwrap_or("n");
        let raw = cell.child("v").map(Element::text);
        let (text, is_text) = match kind {
            "s" => (
                self.texts.get(raw?.trim().parse::<usize>().ok()?)?.clone(),
                true,
            ),
            "inlineStr" => (text_of(cell.child("is")?), true),
            "str" | "e" | "d" => (raw?, kind == "str"),
            "b" => (
                if raw?.trim() == "1" { "TRUE" } else { "FALSE" }.to_owned(),
                false,
            ),
            _ => {
                let raw = raw?;
                let style = cell
                    .attribute("s")
                    .and_then(|style| style.parse::<usize>().ok());
                let format = style.and_then(|style| self.formats.get(style)).copied();
                match raw.trim().parse::<f64>() {
                    Ok(number) => (format.unwrap_or_default().show(number, self.is_1904), false),
                    Err(_) => (raw, false),
                }
            }
        };
        (!text.trim().is_empty()).then_some(Value {
            text,
            is_text,
            link: None,
        })
    }
}

/// Most merged cells of a sheet that are looked at: each is compared with each cell.
const MERGED_MAX: usize = 200;

/// `B12` as row 11 and column 1.
fn place(text: &str) -> Option<(u32, u32)> {
    let text = text.trim_matches('$');
    let letters = text.bytes().take_while(u8::is_ascii_alphabetic).count();
    let (letters, digits) = text.split_at(letters);
    if letters.is_empty() || letters.len() > 3 {
        return None;
    }
    let column = letters.bytes().fold(0_u32, |sum, letter| {
        sum * 26 + u32::from(letter.to_ascii_uppercase() - b'A') + 1
    });
    let row: u32 = digits.trim_matches('$').parse().ok()?;
    Some((row.checked_sub(1)?, column - 1))
}

fn texts(root: Option<&Element>) -> Vec<String> {
    let items = root.into_iter().flat_map(|root| root.all("si"));
    items.map(text_of).collect()
}

/// The text of a rich text, without the readings beside it.
fn text_of(item: &Element) -> String {
    let mut text = item.all("t").map(Element::text).collect::<String>();
    for run in item.all("r") {
        text.extend(run.all("t").map(Element::text));
    }
    text
}

fn formats(root: Option<&Element>) -> Vec<NumberFormat> {
    let Some(root) = root else {
        return Vec::new();
    };
    let own = root.listed("numFmts", "numFmt");
    let own: HashMap<u32, NumberFormat> = own
        .filter_map(|format| {
            let id = format.attribute("numFmtId")?.parse().ok()?;
            Some((id, NumberFormat::of(format.attribute("formatCode")?)))
        })
        .collect();
    let styles = root.listed("cellXfs", "xf");
    let format = |style: &Element| {
        let id = style
            .attribute("numFmtId")
            .and_then(|id| id.parse::<u32>().ok());
        let id = id.unwrap_or(0);
        own.get(&id)
            .copied()
            .unwrap_or_else(|| NumberFormat::built_in(id))
    };
    styles.map(format).collect()
}
