//! The extractor `hidden_text`: what a page says where nobody sees it.

use serde::Serialize;
use trawl_sdk::{
    Document, Element, Extractor, Failure, HiddenBy, Info, Kind, Namespace, Node, Source, Step, Tag,
};

/// Texts of one answer.
const TEXTS_MAX: usize = 200;
/// Bytes of one text; a longer one is cut at a character.
const TEXT_BYTES_MAX: usize = 2_000;
/// Bytes of all texts of one answer.
const ALL_BYTES_MAX: usize = 100_000;

/// Lists the texts that `markdown` and `text` leave out because a person does not see them, in page order, each with what hides it.
///
/// A text is that of an outermost hidden element, with white space folded and without scripts, styles and templates. At most 200 texts of
/// 2,000 bytes each are given, 100,000 bytes in all; a page without hidden text gives an empty list.
pub struct HiddenTexts;

trawl_sdk::export!(extractor: HiddenTexts);

/// One hidden text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HiddenText {
    /// The text, white space folded.
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
            "The texts of a page that a person does not see, each with what hides it",
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
            if is_no_text(node) {
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

/// Scripts, styles, templates, drawings and the choices of forms: what they hold is no text for anyone.
fn is_no_text(node: Node<'_>) -> bool {
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

/// The words in an element one space apart, as many as fit into `bytes_max`. Words that touch across elements are one word unless a block
/// begins or ends between them.
fn folded_text(element: Element<'_>, bytes_max: usize) -> String {
    let mut folded = Folded::default();
    let mut walk = element.walk();
    while let Some(step) = walk.next() {
        match step {
            Step::Enter(node) if is_no_text(node) => walk.skip_tree(),
            Step::Enter(node) | Step::Leave(node) => match node.kind() {
                Kind::Text(text) => folded.push(text),
                Kind::Element(element) => folded.owes_space |= parts_words(element.tag()),
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

/// Text without white space but for one space between words.
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

fn parts_words(tag: Tag) -> bool {
    tag.is_block() || matches!(tag, Tag::Br | Tag::Td | Tag::Th)
}

#[cfg(test)]
mod tests;
