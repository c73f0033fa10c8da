//! RDFa Lite: W3C RDFa Lite 1.1, plus `about`, `content` and `datetime`.
//!
//! What is the subject of a property follows RDFa Core 1.1, section 7.5, steps 5 and 13, except
//! that a link or an image around properties is not a subject. Decision D353.

use serde_json::{Map, Value};
use trawl_sdk::{Document, Element, Kind, Node, Step};

use crate::property::{self, ITEM_DEPTH_MAX, Work};

/// Maximum number of active prefixes.
const PREFIXES_MAX: usize = 64;

/// Prefixes known without a declaration.
const KNOWN_PREFIXES: [(&str, &str); 6] = [
    ("schema", "http://schema.org/"),
    ("og", "http://ogp.me/ns#"),
    ("dc", "http://purl.org/dc/terms/"),
    ("dcterms", "http://purl.org/dc/terms/"),
    ("foaf", "http://xmlns.com/foaf/0.1/"),
    ("gr", "http://purl.org/goodrelations/v1#"),
];

/// The page's items in page order; an item that is a property of another is nested in it.
pub(crate) fn items(document: &Document<'_>) -> Vec<Value> {
    let mut reader = Reader::default();
    let mut walk = document.root().walk();
    while let Some(step) = walk.next() {
        match step {
            Step::Enter(node) => match node.kind() {
                Kind::Element(element) => reader.enter(element),
                Kind::TemplateContents => walk.skip_tree(),
                _ => {}
            },
            Step::Leave(node) => reader.leave(node),
        }
    }
    reader.top.sort_by_key(|(place, _)| *place);
    reader.top.into_iter().map(|(_, item)| item).collect()
}

/// An open item.
struct Open {
    types: Vec<Value>,
    id: Option<String>,
    properties: Map<String, Value>,
    /// Property names in the enclosing item; empty for a top-level item.
    names: Vec<String>,
    /// Its place among the items of the page, by their starts.
    place: usize,
}

/// What an element changes for its descendants.
struct Scope<'a> {
    node: Node<'a>,
    /// The previous vocabulary.
    vocab: &'a str,
    n_prefixes: usize,
    is_item: bool,
}

#[derive(Default)]
struct Reader<'a> {
    work: Work,
    vocab: &'a str,
    prefixes: Vec<(&'a str, &'a str)>,
    scopes: Vec<Scope<'a>>,
    open: Vec<Open>,
    n_begun: usize,
    top: Vec<(usize, Value)>,
}

impl<'a> Reader<'a> {
    fn enter(&mut self, element: Element<'a>) {
        let (mut vocab, mut prefix, mut types, mut names) = (None, None, None, None);
        let (mut about, mut resource, mut is_literal) = (None, None, false);
        for (name, value) in element.attrs() {
            match name {
                "vocab" => vocab = Some(value.trim_ascii()),
                "prefix" => prefix = Some(value),
                "typeof" => types = Some(value).filter(|types| !types.trim_ascii().is_empty()),
                "property" => names = Some(value),
                "about" => about = Some(value),
                "resource" => resource = Some(value),
                "content" | "datatype" => is_literal = true,
                _ => {}
            }
        }
        // Beside a property `resource` is its value, unless that is a literal.
        let subject = about.or(resource.filter(|_| names.is_none() || is_literal));
        let subject = subject.and_then(|subject| element.document().resolve(subject));
        let subject = subject.filter(|id| types.is_none() && !self.is_current(id));
        let is_item = (types.is_some() || subject.is_some()) && self.work.item();
        if vocab.is_some() || prefix.is_some() || is_item {
            self.scopes.push(Scope {
                node: element.node(),
                vocab: self.vocab,
                n_prefixes: self.prefixes.len(),
                is_item,
            });
        }
        self.vocab = vocab.unwrap_or(self.vocab);
        self.declare(prefix.unwrap_or_default());
        let names = names.unwrap_or_default();
        match types.filter(|_| is_item) {
            Some(types) => self.begin(element, types, names),
            None => {
                if is_item {
                    self.open(Vec::new(), subject, Vec::new());
                }
                self.read_property(element, names);
            }
        }
    }

    /// Whether the innermost item is about this resource.
    fn is_current(&self, subject: &str) -> bool {
        let current = self.open.last().and_then(|open| open.id.as_deref());
        current == Some(subject)
    }

    fn declare(&mut self, prefixes: &'a str) {
        let mut words = prefixes.split_ascii_whitespace();
        while let (Some(prefix), Some(meaning)) = (words.next(), words.next())
            && self.prefixes.len() < PREFIXES_MAX
        {
            self.prefixes.push((prefix.trim_end_matches(':'), meaning));
        }
    }

    fn begin(&mut self, element: Element<'a>, types: &str, names: &str) {
        let id = ["resource", "about", "href", "src"]
            .into_iter()
            .find_map(|name| element.attr(name));
        let names = if self.open.is_empty() {
            Vec::new()
        } else {
            property::names(names)
                .map(|name| self.short(name))
                .collect()
        };
        let types = property::names(types)
            .map(|name| Value::from(self.long(name)))
            .collect();
        let id = id.and_then(|id| element.document().resolve(id));
        self.open(types, id, names);
    }

    fn open(&mut self, types: Vec<Value>, id: Option<String>, names: Vec<String>) {
        self.n_begun += 1;
        self.open.push(Open {
            types,
            id,
            properties: Map::new(),
            names,
            place: self.n_begun,
        });
    }

    fn read_property(&mut self, element: Element<'a>, names: &str) {
        if names.is_empty() || self.open.is_empty() {
            return;
        }
        let url = element
            .attr("resource")
            .filter(|_| !element.has_attr("content"));
        let value = match url {
            Some(url) => element.document().resolve(url).map(Value::from),
            None => property::value(element, &mut self.work),
        };
        let names: Vec<String> = property::names(names)
            .map(|name| self.short(name))
            .collect();
        if let (Some(value), Some(item)) = (value, self.open.last_mut()) {
            let names = names.iter().map(String::as_str);
            property::add(&mut item.properties, names, value, &mut self.work);
        }
    }

    fn leave(&mut self, node: Node<'a>) {
        let Some(scope) = self.scopes.pop_if(|scope| scope.node == node) else {
            return;
        };
        self.vocab = scope.vocab;
        self.prefixes.truncate(scope.n_prefixes);
        if scope.is_item
            && let Some(open) = self.open.pop()
        {
            self.end(open);
        }
    }

    fn end(&mut self, open: Open) {
        if open.types.is_empty() && open.properties.is_empty() {
            return;
        }
        let depth = self.open.len();
        let item = property::item(open.types, open.id, open.properties);
        match self.open.last_mut() {
            Some(outer) if !open.names.is_empty() => {
                if depth < ITEM_DEPTH_MAX {
                    let names = open.names.iter().map(String::as_str);
                    property::add(&mut outer.properties, names, item, &mut self.work);
                }
            }
            _ => self.top.push((open.place, item)),
        }
    }

    /// The full URL of a type, if its vocabulary is known.
    fn long(&self, name: &str) -> String {
        match name.split_once(':') {
            Some((_, rest)) if rest.starts_with("//") => name.to_owned(),
            Some((prefix, rest)) => match self.meaning(prefix) {
                Some(meaning) => format!("{meaning}{rest}"),
                None => name.to_owned(),
            },
            None => format!("{}{name}", self.vocab),
        }
    }

    /// The name of a property: without its prefix for schema.org, otherwise as written.
    fn short(&self, name: &str) -> String {
        let is_schema = |meaning: &str| meaning.trim_end_matches('/').ends_with("schema.org");
        let local = name
            .split_once(':')
            .filter(|(prefix, _)| self.meaning(prefix).is_some_and(is_schema));
        let local = local.map_or(name, |(_, local)| local);
        let full = local.split_once("schema.org/");
        full.map_or(local, |(_, local)| local).to_owned()
    }

    fn meaning(&self, prefix: &str) -> Option<&'a str> {
        let declared = self.prefixes.iter().rev().chain(&KNOWN_PREFIXES);
        declared
            .into_iter()
            .find(|(own, _)| own.eq_ignore_ascii_case(prefix))
            .map(|(_, meaning)| *meaning)
    }
}
