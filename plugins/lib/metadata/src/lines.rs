//! Texts of the body as a reader sees them: an element in lines, and the page in runs of text.
//!
//! Bylines and dates are often in adjacent elements without white space between, which style sheets
//! keep apart. So each element begins a line, except a `span` without attributes in the middle of
//! a text, which is no more information than a comment is.

use trawl_sdk::view::{Edges, Line};
use trawl_sdk::{Element, Kind, Step, Steps, Tag};

use crate::date::TEXT_BYTES_MAX;
use crate::head::some_text;

/// Maximum length of an element's text, in bytes after folding.
const ELEMENT_BYTES_MAX: usize = 2 * TEXT_BYTES_MAX;

/// Maximum number of lines of an element.
const LINES_MAX: usize = 30;

/// The lines of an element's text; `None` if it is empty or too long for a name or a date, or if
/// the steps are used up.
pub(crate) fn lines_of(element: Element<'_>, steps: &Steps) -> Option<Vec<String>> {
    let mut lines = Vec::new();
    let (mut line, mut edges, mut n_bytes) = (Line::default(), Edges::default(), 0);
    let mut walk = element.walk();
    while let Some(step) = walk.next() {
        if !steps.spend(1) {
            return None;
        }
        match step {
            Step::Enter(node) => match node.kind() {
                Kind::Text(text) if text.trim_ascii().is_empty() => line.blank(),
                Kind::Text(text) => {
                    if edges.are_apart() {
                        lines.extend(some_text(&std::mem::take(&mut line).finish()));
                    }
                    edges = Edges::default();
                    n_bytes -= line.as_str().len();
                    line.push(text);
                    n_bytes += line.as_str().len();
                    if n_bytes > ELEMENT_BYTES_MAX || lines.len() >= LINES_MAX {
                        return None;
                    }
                }
                Kind::TemplateContents => walk.skip_tree(),
                Kind::Element(inner) if inner.is_unseen() || inner.tag() == Tag::Noscript => {
                    walk.skip_tree();
                }
                Kind::Element(inner) => edges.pass(inner),
                _ => {}
            },
            Step::Leave(node) => node
                .as_element()
                .into_iter()
                .for_each(|inner| edges.pass(inner)),
        }
    }
    lines.extend(some_text(&line.finish()));
    (!lines.is_empty()).then_some(lines)
}

/// The text of a headline; `None` if it is empty or too long.
pub(crate) fn headline_of(element: Element<'_>, steps: &Steps) -> Option<String> {
    let text = element.line_text_while(|_| steps.spend(1))?;
    some_text(&text).filter(|text| text.len() <= ELEMENT_BYTES_MAX)
}

/// A run of text under construction: the texts between two boundaries that keep texts apart.
#[derive(Debug, Default)]
pub(crate) struct Run {
    line: Line,
    edges: Edges,
}

impl Run {
    /// Passes the start or the end of an element; returns the run if it ends there.
    pub(crate) fn pass(&mut self, element: Element<'_>) -> Option<String> {
        self.edges.pass(element);
        self.edges.are_apart().then(|| self.end())?
    }

    /// Adds a text. What is longer than a date or a byline is not of interest as a whole.
    pub(crate) fn push(&mut self, text: &str) {
        if text.trim_ascii().is_empty() {
            self.line.blank();
            return;
        }
        self.edges = Edges::default();
        if self.line.as_str().len() <= TEXT_BYTES_MAX {
            self.line.push(text);
        }
    }

    /// Ends the run; `None` if it is empty or too long.
    pub(crate) fn end(&mut self) -> Option<String> {
        self.edges = Edges::default();
        let text = std::mem::take(&mut self.line).finish();
        some_text(&text).filter(|text| text.len() <= TEXT_BYTES_MAX)
    }
}
