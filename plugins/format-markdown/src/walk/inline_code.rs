//! Inline code.

use trawl_sdk::{Element, Step, Tag};

use super::{After, Renderer};
use crate::inline::Mark;
use crate::options::Links;
use crate::url::is_followable;

/// Maximum number of texts and elements examined in inline code.
const PARTS_MAX: usize = 100;

impl<'a> Renderer<'a> {
    /// Starts inline code. A mark or link around all of its content is written outside of it, since
    /// Markdown has no markup inside code.
    pub(super) fn enter_code(&mut self, code: Element<'a>) -> After {
        let around = if self.writer.is_in_code() {
            None
        } else {
            self.mark_of_all(code)
        };
        if let Some(mark) = around {
            self.writer.enter_mark(mark);
        }
        if !self.writer.is_in_code() {
            self.marks_in_code = around.is_none() && are_words(code);
        }
        self.writer.enter_code();
        if around.is_some() {
            After::MarkedCode
        } else {
            After::Code
        }
    }

    /// The mark or link inside inline code that encloses all of its text, or all of its letters for
    /// a link.
    fn mark_of_all(&self, code: Element<'a>) -> Option<Mark<'a>> {
        let mut inside = code.descendants();
        let mut found: Option<(Mark<'a>, Element<'a>)> = None;
        let (mut outside, mut n_parts) = ("", 0);
        while let Some(node) = inside.next() {
            n_parts += usize::from(node.is_counted());
            if n_parts > PARTS_MAX {
                return None;
            }
            if let Some(text) = node.as_text() {
                if text.contains(char::is_alphanumeric) {
                    return None;
                }
                outside = if text.trim_ascii().is_empty() {
                    outside
                } else {
                    text
                };
            } else if node.as_element().is_some_and(Element::is_unseen) {
                inside.skip_inside(node);
            } else if let Some(element) = node.as_element()
                && let Some(mark) = self.mark_in_code(element)
            {
                if found.is_some() || has_link(element) {
                    return None;
                }
                found = Some((mark, element));
                inside.skip_inside(node);
            }
        }
        found
            .filter(|(mark, _)| outside.is_empty() || matches!(mark, Mark::Link(..)))
            .map(|(mark, _)| mark)
    }

    fn mark_in_code(&self, element: Element<'a>) -> Option<Mark<'a>> {
        match element.tag() {
            Tag::Strong | Tag::B => Some(Mark::Strong),
            Tag::Em | Tag::I => Some(Mark::Emphasis),
            Tag::Del | Tag::S | Tag::Strike => Some(Mark::Strike),
            Tag::A if self.options.links != Links::None => {
                let href = element.attr("href").filter(|href| is_followable(href))?;
                Some(Mark::Link(href, element.attr("title").unwrap_or_default()))
            }
            _ => None,
        }
    }
}

/// Whether the marks inside inline code are separated by blanks, so that it is split between words,
/// not letters.
fn are_words(code: Element<'_>) -> bool {
    let is_blank = |c: Option<char>| c.is_none_or(char::is_whitespace);
    let (mut n_parts, mut last, mut has_ended) = (0, None, false);
    let mut walk = code.walk();
    while let Some(step) = walk.next() {
        match step {
            Step::Enter(node) => {
                n_parts += usize::from(node.is_counted());
                if n_parts > PARTS_MAX {
                    return false;
                }
                if node.as_element().is_some_and(Element::is_unseen) {
                    walk.skip_tree();
                } else if let Some(text) = node.as_text().filter(|text| !text.is_empty()) {
                    if has_ended && !is_blank(text.chars().next()) {
                        return false;
                    }
                    (last, has_ended) = (text.chars().next_back(), false);
                } else if node.as_element().is_some_and(is_mark) && !is_blank(last) {
                    return false;
                }
            }
            Step::Leave(node) => has_ended |= node.as_element().is_some_and(is_mark),
        }
    }
    true
}

fn is_mark(element: Element<'_>) -> bool {
    matches!(
        element.tag(),
        Tag::Strong | Tag::B | Tag::Em | Tag::I | Tag::Del | Tag::S | Tag::Strike
    )
}

/// Whether a link is inside this element, or more than is examined.
fn has_link(element: Element<'_>) -> bool {
    let mut n_parts = 0;
    element.descendants().any(|node| {
        n_parts += usize::from(node.is_counted());
        n_parts > PARTS_MAX || node.as_element().is_some_and(|inner| inner.tag() == Tag::A)
    })
}
