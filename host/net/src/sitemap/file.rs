//! One sitemap file, read piece by piece: XML, RSS, Atom or plain text, gzip or not. Broken files give what came before the
//! fault. Nothing is expanded but the five entities and character references of XML itself.

use std::io::{self, BufRead, BufReader, Cursor, Read, Take};

use bytes::Bytes;
use flate2::read::MultiGzDecoder;
use quick_xml::Reader;
use quick_xml::events::{BytesRef, BytesStart, Event};

use super::utf8::Utf8;

/// Bytes of one file after decompression: the protocol's own bound.
pub const FILE_BYTES_MAX: u64 = 50 * 1024 * 1024;
/// Bytes of one address: the protocol says 2,048, and some sites do not care.
pub const ADDRESS_BYTES_MAX: usize = 8 * 1024;
/// Events or lines after which a step ends although it found little, so that no step takes long.
const STEP_EVENTS: usize = 50_000;

/// What a file names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// A page.
    Page(String),
    /// Another sitemap.
    Sitemap(String),
}

/// A file that is being read.
pub(super) struct File(Kind);

type Source = BufReader<Utf8<BufReader<Take<Box<dyn Read + Send>>>>>;

enum Kind {
    Xml(Box<Xml>),
    Text(Source),
    Done,
}

struct Xml {
    reader: Reader<Source>,
    buffer: Vec<u8>,
    /// Elements that are open.
    depth: usize,
    /// The open entry, and how deep it is.
    entry: Option<(EntryKind, usize)>,
    /// Text of the open address.
    address: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum EntryKind {
    /// `<url><loc>`
    Url,
    /// `<sitemap><loc>`
    Sitemap,
    /// `<item><link>` of RSS
    Item,
    /// `<entry><link href>` of Atom
    Atom,
}

impl File {
    /// A file with this body, as it was got.
    pub(super) fn new(body: Bytes) -> Self {
        let is_gzip = body.starts_with(&[0x1f, 0x8b]);
        let plain: Box<dyn Read + Send> = match is_gzip {
            true => Box::new(MultiGzDecoder::new(Cursor::new(body))),
            false => Box::new(Cursor::new(body)),
        };
        let bytes = BufReader::with_capacity(64 * 1024, plain.take(FILE_BYTES_MAX));
        let Ok(mut source) = Utf8::new(bytes).map(BufReader::new) else {
            return Self(Kind::Done);
        };
        Self(match source.fill_buf().map(is_xml) {
            Ok(true) => Kind::Xml(Box::new(Xml::new(source))),
            Ok(false) => Kind::Text(source),
            Err(_) => Kind::Done,
        })
    }

    /// The next entries, about `entries_max` of them; `None` at the end.
    pub(super) fn step(&mut self, entries_max: usize) -> Option<Vec<Entry>> {
        let mut found = Vec::new();
        for _ in 0..STEP_EVENTS {
            let is_over = match &mut self.0 {
                Kind::Xml(xml) => xml.step(&mut found).is_none(),
                Kind::Text(source) => text_line(source, &mut found).is_none(),
                Kind::Done => return None,
            };
            if is_over {
                self.0 = Kind::Done;
                return Some(found);
            }
            if found.len() >= entries_max {
                break;
            }
        }
        Some(found)
    }
}

fn is_xml(start: &[u8]) -> bool {
    let first = start.iter().find(|byte| !byte.is_ascii_whitespace());
    first == Some(&b'<')
}

/// One line of a text file: an address, or nothing.
fn text_line(source: &mut Source, found: &mut Vec<Entry>) -> Option<()> {
    let mut line = Vec::new();
    let limit = ADDRESS_BYTES_MAX as u64 + 2;
    let read = source
        .by_ref()
        .take(limit)
        .read_until(b'\n', &mut line)
        .ok()?;
    if read == 0 {
        return None;
    }
    if line.last() != Some(&b'\n') && read as u64 == limit {
        skip_line(source).ok()?;
        return Some(());
    }
    let line = String::from_utf8_lossy(&line);
    let address = line.trim_start_matches('\u{feff}').trim();
    if address.starts_with("http://") || address.starts_with("https://") {
        found.push(Entry::Page(address.to_owned()));
    }
    Some(())
}

/// Skips the rest of a line without keeping it.
fn skip_line(source: &mut Source) -> io::Result<()> {
    loop {
        let buffer = source.fill_buf()?;
        let (len, end) = (buffer.len(), memchr::memchr(b'\n', buffer));
        source.consume(end.map_or(len, |end| end + 1));
        if end.is_some() || len == 0 {
            return Ok(());
        }
    }
}

impl Xml {
    fn new(source: Source) -> Self {
        let mut reader = Reader::from_reader(source);
        let config = reader.config_mut();
        config.check_end_names = false;
        config.allow_unmatched_ends = true;
        config.allow_dangling_amp = true;
        Self {
            reader,
            buffer: Vec::new(),
            depth: 0,
            entry: None,
            address: None,
        }
    }

    /// Reads one event; `None` at the end or at a fault that nothing can be read behind.
    fn step(&mut self, found: &mut Vec<Entry>) -> Option<()> {
        self.buffer.clear();
        let mut buffer = std::mem::take(&mut self.buffer);
        let event = self.reader.read_event_into(&mut buffer).ok()?;
        let is_over = matches!(event, Event::Eof);
        match event {
            Event::Start(element) => {
                self.depth += 1;
                self.open(&element, found);
            }
            Event::Empty(element) => {
                self.depth += 1;
                self.open(&element, found);
                self.depth -= 1;
            }
            Event::End(element) => self.close(element.local_name().as_ref(), found),
            Event::Text(text) => self.push(&text),
            Event::CData(text) => self.push(&text),
            Event::GeneralRef(reference) => self.push_reference(&reference),
            // A document type says nothing to us, whatever it declares.
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) | Event::Eof => {}
        }
        self.buffer = buffer;
        (!is_over).then_some(())
    }

    fn open(&mut self, element: &BytesStart<'_>, found: &mut Vec<Entry>) {
        let name = element.local_name();
        let kind = match name.as_ref() {
            "url" => Some(EntryKind::Url),
            "sitemap" => Some(EntryKind::Sitemap),
            "item" => Some(EntryKind::Item),
            "entry" => Some(EntryKind::Atom),
            _ => None,
        };
        if let Some(kind) = kind {
            self.entry = Some((kind, self.depth));
            self.address = None;
            return;
        }
        let Some((kind, depth)) = self.entry else {
            return;
        };
        if self.depth != depth + 1 {
            return;
        }
        match (kind, name.as_ref()) {
            // `image:loc` and its like are deeper; an address that was not closed ends here.
            (EntryKind::Url | EntryKind::Sitemap, "loc") | (EntryKind::Item, "link") => {
                self.address = Some(String::new());
            }
            (EntryKind::Atom, "link") => {
                if let Some(address) = alternate(element) {
                    found.push(Entry::Page(address));
                }
            }
            _ => {}
        }
    }

    fn close(&mut self, name: &str, found: &mut Vec<Entry>) {
        if let ("loc" | "link", Some(address), Some((kind, _))) =
            (name, self.address.take(), self.entry)
        {
            let address = address.trim();
            if !address.is_empty() && address.len() <= ADDRESS_BYTES_MAX {
                found.push(match kind {
                    EntryKind::Sitemap => Entry::Sitemap(address.to_owned()),
                    EntryKind::Url | EntryKind::Item | EntryKind::Atom => {
                        Entry::Page(address.to_owned())
                    }
                });
            }
        }
        if let Some((_, depth)) = self.entry
            && matches!(name, "url" | "sitemap" | "item" | "entry")
        {
            // Elements that were never closed end with their entry.
            self.depth = depth;
            self.entry = None;
        }
        self.depth = self.depth.saturating_sub(1);
    }

    fn push(&mut self, text: &str) {
        if let Some(address) = &mut self.address
            // Longer than an address may be is told from one that just fits.
            && address.len() <= ADDRESS_BYTES_MAX
        {
            let room = ADDRESS_BYTES_MAX + 1 - address.len();
            address.extend(text.chars().take(room));
        }
    }

    fn push_reference(&mut self, reference: &BytesRef<'_>) {
        if self.address.is_none() {
            return;
        }
        if let Ok(Some(character)) = reference.resolve_char_ref() {
            return self.push(character.encode_utf8(&mut [0; 4]));
        }
        let name: &str = reference;
        match quick_xml::escape::resolve_xml_entity(name) {
            Some(text) => self.push(text),
            // An `&` that somebody forgot to escape.
            None => self.push(&format!("&{name};")),
        }
    }
}

/// Where the link of an Atom entry leads, when it is the entry's page.
fn alternate(element: &BytesStart<'_>) -> Option<String> {
    let (mut address, mut is_page) = (None, true);
    for attribute in element.attributes().with_checks(false).flatten() {
        match attribute.key.as_ref() {
            "rel" => is_page = attribute.value.as_ref() == "alternate",
            "href" => {
                let plain = quick_xml::escape::unescape(&attribute.value);
                let plain = plain.map(|plain| plain.trim().to_owned());
                address = Some(plain.unwrap_or_else(|_| attribute.value.to_string()));
            }
            _ => {}
        }
    }
    address.filter(|address| is_page && !address.is_empty() && address.len() <= ADDRESS_BYTES_MAX)
}

#[cfg(test)]
#[path = "file_tests.rs"]
mod tests;
