//! Splits a page into blocks: paragraphs, list items, table rows, headings.

use trawl_sdk::view::Walk;
use trawl_sdk::{Element, Kind, Namespace, Node, Step, Tag};

use super::Region;

/// Maximum number of blocks of a page; the rest is left out.
const BLOCKS_MAX: usize = 20_000;

/// A block of a page.
#[derive(Clone, Debug)]
pub struct Block<'a> {
    /// Its text with white space collapsed; never empty.
    pub text: String,
    /// What kind of block it is.
    pub kind: BlockKind,
    /// Region of the page it is in.
    pub region: Region,
    /// Index of the heading above it in the same region.
    pub heading: Option<usize>,
    /// Fraction of its text inside links, from 0 to 1.
    pub link_share: f32,
    /// Whether all of its text is bold.
    pub is_bold: bool,
    /// The innermost element that forms the block.
    pub element: Element<'a>,
}

/// Kind of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockKind {
    /// A heading with its level, 1 to 6.
    Heading(u8),
    /// A paragraph, or text without an element of its own.
    Paragraph,
    /// A list item.
    Item,
    /// A table row, cells separated by a space.
    Row,
    /// The term of a definition list.
    Term,
    /// The definition of a definition list.
    Definition,
    /// The summary of `<details>`.
    Summary,
}

/// The visible blocks inside a node, in document order.
pub fn blocks(root: Node<'_>) -> Vec<Block<'_>> {
    let mut reader = Reader::default();
    let mut walk = root.walk();
    while let Some(step) = walk.next() {
        if reader.blocks.len() >= BLOCKS_MAX {
            break;
        }
        match step {
            Step::Enter(node) => match node.kind() {
                Kind::Text(text) => reader.text(text),
                Kind::Element(element) => reader.enter(element, &mut walk),
                Kind::TemplateContents => walk.skip_tree(),
                _ => {}
            },
            Step::Leave(node) => {
                if let Some(element) = node.as_element() {
                    reader.leave(element);
                }
            }
        }
    }
    reader.flush();
    reader.blocks
}

/// Text of an element on one line: white space collapsed, blocks separated by a space, without list
/// markers, so that it matches the page's text. With `with_hidden`, also includes hidden text, such
/// as the closed sections of an accordion.
pub fn flat_text(element: Element<'_>, with_hidden: bool) -> String {
    let mut line = Line::default();
    let mut walk = element.node().walk();
    while let Some(step) = walk.next() {
        match step {
            Step::Enter(node) => match node.kind() {
                Kind::Text(text) => line.push(text),
                Kind::Element(inner) => {
                    let is_hidden = !with_hidden && inner != element && inner.hidden_by().is_some();
                    if is_not_text(inner) || is_hidden {
                        walk.skip_tree();
                    } else if is_separated(inner) {
                        line.space = true;
                    }
                }
                Kind::TemplateContents => walk.skip_tree(),
                _ => {}
            },
            Step::Leave(node) => line.space |= node.as_element().is_some_and(is_separated),
        }
    }
    line.text
}

/// Whether the element is separated from the text around it by a space.
fn is_separated(element: Element<'_>) -> bool {
    let tag = element.tag();
    tag.is_block() || matches!(tag, Tag::Br | Tag::Td | Tag::Th | Tag::Button | Tag::Img)
}

/// Whether the content of an element is not readable text.
fn is_not_text(element: Element<'_>) -> bool {
    match element.tag() {
        Tag::Select | Tag::Textarea | Tag::Progress | Tag::Meter => true,
        Tag::Other => element.namespace() != Namespace::Html || element.is_icon(),
        tag => tag.is_never_shown() || element.is_icon(),
    }
}

/// Builds text on a single line.
#[derive(Default)]
struct Line {
    text: String,
    /// Whether a space precedes the next text.
    space: bool,
}

impl Line {
    fn push(&mut self, text: &str) {
        let mut words = text.split_ascii_whitespace().peekable();
        self.space |= text.starts_with(|c: char| c.is_ascii_whitespace());
        while let Some(word) = words.next() {
            if self.space && !self.text.is_empty() {
                self.text.push(' ');
            }
            self.text.push_str(word);
            self.space = words.peek().is_some();
        }
        self.space |= text.ends_with(|c: char| c.is_ascii_whitespace());
    }
}

/// Collects blocks on a walk through a page.
#[derive(Default)]
struct Reader<'a> {
    blocks: Vec<Block<'a>>,
    line: Line,
    n_linked: usize,
    n_bold: usize,
    /// Open block elements, outermost first.
    open: Vec<Open<'a>>,
    links: usize,
    bolds: usize,
    /// The current row, unless one of its cells contains blocks.
    row: Option<Element<'a>>,
    /// Last heading of the main content, and of the other regions.
    headings: [Option<usize>; 2],
}

struct Open<'a> {
    element: Element<'a>,
    kind: BlockKind,
    region: Region,
}

impl<'a> Reader<'a> {
    fn enter(&mut self, element: Element<'a>, walk: &mut Walk<'a>) {
        let tag = element.tag();
        let is_button = tag == Tag::Button && !self.is_in_heading();
        if is_not_text(element) || is_button || element.hidden_by().is_some() {
            walk.skip_tree();
            return;
        }
        match tag {
            Tag::A => self.links += 1,
            Tag::B | Tag::Strong => self.bolds += 1,
            Tag::Br | Tag::Td | Tag::Th | Tag::Img => self.line.space = true,
            _ => {}
        }
        let is_block = tag.is_block() || element.is_styled_as_block();
        if self.row.is_some() {
            self.line.space |= is_block;
            return;
        }
        let inside = self.open.last().map_or(Region::Main, |open| open.region);
        let new_region = Region::begun_by(element, inside);
        if !is_block && new_region.is_none() {
            return;
        }
        self.flush();
        self.open.push(Open {
            element,
            kind: self.kind(element),
            region: new_region.unwrap_or(inside),
        });
        if tag == Tag::Tr && is_plain_row(element) {
            self.row = Some(element);
        }
    }

    fn leave(&mut self, element: Element<'a>) {
        match element.tag() {
            Tag::A => self.links = self.links.saturating_sub(1),
            Tag::B | Tag::Strong => self.bolds = self.bolds.saturating_sub(1),
            Tag::Td | Tag::Th => self.line.space = true,
            _ => {}
        }
        if self.row.is_some_and(|row| row != element) {
            self.line.space |= is_separated(element);
            return;
        }
        self.row = None;
        if self.open.last().is_some_and(|open| open.element == element) {
            self.flush();
            self.open.pop();
        }
    }

    fn kind(&self, element: Element<'a>) -> BlockKind {
        let tag = element.tag();
        let outer = self
            .open
            .last()
            .map_or(BlockKind::Paragraph, |open| open.kind);
        if let Some(level) = tag.heading_level().or_else(|| aria_level(element)) {
            return BlockKind::Heading(level);
        }
        match tag {
            Tag::Li => BlockKind::Item,
            Tag::Tr => BlockKind::Row,
            Tag::Dt => BlockKind::Term,
            Tag::Dd => BlockKind::Definition,
            Tag::Summary => BlockKind::Summary,
            // Everything inside a list item or a heading belongs to it.
            _ if outer != BlockKind::Row => outer,
            _ => BlockKind::Paragraph,
        }
    }

    fn is_in_heading(&self) -> bool {
        self.open.last().is_some_and(|open| {
            matches!(
                open.kind,
                BlockKind::Heading(_) | BlockKind::Summary | BlockKind::Term
            )
        })
    }

    fn text(&mut self, text: &str) {
        let before = self.line.text.len();
        self.line.push(text);
        let added = self.line.text.len() - before;
        self.n_linked += if self.links > 0 { added } else { 0 };
        self.n_bold += if self.bolds > 0 { added } else { 0 };
    }

    fn flush(&mut self) {
        let text = std::mem::take(&mut self.line).text;
        let (n_linked, n_bold) = (
            std::mem::take(&mut self.n_linked),
            std::mem::take(&mut self.n_bold),
        );
        let Some(open) = self.open.last() else {
            return;
        };
        if text.is_empty() {
            return;
        }
        let place = usize::from(!matches!(open.region, Region::Main));
        if matches!(open.kind, BlockKind::Heading(_)) {
            self.headings[place] = Some(self.blocks.len());
        }
        let heading = self.headings[place].filter(|&heading| heading < self.blocks.len());
        self.blocks.push(Block {
            kind: open.kind,
            region: open.region,
            heading,
            link_share: n_linked as f32 / text.len() as f32,
            // Neither count includes the spaces between texts.
            is_bold: n_bold + 2 >= text.len(),
            element: open.element,
            text,
        });
    }
}

/// Level of an element with `role=heading`.
fn aria_level(element: Element<'_>) -> Option<u8> {
    let is_heading = element
        .attr("role")
        .is_some_and(|role| role.trim_ascii() == "heading");
    let level = || element.attr("aria-level")?.trim_ascii().parse::<u8>().ok();
    // WAI-ARIA 1.2: a heading without a level has level 2.
    is_heading.then(|| level().unwrap_or(2).clamp(1, 6))
}

/// Whether the cells of a row contain no tables, lists or headings, unlike those of layout tables.
fn is_plain_row(row: Element<'_>) -> bool {
    row.descendants()
        .filter_map(Node::as_element)
        .all(|element| {
            let tag = element.tag();
            tag.heading_level().is_none()
                && !matches!(tag, Tag::Table | Tag::Ul | Tag::Ol | Tag::Dl | Tag::Form)
        })
}
