//! Links: their content decides how they are written.

use trawl_sdk::{Element, Namespace, Node, Tag};

use super::{After, Renderer};
use crate::inline::Mark;
use crate::options::Links;
use crate::url::is_followable;
use crate::visible::is_left_out;

/// Maximum number of texts in a link over several lines, and their size in bytes.
const JOINED_TEXTS_MAX: usize = 5;
const JOINED_BYTES_MAX: usize = 300;
/// Maximum number of nodes of a link that is examined for its parts.
const CARD_NODES_MAX: usize = 500;

/// A link around blocks, which Markdown does not have: it is written once, on its most informative
/// part.
#[derive(Clone, Copy, Debug)]
pub(super) struct Card<'a> {
    /// The element whose text is linked.
    pub(super) target: Element<'a>,
    link: Mark<'a>,
}

/// How a link is written.
enum Shape<'a> {
    /// Around its text.
    Plain,
    /// Around its text, with line breaks between its blocks.
    Joined,
    /// On the text of one of its elements.
    Card(Element<'a>),
}

impl<'a> Renderer<'a> {
    pub(super) fn enter_link(&mut self, link: Element<'a>) -> Option<After> {
        let Some(href) = link.attr("href") else {
            return Some(After::Nothing);
        };
        if is_permalink(link, href) {
            return None;
        }
        let is_written = self.writer.is_in_code() && self.writer.is_in_link();
        if self.options.links == Links::None || !is_followable(href) || is_written {
            return Some(After::Nothing);
        }
        let mark = Mark::Link(href, link.attr("title").unwrap_or_default());
        self.link = Some(link);
        let shape = if self.writer.is_one_line() {
            Shape::Plain
        } else {
            shape(link, self.options.hidden)
        };
        match shape {
            Shape::Plain => {
                self.writer.enter_mark(mark);
                Some(After::Mark)
            }
            Shape::Joined => {
                self.writer.boundary();
                self.writer.n_joined += 1;
                self.writer.enter_mark(mark);
                Some(After::Joined)
            }
            Shape::Card(target) => {
                self.writer.boundary();
                self.card = Some(Card { target, link: mark });
                Some(After::Boundary)
            }
        }
    }

    /// Starts the link of a card if its target element has just started.
    pub(super) fn enter_card(&mut self, element: Element<'a>) {
        if let Some(card) = self.card.filter(|card| card.target == element) {
            self.writer.enter_mark(card.link);
        }
    }

    /// Ends the link of a card before its target element ends.
    pub(super) fn leave_card(&mut self, node: Node<'a>) {
        if self.card.is_some_and(|card| card.target.node() == node) {
            self.writer.leave_mark();
            self.card = None;
        }
    }

    pub(super) fn leave_joined(&mut self) {
        self.writer.leave_mark();
        self.writer.n_joined -= 1;
        self.writer.boundary();
    }
}

fn shape(link: Element<'_>, with_hidden: bool) -> Shape<'_> {
    let mut parts = Parts::default();
    let mut inside = link.descendants();
    for _ in 0..CARD_NODES_MAX {
        let Some(node) = inside.next() else { break };
        parts.add(node);
        if node
            .as_element()
            .is_some_and(|element| cannot_be_linked(element, with_hidden))
        {
            inside.skip_inside(node);
        }
    }
    let is_short = parts.n_texts <= JOINED_TEXTS_MAX && parts.n_bytes <= JOINED_BYTES_MAX;
    if !parts.has_block {
        Shape::Plain
    } else if parts.n_texts == 0 || is_short && parts.heading.is_none() && !parts.has_structure {
        Shape::Joined
    } else {
        match parts.heading.or(parts.title).or(parts.first) {
            Some(target) if target != link => Shape::Card(target),
            _ => Shape::Plain,
        }
    }
}

/// The content of a link.
#[derive(Default)]
struct Parts<'a> {
    has_block: bool,
    /// Whether a block is more than lines of text.
    has_structure: bool,
    /// Number of non-blank texts, and their bytes.
    n_texts: usize,
    n_bytes: usize,
    /// The first heading, the first element with a title class, and the first element with text of
    /// its own.
    heading: Option<Element<'a>>,
    title: Option<Element<'a>>,
    first: Option<Element<'a>>,
}

impl<'a> Parts<'a> {
    fn add(&mut self, node: Node<'a>) {
        if let Some(element) = node.as_element() {
            let tag = element.tag();
            self.has_block |= tag.is_block();
            self.has_structure |= is_structure(tag);
            if self.heading.is_none() && tag.heading_level().is_some() && has_text(element) {
                self.heading = Some(element);
            }
        } else if node
            .as_text()
            .is_some_and(|text| !text.trim_ascii().is_empty())
        {
            self.n_texts += 1;
            self.n_bytes += node.as_text().map_or(0, str::len);
            let parent = node.parent_element();
            self.first = self.first.or(parent);
            self.title = self.title.or(parent.filter(|parent| is_title(*parent)));
        }
    }
}

/// Whether an element cannot contain a link: it is omitted or written verbatim.
fn cannot_be_linked(element: Element<'_>, with_hidden: bool) -> bool {
    let tag = element.tag();
    tag.is_never_shown()
        || matches!(tag, Tag::Pre | Tag::Select | Tag::Textarea | Tag::Code)
        || element.namespace() != Namespace::Html
        || is_left_out(element, with_hidden)
}

/// Whether an element has a title class or is emphasized like one.
fn is_title(element: Element<'_>) -> bool {
    const NAMES: &[&str] = &["title", "headline", "heading", "name"];
    matches!(element.tag(), Tag::Strong | Tag::B)
        || element.classes().any(|class| {
            NAMES
                .iter()
                .any(|name| class.to_ascii_lowercase().contains(name))
        })
}

fn has_text(element: Element<'_>) -> bool {
    const NODES_MAX: usize = 20;
    let mut texts = element
        .descendants()
        .take(NODES_MAX)
        .filter_map(Node::as_text);
    texts.any(|text| !text.trim_ascii().is_empty())
}

/// Whether a block is more than lines of text.
fn is_structure(tag: Tag) -> bool {
    matches!(
        tag,
        Tag::Ul | Tag::Ol | Tag::Menu | Tag::Dl | Tag::Table | Tag::Pre | Tag::Blockquote | Tag::Hr
    )
}

/// Whether a link has no text, only images perhaps.
pub(super) fn is_bare(link: Element<'_>) -> bool {
    const NODES_MAX: usize = 20;
    let mut inside = link.descendants().take(NODES_MAX);
    inside.all(|node| {
        node.as_text()
            .is_none_or(|text| text.trim_ascii().is_empty())
    })
}

/// Whether a link is only a permalink to its own heading.
fn is_permalink(link: Element<'_>, href: &str) -> bool {
    const NODES_MAX: usize = 3;
    if !href.contains('#') {
        return false;
    }
    let mut text = "";
    for (n, node) in link.descendants().enumerate() {
        let own = node.as_text().unwrap_or_default().trim();
        let has_image = node
            .as_element()
            .is_some_and(|element| element.tag() == Tag::Img);
        if n >= NODES_MAX || has_image || !own.is_empty() && !text.is_empty() {
            return false;
        }
        text = if own.is_empty() { text } else { own };
    }
    matches!(text, "" | "#" | "§" | "¶" | "🔗" | "⚓" | "⚓︎")
}
