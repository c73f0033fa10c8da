//! A simple tree built by html5ever, for tests.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use html5ever::interface::{ElementFlags, NodeOrText, QuirksMode, TreeSink};
use html5ever::tendril::{StrTendril, TendrilSink};
use html5ever::tree_builder::TreeBuilderOpts;
use html5ever::{Attribute, ExpandedName, ParseOpts, QualName, parse_document};

/// Data of a tree node.
pub(super) enum Data {
    Document,
    Doctype(StrTendril),
    Element {
        name: QualName,
        attributes: RefCell<Vec<Attribute>>,
        template_contents: Option<Handle>,
    },
    Text(RefCell<StrTendril>),
    Comment(StrTendril),
    TemplateContents,
    ProcessingInstruction(StrTendril),
}

/// A node of the tree.
pub(super) struct TreeNode {
    pub(super) data: Data,
    parent: RefCell<Weak<TreeNode>>,
    pub(super) children: RefCell<Vec<Handle>>,
}

pub(super) type Handle = Rc<TreeNode>;

fn node(data: Data) -> Handle {
    Rc::new(TreeNode {
        data,
        parent: RefCell::default(),
        children: RefCell::default(),
    })
}

/// Parses a page like the host does: with scripting disabled, so that the content of `<noscript>`
/// is parsed. Returns the document and whether it is in quirks mode.
pub(super) fn parse(html: &str) -> (Handle, bool) {
    let sink = Sink {
        document: node(Data::Document),
        quirks: Cell::new(false),
    };
    let options = ParseOpts {
        tree_builder: TreeBuilderOpts {
            scripting_enabled: false,
            ..TreeBuilderOpts::default()
        },
        ..ParseOpts::default()
    };
    let sink = parse_document(sink, options).one(html);
    (sink.document, sink.quirks.get())
}

struct Sink {
    document: Handle,
    quirks: Cell<bool>,
}

fn detach(child: &Handle) {
    if let Some(parent) = child.parent.take().upgrade() {
        parent
            .children
            .borrow_mut()
            .retain(|other| !Rc::ptr_eq(other, child));
    }
}

/// Inserts a child at position `at`; merges it with the preceding node if both are text.
fn insert(parent: &Handle, at: usize, child: NodeOrText<Handle>) {
    let child = match child {
        NodeOrText::AppendNode(child) => child,
        NodeOrText::AppendText(text) => {
            let before = at
                .checked_sub(1)
                .and_then(|before| parent.children.borrow().get(before).cloned());
            if let Some(Data::Text(own)) = before.as_deref().map(|before| &before.data) {
                own.borrow_mut().push_tendril(&text);
                return;
            }
            node(Data::Text(RefCell::new(text)))
        }
    };
    detach(&child);
    child.parent.replace(Rc::downgrade(parent));
    parent.children.borrow_mut().insert(at, child);
}

impl TreeSink for Sink {
    type Handle = Handle;
    type Output = Self;
    type ElemName<'a> = ExpandedName<'a>;

    fn finish(self) -> Self {
        self
    }

    fn parse_error(&self, _: Cow<'static, str>) {}

    fn get_document(&self) -> Handle {
        Rc::clone(&self.document)
    }

    fn elem_name<'a>(&'a self, target: &'a Handle) -> ExpandedName<'a> {
        match &target.data {
            Data::Element { name, .. } => name.expanded(),
            _ => unreachable!("the parser requests names of elements only"),
        }
    }

    fn create_element(
        &self,
        name: QualName,
        attributes: Vec<Attribute>,
        flags: ElementFlags,
    ) -> Handle {
        node(Data::Element {
            name,
            attributes: RefCell::new(attributes),
            template_contents: flags.template.then(|| node(Data::TemplateContents)),
        })
    }

    fn create_comment(&self, text: StrTendril) -> Handle {
        node(Data::Comment(text))
    }

    fn create_pi(&self, target: StrTendril, data: StrTendril) -> Handle {
        let mut text = target;
        text.push_char(' ');
        text.push_tendril(&data);
        node(Data::ProcessingInstruction(text))
    }

    fn append(&self, parent: &Handle, child: NodeOrText<Handle>) {
        if let NodeOrText::AppendNode(child) = &child {
            detach(child);
        }
        let at = parent.children.borrow().len();
        insert(parent, at, child);
    }

    fn append_based_on_parent_node(
        &self,
        element: &Handle,
        previous: &Handle,
        child: NodeOrText<Handle>,
    ) {
        let has_parent = element.parent.borrow().upgrade().is_some();
        if has_parent {
            self.append_before_sibling(element, child);
        } else {
            self.append(previous, child);
        }
    }

    fn append_doctype_to_document(&self, name: StrTendril, _: StrTendril, _: StrTendril) {
        self.append(
            &self.document,
            NodeOrText::AppendNode(node(Data::Doctype(name))),
        );
    }

    fn get_template_contents(&self, target: &Handle) -> Handle {
        match &target.data {
            Data::Element {
                template_contents: Some(contents),
                ..
            } => Rc::clone(contents),
            _ => unreachable!("the parser requests contents of templates only"),
        }
    }

    fn same_node(&self, one: &Handle, other: &Handle) -> bool {
        Rc::ptr_eq(one, other)
    }

    fn set_quirks_mode(&self, mode: QuirksMode) {
        self.quirks.set(mode == QuirksMode::Quirks);
    }

    fn append_before_sibling(&self, sibling: &Handle, child: NodeOrText<Handle>) {
        if let NodeOrText::AppendNode(child) = &child {
            detach(child);
        }
        let parent = sibling.parent.borrow().upgrade();
        let parent = parent.expect("the parser passes a sibling that has a parent");
        let at = parent
            .children
            .borrow()
            .iter()
            .position(|other| Rc::ptr_eq(other, sibling));
        insert(&parent, at.expect("a child is among its parent's"), child);
    }

    fn add_attrs_if_missing(&self, target: &Handle, added: Vec<Attribute>) {
        if let Data::Element { attributes, .. } = &target.data {
            let mut attributes = attributes.borrow_mut();
            for attribute in added {
                if attributes.iter().all(|own| own.name != attribute.name) {
                    attributes.push(attribute);
                }
            }
        }
    }

    fn remove_from_parent(&self, target: &Handle) {
        detach(target);
    }

    fn reparent_children(&self, from: &Handle, to: &Handle) {
        for child in from.children.take() {
            child.parent.replace(Rc::downgrade(to));
            to.children.borrow_mut().push(child);
        }
    }
}
