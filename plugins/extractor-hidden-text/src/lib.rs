//! The `hidden_text` extractor: text of a page that is not visible.

use serde::Serialize;
use trawl_sdk::{
    Document, Element, Extractor, Failure, HiddenBy, Info, Kind, Namespace, Node, Source, Step, Tag,
};

/// Maximum number of texts in an answer.
const TEXTS_MAX: usize = 200;
/// Maximum length of a text in bytes; a longer one is truncated at a character boundary.
const TEXT_BYTES_MAX: usize = 2_000;
/// Maximum length of all texts in an answer, in bytes.
const ALL_BYTES_MAX: usize = 100_000;

/// Lists the texts that `markdown` and `text` omit because they are not visible, in page order,
/// each with the reason.
///
/// A text is that of an outermost hidden element, with collapsed white space and without scripts,
/// styles and templates. An answer has at most 200 texts of 2,000 bytes each, 100,000 bytes in
/// total. A page without hidden text yields an empty list.
pub struct HiddenTexts;

trawl_sdk::export!(extractor: HiddenTexts);

/// A hidden text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HiddenText {
    /// The text with collapsed white space.
    pub text: String,
    /// What hides it: a name of [`HiddenBy`].
    pub by: &'static str,
}

impl Extractor for HiddenTexts {
    type Options = ();
    type Output = Vec<HiddenText>;

    fn info() -> Info {
        Info::new(
            "hidden_text",
            env!("CARGO_PKG_VERSION"),
            "Texts of a page that are not visible, each with what hides it",
        )
    }

    fn extract(document: &Document, _: Source, _: ()) -> Result<Vec<HiddenText>, Failure> {
        let mut texts = Vec::new();
        let mut bytes_left = ALL_BYTES_MAX;
        let mut nodes = document.descendants();
        while let Some(node) = nodes.next() {
            if bytes_left == 0 || texts.len() == TEXTS_MAX {
                break;
            }
            if is_not_text(node) {
                nodes.skip_inside(node);
            } else if let Some((element, by)) = hidden(node) {
                nodes.skip_inside(node);
                let text = folded_text(element, bytes_left.min(TEXT_BYTES_MAX));
                bytes_left -= text.len();
                if !text.is_empty() {
                    let by = by.name();
                    texts.push(HiddenText { text, by });
                }
            }
        }
        Ok(texts)
    }
}

fn hidden(node: Node<'_>) -> Option<(Element<'_>, HiddenBy)> {
    let element = node.as_element()?;
    Some((element, element.hidden_by()?))
}

/// Scripts, styles, templates, SVG images and form options: their content is not text.
fn is_not_text(node: Node<'_>) -> bool {
    match node.kind() {
        Kind::Element(element) => {
            let tag = element.tag();
            tag.is_never_shown()
                || matches!(tag, Tag::Select | Tag::Textarea)
                || element.namespace() == Namespace::Svg
        }
        Kind::TemplateContents => true,
        _ => false,
    }
}

/// The words of an element, separated by single spaces and truncated to `bytes_max`. Adjacent words
/// of different elements form one word unless a block boundary separates them.
fn folded_text(element: Element<'_>, bytes_max: usize) -> String {
    let mut folded = Folded::default();
    let mut walk = element.walk();
    while let Some(step) = walk.next() {
        match step {
            Step::Enter(node) if is_not_text(node) => walk.skip_tree(),
            Step::Enter(node) | Step::Leave(node) => match node.kind() {
                Kind::Text(text) => folded.push(text),
                Kind::Element(element) => folded.owes_space |= separates_words(element.tag()),
                _ => {}
            },
        }
        if folded.text.len() > bytes_max {
            let end = folded.text.floor_char_boundary(bytes_max);
            folded.text.truncate(end);
            break;
        }
    }
    folded.text
}

/// Text with collapsed white space.
#[derive(Default)]
struct Folded {
    text: String,
    owes_space: bool,
}

impl Folded {
    fn push(&mut self, text: &str) {
        let is_space = |c: char| c.is_ascii_whitespace();
        self.owes_space |= text.starts_with(is_space);
        for word in text.split_ascii_whitespace() {
            if self.owes_space && !self.text.is_empty() {
                self.text.push(' ');
            }
            self.text.push_str(word);
            self.owes_space = true;
        }
        if !text.ends_with(is_space) {
            self.owes_space &= text.is_empty();
        }
    }
}

fn separates_words(tag: Tag) -> bool {
    tag.is_block() || matches!(tag, Tag::Br | Tag::Td | Tag::Th)
}

#[cfg(test)]
mod tests;
