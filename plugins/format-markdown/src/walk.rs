//! One walk over the page: what each element means in markdown.

use trawl_sdk::{Document, Element, Kind, Namespace, Node, Step, Tag};

use crate::address::is_followable;
use crate::code;
use crate::inline::{Mark, Mode, Writer, longest_run};
use crate::lines::{Gap, Lines, Marker};
use crate::lists::{List, is_list};
use crate::media;
use crate::options::{Links, Options};
use crate::table::Grid;
use crate::visible::{is_hidden, keeps_breaks};

/// What to do where an element ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    Nothing,
    Boundary,
    Heading,
    Mark,
    Code,
    Quote,
    List,
    NestedList,
    Item,
    Table,
    Row,
    Cell,
    Breaks,
    Space,
    Text(&'static str),
}

struct Renderer<'a> {
    writer: Writer<'a>,
    options: Options,
    show_noscript: bool,
    lists: Vec<List>,
    /// Items around, to tell a list in an item from a list right in a list.
    containers: Vec<Place>,
    /// The list that ended last: its kind, its marker and where the output was.
    last_list: Option<(bool, bool, usize)>,
    table: Option<Grid>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    List,
    Item,
}

/// The page as markdown; empty or ending with one line feed.
pub(crate) fn render(document: &Document<'_>, options: Options, show_noscript: bool) -> String {
    let mut renderer = Renderer {
        writer: Writer::new(document, Lines::with_capacity(16 * 1024)),
        options,
        show_noscript,
        lists: Vec::new(),
        containers: Vec::new(),
        last_list: None,
        table: None,
    };
    let mut ends: Vec<After> = Vec::new();
    let mut walk = document.root().walk();
    while let Some(step) = walk.next() {
        match step {
            Step::Enter(node) => match node.kind() {
                Kind::Text(text) => renderer.text(text),
                Kind::Element(element) => match renderer.enter(element) {
                    Some(after) => ends.push(after),
                    None => {
                        walk.skip_children();
                        ends.push(After::Nothing);
                    }
                },
                Kind::TemplateContents => {
                    walk.skip_children();
                    ends.push(After::Nothing);
                }
                Kind::Document => ends.push(After::Boundary),
                _ => {}
            },
            Step::Leave(_) => renderer.leave(ends.pop().unwrap_or(After::Nothing)),
        }
    }
    let mut out = renderer.writer.lines.out;
    if !out.is_empty() {
        out.push('\n');
    }
    out
}

impl<'a> Renderer<'a> {
    fn text(&mut self, text: &str) {
        let is_between_cells = self.table.as_ref().is_some_and(|grid| grid.in_row)
            && !matches!(self.writer.mode, Mode::Cell(_));
        if !is_between_cells {
            self.writer.text(text);
        }
    }

    /// An element begins. `None` leaves out what is in it.
    fn enter(&mut self, element: Element<'a>) -> Option<After> {
        let tag = element.tag();
        if is_hidden(element) {
            return None;
        }
        if tag == Tag::Other {
            return self.enter_other(element);
        }
        match tag {
            Tag::Noscript if self.show_noscript => {
                let has_elements = element.child_elements().next().is_some();
                has_elements.then_some(After::Nothing)
            }
            Tag::Rp => Some(After::Nothing),
            tag if tag.is_never_shown() || is_control(tag) => None,
            Tag::Table => Some(self.enter_table(element)),
            Tag::Tr | Tag::Td | Tag::Th => Some(self.enter_table_part(element)),
            tag if is_list(tag) => Some(self.enter_list(element)),
            Tag::Li => Some(self.enter_item(element)),
            Tag::Blockquote => Some(self.enter_quote()),
            Tag::Pre | Tag::Xmp | Tag::Listing | Tag::Plaintext => {
                self.code_block(element);
                None
            }
            Tag::Hr => {
                self.rule();
                None
            }
            tag if tag.is_block() => Some(self.enter_block(element)),
            _ => self.enter_inline(element),
        }
    }

    fn enter_other(&mut self, element: Element<'a>) -> Option<After> {
        match (element.namespace(), element.name()) {
            (Namespace::MathMl, "math") => {
                self.formula(element);
                None
            }
            (Namespace::Html, _) => Some(self.plain(element)),
            _ => None,
        }
    }

    fn enter_block(&mut self, element: Element<'a>) -> After {
        self.writer.boundary();
        match element.tag().heading_level() {
            Some(level) if !self.writer.is_one_line() => {
                self.writer.mode = Mode::Heading(level);
                After::Heading
            }
            _ if keeps_breaks(element) => {
                self.writer.kept_breaks += 1;
                After::Breaks
            }
            _ => After::Boundary,
        }
    }

    fn enter_inline(&mut self, element: Element<'a>) -> Option<After> {
        let mark = match element.tag() {
            Tag::Strong | Tag::B => Mark::Strong,
            Tag::Em | Tag::I => Mark::Emphasis,
            Tag::Del | Tag::S | Tag::Strike => Mark::Strike,
            Tag::Sub => Mark::Sub,
            Tag::Sup => Mark::Sup,
            Tag::A => return self.enter_link(element),
            Tag::Code | Tag::Tt | Tag::Kbd | Tag::Samp => {
                self.writer.enter_code();
                return Some(After::Code);
            }
            Tag::Br => {
                self.writer.line_break();
                return None;
            }
            Tag::Img => {
                self.image(element);
                return None;
            }
            Tag::Input => {
                self.checkbox(element);
                return None;
            }
            Tag::Q => {
                self.writer.text("\"");
                return Some(After::Text("\""));
            }
            Tag::Rt => return Some(self.enter_reading(element)),
            Tag::Button => {
                self.writer.space();
                return Some(After::Space);
            }
            Tag::Wbr => return None,
            _ => return Some(self.plain(element)),
        };
        self.writer.enter_mark(mark);
        Some(After::Mark)
    }

    fn plain(&mut self, element: Element<'a>) -> After {
        if keeps_breaks(element) {
            self.writer.kept_breaks += 1;
            return After::Breaks;
        }
        After::Nothing
    }

    fn enter_link(&mut self, link: Element<'a>) -> Option<After> {
        let Some(href) = link.attr("href") else {
            return Some(After::Nothing);
        };
        if is_permalink(link, href) {
            return None;
        }
        if self.options.links == Links::None || !is_followable(href) {
            return Some(After::Nothing);
        }
        let title = link.attr("title").unwrap_or_default();
        self.writer.enter_mark(Mark::Link(href, title));
        Some(After::Mark)
    }

    /// The reading of a ruby text stands in brackets, the page's own or ours.
    fn enter_reading(&mut self, reading: Element<'a>) -> After {
        let parent = reading.parent_element();
        let has_brackets =
            parent.is_some_and(|ruby| ruby.child_elements().any(|child| child.tag() == Tag::Rp));
        if has_brackets {
            return After::Nothing;
        }
        self.writer.text("(");
        After::Text(")")
    }

    fn image(&mut self, image: Element<'a>) {
        if !self.options.images || media::is_pixel(image) {
            return;
        }
        if let Some(src) = media::source(image) {
            let alt = image.attr("alt").unwrap_or_default();
            self.writer
                .image(alt, src, image.attr("title").unwrap_or_default());
        }
    }

    /// The box of a task list.
    fn checkbox(&mut self, input: Element<'a>) {
        let is_box = input
            .attr("type")
            .is_some_and(|kind| kind.eq_ignore_ascii_case("checkbox"));
        let begins_item = self.containers.last() == Some(&Place::Item)
            && self.writer.lines.is_container_empty()
            && !self.writer.has_content();
        if is_box && begins_item && !self.writer.is_one_line() {
            self.writer.raw(if input.has_attr("checked") {
                "[x]"
            } else {
                "[ ]"
            });
            self.writer.space();
        }
    }

    /// A formula in the form that GFM shows as one: its source as code between dollars.
    fn formula(&mut self, math: Element<'a>) {
        let is_source = |element: &Element<'a>| {
            element.name() == "annotation"
                && element
                    .attr("encoding")
                    .is_some_and(|encoding| encoding.ends_with("tex"))
        };
        let source = math
            .descendants()
            .filter_map(Node::as_element)
            .find(is_source);
        match source {
            Some(source) => {
                let tex = source.text();
                self.writer.raw("$");
                self.writer.code_span(&tex);
                self.writer.raw("$");
            }
            None => self.writer.text(&math.text()),
        }
    }

    fn enter_list(&mut self, list: Element<'a>) -> After {
        self.writer.boundary();
        if self.writer.is_one_line() {
            return After::Boundary;
        }
        let is_nested = self.containers.last() == Some(&Place::List);
        if let Some(outer) = self
            .lists
            .last()
            .filter(|outer| is_nested && outer.n_items > 0)
        {
            self.writer.lines.enter_again(outer.width);
        }
        let is_again = is_nested && self.lists.last().is_some_and(|outer| outer.n_items > 0);
        let is_ordered = list.tag() == Tag::Ol;
        let written = self.writer.lines.out.len();
        let is_alternate = self.last_list.is_some_and(|(ordered, alternate, at)| {
            ordered == is_ordered && at == written && !alternate
        });
        self.lists.push(List::of(list, is_alternate));
        self.containers.push(Place::List);
        if is_again {
            After::NestedList
        } else {
            After::List
        }
    }

    fn leave_list(&mut self) {
        self.writer.boundary();
        self.containers.pop();
        self.writer.lines.gap = Gap::Blank;
        if let Some(list) = self.lists.pop() {
            let written = self.writer.lines.out.len();
            self.last_list = Some((list.is_ordered, list.is_alternate, written));
        }
    }

    fn enter_item(&mut self, item: Element<'a>) -> After {
        self.writer.boundary();
        if self.writer.is_one_line() {
            return After::Boundary;
        }
        let is_in_tight = self.lists.len() > 1 && self.lists[self.lists.len() - 2].is_tight;
        let marker = match self.lists.last_mut() {
            Some(list) => {
                let follows_text = is_in_tight && list.can_follow_text();
                if list.is_tight && (list.n_items > 0 || follows_text) {
                    self.writer.lines.gap = Gap::Line;
                }
                list.next_marker(item)
            }
            None => Marker::Bullet('-'),
        };
        self.writer.lines.enter(marker);
        self.containers.push(Place::Item);
        After::Item
    }

    fn enter_quote(&mut self) -> After {
        self.writer.boundary();
        if self.writer.is_one_line() {
            return After::Boundary;
        }
        self.writer.lines.enter(Marker::Quote);
        After::Quote
    }

    fn rule(&mut self) {
        self.writer.boundary();
        if !self.writer.is_one_line() {
            self.writer.lines.begin_block();
            // After a bullet, dashes would be read as part of one long rule.
            let rule = if self.writer.lines.is_contained() {
                "***"
            } else {
                "---"
            };
            self.writer.lines.out.push_str(rule);
        }
    }

    fn code_block(&mut self, pre: Element<'a>) {
        self.writer.boundary();
        let text = code::text_of(pre);
        if text.is_empty() {
            return;
        }
        if self.writer.is_one_line() {
            for line in text.lines().filter(|line| !line.trim_ascii().is_empty()) {
                self.writer.code_span(line);
                self.writer.line_break();
            }
            return;
        }
        let fence = "`".repeat(longest_run(&text, b'`').max(2) + 1);
        let lines = &mut self.writer.lines;
        lines.begin_block();
        lines.out.push_str(&fence);
        lines.out.push_str(code::language(pre).unwrap_or_default());
        for line in text.split('\n') {
            match line.is_empty() {
                true => lines.empty_line(),
                false => {
                    lines.next_line();
                    lines.out.push_str(line);
                }
            }
        }
        lines.next_line();
        lines.out.push_str(&fence);
    }

    fn enter_table(&mut self, table: Element<'a>) -> After {
        self.writer.boundary();
        if self.writer.is_one_line() || self.table.is_some() {
            return After::Boundary;
        }
        self.table = Grid::of(table);
        if self.table.is_some() {
            After::Table
        } else {
            After::Boundary
        }
    }

    fn enter_table_part(&mut self, part: Element<'a>) -> After {
        let Some(grid) = self.table.as_mut().filter(|_| !self.writer.is_one_line()) else {
            self.writer.boundary();
            return After::Boundary;
        };
        if part.tag() == Tag::Tr {
            self.writer.boundary();
            grid.next_row();
            return After::Row;
        }
        if !grid.in_row {
            self.writer.boundary();
            grid.begin_row(&mut self.writer.lines);
        }
        let n_before = grid.take(part);
        let is_header = grid.has_header && grid.is_first_row;
        self.writer
            .lines
            .out
            .extend(std::iter::repeat_n(" |", n_before));
        self.writer.lines.out.push(' ');
        self.writer.begin_cell(is_header);
        After::Cell
    }

    fn leave_cell(&mut self) {
        let has_content = self.writer.end_cell();
        self.writer
            .lines
            .out
            .push_str(if has_content { " |" } else { "|" });
    }

    fn leave_row(&mut self) {
        if let Some(grid) = &mut self.table {
            grid.end_row(&mut self.writer.lines);
        }
    }

    /// An element ends.
    fn leave(&mut self, after: After) {
        match after {
            After::Nothing => {}
            After::Boundary => self.writer.boundary(),
            After::Heading => {
                self.writer.end_leaf();
                self.writer.mode = Mode::Flow;
            }
            After::Mark => self.writer.leave_mark(),
            After::Code => self.writer.leave_code(),
            After::Quote => {
                self.writer.boundary();
                self.writer.lines.leave();
            }
            After::List => self.leave_list(),
            After::NestedList => {
                self.leave_list();
                self.writer.lines.leave();
            }
            After::Item => {
                self.writer.boundary();
                self.writer.lines.leave();
                self.containers.pop();
            }
            After::Table => {
                self.writer.boundary();
                self.table = None;
                self.writer.lines.gap = Gap::Blank;
            }
            After::Row => self.leave_row(),
            After::Cell => self.leave_cell(),
            After::Breaks => self.writer.kept_breaks -= 1,
            After::Space => self.writer.space(),
            After::Text(text) => self.writer.text(text),
        }
    }
}

/// Controls that have a state but nothing to read.
fn is_control(tag: Tag) -> bool {
    matches!(
        tag,
        Tag::Select | Tag::Textarea | Tag::Progress | Tag::Meter | Tag::Embed | Tag::Applet
    )
}

/// Whether a link is only a mark to copy the address of its own heading.
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
