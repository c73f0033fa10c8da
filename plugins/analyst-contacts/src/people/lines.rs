//! The lines of a page with their position: what identifies a person is often the line next to the
//! name.

use std::hash::{DefaultHasher, Hash, Hasher};

use trawl_sdk::{Document, Element, Kind, Step, Tag};

/// Maximum number of lines, and of bytes of one; the rest is ignored.
const LINES_MAX: usize = 4_000;
const LINE_BYTES_MAX: usize = 1_200;
/// Number of enclosing blocks stored per line: a name and its role are close to each other.
const NEAR_BLOCKS: usize = 4;
/// Number of enclosing blocks that define the kind of a line.
const KIND_BLOCKS: usize = 3;
/// Maximum number of lines of a block that are distinguished by their order: the line below a name
/// has the same meaning in each card.
const ORDER_MAX: u8 = 3;

/// Marks the start or end of an inline element in the text of a line.
pub(super) const EDGE: char = '\u{1f}';

/// The role of a line in its list or table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Place {
    /// A paragraph or a part of a card.
    Block,
    Heading,
    /// An item of a list.
    Item,
    /// A table cell in a column.
    Cell {
        is_heading: bool,
        column: u16,
    },
}

/// A line of the page.
pub(super) struct Line {
    /// Words separated by single spaces, and [`EDGE`].
    pub(super) text: String,
    pub(super) place: Place,
    /// Hash of what lines of one kind share: elements, classes, and their list or column.
    pub(super) kind: u64,
    /// The enclosing blocks, innermost first; 0 for none.
    blocks: [u32; NEAR_BLOCKS],
    /// The table row; 0 outside of tables.
    pub(super) row: u32,
    /// The list or table; 0 outside of both.
    pub(super) group: u32,
    /// Whether it is marked as the author of the page.
    pub(super) is_byline: bool,
}

impl Line {
    /// Whether the lines share one of their `depth` innermost blocks.
    pub(super) fn is_near(&self, other: &Self, depth: usize) -> bool {
        let own = &self.blocks[..depth];
        own.iter()
            .any(|block| *block != 0 && other.blocks[..depth].contains(block))
    }
}

/// An open block.
struct Block {
    id: u32,
    hash: u64,
    place: Option<Place>,
    row: u32,
    group: u32,
    n_cells: u16,
    order: u8,
    is_byline: bool,
}

#[derive(Default)]
struct Reader {
    lines: Vec<Line>,
    blocks: Vec<Block>,
    n_blocks: u32,
    text: String,
    has_space: bool,
    /// Whether an element of the line is marked as the author.
    is_byline: bool,
}

/// The lines of a page without hidden elements and menus.
pub(super) fn of_page(document: &Document<'_>) -> Vec<Line> {
    let mut reader = Reader::default();
    let mut walk = document.root().walk();
    while let Some(step) = walk.next() {
        match step {
            Step::Enter(node) => match node.kind() {
                Kind::Text(text) => reader.text(text),
                Kind::Element(element) => {
                    if is_left_out(element) || reader.lines.len() >= LINES_MAX {
                        walk.skip_tree();
                    } else {
                        reader.enter(element);
                    }
                }
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
    reader.end_line();
    reader.lines
}

fn is_left_out(element: Element<'_>) -> bool {
    let tag = element.tag();
    let is_menu = || {
        let is_named = |name: &str| {
            let name = name.to_ascii_lowercase();
            ["menu", "navbar", "breadcrumb", "nav-"]
                .iter()
                .any(|word| name.contains(word))
        };
        matches!(tag, Tag::Ul | Tag::Ol)
            && (element.classes().any(is_named) || element.id().is_some_and(is_named))
    };
    matches!(
        tag,
        Tag::Nav | Tag::Select | Tag::Textarea | Tag::Button | Tag::Head | Tag::Pre
    ) || element.is_hidden()
        || is_menu()
}

fn is_block(tag: Tag) -> bool {
    tag.is_block()
        || matches!(
            tag,
            Tag::Td | Tag::Th | Tag::Tr | Tag::Li | Tag::Dt | Tag::Dd
        )
}

impl Reader {
    fn text(&mut self, text: &str) {
        if self.text.len() > LINE_BYTES_MAX {
            return;
        }
        for (n, word) in text
            .split(|c: char| c.is_whitespace() || c == '\u{200b}')
            .enumerate()
        {
            if n > 0 {
                self.has_space = true;
            }
            if word.is_empty() {
                continue;
            }
            if self.has_space && !self.text.is_empty() && !self.text.ends_with(' ') {
                self.text.push(' ');
            }
            self.has_space = false;
            self.text.push_str(word);
        }
    }

    fn enter(&mut self, element: Element<'_>) {
        let tag = element.tag();
        if tag == Tag::Br {
            self.end_line();
            return;
        }
        if !is_block(tag) && !element.is_styled_as_block() {
            if is_edge(element) {
                self.edge();
            }
            self.is_byline |= is_byline(element);
            return;
        }
        self.end_line();
        self.n_blocks += 1;
        let id = self.n_blocks;
        let mut hasher = DefaultHasher::new();
        (element.name(), element.attr("class")).hash(&mut hasher);
        let (mut row, mut group, mut place) = (0, 0, None);
        if let Some(parent) = self.blocks.last_mut() {
            (row, group, place) = (parent.row, parent.group, parent.place);
            if matches!(tag, Tag::Td | Tag::Th) {
                place = Some(Place::Cell {
                    is_heading: tag == Tag::Th,
                    column: parent.n_cells,
                });
                parent.n_cells = parent.n_cells.saturating_add(1);
            }
        }
        match tag {
            Tag::Table | Tag::Ul | Tag::Ol | Tag::Dl => (row, group, place) = (0, id, None),
            Tag::Tr => row = id,
            Tag::Li | Tag::Dt | Tag::Dd => place = Some(Place::Item),
            tag if tag.heading_level().is_some() => place = Some(Place::Heading),
            _ => {}
        }
        self.blocks.push(Block {
            id,
            hash: hasher.finish(),
            place,
            row,
            group,
            n_cells: 0,
            order: 0,
            is_byline: is_byline(element),
        });
    }

    fn leave(&mut self, element: Element<'_>) {
        let tag = element.tag();
        if tag == Tag::Br {
            return;
        }
        if !is_block(tag) && !element.is_styled_as_block() {
            if is_edge(element) {
                self.edge();
            }
            return;
        }
        self.end_line();
        self.blocks.pop();
    }

    fn edge(&mut self) {
        if !self.text.is_empty() {
            self.text.push(EDGE);
        }
    }

    fn end_line(&mut self) {
        let text = std::mem::take(&mut self.text);
        let is_byline = std::mem::take(&mut self.is_byline);
        self.has_space = false;
        if !text.contains(char::is_alphanumeric) {
            return;
        }
        let mut blocks = [0; NEAR_BLOCKS];
        for (near, block) in blocks.iter_mut().zip(self.blocks.iter().rev()) {
            *near = block.id;
        }
        let mut hasher = DefaultHasher::new();
        for block in self.blocks.iter().rev().take(KIND_BLOCKS) {
            block.hash.hash(&mut hasher);
        }
        let Some(block) = self.blocks.last_mut() else {
            return;
        };
        let place = block.place.unwrap_or(Place::Block);
        let of_list = if place == Place::Heading {
            0
        } else {
            block.group
        };
        (place, of_list, block.order).hash(&mut hasher);
        block.order = (block.order + 1).min(ORDER_MAX);
        self.lines.push(Line {
            text,
            place,
            kind: hasher.finish(),
            blocks,
            row: block.row,
            group: block.group,
            is_byline: is_byline || block.is_byline,
        });
    }
}

/// Whether an inline element separates its text from the text around it.
fn is_edge(element: Element<'_>) -> bool {
    match element.tag() {
        Tag::Strong | Tag::B | Tag::A | Tag::Small | Tag::Em | Tag::I | Tag::Cite => true,
        Tag::Span => element.classes().next().is_some_and(|class| {
            !["given", "family", "first", "last", "fname", "lname"]
                .iter()
                .any(|part| class.contains(part))
        }),
        _ => false,
    }
}

fn is_byline(element: Element<'_>) -> bool {
    element.attr("rel") == Some("author")
        || element.classes().any(|class| {
            matches!(
                class,
                "author" | "byline" | "author-name" | "post-author" | "entry-author"
            )
        })
}
