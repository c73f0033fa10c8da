//! Text of a page as a reader sees it.

use super::{Document, Element, Kind, Namespace, Node, Step, Tag, Walk};

impl Document<'_> {
    /// Text of the page as a reader sees it: each block on its own line, paragraphs separated by a
    /// blank line, list markers, table cells separated by a tab, white space collapsed outside
    /// `<pre>`, hidden content omitted. Trimmed of line breaks.
    pub fn text(&self) -> String {
        self.root().visible_text()
    }

    /// Like [`text`](Self::text), with options.
    pub fn text_with(&self, options: TextOptions) -> String {
        self.root().text_with(options)
    }
}

/// What to include in a page's readable text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TextOptions {
    /// Whether to include hidden content ([`Element::hidden_by`]).
    pub with_hidden: bool,
    /// Whether to include the content of `<noscript>` elements.
    pub with_noscript: bool,
}

impl TextOptions {
    /// Includes or excludes hidden content.
    #[must_use]
    pub const fn with_hidden(mut self, with_hidden: bool) -> Self {
        self.with_hidden = with_hidden;
        self
    }

    /// Includes or excludes the content of `<noscript>`.
    #[must_use]
    pub const fn with_noscript(mut self, with_noscript: bool) -> Self {
        self.with_noscript = with_noscript;
        self
    }
}

impl Node<'_> {
    /// Text of this node in the same form as [`Document::text`].
    pub fn visible_text(self) -> String {
        self.text_with(TextOptions::default())
    }

    /// Like [`visible_text`](Self::visible_text), with options.
    pub fn text_with(self, options: TextOptions) -> String {
        let mut page = Layout {
            options,
            ..Layout::default()
        };
        let mut walk = self.walk();
        while let Some(step) = walk.next() {
            match step {
                Step::Enter(node) => match node.kind() {
                    Kind::Text(text) => page.text(text),
                    Kind::Element(element) => page.enter(element, &mut walk),
                    Kind::TemplateContents => walk.skip_tree(),
                    _ => {}
                },
                Step::Leave(node) => {
                    if let Some(element) = node.as_element() {
                        page.leave(element);
                    }
                }
            }
        }
        page.finish()
    }
}

/// Text under construction. Breaks and spaces are pending until more text follows.
#[derive(Default)]
struct Layout {
    out: String,
    options: TextOptions,
    /// Pending line breaks.
    breaks: usize,
    /// Whether a space is pending.
    space: bool,
    /// Marker of a list item whose text has not started yet.
    mark: Option<String>,
    /// Whether a table cell has started but its text has not: blocks at the start of a cell must
    /// not break the row.
    in_cell_edge: bool,
    /// Open lists, outermost first.
    lists: Vec<List>,
    /// Number of open elements that preserve white space.
    n_pre: usize,
}

enum List {
    Bullets,
    Numbers { next: i64, step: i64 },
}

impl Layout {
    fn is_skipped(&self, element: Element<'_>) -> bool {
        if element.tag() == Tag::Noscript && self.options.with_noscript {
            return element.child_elements().next().is_none();
        }
        is_not_text(element) || !self.options.with_hidden && element.hidden_by().is_some()
    }

    fn enter(&mut self, element: Element<'_>, walk: &mut Walk<'_>) {
        let tag = element.tag();
        if self.is_skipped(element) {
            walk.skip_tree();
            return;
        }
        self.edge(element);
        match tag {
            Tag::Br => self.line_break(),
            Tag::Ul | Tag::Menu | Tag::Dir => self.lists.push(List::Bullets),
            Tag::Ol => self.lists.push(numbers(element)),
            Tag::Li => self.item(element),
            Tag::Td | Tag::Th => self.cell(element),
            Tag::Q => self.text("\u{201c}"),
            Tag::Rt => self.text("("),
            Tag::Button => self.space = true,
            _ => {}
        }
        self.n_pre += usize::from(preserves_space(element));
    }

    fn leave(&mut self, element: Element<'_>) {
        let tag = element.tag();
        match tag {
            Tag::Ul | Tag::Menu | Tag::Dir | Tag::Ol => {
                self.lists.pop();
            }
            Tag::Li => self.mark = None,
            Tag::Td | Tag::Th => self.leave_cell(),
            Tag::Q => {
                self.space = false;
                self.text("\u{201d}");
            }
            Tag::Rt => self.text(")"),
            Tag::Button => self.space = true,
            _ => {}
        }
        self.n_pre -= usize::from(preserves_space(element));
        self.edge(element);
    }

    /// Starts or ends a block.
    fn edge(&mut self, element: Element<'_>) {
        let tag = element.tag();
        if (tag.is_block() || element.is_styled_as_block())
            && self.mark.is_none()
            && !self.in_cell_edge
        {
            let has_blank_line = has_margin(tag) && self.lists.is_empty();
            self.breaks = self.breaks.max(if has_blank_line { 2 } else { 1 });
        }
    }

    fn line_break(&mut self) {
        self.begin();
        self.trim_line();
        self.out.push('\n');
        self.space = false;
    }

    fn item(&mut self, item: Element<'_>) {
        self.breaks = self.breaks.max(1);
        self.mark = Some(match self.lists.last_mut() {
            Some(List::Numbers { next, step }) => {
                let value = item
                    .attr("value")
                    .and_then(|value| value.trim().parse().ok());
                let number = value.unwrap_or(*next);
                *next = number.saturating_add(*step);
                format!("{number}. ")
            }
            _ => "- ".to_owned(),
        });
    }

    fn cell(&mut self, cell: Element<'_>) {
        if follows_cell(cell) {
            self.begin();
            self.trim_line();
            self.out.push('\t');
        }
        self.space = false;
        self.in_cell_edge = true;
    }

    fn leave_cell(&mut self) {
        // The line break before a row is still pending if its first cell is empty.
        if !self.in_cell_edge {
            self.breaks = 0;
        }
        self.in_cell_edge = false;
    }

    fn text(&mut self, text: &str) {
        if self.n_pre > 0 {
            if !text.is_empty() {
                self.begin();
                self.out.push_str(text);
            }
            return;
        }
        let bytes = text.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            let end = run_end(bytes, at);
            if end > at {
                self.begin();
                self.out.push_str(&text[at..end]);
            }
            at = end;
            while at < bytes.len() && bytes[at].is_ascii_whitespace() {
                self.space = true;
                at += 1;
            }
        }
    }

    /// Writes pending breaks, spaces and markers.
    fn begin(&mut self) {
        if self.breaks > 0 && !self.out.is_empty() {
            self.trim_line();
            let n_written = self.out.len() - self.out.trim_end_matches('\n').len();
            for _ in n_written..self.breaks {
                self.out.push('\n');
            }
        }
        let is_new_line = self.out.is_empty() || self.out.ends_with('\n');
        if is_new_line && !self.lists.is_empty() && self.n_pre == 0 {
            let depth = self.lists.len() - usize::from(self.mark.is_some());
            self.out.extend(std::iter::repeat_n("  ", depth));
        } else if self.space && !is_new_line && !self.out.ends_with('\t') && self.breaks == 0 {
            self.out.push(' ');
        }
        if let Some(mark) = self.mark.take() {
            self.out.push_str(&mark);
        }
        (self.breaks, self.space, self.in_cell_edge) = (0, false, false);
    }

    fn trim_line(&mut self) {
        let end = self.out.trim_end_matches(' ').len();
        self.out.truncate(end);
    }

    fn finish(mut self) -> String {
        let end = self.out.trim_ascii_end().len();
        self.out.truncate(end);
        self.out
    }
}

/// End of the run starting at `at` that can be copied unchanged: words separated by single spaces.
fn run_end(bytes: &[u8], at: usize) -> usize {
    let mut end = at;
    while end < bytes.len() {
        if bytes[end].is_ascii_whitespace() {
            let is_single = bytes[end] == b' '
                && end > at
                && bytes
                    .get(end + 1)
                    .is_some_and(|next| !next.is_ascii_whitespace());
            if !is_single {
                break;
            }
        }
        end += 1;
    }
    end
}

fn numbers(list: Element<'_>) -> List {
    let start = list
        .attr("start")
        .and_then(|start| start.trim().parse().ok());
    if !list.has_attr("reversed") {
        return List::Numbers {
            next: start.unwrap_or(1),
            step: 1,
        };
    }
    let n_items = || {
        list.child_elements()
            .filter(|item| item.tag() == Tag::Li)
            .count() as i64
    };
    List::Numbers {
        next: start.unwrap_or_else(n_items),
        step: -1,
    }
}

/// Whether another cell of the row is before a cell. A row may have scripts, styles and templates,
/// too.
fn follows_cell(cell: Element<'_>) -> bool {
    std::iter::successors(cell.previous_element(), |element| {
        element.previous_element()
    })
    .any(|element| matches!(element.tag(), Tag::Td | Tag::Th))
}

fn preserves_space(element: Element<'_>) -> bool {
    matches!(
        element.tag(),
        Tag::Pre | Tag::Listing | Tag::Xmp | Tag::Plaintext
    ) || element
        .style("white-space")
        .is_some_and(|value| matches!(value, "pre" | "pre-wrap" | "break-spaces"))
}

/// Whether an element's content is not readable text: scripts, drawings, icon names, permalinks,
/// the state of form controls, the source of a formula next to the formula, and ruby parentheses
/// (which are written anyway).
fn is_not_text(element: Element<'_>) -> bool {
    match element.tag() {
        Tag::Select | Tag::Textarea | Tag::Progress | Tag::Meter => true,
        Tag::A => element.is_permalink(),
        Tag::Other => match element.name() {
            "svg" | "annotation" | "annotation-xml" => element.namespace() != Namespace::Html,
            _ => element.is_icon(),
        },
        tag => tag.is_never_shown() || element.is_icon(),
    }
}

/// Whether browsers separate the block with a margin above and below.
fn has_margin(tag: Tag) -> bool {
    tag.heading_level().is_some()
        || matches!(
            tag,
            Tag::P
                | Tag::Blockquote
                | Tag::Pre
                | Tag::Listing
                | Tag::Xmp
                | Tag::Plaintext
                | Tag::Ul
                | Tag::Ol
                | Tag::Menu
                | Tag::Dir
                | Tag::Dl
                | Tag::Figure
                | Tag::Hr
                | Tag::Table
        )
}

#[cfg(test)]
mod tests {
    use crate::testkit;

    #[track_caller]
    fn check(html: &str, expected: &str) {
        assert_eq!(testkit::page(html).document().text(), expected, "{html}");
    }

    #[test]
    fn only_cells_make_tabs_in_a_row() {
        check("<table><tr><td>a<th>b", "a\tb");
        check("<table><tr><td><td>b", "\tb");
        for unseen in [
            "<script>x</script>",
            "<style>x</style>",
            "<template><td>x</td></template>",
            "<script></script><style></style>",
        ] {
            check(&format!("<table><tr>{unseen}<td>a<td>b"), "a\tb");
            check(&format!("<table><tr><td>a</td>{unseen}<td>b"), "a\tb");
            let empty = format!("<table><tr>{unseen}<td></td>{unseen}<td>b");
            check(&empty, "\tb");
            let rows = format!("<table><tr><td>a<tr>{unseen}<th>b<td>c");
            check(&rows, "a\nb\tc");
        }
    }
}
