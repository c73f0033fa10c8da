//! XML as a tree, read within limits; for decoders.
//!
//! Only the five predefined entities and character references are expanded: a document type is
//! ignored, whatever it declares, so that no entity can multiply. Errors of the file end the tree
//! where they are.

use quick_xml::Reader;
use quick_xml::events::{BytesRef, BytesStart, Event};

use crate::decoder::Failure;

/// Most levels of elements.
pub const DEPTH_MAX: usize = 128;
/// Most elements and texts of a file.
pub const NODES_MAX: usize = 2_000_000;

/// An element.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Element {
    /// Its name with its prefix, as in the file.
    pub name: String,
    /// Attributes in order, names with prefixes.
    pub attributes: Vec<(String, String)>,
    /// What it contains.
    pub children: Vec<Node>,
}

/// Content of an element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// An element.
    Element(Element),
    /// Text, references expanded.
    Text(String),
}

impl Element {
    /// Its name without the prefix.
    pub fn local_name(&self) -> &str {
        local(&self.name)
    }

    /// The value of an attribute, by its name with its prefix.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        let mut attributes = self.attributes.iter();
        attributes.find_map(|(key, value)| (key == name).then_some(value.as_str()))
    }

    /// Its child elements.
    pub fn elements(&self) -> impl Iterator<Item = &Self> {
        self.children.iter().filter_map(|child| match child {
            Node::Element(element) => Some(element),
            Node::Text(_) => None,
        })
    }

    /// The child elements of this name with its prefix.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Self> {
        self.elements().filter(move |child| child.name == name)
    }

    /// The first child element of this name with its prefix.
    pub fn child<'a>(&'a self, name: &'a str) -> Option<&'a Self> {
        self.all(name).next()
    }

    /// The child elements of this name of its first child element `list`.
    pub fn listed<'a>(&'a self, list: &'a str, name: &'a str) -> impl Iterator<Item = &'a Self> {
        let list = self.child(list).into_iter();
        list.flat_map(move |list| list.all(name))
    }

    /// All text inside it, in order.
    pub fn text(&self) -> String {
        let mut text = String::new();
        self.add_text(&mut text);
        text
    }

    /// The text of the first child element of this name that has some, trimmed.
    pub fn child_text(&self, name: &str) -> Option<String> {
        let texts = self.all(name).map(|child| child.text().trim().to_owned());
        texts.into_iter().find(|text| !text.is_empty())
    }

    fn add_text(&self, text: &mut String) {
        for child in &self.children {
            match child {
                Node::Element(element) => element.add_text(text),
                Node::Text(own) => text.push_str(own),
            }
        }
    }
}

/// A name without its prefix.
pub fn local(name: &str) -> &str {
    name.rsplit_once(':').map_or(name, |(_, local)| local)
}

/// The name of the root element with its prefix; `None` if there is no element.
pub fn root_name(text: &str) -> Option<String> {
    let mut reader = reader(text);
    loop {
        match reader.read_event() {
            Ok(Event::Start(element) | Event::Empty(element)) => {
                return Some(element.name().as_ref().to_owned());
            }
            Ok(Event::Eof) | Err(_) => return None,
            Ok(_) => {}
        }
    }
}

/// Reads a file: its root element, and what is wrong with the file if it was not read to its end.
///
/// # Errors
/// [`Failure::Damaged`] if there is no element, [`Failure::Limit`] if it is too deep or too large.
pub fn read(text: &str) -> Result<(Element, Option<String>), Failure> {
    let mut reader = reader(text);
    let mut open: Vec<Element> = Vec::new();
    let mut root: Option<Element> = None;
    let mut n_nodes = 0_usize;
    let fault = loop {
        let event = match reader.read_event() {
            Ok(event) => event,
            Err(error) => break Some(format!("byte {}: {error}", reader.error_position())),
        };
        match event {
            Event::Start(start) => {
                n_nodes += 1;
                if open.len() >= DEPTH_MAX {
                    let reason = format!("elements are nested more than {DEPTH_MAX} levels deep");
                    return Err(Failure::Limit(reason));
                }
                if open.is_empty() && root.is_some() {
                    break Some("a second root element".to_owned());
                }
                open.push(element(&start));
            }
            Event::Empty(start) => {
                n_nodes += 1;
                close(element(&start), &mut open, &mut root);
            }
            Event::End(_) => {
                if let Some(element) = open.pop() {
                    close(element, &mut open, &mut root);
                }
            }
            Event::Text(text) => add_text(&text, &mut open, &mut n_nodes),
            Event::CData(text) => add_text(&text, &mut open, &mut n_nodes),
            Event::GeneralRef(reference) => {
                add_text(&expanded(&reference), &mut open, &mut n_nodes);
            }
            Event::Eof => break None,
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
        }
        if n_nodes > NODES_MAX {
            let reason = format!("more than {NODES_MAX} elements and texts");
            return Err(Failure::Limit(reason));
        }
    };
    let is_cut = !open.is_empty();
    while let Some(element) = open.pop() {
        close(element, &mut open, &mut root);
    }
    let fault = fault.or_else(|| is_cut.then(|| "it ends inside an element".to_owned()));
    match root {
        Some(root) => Ok((root, fault)),
        None => {
            let reason = fault.unwrap_or_else(|| "there is no element".to_owned());
            Err(Failure::Damaged(format!("no XML: {reason}")))
        }
    }
}

fn reader(text: &str) -> Reader<&[u8]> {
    let mut reader = Reader::from_str(text);
    let config = reader.config_mut();
    config.check_end_names = true;
    config.allow_dangling_amp = true;
    reader
}

fn element(start: &BytesStart<'_>) -> Element {
    let mut attributes = start.attributes();
    let read = attributes.with_checks(false).flatten().map(|attribute| {
        let value = quick_xml::escape::unescape(&attribute.value);
        let value = value.map_or_else(|_| attribute.value.to_string(), |text| text.into_owned());
        (attribute.key.as_ref().to_owned(), value)
    });
    Element {
        name: start.name().as_ref().to_owned(),
        attributes: read.collect(),
        children: Vec::new(),
    }
}

fn close(element: Element, open: &mut [Element], root: &mut Option<Element>) {
    match open.last_mut() {
        Some(parent) => parent.children.push(Node::Element(element)),
        None if root.is_none() => *root = Some(element),
        None => {}
    }
}

fn add_text(text: &str, open: &mut [Element], n_nodes: &mut usize) {
    let Some(parent) = open.last_mut() else {
        return;
    };
    match parent.children.last_mut() {
        Some(Node::Text(before)) => before.push_str(text),
        _ => {
            *n_nodes += 1;
            parent.children.push(Node::Text(text.to_owned()));
        }
    }
}

/// The text of a reference; one to an unknown entity stays as it is.
fn expanded(reference: &BytesRef<'_>) -> String {
    if let Ok(Some(character)) = reference.resolve_char_ref() {
        return character.to_string();
    }
    let name: &str = reference;
    match quick_xml::escape::resolve_xml_entity(name) {
        Some(text) => text.to_owned(),
        None => format!("&{name};"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_has_names_attributes_and_text() {
        let xml = "<?xml version='1.0'?><!DOCTYPE a><a:r x='1 &amp; 2' x:y=\"&#228;\"> <b>t &lt;\
                   <![CDATA[<c>]]>&#x75;</b><b/>&nbsp;</a:r>";
        let (root, fault) = read(xml).expect("a tree");
        assert_eq!(fault, None);
        assert_eq!((root.name.as_str(), root.local_name()), ("a:r", "r"));
        assert_eq!(root.attribute("x"), Some("1 & 2"));
        assert_eq!(root.attribute("x:y"), Some("ä"));
        assert_eq!(root.child_text("b").as_deref(), Some("t <<c>u"));
        assert_eq!(root.all("b").count(), 2);
        assert_eq!(root.text(), " t <<c>u&nbsp;");
        assert_eq!(root_name(xml).as_deref(), Some("a:r"));
    }

    #[test]
    fn a_damaged_file_is_read_up_to_the_fault() {
        let (root, fault) = read("<a><b>1</b><c>2").expect("a tree");
        assert_eq!(root.text(), "12");
        assert_eq!(fault.as_deref(), Some("it ends inside an element"));
        let (root, fault) = read("<a><b>1</c>").expect("a tree");
        assert_eq!(root.text(), "1");
        assert!(fault.is_some());
        assert!(matches!(read("no xml"), Err(Failure::Damaged(_))));
        assert!(matches!(read(""), Err(Failure::Damaged(_))));
    }

    #[test]
    fn entities_do_not_multiply() {
        let bomb = "<!DOCTYPE a [<!ENTITY x \"xxxxxxxx\"><!ENTITY y \"&x;&x;&x;&x;\">]><a>&y;</a>";
        let (root, _) = read(bomb).expect("a tree");
        assert_eq!(root.text(), "&y;");
    }

    #[test]
    fn depth_is_limited() {
        let deep = "<a>".repeat(100_000);
        assert!(matches!(read(&deep), Err(Failure::Limit(_))));
    }
}
