//! Disclosure widgets as questions and answers: `<details>` and accordions.

use std::collections::HashMap;

use trawl_rank::{Language, Region, flat_text};
use trawl_sdk::{Document, Element, Kind, Node, Tag};

use crate::pair::{From, Pair, QUESTION_CHARS_MAX};
use crate::question::is_question;

/// Maximum number of ancestors searched for an accordion class.
const OUTER_MAX: usize = 8;
/// Minimum answer length in characters if the summary is not a question.
const ANSWER_CHARS_MIN: usize = 20;

/// The pairs of the page's disclosure widgets.
pub(crate) fn pairs(document: &Document<'_>, language: Language) -> Vec<Pair> {
    let mut by_id: HashMap<&str, Element<'_>> = HashMap::new();
    for element in document.elements() {
        if let Some(id) = element.id() {
            by_id.entry(id).or_insert(element);
        }
    }
    let mut pairs = Vec::new();
    let mut nodes = document.descendants();
    while let Some(node) = nodes.next() {
        let element = match node.kind() {
            Kind::Element(element) if !begins_menu(element) => element,
            Kind::Element(_) | Kind::TemplateContents => {
                nodes.skip_inside(node);
                continue;
            }
            _ => continue,
        };
        if element.tag() == Tag::Details {
            pairs.extend(details(element, language));
        } else if let Some(id) = controlled_id(element) {
            let panel = by_id.get(id);
            pairs.extend(panel.and_then(|panel| controlled(element, *panel, language)));
        } else if names(element, "question") {
            pairs.extend(named(element));
        }
    }
    pairs
}

fn begins_menu(element: Element<'_>) -> bool {
    matches!(
        Region::begun_by(element, Region::Main),
        Some(Region::Nav | Region::Notice)
    )
}

fn details(details: Element<'_>, language: Language) -> Option<Pair> {
    let summary = details
        .child_elements()
        .find(|child| child.tag() == Tag::Summary)?;
    let question = flat_text(summary, true);
    let rest = details.children().filter(|child| *child != summary.node());
    let texts = rest.filter_map(|node| match node.kind() {
        Kind::Text(text) => Some(text.trim().to_owned()),
        Kind::Element(element) if !element.tag().is_never_shown() => Some(flat_text(element, true)),
        _ => None,
    });
    let texts: Vec<String> = texts.filter(|text| !text.is_empty()).collect();
    let answer = texts.join(" ");
    let is_answer = answer.chars().count() >= ANSWER_CHARS_MIN || is_question(&question, language);
    (is_answer && !is_linked(details)).then(|| Pair::new(&question, &answer, From::FaqMarkup))?
}

/// The id of the element that this one controls.
fn controlled_id<'a>(element: Element<'a>) -> Option<&'a str> {
    if element.attr("role") == Some("tab") {
        return None;
    }
    let target = ["aria-controls", "data-bs-target", "data-target"]
        .into_iter()
        .find_map(|name| element.attr(name));
    let href = || {
        element
            .attr("href")
            .filter(|_| element.has_attr("aria-expanded") || element.has_attr("data-toggle"))
    };
    let id = target.or_else(href)?.trim_ascii();
    let id = id.strip_prefix('#').unwrap_or(id);
    (!id.is_empty() && !id.contains(['/', ' ', '.'])).then_some(id)
}

/// A control and its panel, if they are a question and its answer.
fn controlled(control: Element<'_>, panel: Element<'_>, language: Language) -> Option<Pair> {
    let question = flat_text(control, true);
    let mut around = control.ancestors().take(OUTER_MAX);
    let is_meant = is_question(&question, language)
        || around.any(|outer| names(outer, "faq") || names(outer, "accordion"));
    let is_apart = !panel.ancestors().any(|outer| outer == control) && panel != control;
    if !is_meant || !is_apart || is_linked(panel) {
        return None;
    }
    Pair::new(&question, &flat_text(panel, true), From::FaqMarkup)
}

/// A pair whose elements have `question` and `answer` classes.
fn named(question: Element<'_>) -> Option<Pair> {
    let text = flat_text(question, true);
    if text.chars().count() > QUESTION_CHARS_MAX {
        return None;
    }
    let following =
        std::iter::successors(question.next_element(), |element| element.next_element());
    let answer = following
        .take_while(|element| !names(*element, "question"))
        .find(|element| names(*element, "answer"))?;
    Pair::new(&text, &flat_text(answer, true), From::FaqMarkup)
}

/// Whether a class has this word as a part, as in `faq__question` or `faq-question`.
fn names(element: Element<'_>, part: &str) -> bool {
    element.classes().any(|class| {
        let mut words = class.split(['-', '_']);
        words.any(|word| word.eq_ignore_ascii_case(part))
    })
}

/// Whether most of an element's text is links, as in a menu.
fn is_linked(element: Element<'_>) -> bool {
    let inside = element.descendants().filter_map(Node::as_element);
    let links = inside.filter(|inner| inner.tag() == Tag::A);
    let linked: usize = links.map(|link| link.text().trim_ascii().len()).sum();
    linked * 10 > element.text().trim_ascii().len() * 7
}
