//! Parses XML: XHTML, a page with CDATA sections and elements that close themselves
//! (`<script src="x.js"/>`), and data such as feeds. Source: XML 1.0; Namespaces in XML 1.0; WHATWG
//! HTML, "Parsing XML documents".
//!
//! Pages that are not well-formed are parsed as HTML, like their authors test them. References are
//! those of HTML, and document types declare nothing, so that no entity can multiply.

use std::borrow::Cow;

use html5ever::tendril::StrTendril;
use html5ever::tree_builder::{ElementFlags, NodeOrText, TreeSink};
use html5ever::{Attribute, LocalName, Namespace, QualName, local_name, ns};
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::limits::{LimitCheck, ParseError};
use super::page::Page;
use super::reference;
use super::sink::{Handle, Sink};

/// XHTML.
pub(super) const XHTML: &str = "application/xhtml+xml";

/// The namespace of data, whichever its elements declare.
const DATA: &str = "data";
/// Levels of nesting up to which a page is XML. Deeper ones are cut as HTML.
const LEVELS_MAX: usize = 4_096;
/// Namespaces that are declared at one place of a page.
const DECLARED_MAX: usize = 64;
/// Attributes of one element.
const ATTRIBUTES_MAX: usize = super::limits::ATTRIBUTES_MAX;

/// What elements are that belong to no known namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    /// HTML, unless they have a prefix.
    Xhtml,
    /// Elements of their own, with their prefix in their name.
    Data,
}

/// Whether a media type, lower case and without parameters, is one of XML.
#[must_use]
pub fn is_xml_type(media_type: &str) -> bool {
    media_type.ends_with("/xml") || media_type.ends_with("+xml")
}

/// Whether a page is parsed as XML: it is XHTML and well-formed.
pub(super) fn is_xml(page: &Page<'_>) -> bool {
    page.media_type == XHTML && is_well_formed(page.text)
}

/// Whether a body begins like XHTML: its first element is `html` in the namespace of XHTML.
pub(super) fn begins_xhtml(head: &[u8]) -> bool {
    const NAMESPACE: &[u8] = b"http://www.w3.org/1999/xhtml";
    let mut rest = head;
    while let Some(at) = memchr::memchr(b'<', rest) {
        rest = &rest[at + 1..];
        let end = match rest {
            [b'!', b'-', b'-', ..] => memchr::memmem::find(rest, b"-->"),
            [b'?' | b'!', ..] => memchr::memchr(b'>', rest),
            _ => {
                let tag = &rest[..memchr::memchr(b'>', rest).unwrap_or(rest.len())];
                return tag.starts_with(b"html") && memchr::memmem::find(tag, NAMESPACE).is_some();
            }
        };
        let Some(end) = end else { return false };
        rest = &rest[end..];
    }
    false
}

fn reader(text: &str) -> Reader<&[u8]> {
    let mut reader = Reader::from_str(text);
    let config = reader.config_mut();
    config.check_end_names = true;
    config.check_comments = true;
    config.expand_empty_elements = true;
    reader
}

pub(super) fn is_well_formed(text: &str) -> bool {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader = reader(text);
    let (mut level, mut n_roots) = (0_usize, 0);
    loop {
        match reader.read_event() {
            Ok(Event::Start(start)) => {
                n_roots += usize::from(level == 0);
                level += 1;
                if level > LEVELS_MAX || n_roots > 1 || !are_well_formed(&start) {
                    return false;
                }
            }
            Ok(Event::End(_)) => level = level.saturating_sub(1),
            Ok(Event::Text(text)) if level == 0 => {
                if !text.trim_ascii().is_empty() {
                    return false;
                }
            }
            Ok(Event::CData(_) | Event::GeneralRef(_)) if level == 0 => return false,
            Ok(Event::Eof) => return level == 0 && n_roots == 1,
            Ok(_) => {}
            Err(_) => return false,
        }
    }
}

/// Whether the attributes of an element are.
fn are_well_formed(start: &BytesStart<'_>) -> bool {
    let mut attributes = start.attributes();
    let attributes = attributes.with_checks(false);
    let mut n_attributes = 0;
    attributes.all(|attribute| {
        n_attributes += 1;
        n_attributes <= ATTRIBUTES_MAX
            && attribute.is_ok_and(|attribute| !attribute.value.contains('<'))
    })
}

/// Builds the tree of a well-formed page, with line ends already normalized.
///
/// # Errors
/// A limit is reached.
pub(super) fn build(
    text: &str,
    sink: &Sink,
    dialect: Dialect,
    limits: &mut LimitCheck<'_>,
) -> Result<(), ParseError> {
    let mut builder = Builder {
        sink,
        dialect,
        open: Vec::new(),
        declared: Vec::new(),
    };
    let mut reader = reader(text);
    loop {
        limits.tick(sink)?;
        match reader.read_event() {
            Ok(Event::Start(start)) => builder.start(&start),
            Ok(Event::End(_)) => builder.end(),
            Ok(Event::Text(text)) => builder.text(&text),
            Ok(Event::CData(text)) => builder.text(&text),
            Ok(Event::GeneralRef(name)) => builder.text(&expanded(&name)),
            Ok(Event::Comment(text)) => {
                let comment = sink.create_comment(StrTendril::from(&*text));
                builder.append(NodeOrText::AppendNode(comment));
            }
            // Elements that close themselves come as a start and an end.
            Ok(Event::PI(_) | Event::Decl(_) | Event::Empty(_)) => {}
            Ok(Event::DocType(text)) => builder.doctype(&text),
            // The page was read to its end before.
            Ok(Event::Eof) | Err(_) => return Ok(()),
        }
    }
}

/// The characters of a reference, `amp` or `#228`; one to an unknown entity stays as it is.
fn expanded(name: &str) -> String {
    reference::replace_all(&format!("&{name};"))
}

/// A page's tree up to the current tag.
struct Builder<'s> {
    sink: &'s Sink,
    dialect: Dialect,
    /// The open elements, and how many declarations were in effect outside of each.
    open: Vec<(Handle, usize)>,
    /// Prefixes with their namespaces; the default one has an empty prefix.
    declared: Vec<(String, Namespace)>,
}

impl Builder<'_> {
    fn append(&self, child: NodeOrText<Handle>) {
        let document = self.sink.get_document();
        let parent = self.open.last().map_or(document, |open| open.0);
        self.sink.append(&parent, child);
    }

    fn text(&self, text: &str) {
        if !self.open.is_empty() && !text.is_empty() {
            self.append(NodeOrText::AppendText(StrTendril::from(text)));
        }
    }

    fn doctype(&self, text: &str) {
        let name = text.split_ascii_whitespace().next().unwrap_or_default();
        let none = StrTendril::new();
        let name = StrTendril::from(name);
        self.sink
            .append_doctype_to_document(name, none.clone(), none);
    }

    fn start(&mut self, start: &BytesStart<'_>) {
        let outside = self.declared.len();
        let mut attributes = Vec::new();
        for attribute in start.attributes().with_checks(false).flatten() {
            let name: &str = attribute.key.as_ref();
            let value = value(&attribute.value);
            self.declare(name, &value);
            let local = LocalName::from(name);
            let space = match name.split_once(':') {
                Some((prefix, _)) => Namespace::from(prefix),
                None => ns!(),
            };
            let is_new = |known: &Attribute| known.name.local != local;
            if attributes.iter().all(is_new) {
                attributes.push(Attribute {
                    name: QualName::new(None, space, local),
                    value: StrTendril::from(&*value),
                });
            }
        }
        let name = self.name(start.name().as_ref());
        let mut flags = ElementFlags::default();
        flags.template = name.ns == ns!(html) && name.local == local_name!("template");
        let is_template = flags.template;
        let element = self.sink.create_element(name, attributes, flags);
        self.append(NodeOrText::AppendNode(element));
        let inside = if is_template {
            self.sink.get_template_contents(&element)
        } else {
            element
        };
        self.open.push((inside, outside));
    }

    fn end(&mut self) {
        if let Some((_, outside)) = self.open.pop() {
            self.declared.truncate(outside);
        }
    }

    fn declare(&mut self, name: &str, value: &str) {
        let prefix = match name.split_once(':') {
            None if name == "xmlns" => "",
            Some(("xmlns", prefix)) => prefix,
            _ => return,
        };
        if self.declared.len() < DECLARED_MAX {
            self.declared
                .push((prefix.to_owned(), Namespace::from(value)));
        }
    }

    /// The name of an element in its namespace.
    fn name(&self, written: &str) -> QualName {
        let (prefix, local) = written.split_once(':').unwrap_or(("", written));
        let mut declared = self.declared.iter().rev();
        let space = declared.find(|(known, _)| known == prefix);
        let space = space.map(|(_, space)| space);
        let space = space.filter(|space| !space.is_empty());
        let (space, local) = match (self.dialect, space) {
            (_, Some(space)) if is_of_pages(space) => (space.clone(), local),
            (Dialect::Data, _) => (Namespace::from(DATA), written),
            (Dialect::Xhtml, Some(space)) => (space.clone(), local),
            (Dialect::Xhtml, None) if prefix.is_empty() => (ns!(html), local),
            (Dialect::Xhtml, None) => (Namespace::from(prefix), local),
        };
        QualName::new(None, space, LocalName::from(local))
    }
}

/// Whether a namespace is one that documents know.
fn is_of_pages(space: &Namespace) -> bool {
    matches!(*space, ns!(html) | ns!(svg) | ns!(mathml))
}

/// The value of an attribute, its references expanded.
fn value(written: &str) -> Cow<'_, str> {
    if written.contains(['&', '\n', '\t']) {
        Cow::Owned(reference::replace_all(&written.replace(['\n', '\t'], " ")))
    } else {
        Cow::Borrowed(written)
    }
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::super::{Document, ParseLimits, parse, parse_xml, scan};
    use super::*;

    const HTML: &str = "<html xmlns='http://www.w3.org/1999/xhtml'>";

    fn text_and_links(source: &str) -> (String, Vec<String>, Document) {
        let url = Url::parse("https://site.example/a/").expect("a URL");
        let page = Page {
            media_type: XHTML,
            ..Page::html(source, &url)
        };
        let document = parse(&page, &ParseLimits::default()).expect("within limits");
        let text = (0..document.kinds.len())
            .filter(|&node| document.kinds[node] == crate::kind::TEXT)
            .map(|node| document.node_text(node))
            .collect();
        let links = scan(&page).iter().map(|link| link.0.to_owned()).collect();
        (text, links, document)
    }

    #[track_caller]
    fn check(body: &str, expected: &str) {
        let source = format!("<?xml version='1.0'?><!DOCTYPE html>\n{HTML}{body}</html>\n");
        let (text, links, document) = text_and_links(&source);
        assert_eq!(text, expected, "{body}");
        let linked: Vec<&str> = document
            .elements_named("a")
            .filter_map(|a| document.attributes(a).find(|it| it.0 == "href"))
            .map(|(_, href)| href)
            .collect();
        assert_eq!(linked.len(), links.len(), "{body}");
        assert_eq!(document.name(1), "html");
    }

    #[test]
    fn elements_close_themselves_and_sections_are_text() {
        for element in ["script src='x.js'", "style", "title", "textarea", "iframe"] {
            check(&format!("<{element}/><a href='x'>text</a>"), "text");
        }
        check("a<![CDATA[<b>&amp;]]>", "a<b>&amp;");
        check(
            "<script><![CDATA[<a href='no'>]]></script>",
            "<a href='no'>",
        );
        check("<style>a &gt; <a href='x'/></style>", "a > ");
        check("&auml;&#228;&#xe4;&amp;&unknown;", "äää&&unknown;");
        check("<template/><a href='x'/>y", "y");
    }

    #[test]
    fn namespaces_decide_what_an_element_is() {
        let source = "<h:html xmlns:h='http://www.w3.org/1999/xhtml' xmlns='urn:x'><h:p title='a &amp;\nb'>x</h:p>\
                      <p/><svg xmlns='http://www.w3.org/2000/svg'><linearGradient xlink:href='#a'/></svg></h:html>";
        let (_, _, document) = text_and_links(source);
        assert_eq!(document.elements_named("html").count(), 1);
        let p: Vec<usize> = document.elements_named("p").collect();
        assert_eq!(p.len(), 1);
        let title = document.attributes(p[0]).next();
        assert_eq!(title, Some(("title", "a & b")));
        let spaces: Vec<u8> = (1..document.kinds.len())
            .filter(|&node| document.name(node) == "linearGradient")
            .map(|node| document.name_spaces[document.names[node] as usize])
            .collect();
        assert_eq!(spaces, [crate::namespace::SVG]);
    }

    #[test]
    fn elements_of_data_keep_their_names() {
        let source = "<?xml version='1.0'?><rss xmlns:media='urn:m'><channel><title>A</title><link>/a</link>\
                      <pubDate a='1'/><media:title>B</media:title>\
                      <div xmlns='http://www.w3.org/1999/xhtml'><p>C</p></div></channel></rss>";
        let url = Url::parse("https://site.example/a/").expect("a URL");
        let page = Page {
            media_type: "application/rss+xml",
            ..Page::html(source, &url)
        };
        let parsed = parse_xml(&page, &ParseLimits::default()).expect("within limits");
        let document = parsed.expect("well-formed");
        let elements: Vec<(&str, u8)> = (1..document.kinds.len())
            .filter(|&node| document.kinds[node] == crate::kind::ELEMENT)
            .map(|node| {
                let space = document.name_spaces[document.names[node] as usize];
                (document.name(node), space)
            })
            .collect();
        let (data, html) = (crate::namespace::OTHER, crate::namespace::HTML);
        let expected = [
            ("rss", data),
            ("channel", data),
            ("title", data),
            ("link", data),
            ("pubDate", data),
            ("media:title", data),
            ("div", html),
            ("p", html),
        ];
        assert_eq!(elements, expected);
        assert_eq!(document.media_type, "application/rss+xml");
        let broken = Page::html("<rss><channel></rss>", &url);
        let parsed = parse_xml(&broken, &ParseLimits::default());
        assert_eq!(parsed.expect("within limits"), None);
    }

    #[test]
    fn what_is_not_well_formed_is_html() {
        for body in [
            "<p>x<br></p>",
            "<p class=x>x</p>",
            "<p>x</div>",
            "<p>x & y</p>",
            "<p title='<'>x</p>",
            "<p a='1' b>x</p>",
        ] {
            assert!(!is_well_formed(&format!("{HTML}{body}</html>")), "{body}");
        }
        assert!(!is_well_formed("<a/><b/>"));
        assert!(!is_well_formed("x<a/>"));
        assert!(!is_well_formed(""));
        assert!(!is_well_formed(&"<a>".repeat(100_000)));
        let (text, _, document) = text_and_links("<p>x<br><script src='y'/>z");
        assert_eq!((text.as_str(), document.name(1)), ("xz", "html"));
    }

    #[test]
    fn xhtml_is_recognised_by_its_root() {
        let check =
            |text: &str, expected| assert_eq!(begins_xhtml(text.as_bytes()), expected, "{text}");
        check(
            "<?xml version='1.0'?>\n<!-- <a> --><!DOCTYPE html PUBLIC 'x'>\n<html xml:lang='en' xmlns=\"http://www.w3.org/1999/xhtml\">",
            true,
        );
        check("<html>", false);
        check("<rss><html xmlns='http://www.w3.org/1999/xhtml'>", false);
        check("<!-- ", false);
        check("", false);
    }
}
