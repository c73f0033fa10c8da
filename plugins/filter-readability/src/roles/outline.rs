//! Where the nodes of a page end, and how much text they have.

use trawl_sdk::{Document, Element, Kind, Node, Step, Tag};

/// The nodes of a page in document order, without the document itself.
pub(crate) struct Outline<'a> {
    pub(super) nodes: Vec<Node<'a>>,
    /// For each node, one past its last descendant.
    pub(super) ends: Vec<usize>,
    /// For each node, its parent; `None` if that is the document.
    pub(super) parents: Vec<Option<usize>>,
    /// For each node, whether a reader sees it or may open it.
    pub(super) is_shown: Vec<bool>,
    /// Bytes of text before each node, and of all text at the end.
    texts: Vec<usize>,
    /// The same for text in links.
    links: Vec<usize>,
}

/// An open element.
struct Open {
    /// Its place; `None` for the document.
    at: Option<usize>,
    is_shown: bool,
    is_link: bool,
}

impl<'a> Outline<'a> {
    /// Measures a page in one walk.
    pub(crate) fn of(document: &'a Document<'a>) -> Self {
        let mut outline = Self {
            nodes: Vec::new(),
            ends: Vec::new(),
            parents: Vec::new(),
            is_shown: Vec::new(),
            texts: vec![0],
            links: vec![0],
        };
        let mut open: Vec<Open> = Vec::new();
        for step in document.root().walk() {
            match step {
                Step::Enter(node) => outline.enter(node, &mut open),
                Step::Leave(_) => {
                    if let Some(at) = open.pop().and_then(|open| open.at) {
                        outline.ends[at] = outline.nodes.len();
                    }
                }
            }
        }
        outline
    }

    fn enter(&mut self, node: Node<'a>, open: &mut Vec<Open>) {
        let (parent, is_shown, in_link) = match open.last() {
            Some(open) => (open.at, open.is_shown, open.is_link),
            None => (None, true, false),
        };
        let (mut text, mut begun) = (0, None);
        match node.kind() {
            Kind::Document => {
                open.push(Open {
                    at: None,
                    is_shown: true,
                    is_link: false,
                });
                return;
            }
            Kind::Element(element) => {
                begun = Some((is_shown && shows(element), in_link || is_link(element)));
            }
            Kind::TemplateContents => begun = Some((false, false)),
            Kind::Text(own) if is_shown => text = own.trim().len(),
            _ => {}
        }
        let at = self.nodes.len();
        self.nodes.push(node);
        self.ends.push(at + 1);
        self.parents.push(parent);
        self.is_shown
            .push(begun.map_or(is_shown, |(is_shown, _)| is_shown));
        self.texts.push(self.texts[at] + text);
        self.links
            .push(self.links[at] + if in_link { text } else { 0 });
        if let Some((is_shown, is_link)) = begun {
            open.push(Open {
                at: Some(at),
                is_shown,
                is_link,
            });
        }
    }

    /// Bytes of text in a node.
    pub(super) fn text_bytes(&self, at: usize) -> usize {
        self.texts[self.ends[at]] - self.texts[at]
    }

    /// Share of the text of a node that is in links, 0 to 1.
    pub(super) fn link_share(&self, at: usize) -> f32 {
        let links = self.links[self.ends[at]] - self.links[at];
        links as f32 / self.text_bytes(at).max(1) as f32
    }

    /// Bytes of text between two nodes.
    pub(super) fn bytes_between(&self, from: usize, to: usize) -> usize {
        self.texts[to].saturating_sub(self.texts[from])
    }

    /// Number of nodes in a node, itself included.
    pub(super) fn n_nodes(&self, at: usize) -> usize {
        self.ends[at] - at
    }
}

fn is_link(element: Element<'_>) -> bool {
    element.tag() == Tag::A && element.has_attr("href")
}

/// Whether an element shows what is in it, by itself or once it is opened. Players count.
fn shows(element: Element<'_>) -> bool {
    match element.tag() {
        Tag::Noscript | Tag::Iframe | Tag::Video | Tag::Audio | Tag::Object => true,
        tag => !tag.is_never_shown() && !element.is_hidden(),
    }
}
