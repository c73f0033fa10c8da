//! One sitemap file, parsed incrementally: XML, RSS, Atom or plain text, gzip or not. Malformed
//! files yield the entries before the fault. Only the five predefined entities and character
//! references of XML are expanded.

use std::io::{self, BufRead, BufReader, Cursor, Read, Take};

use bytes::Bytes;
use flate2::read::MultiGzDecoder;
use quick_xml::Reader;
use quick_xml::events::{BytesRef, BytesStart, Event};

use super::utf8::Utf8;

/// Bytes of one file after decompression: the protocol's own limit.
pub const FILE_BYTES_MAX: u64 = 50 * 1024 * 1024;
/// Bytes of one URL: the protocol says 2,048, which some sites exceed.
pub const URL_BYTES_MAX: usize = 8 * 1024;
/// Bytes of a `lastmod`: the longest date and time of the protocol has half as many.
const LAST_MODIFIED_BYTES_MAX: usize = 64;
/// Alternates of one page: about as many languages as a site may have.
const ALTERNATES_MAX: usize = 200;
/// Bytes of an `hreflang`: longer than any tag of a language (RFC 5646, section 4.4.1).
const LANGUAGE_BYTES_MAX: usize = 64;
/// Events or lines after which a step ends whatever it found, so that no step takes long.
const STEP_EVENTS: usize = 50_000;

/// A page that a file lists, as written there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SitemapPage {
    /// Its URL.
    pub url: String,
    /// `lastmod`: when it last changed, a date or a date and time of W3C; not checked.
    pub last_modified: Option<String>,
    /// The same page in other languages, or for other devices.
    pub alternates: Vec<Alternate>,
}

/// Another version of a page: `<xhtml:link rel="alternate">`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alternate {
    /// `hreflang`; `None` if it is for another device, not in another language.
    pub language: Option<String>,
    /// Its URL.
    pub url: String,
}

impl SitemapPage {
    /// A page with nothing but its URL.
    pub(super) fn at(url: String) -> Self {
        Self {
            url,
            ..Self::default()
        }
    }
}

/// An entry of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SitemapEntry {
    /// A page.
    Page(SitemapPage),
    /// Another sitemap.
    Sitemap(String),
}

/// A file that is being parsed.
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
    /// Number of open elements.
    depth: usize,
    /// The open entry, and its depth.
    entry: Option<(EntryKind, usize)>,
    /// The open `loc`, `link` or `lastmod`, and its text.
    text: Option<(Part, String)>,
    /// The page of the open `<url>`; its URL is empty until it is known.
    page: SitemapPage,
}

/// What the text of an element says about its entry.
#[derive(Clone, Copy)]
enum Part {
    Url,
    LastModified,
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
    /// Starts parsing a file with this body, as it was fetched.
    pub(super) fn new(body: Bytes) -> Self {
        let is_gzip = body.starts_with(&[0x1f, 0x8b]);
        let plain: Box<dyn Read + Send> = if is_gzip {
            Box::new(MultiGzDecoder::new(Cursor::new(body)))
        } else {
            Box::new(Cursor::new(body))
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
    pub(super) fn step(&mut self, entries_max: usize) -> Option<Vec<SitemapEntry>> {
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

/// Reads one line of a text file: a URL, or nothing.
fn text_line(source: &mut Source, found: &mut Vec<SitemapEntry>) -> Option<()> {
    let mut line = Vec::new();
    let limit = URL_BYTES_MAX as u64 + 2;
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
    let url = line.trim_start_matches('\u{feff}').trim();
    let is_url = url.starts_with("http://") || url.starts_with("https://");
    if is_url && url.len() <= URL_BYTES_MAX {
        found.push(SitemapEntry::Page(SitemapPage::at(url.to_owned())));
    }
    Some(())
}

/// Skips the rest of a line without storing it.
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
            text: None,
            page: SitemapPage::default(),
        }
    }

    /// Reads one event; `None` at the end or at a fault after which nothing can be parsed.
    fn step(&mut self, found: &mut Vec<SitemapEntry>) -> Option<()> {
        self.buffer.clear();
        let mut buffer = std::mem::take(&mut self.buffer);
        let Ok(event) = self.reader.read_event_into(&mut buffer) else {
            self.end_page(found);
            return None;
        };
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
            // A document type is ignored, whatever it declares.
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
            Event::Eof => self.end_page(found),
        }
        self.buffer = buffer;
        (!is_over).then_some(())
    }

    fn open(&mut self, element: &BytesStart<'_>, found: &mut Vec<SitemapEntry>) {
        let name = element.local_name();
        let kind = match name.as_ref() {
            "url" => Some(EntryKind::Url),
            "sitemap" => Some(EntryKind::Sitemap),
            "item" => Some(EntryKind::Item),
            "entry" => Some(EntryKind::Atom),
            _ => None,
        };
        if let Some(kind) = kind {
            // An entry that was not closed ends here.
            self.end_page(found);
            self.entry = Some((kind, self.depth));
            self.text = None;
            return;
        }
        let Some((kind, depth)) = self.entry else {
            return;
        };
        if self.depth != depth + 1 {
            return;
        }
        match (kind, name.as_ref()) {
            // `image:loc` and the like are nested deeper; an unclosed URL ends here.
            (EntryKind::Url | EntryKind::Sitemap, "loc") | (EntryKind::Item, "link") => {
                self.text = Some((Part::Url, String::new()));
            }
            (EntryKind::Url, "lastmod") => self.text = Some((Part::LastModified, String::new())),
            (EntryKind::Url, "link") if self.page.alternates.len() < ALTERNATES_MAX => {
                self.page.alternates.extend(alternate(element));
            }
            (EntryKind::Atom, "link") => {
                if let Some(link) = alternate(element) {
                    found.push(SitemapEntry::Page(SitemapPage::at(link.url)));
                }
            }
            _ => {}
        }
    }

    fn close(&mut self, name: &str, found: &mut Vec<SitemapEntry>) {
        if let (Some((part, text)), Some((kind, _))) = (self.text.take(), self.entry) {
            let text = text.trim();
            let fits = |bytes_max: usize| !text.is_empty() && text.len() <= bytes_max;
            match (part, name) {
                (Part::Url, "loc" | "link") if fits(URL_BYTES_MAX) => {
                    self.located(kind, text.to_owned(), found);
                }
                (Part::LastModified, "lastmod") if fits(LAST_MODIFIED_BYTES_MAX) => {
                    self.page.last_modified = Some(text.to_owned());
                }
                _ => {}
            }
        }
        if let Some((_, depth)) = self.entry
            && matches!(name, "url" | "sitemap" | "item" | "entry")
        {
            // Unclosed elements end with their entry.
            self.depth = depth;
            self.entry = None;
            self.end_page(found);
        }
        self.depth = self.depth.saturating_sub(1);
    }

    /// The open entry has this URL.
    fn located(&mut self, kind: EntryKind, url: String, found: &mut Vec<SitemapEntry>) {
        match kind {
            EntryKind::Sitemap => found.push(SitemapEntry::Sitemap(url)),
            EntryKind::Item | EntryKind::Atom => {
                found.push(SitemapEntry::Page(SitemapPage::at(url)));
            }
            // What else is known of the page may precede or follow.
            EntryKind::Url => {
                if !self.page.url.is_empty() {
                    self.end_page(found);
                }
                self.page.url = url;
            }
        }
    }

    /// The page of the open `<url>` is complete. Without a URL it is none.
    fn end_page(&mut self, found: &mut Vec<SitemapEntry>) {
        let page = std::mem::take(&mut self.page);
        if !page.url.is_empty() {
            found.push(SitemapEntry::Page(page));
        }
    }

    fn push(&mut self, text: &str) {
        if let Some((_, open)) = &mut self.text
            // One byte beyond the limit marks a URL that is too long.
            && open.len() <= URL_BYTES_MAX
        {
            let room = URL_BYTES_MAX + 1 - open.len();
            open.extend(text.chars().take(room));
        }
    }

    fn push_reference(&mut self, reference: &BytesRef<'_>) {
        if self.text.is_none() {
            return;
        }
        if let Ok(Some(character)) = reference.resolve_char_ref() {
            return self.push(character.encode_utf8(&mut [0; 4]));
        }
        let name: &str = reference;
        match quick_xml::escape::resolve_xml_entity(name) {
            Some(text) => self.push(text),
            // An unescaped `&`.
            None => self.push(&format!("&{name};")),
        }
    }
}

/// The target of a link that names a page, or another version of it: `rel` is `alternate`, which in
/// Atom may be missing.
fn alternate(element: &BytesStart<'_>) -> Option<Alternate> {
    let (mut url, mut language, mut is_page) = (None, None, true);
    for attribute in element.attributes().with_checks(false).flatten() {
        match attribute.key.as_ref() {
            "rel" => is_page = attribute.value.as_ref() == "alternate",
            "hreflang" => {
                let written = attribute.value.trim();
                let fits = !written.is_empty() && written.len() <= LANGUAGE_BYTES_MAX;
                language = fits.then(|| written.to_owned());
            }
            "href" => {
                let plain = quick_xml::escape::unescape(&attribute.value);
                let plain = plain.unwrap_or_else(|_| attribute.value.to_string().into());
                url = Some(plain.trim().to_owned());
            }
            _ => {}
        }
    }
    let url = url.filter(|url| is_page && !url.is_empty() && url.len() <= URL_BYTES_MAX)?;
    Some(Alternate { language, url })
}

#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod tests;
