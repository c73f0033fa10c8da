//! The table of contents of a book: an XHTML page (EPUB 3) or an NCX file (EPUB 2).

use trawl_sdk::decoder::Html;
use trawl_sdk::xml::Element;

use crate::lists::Lists;

/// Most entries that are written.
const ENTRIES_MAX: usize = 5_000;

/// An entry: its title and its level, from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    title: String,
    level: usize,
}

/// The entries of either kind, in order.
pub(crate) fn entries(root: &Element) -> Vec<Entry> {
    let mut entries = Vec::new();
    if root.local_name() == "ncx" {
        for map in root.elements().filter(|it| it.local_name() == "navMap") {
            add_points(map, 0, &mut entries);
        }
    } else if let Some(nav) = navigation(root) {
        add_lists(nav, 0, &mut entries);
    }
    entries.truncate(ENTRIES_MAX);
    entries
}

/// Writes the entries as nested lists; nothing if there are none.
pub(crate) fn write(html: &mut Html, entries: &[Entry]) {
    if entries.is_empty() {
        return;
    }
    html.open("nav");
    let mut lists = Lists::default();
    for entry in entries {
        lists.begin_item(html, entry.level, true);
        html.text(&entry.title);
    }
    lists.end(html);
    html.close();
}

/// The `nav` of the contents: pages have others, such as landmarks.
fn navigation(parent: &Element) -> Option<&Element> {
    let is_contents = parent.local_name() == "nav" && parent.attribute("epub:type") == Some("toc");
    match is_contents {
        true => Some(parent),
        false => parent.elements().find_map(navigation),
    }
}

fn add_points(parent: &Element, level: usize, entries: &mut Vec<Entry>) {
    for point in parent.elements().filter(|it| it.local_name() == "navPoint") {
        let label = point.elements().find(|it| it.local_name() == "navLabel");
        add(label, level, entries);
        add_points(point, level + 1, entries);
    }
}

fn add_lists(parent: &Element, level: usize, entries: &mut Vec<Entry>) {
    for list in parent.elements().filter(|it| it.local_name() == "ol") {
        for item in list.elements().filter(|it| it.local_name() == "li") {
            let mut labels = item.elements();
            let label = labels.find(|it| matches!(it.local_name(), "a" | "span"));
            add(label, level, entries);
            add_lists(item, level + 1, entries);
        }
    }
}

/// Adds an entry with the text of this element, unless that is blank.
fn add(label: Option<&Element>, level: usize, entries: &mut Vec<Entry>) {
    let words = label.map(Element::text).unwrap_or_default();
    let title = words.split_whitespace().collect::<Vec<_>>().join(" ");
    if !title.is_empty() && entries.len() < ENTRIES_MAX {
        entries.push(Entry { title, level });
    }
}
