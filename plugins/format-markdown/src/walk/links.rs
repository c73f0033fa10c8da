//! Links: their content decides how they are written.

use trawl_sdk::view::Edges;
use trawl_sdk::{Element, Kind, Namespace, Node, Step, Tag};

use super::{After, Renderer, is_control};
use crate::code;
use crate::inline::Mark;
use crate::math;
use crate::options::Links;
use crate::url::{decoded, is_followable};
use crate::visible::is_left_out;

/// Maximum number of texts in a link over several lines, and their size in bytes without blanks.
const JOINED_TEXTS_MAX: usize = 5;
const JOINED_BYTES_MAX: usize = 300;
/// Maximum number of texts of a link that is examined for its parts.
const CARD_TEXTS_MAX: usize = 150;

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
        let heading = own_heading(link, href);
        if link.is_permalink() || heading.is_some_and(|heading| is_sign(link, heading)) {
            return None;
        }
        let is_written = self.writer.is_in_code() && self.writer.is_in_link();
        let is_left_out = self.options.links == Links::None || heading.is_some();
        if is_left_out || !is_followable(href) || is_written {
            return Some(After::Nothing);
        }
        let mark = Mark::Link(href, link.attr("title").unwrap_or_default());
        self.link = Some(link);
        // A link in a cell of another one is no link: its card would take the place of that one's.
        let shape = if self.writer.is_one_line() || self.writer.is_in_link() {
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
        let link = match &self.card {
            Some(card) if card.target == element => card.link,
            _ => return,
        };
        self.writer.enter_mark(link);
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

/// The heading around or inside a link that leads to that heading, as in many manuals: the link
/// says nothing.
fn own_heading<'a>(link: Element<'a>, href: &str) -> Option<Element<'a>> {
    const LEVELS_MAX: usize = 3;
    const ELEMENTS_MAX: usize = 20;
    let (page, place) = href.trim_ascii().split_once('#')?;
    let is_heading = |element: &Element<'_>| element.tag().heading_level().is_some();
    let outer = link.ancestors().take(LEVELS_MAX).find(is_heading);
    let inner = || {
        let inside = link.descendants().filter_map(Node::as_element);
        inside.take(ELEMENTS_MAX).find(is_heading)
    };
    let heading = outer.or_else(inner).filter(|_| !place.is_empty())?;
    let document = link.document();
    let own = document.url().split('#').next().unwrap_or_default();
    let is_here = match page {
        "" => document.base_url() == document.url(),
        page => document.resolve(page).as_deref() == Some(own),
    };
    let place_bytes = place.contains('%').then(|| decoded(place));
    let is_place = |element: Element<'_>| {
        let names = [element.id(), element.attr("name")];
        names
            .into_iter()
            .flatten()
            .any(|name| name == place || place_bytes.as_deref() == Some(name.as_bytes()))
    };
    let mut inside = heading
        .descendants()
        .filter_map(Node::as_element)
        .take(ELEMENTS_MAX);
    let is_own = is_here
        && (is_place(heading)
            || is_place(link)
            || heading.parent_element().is_some_and(is_place)
            || inside.any(is_place));
    is_own.then_some(heading)
}

/// Whether a link to its own heading is a sign next to the text of the heading, such as `[#]`.
fn is_sign(link: Element<'_>, heading: Element<'_>) -> bool {
    const TEXTS_MAX: usize = 3;
    let n_texts = link.shown_texts().take(TEXTS_MAX + 1).count();
    let mut texts = link.shown_texts();
    (1..=TEXTS_MAX).contains(&n_texts)
        && !texts.any(|text| text.contains(char::is_alphanumeric))
        && heading.shown_texts().nth(n_texts).is_some()
}

/// Whether a link has no block in it and is so small that this is seen at once, as of most links.
fn is_inline(link: Element<'_>) -> bool {
    const NODES_MAX: usize = 32;
    let is_block = |node: Node<'_>| {
        node.as_element()
            .is_some_and(|inner| inner.tag().is_block())
    };
    let mut inside = link.descendants();
    !inside.by_ref().take(NODES_MAX).any(is_block) && inside.next().is_none()
}

fn shape(link: Element<'_>, with_hidden: bool) -> Shape<'_> {
    if is_inline(link) {
        return Shape::Plain;
    }
    let mut parts = Parts::default();
    let mut walk = link.walk();
    while let Some(step) = walk.next()
        && parts.n_texts < CARD_TEXTS_MAX
    {
        match step {
            Step::Enter(node) if node == link.node() => {}
            Step::Enter(node) => match node.kind() {
                Kind::Text(text) => parts.add_text(node, text),
                Kind::TemplateContents => walk.skip_tree(),
                Kind::Element(inner) => {
                    parts.add_element(inner);
                    if cannot_be_linked(inner, with_hidden) {
                        walk.skip_tree();
                    }
                }
                _ => {}
            },
            Step::Leave(node) => {
                node.as_element()
                    .into_iter()
                    .for_each(|inner| parts.edges.pass(inner));
            }
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
    /// Number of texts that are kept apart, and their bytes without white space.
    n_texts: usize,
    n_bytes: usize,
    /// What was passed since the last text.
    edges: Edges,
    /// The first heading, the first element with a title class, and the first element with text of
    /// its own.
    heading: Option<Element<'a>>,
    title: Option<Element<'a>>,
    first: Option<Element<'a>>,
}

impl<'a> Parts<'a> {
    fn add_element(&mut self, element: Element<'a>) {
        let tag = element.tag();
        if !element.is_unseen() {
            self.edges.pass(element);
        }
        self.has_block |= tag.is_block();
        self.has_structure |= is_structure(tag);
        if self.heading.is_none() && tag.heading_level().is_some() && element.has_shown_text() {
            self.heading = Some(element);
        }
    }

    fn add_text(&mut self, node: Node<'a>, text: &str) {
        if text.trim_ascii().is_empty() {
            return;
        }
        if self.n_texts == 0 || self.edges.are_apart() {
            self.n_texts += 1;
        }
        self.edges = Edges::default();
        self.n_bytes += text.split_ascii_whitespace().map(str::len).sum::<usize>();
        let mut around = node.ancestors();
        let parent = around.find(|outer| !outer.is_neutral());
        self.first = self.first.or(parent);
        self.title = self.title.or(parent.filter(|parent| is_title(*parent)));
    }
}

/// Whether an element cannot contain a link: it is omitted or written verbatim.
fn cannot_be_linked(element: Element<'_>, with_hidden: bool) -> bool {
    let takes_no_link = match element.tag() {
        Tag::Code | Tag::Listing | Tag::Plaintext | Tag::Pre | Tag::Xmp => true,
        Tag::Div => code::is_gutter(element),
        Tag::Table => code::is_in_rows(element),
        Tag::Td => code::is_line_number(element),
        Tag::Span => math::of_pandoc(element).is_some(),
        Tag::Other if element.name() == "mjx-container" => math::of_container(element).is_some(),
        tag => tag.is_never_shown() || is_control(tag),
    };
    takes_no_link
        || math::is_rendering(element)
        || element.namespace() != Namespace::Html
        || is_left_out(element, with_hidden)
}

/// Whether an element has a title class or is emphasized like one.
fn is_title(element: Element<'_>) -> bool {
    const NAMES: &[&str] = &["title", "headline", "heading", "name"];
    matches!(element.tag(), Tag::Strong | Tag::B)
        || element.attr("class").is_some_and(|class| {
            let class = class.to_ascii_lowercase();
            NAMES.iter().any(|name| class.contains(name))
        })
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
    !link.has_shown_text()
}
