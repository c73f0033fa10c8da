//! Walks over the page and maps each element to Markdown.

mod blocks;
mod definitions;
mod inline_code;
mod links;
mod tables;

use trawl_sdk::{Document, Element, Kind, Namespace, Step, Tag};

use crate::code;
use crate::inline::{Mark, Mode, Writer};
use crate::lines::{Gap, Lines};
use crate::lists::{List, is_list};
use crate::math::{self, Formula};
use crate::media;
use crate::options::Options;
use crate::table::Grid;
use crate::visible::{is_left_out, keeps_breaks};
use links::Card;

/// What to do at the end of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    /// The element is passed over: the text before it continues after it.
    Continue,
    Nothing,
    Boundary,
    Heading,
    Mark,
    /// A link over several lines.
    Joined,
    Code,
    /// Code with a mark around it.
    MarkedCode,
    Quote,
    List,
    NestedList,
    Item,
    Definition,
    Table,
    Row,
    Cell,
    Breaks,
    /// A block that preserves line breaks.
    BlockWithBreaks,
    Space,
    Text(&'static str),
}

struct Renderer<'a> {
    writer: Writer<'a>,
    options: Options,
    show_noscript: bool,
    lists: Vec<List>,
    /// Enclosing containers, to distinguish a list in an item from a list directly in a list.
    containers: Vec<Place>,
    /// The last list that ended: its kind, its marker, and the output position.
    last_list: Option<(bool, bool, usize)>,
    table: Option<Grid>,
    /// The current link around blocks.
    card: Option<Card<'a>>,
    /// Whether marks inside the current inline code are written.
    marks_in_code: bool,
    /// The last link that has begun.
    link: Option<Element<'a>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    List,
    Item,
}

/// A run of text: text nodes with nothing but comments, scripts and neutral elements between them.
/// What its characters mean for Markdown depends on their neighbours, so it is written as a whole.
#[derive(Default)]
enum Run<'a> {
    #[default]
    Empty,
    One(&'a str),
    Joined(String),
}

impl<'a> Run<'a> {
    fn add(&mut self, part: &'a str) {
        match self {
            Self::Empty => *self = Self::One(part),
            Self::One(text) => *self = Self::Joined([*text, part].concat()),
            Self::Joined(text) => text.push_str(part),
        }
    }
}

/// Whether an element neither writes anything nor separates the text around it.
fn is_passed_over(element: Element<'_>) -> bool {
    match element.tag() {
        Tag::Script => math::of_script(element).is_none(),
        Tag::Style | Tag::Template => true,
        _ => element.is_neutral(),
    }
}

/// Bounds of the bytes of output that memory is requested for in advance.
const OUTPUT_BYTES_MIN: usize = 4 * 1024;
const OUTPUT_BYTES_MAX: usize = 256 * 1024;

/// Renders the page as Markdown; empty, or ending with one line feed.
pub(crate) fn render(document: &Document<'_>, options: Options, show_noscript: bool) -> String {
    // The output rarely exceeds the text of the page with its attributes. Moving it to a larger
    // place costs more than asking for that much at once.
    let bytes = document.arrays().text.len();
    let lines = Lines::with_capacity(bytes.clamp(OUTPUT_BYTES_MIN, OUTPUT_BYTES_MAX));
    let mut renderer = Renderer {
        writer: Writer::new(document, lines),
        options,
        show_noscript,
        lists: Vec::new(),
        containers: Vec::new(),
        last_list: None,
        table: None,
        card: None,
        marks_in_code: false,
        link: None,
    };
    renderer.walk(document);
    let mut out = renderer.writer.lines.out;
    if !out.is_empty() {
        out.push('\n');
    }
    out
}

impl<'a> Renderer<'a> {
    fn walk(&mut self, document: &'a Document<'a>) {
        let mut ends: Vec<After> = Vec::new();
        let mut text = Run::default();
        let mut walk = document.root().walk();
        while let Some(step) = walk.next() {
            match step {
                Step::Enter(node) => match node.kind() {
                    Kind::Text(part) => text.add(part),
                    Kind::Element(element) if is_passed_over(element) => {
                        if element.is_unseen() {
                            walk.skip_children();
                        }
                        ends.push(After::Continue);
                    }
                    Kind::Element(element) => {
                        self.run(&mut text);
                        ends.push(match self.enter(element) {
                            Some(after) => {
                                self.enter_card(element);
                                after
                            }
                            None => {
                                walk.skip_children();
                                After::Nothing
                            }
                        });
                    }
                    Kind::TemplateContents => {
                        walk.skip_children();
                        ends.push(After::Nothing);
                    }
                    Kind::Document => ends.push(After::Boundary),
                    _ => {}
                },
                Step::Leave(node) => {
                    let after = ends.pop().unwrap_or(After::Nothing);
                    if after != After::Continue {
                        self.run(&mut text);
                        self.leave_card(node);
                        self.leave(after);
                    }
                }
            }
        }
    }

    /// Writes a run of text and empties it.
    fn run(&mut self, text: &mut Run<'a>) {
        match std::mem::take(text) {
            Run::Empty => {}
            Run::One(text) => self.text(text),
            Run::Joined(text) => self.text(&text),
        }
    }

    fn text(&mut self, text: &str) {
        let is_between_cells = self.table.as_ref().is_some_and(|grid| grid.in_row)
            && !matches!(self.writer.mode, Mode::Cell(_));
        if is_between_cells {
            return;
        }
        if self.writer.is_in_code() || math::DELIMITERS.find(text.as_bytes(), 0).is_none() {
            self.writer.text(text);
        } else {
            self.text_with_formulas(text);
        }
    }

    /// Writes text that may contain formulas in the delimiters of MathJax.
    fn text_with_formulas(&mut self, mut text: &str) {
        while let Some(found) = math::first_in(text) {
            self.writer.text(found.before);
            self.formula(&found.formula);
            text = found.after;
        }
        self.writer.text(text);
    }

    /// Starts an element. `None` skips its content.
    fn enter(&mut self, element: Element<'a>) -> Option<After> {
        let tag = element.tag();
        if is_left_out(element, self.options.hidden) || math::is_rendering(element) {
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
            Tag::Script => {
                if let Some(formula) = math::of_script(element) {
                    self.formula(&formula);
                }
                None
            }
            tag if tag.is_never_shown() || is_control(tag) => None,
            Tag::Table if code::is_in_rows(element) => {
                self.code_block(element);
                None
            }
            Tag::Table => Some(self.enter_table(element)),
            Tag::Td if code::is_line_number(element) => None,
            Tag::Div if code::is_gutter(element) => None,
            Tag::Tr | Tag::Td | Tag::Th => Some(self.enter_table_part(element)),
            tag if is_list(tag) => Some(self.enter_list(element)),
            Tag::Li => Some(self.enter_item(element)),
            Tag::Dd => Some(self.enter_definition()),
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
                if let Some(formula) = math::of_mathml(element) {
                    self.formula(&formula);
                }
                None
            }
            (Namespace::Html, "mjx-container") => match math::of_container(element) {
                Some(formula) => {
                    self.formula(&formula);
                    None
                }
                None => Some(self.plain(element)),
            },
            (Namespace::Html, _) => Some(self.plain(element)),
            _ => None,
        }
    }

    fn enter_block(&mut self, element: Element<'a>) -> After {
        // The text of a task stands beside its checkbox.
        let is_of_task = matches!(element.tag(), Tag::Div | Tag::P) && self.writer.is_after_task();
        if !is_of_task {
            self.writer.boundary();
        }
        match element.tag().heading_level() {
            Some(level) if !self.writer.is_one_line() => {
                self.writer.mode = Mode::Heading(level);
                After::Heading
            }
            _ if keeps_breaks(element) => {
                self.writer.preserved_breaks += 1;
                After::BlockWithBreaks
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
                return Some(self.enter_code(element));
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
            Tag::Span => return self.enter_span(element),
            _ => return Some(self.plain(element)),
        };
        // Marks inside code are dropped, so that the code stays in one piece.
        if self.writer.is_in_code() && !self.marks_in_code {
            return Some(After::Nothing);
        }
        self.writer.enter_mark(mark);
        Some(After::Mark)
    }

    fn enter_span(&mut self, span: Element<'a>) -> Option<After> {
        if !self.writer.is_in_code()
            && let Some(formula) = math::of_pandoc(span)
        {
            self.formula(&formula);
            return None;
        }
        Some(self.plain(span))
    }

    fn plain(&mut self, element: Element<'a>) -> After {
        if !element.has_attr("style") {
            return After::Nothing;
        }
        if element.is_styled_as_block() {
            return self.enter_block(element);
        }
        if keeps_breaks(element) {
            self.writer.preserved_breaks += 1;
            return After::Breaks;
        }
        After::Nothing
    }

    /// The reading of a ruby text is written in brackets, unless the page has them.
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
        if let Some(formula) = math::of_image(image) {
            self.formula(&formula);
            return;
        }
        if !self.options.images || media::is_pixel(image) {
            return;
        }
        let alt = image.attr("alt").unwrap_or_default();
        if let Some(src) = media::source(image) {
            self.writer
                .image(alt, src, image.attr("title").unwrap_or_default());
        } else if self.writer.is_in_link()
            && !alt.trim_ascii().is_empty()
            && self.link.is_some_and(links::is_bare)
        {
            // A place-holder: the link is readable nevertheless.
            self.writer.image(alt, "", "");
        }
    }

    /// The checkbox of a task list.
    fn checkbox(&mut self, input: Element<'a>) {
        let is_box = input
            .attr("type")
            .is_some_and(|kind| kind.eq_ignore_ascii_case("checkbox"));
        let begins_item = self.containers.last() == Some(&Place::Item)
            && self.writer.lines.is_container_empty()
            && !self.writer.has_content();
        if is_box && begins_item && !self.writer.is_one_line() {
            self.writer.task(input.has_attr("checked"));
        }
    }

    /// A formula in GFM syntax: TeX between dollar signs.
    fn formula(&mut self, formula: &Formula<'_>) {
        let dollars = if formula.is_display { "$$" } else { "$" };
        let mut words = formula.tex.split_ascii_whitespace();
        let Some(first) = words.next() else { return };
        let mut written = [dollars, first].concat();
        for word in words {
            written.push(' ');
            written.push_str(word);
        }
        written.push_str(dollars);
        if matches!(self.writer.mode, Mode::Cell(_)) {
            written = written.replace('|', "\\|");
        }
        self.writer.raw(&written);
    }

    /// Ends an element.
    fn leave(&mut self, after: After) {
        match after {
            After::Continue | After::Nothing => {}
            After::Boundary => self.writer.boundary(),
            After::Heading => {
                self.writer.end_leaf();
                self.writer.mode = Mode::Flow;
            }
            After::Mark => self.writer.leave_mark(),
            After::Joined => self.leave_joined(),
            After::Code => self.writer.leave_code(),
            After::MarkedCode => {
                self.writer.leave_code();
                self.writer.leave_mark();
            }
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
            After::Definition => self.leave_definition(),
            After::Table => {
                self.writer.boundary();
                self.table = None;
                self.writer.lines.gap = Gap::Blank;
            }
            After::Row => self.leave_row(),
            After::Cell => self.leave_cell(),
            After::Breaks => self.writer.preserved_breaks -= 1,
            After::BlockWithBreaks => {
                self.writer.boundary();
                self.writer.preserved_breaks -= 1;
            }
            After::Space => self.writer.space(),
            After::Text(text) => self.writer.text(text),
        }
    }
}

/// Controls that have a state but no text.
fn is_control(tag: Tag) -> bool {
    matches!(
        tag,
        Tag::Select | Tag::Textarea | Tag::Progress | Tag::Meter | Tag::Embed | Tag::Applet
    )
}
