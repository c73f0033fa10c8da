//! Microdata. HTML standard, section 5 "Microdata".

use std::collections::HashMap;

use serde_json::{Map, Value};
use trawl_sdk::{Document, Element, Kind, Node};

use crate::property::{self, ITEM_DEPTH_MAX, Work};

/// The page's top-level items in page order.
pub(crate) fn items(document: &Document<'_>) -> Vec<Value> {
    let mut reader = Reader {
        work: Work::default(),
        by_id: None,
        path: Vec::new(),
    };
    let mut items = Vec::new();
    for element in document.live_elements() {
        if is_item(element) && !element.has_attr("itemprop") && reader.work.item() {
            items.push(reader.item(element));
        }
    }
    items
}

fn is_item(element: Element<'_>) -> bool {
    element.has_attr("itemscope")
}

struct Reader<'a> {
    work: Work,
    /// Elements by id; built when the first item has an `itemref`.
    by_id: Option<HashMap<&'a str, Element<'a>>>,
    /// Items being read, outermost first.
    path: Vec<Node<'a>>,
}

impl<'a> Reader<'a> {
    fn item(&mut self, root: Element<'a>) -> Value {
        self.path.push(root.node());
        let mut properties = Map::new();
        for element in self.members(root) {
            self.add_property(element, &mut properties);
        }
        self.path.pop();
        let types = root.attr("itemtype").unwrap_or_default();
        let types = property::names(types).map(Value::from).collect();
        let id = root
            .attr("itemid")
            .and_then(|id| root.document().resolve(id));
        property::item(types, id, properties)
    }

    /// The elements with the item's properties, in document order: HTML standard, section 5.2.5,
    /// "the properties of an item".
    fn members(&mut self, root: Element<'a>) -> Vec<Element<'a>> {
        let mut members = Vec::new();
        self.add_inside(root.node(), &mut members);
        let referred = self.referred(root);
        if referred.is_empty() {
            return members;
        }
        for element in referred {
            if element.has_attr("itemprop") {
                members.push(element);
            }
            if !is_item(element) {
                self.add_inside(element.node(), &mut members);
            }
        }
        members.sort_by_key(|element| element.node());
        members
    }

    /// Adds the elements with properties inside a node, except those inside other items.
    fn add_inside(&mut self, root: Node<'a>, members: &mut Vec<Element<'a>>) {
        let mut nodes = root.descendants();
        while let Some(node) = nodes.next() {
            if !self.work.step() {
                return;
            }
            match node.kind() {
                Kind::Element(element) => {
                    if element.has_attr("itemprop") {
                        members.push(element);
                    }
                    if is_item(element) {
                        nodes.skip_inside(node);
                    }
                }
                Kind::TemplateContents => nodes.skip_inside(node),
                _ => {}
            }
        }
    }

    /// The elements that `itemref` adds to an item: each once, without those that are reached from
    /// the item or from another of them anyway.
    fn referred(&mut self, root: Element<'a>) -> Vec<Element<'a>> {
        let references = root.attr("itemref").unwrap_or_default();
        let mut found: Vec<Element<'a>> = references
            .split_ascii_whitespace()
            .filter_map(|id| self.by_id(root, id))
            .filter(|element| *element != root)
            .collect();
        found.sort_by_key(|element| element.node());
        found.dedup();
        let starts: Vec<Node<'a>> = found.iter().map(|element| element.node()).collect();
        found.retain(|element| !self.is_reached(*element, root.node(), &starts));
        found
    }

    /// Whether a walk from the root or one of the starts (in page order) reaches the element. It
    /// enters no other item than `root`.
    fn is_reached(&mut self, element: Element<'a>, root: Node<'a>, starts: &[Node<'a>]) -> bool {
        for outer in element.ancestors() {
            if !self.work.step() || (is_item(outer) && outer.node() != root) {
                return false;
            }
            if outer.node() == root || starts.binary_search(&outer.node()).is_ok() {
                return true;
            }
        }
        false
    }

    /// The first element with this id, outside templates.
    fn by_id(&mut self, root: Element<'a>, id: &str) -> Option<Element<'a>> {
        let by_id = self.by_id.get_or_insert_with(|| {
            let mut by_id = HashMap::new();
            for element in root.document().live_elements() {
                if let Some(id) = element.id() {
                    by_id.entry(id).or_insert(element);
                }
            }
            by_id
        });
        by_id.get(id).copied()
    }

    fn add_property(&mut self, element: Element<'a>, properties: &mut Map<String, Value>) {
        let names = element.attr("itemprop").unwrap_or_default();
        let value = if is_item(element) {
            self.nested(element)
        } else {
            property::value(element, &mut self.work)
        };
        if let Some(value) = value {
            property::add(properties, property::names(names), value, &mut self.work);
        }
    }

    fn nested(&mut self, element: Element<'a>) -> Option<Value> {
        let is_allowed = self.path.len() < ITEM_DEPTH_MAX && !self.path.contains(&element.node());
        (is_allowed && self.work.item()).then(|| self.item(element))
    }
}
