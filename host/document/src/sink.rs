//! Applies the operations of html5ever's tree builder to the arena.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};

use encoding_rs::Encoding;
use html5ever::tendril::StrTendril;
use html5ever::tree_builder::{ElementFlags, NodeOrText, QuirksMode, TreeSink};
use html5ever::{Attribute, QualName, expanded_name, local_name, ns};

use super::arena::{Arena, NONE, Node};
use super::kind;
use super::names::Names;
use super::shadow::{self, Shadow};
use super::url_attributes;

/// A node and its name, so that reading the name needs no access to the arena.
#[derive(Clone, Copy, Debug)]
pub(super) struct Handle {
    pub(super) node: u32,
    name: u32,
}

/// The tree under construction, as the tree builder sees it.
pub(super) struct Sink {
    pub(super) arena: RefCell<Arena>,
    pub(super) names: Names,
    /// The encoding of queries in URLs; `None` for UTF-8.
    encoding: Option<&'static Encoding>,
    pub(super) is_quirky: Cell<bool>,
    /// Whether a `base` element has an `href`.
    pub(super) has_base: Cell<bool>,
    /// The node whose name the tree builder read last.
    pub(super) last_named: Cell<u32>,
    /// The text node that the latest change wrote, if its newest part is not only white space.
    pub(super) open_text: Cell<u32>,
    /// Shadow trees, in the order of their start tags.
    pub(super) shadows: RefCell<Vec<Shadow>>,
    /// An emptied list of attributes, for reuse.
    pub(super) spare: Cell<Vec<Attribute>>,
}

impl Sink {
    pub(super) fn new(arena: Arena, encoding: Option<&'static Encoding>) -> Self {
        Self {
            arena: RefCell::new(arena),
            names: Names::new(),
            encoding,
            is_quirky: Cell::new(false),
            has_base: Cell::new(false),
            last_named: Cell::new(NONE),
            open_text: Cell::new(NONE),
            shadows: RefCell::default(),
            spare: Cell::default(),
        }
    }

    pub(super) fn n_nodes(&self) -> usize {
        self.arena.borrow().nodes.len()
    }

    /// What the tree holds of an attribute's value.
    fn value<'v>(&self, attribute: &'v Attribute) -> Cow<'v, str> {
        match self.encoding {
            None => Cow::Borrowed(&attribute.value),
            Some(encoding) => url_attributes::value(&attribute.name, &attribute.value, encoding),
        }
    }

    fn insert(&self, parent: u32, sibling: u32, child: NodeOrText<Handle>) {
        let mut arena = self.arena.borrow_mut();
        match child {
            NodeOrText::AppendText(text) => {
                let node = arena.put_text(parent, sibling, &text);
                let is_blank = text.bytes().all(|byte| byte.is_ascii_whitespace());
                self.open_text.set(if is_blank { NONE } else { node });
            }
            NodeOrText::AppendNode(child) => {
                self.open_text.set(NONE);
                if arena.nodes[child.node as usize].parent != NONE {
                    arena.detach(child.node);
                }
                match sibling {
                    NONE => arena.append(parent, child.node),
                    _ => arena.insert_before(sibling, child.node),
                }
            }
        }
    }
}

impl TreeSink for Sink {
    type Handle = Handle;
    type Output = Self;
    type ElemName<'a> = &'a QualName;

    fn finish(self) -> Self {
        self
    }

    fn parse_error(&self, _message: Cow<'static, str>) {}

    fn get_document(&self) -> Handle {
        Handle { node: 0, name: 0 }
    }

    fn elem_name<'a>(&'a self, target: &'a Handle) -> &'a QualName {
        self.last_named.set(target.node);
        self.names.get(target.name)
    }

    fn create_element(
        &self,
        name: QualName,
        mut attributes: Vec<Attribute>,
        flags: ElementFlags,
    ) -> Handle {
        let mut arena = self.arena.borrow_mut();
        let start = arena.attribute_names.len() as u32;
        if name.expanded() == expanded_name!(html "base")
            && attributes
                .iter()
                .any(|attribute| attribute.name.expanded() == expanded_name!("", "href"))
        {
            self.has_base.set(true);
        }
        for attribute in &attributes {
            arena.put_attribute(self.names.number(&attribute.name), &self.value(attribute));
        }
        let number = self.names.number(&name);
        let node = arena.add(kind::ELEMENT, number, start, attributes.len() as u32);
        arena.nodes[node as usize].holds_html = flags.mathml_annotation_xml_integration_point;
        if flags.template {
            let contents = arena.add(kind::TEMPLATE_CONTENTS, 0, 0, 0);
            arena.append(node, contents);
        }
        if attributes.capacity() > 0 {
            attributes.clear();
            self.spare.set(attributes);
        }
        Handle { node, name: number }
    }

    fn create_comment(&self, text: StrTendril) -> Handle {
        let mut arena = self.arena.borrow_mut();
        let (start, count) = arena.put(&text);
        let node = arena.add(kind::COMMENT, 0, start, count);
        Handle { node, name: 0 }
    }

    fn create_pi(&self, target: StrTendril, data: StrTendril) -> Handle {
        let mut arena = self.arena.borrow_mut();
        let (start, count) = arena.put(&format!("{target} {data}"));
        let node = arena.add(kind::PROCESSING_INSTRUCTION, 0, start, count);
        Handle { node, name: 0 }
    }

    fn append(&self, parent: &Handle, child: NodeOrText<Handle>) {
        self.insert(parent.node, NONE, child);
    }

    fn append_based_on_parent_node(
        &self,
        element: &Handle,
        prev_element: &Handle,
        child: NodeOrText<Handle>,
    ) {
        let parent = self.arena.borrow().nodes[element.node as usize].parent;
        match parent {
            NONE => self.append(prev_element, child),
            _ => self.insert(parent, element.node, child),
        }
    }

    fn append_doctype_to_document(
        &self,
        name: StrTendril,
        _public_id: StrTendril,
        _system_id: StrTendril,
    ) {
        let name = QualName::new(None, ns!(), (&*name).into());
        let number = self.names.number(&name);
        let mut arena = self.arena.borrow_mut();
        let node = arena.add(kind::DOCTYPE, number, 0, 0);
        arena.append(0, node);
    }

    fn get_template_contents(&self, target: &Handle) -> Handle {
        // It was created right after its element.
        Handle {
            node: target.node + 1,
            name: 0,
        }
    }

    fn same_node(&self, x: &Handle, y: &Handle) -> bool {
        x.node == y.node
    }

    fn set_quirks_mode(&self, mode: QuirksMode) {
        self.is_quirky.set(mode == QuirksMode::Quirks);
    }

    fn append_before_sibling(&self, sibling: &Handle, child: NodeOrText<Handle>) {
        let parent = self.arena.borrow().nodes[sibling.node as usize].parent;
        if parent != NONE {
            self.insert(parent, sibling.node, child);
        }
    }

    fn add_attrs_if_missing(&self, target: &Handle, attributes: Vec<Attribute>) {
        let attributes = attributes.iter().map(|attribute| {
            let name = self.names.number(&attribute.name);
            (name, self.value(attribute))
        });
        self.arena.borrow_mut().put_missing(target.node, attributes);
    }

    fn remove_from_parent(&self, target: &Handle) {
        self.open_text.set(NONE);
        self.arena.borrow_mut().detach(target.node);
    }

    fn reparent_children(&self, node: &Handle, new_parent: &Handle) {
        self.open_text.set(NONE);
        self.arena
            .borrow_mut()
            .move_children(node.node, new_parent.node);
    }

    fn attach_declarative_shadow(
        &self,
        host: &Handle,
        template: &Handle,
        _attributes: &[Attribute],
    ) -> bool {
        let mut arena = self.arena.borrow_mut();
        let Node { is_host, depth, .. } = arena.nodes[host.node as usize];
        if is_host || !shadow::can_host(self.names.get(host.name)) {
            return false;
        }
        arena.nodes[host.node as usize].is_host = true;
        let contents = self.get_template_contents(template).node;
        // The template itself is not part of the tree, but as deep as its host.
        arena.nodes[template.node as usize].depth = depth + 1;
        arena.nodes[contents as usize].depth = depth + 1;
        self.shadows.borrow_mut().push(Shadow {
            host: host.node,
            contents,
        });
        true
    }

    fn is_mathml_annotation_xml_integration_point(&self, handle: &Handle) -> bool {
        self.arena.borrow().nodes[handle.node as usize].holds_html
    }
}
