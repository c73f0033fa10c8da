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
    let mut nodes = document.descendants();
    while let Some(node) = nodes.next() {
        match node.kind() {
            Kind::TemplateContents => nodes.skip_inside(node),
            Kind::Element(element)
                if is_item(element) && !element.has_attr("itemprop") && reader.work.item() =>
            {
                items.push(reader.item(element));
            }
            _ => {}
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
        self.read_inside(root.node(), &mut properties);
        let references = root.attr("itemref").unwrap_or_default();
        for id in references.split_ascii_whitespace() {
            if let Some(element) = self.referred(root, id)
                && self.read_element(element, &mut properties)
            {
                self.read_inside(element.node(), &mut properties);
            }
        }
        self.path.pop();
        let types = root.attr("itemtype").unwrap_or_default();
        let types = property::names(types).map(Value::from).collect();
        let id = root
            .attr("itemid")
            .and_then(|id| root.document().resolve(id));
        property::item(types, id, properties)
    }

    /// The element with this id, unless it is inside the item anyway.
    fn referred(&mut self, root: Element<'a>, id: &str) -> Option<Element<'a>> {
        let by_id = self.by_id.get_or_insert_with(|| {
            let mut by_id = HashMap::new();
            for element in root.document().elements() {
                if let Some(id) = element.id() {
                    by_id.entry(id).or_insert(element);
                }
            }
            by_id
        });
        let element = *by_id.get(id)?;
        let is_inside = element == root || element.ancestors().any(|outer| outer == root);
        (!is_inside).then_some(element)
    }

    fn read_inside(&mut self, root: Node<'a>, properties: &mut Map<String, Value>) {
        let mut nodes = root.descendants();
        while let Some(node) = nodes.next() {
            if !self.work.step() {
                return;
            }
            let is_open = match node.kind() {
                Kind::Element(element) => self.read_element(element, properties),
                Kind::TemplateContents => false,
                _ => true,
            };
            if !is_open {
                nodes.skip_inside(node);
            }
        }
    }

    /// Adds the element's own property; returns whether its descendants belong to the same item.
    fn read_element(&mut self, element: Element<'a>, properties: &mut Map<String, Value>) -> bool {
        let is_item = is_item(element);
        let Some(names) = element.attr("itemprop") else {
            return !is_item;
        };
        let value = if is_item {
            self.nested(element)
        } else {
            property::value(element, &mut self.work)
        };
        if let Some(value) = value {
            property::add(properties, property::names(names), value, &mut self.work);
        }
        !is_item
    }

    fn nested(&mut self, element: Element<'a>) -> Option<Value> {
        let is_allowed = self.path.len() < ITEM_DEPTH_MAX && !self.path.contains(&element.node());
        (is_allowed && self.work.item()).then(|| self.item(element))
    }
}
