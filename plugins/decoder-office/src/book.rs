//! EPUB: the chapters of a book in reading order.

use std::collections::HashMap;

use trawl_sdk::decoder::{Decoded, Failure, File, Html};
use trawl_sdk::xml::Element;

use crate::contents;
use crate::package::{Package, joined};

/// Most chapters that are read.
const CHAPTERS_MAX: usize = 2_000;
/// Bytes of HTML from which on no chapter is begun.
const HTML_BYTES_MAX: usize = 48 << 20;

/// Reads a book.
pub(crate) fn read(package: &mut Package<'_>, file: &File<'_>) -> Result<Decoded, Failure> {
    let container = package.xml("META-INF/container.xml")?;
    let files = container
        .all("rootfiles")
        .flat_map(|all| all.all("rootfile"));
    let mut names = files.filter_map(|file| file.attribute("full-path").map(str::to_owned));
    let Some(name) = names.next() else {
        return Err(Failure::Damaged("the book names no contents".to_owned()));
    };
    if package.has("META-INF/rights.xml") {
        let reason = "the book is protected against copying".to_owned();
        return Err(Failure::Encrypted(reason));
    }
    let root = package.xml(&name)?;
    let folder = name.rsplit_once('/').map_or("", |(folder, _)| folder);
    let child = |name: &str| root.elements().find(|child| child.local_name() == name);
    let items = child("manifest").into_iter().flat_map(Element::elements);
    let items: HashMap<&str, &Element> = items
        .filter_map(|item| Some((item.attribute("id")?, item)))
        .collect();
    let spine = child("spine").into_iter().flat_map(Element::elements);
    let chapters: Vec<String> = spine
        .filter_map(|item| items.get(item.attribute("idref")?)?.attribute("href"))
        .map(|path| joined(folder, &decoded_path(path)))
        .collect();
    let metadata = child("metadata");
    let all = |name: &str| -> Vec<String> {
        let elements = metadata.into_iter().flat_map(|it| it.all(name));
        elements
            .map(|it| it.text().trim().to_owned())
            .filter(|text| !text.is_empty())
            .collect()
    };
    let first = |name: &str| all(name).into_iter().next();
    let title = first("dc:title").unwrap_or_default();
    let language = first("dc:language");
    let mut html = Html::new(&title, language.as_deref());
    if file.pages.is_empty()
        && let Some(path) = contents_path(&items, child("spine"))
    {
        let root = package.xml_if_any(&joined(folder, &decoded_path(path)))?;
        let entries = root.as_ref().map(contents::entries).unwrap_or_default();
        contents::write(&mut html, &entries);
    }
    let n_left_out = write_chapters(&mut html, package, file, &chapters)?;
    let mut decoded = Decoded::new(html.finish())
        .with("title", title)
        .with("authors", all("dc:creator"))
        .with("language", language)
        .with("description", first("dc:description"))
        .with("published", first("dc:date"))
        .with("publisher", first("dc:publisher"));
    decoded.page_count = u32::try_from(chapters.len()).ok();
    Ok(match n_left_out {
        0 => decoded,
        count => decoded.warn(format!("{count} chapters are missing or left out")),
    })
}

/// Writes the chapters that are wanted. Returns how many are missing or left out.
fn write_chapters(
    html: &mut Html,
    package: &mut Package<'_>,
    file: &File<'_>,
    chapters: &[String],
) -> Result<usize, Failure> {
    let mut n_left_out = 0;
    for (index, chapter) in chapters.iter().enumerate() {
        let number = u32::try_from(index + 1).unwrap_or(u32::MAX);
        if !file.wants_page(number) {
            continue;
        }
        let text = match index < CHAPTERS_MAX && html.bytes() < HTML_BYTES_MAX {
            true => package.text(chapter)?,
            false => None,
        };
        let Some(text) = text else {
            n_left_out += 1;
            continue;
        };
        html.open_with("section", &[("data-page", &number.to_string())]);
        html.markup(body(&text)).close();
    }
    Ok(n_left_out)
}

/// The path of the table of contents: of a page with that property, else what the spine names.
fn contents_path<'a>(
    items: &HashMap<&str, &'a Element>,
    spine: Option<&Element>,
) -> Option<&'a str> {
    let is_contents = |item: &&&'a Element| {
        let properties = item.attribute("properties").unwrap_or_default();
        properties.split_whitespace().any(|it| it == "nav")
    };
    let by_spine = || items.get(spine?.attribute("toc")?).copied();
    let found = items.values().find(is_contents).copied().or_else(by_spine);
    found?.attribute("href")
}

/// The content of the body of a chapter.
fn body(text: &str) -> &str {
    let lower = |at: usize| {
        text.get(at..at + 5)
            .is_some_and(|it| it.eq_ignore_ascii_case("<body"))
    };
    let start = text
        .match_indices('<')
        .map(|(at, _)| at)
        .find(|at| lower(*at));
    match start.and_then(|start| text[start..].split_once('>')) {
        Some((_, body)) => body,
        None => text,
    }
}

/// A path without percent encoding.
fn decoded_path(path: &str) -> String {
    let path = path.split('#').next().unwrap_or(path);
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        let hex = |byte: u8| (byte as char).to_digit(16);
        match (first, after) {
            (b'%', [high, low, tail @ ..]) if hex(*high).is_some() && hex(*low).is_some() => {
                let value = hex(*high).unwrap_or(0) * 16 + hex(*low).unwrap_or(0);
                bytes.push(u8::try_from(value).unwrap_or(b'%'));
                rest = tail;
            }
            _ => bytes.push(*first),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
