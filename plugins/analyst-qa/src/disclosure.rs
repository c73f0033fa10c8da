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
    let mut found = Found::default();
    let mut nodes = document.descendants();
    while let Some(node) = nodes.next() {
        let element = match node.kind() {
            Kind::Element(element) => element,
            Kind::TemplateContents => {
                nodes.skip_inside(node);
                continue;
            }
            _ => continue,
        };
        if begins_menu(element) {
            nodes.skip_inside(node);
            continue;
        }
        found.visit(element, language);
    }
    found.pairs()
}

fn begins_menu(element: Element<'_>) -> bool {
    matches!(
        Region::begun_by(element, Region::Main),
        Some(Region::Nav | Region::Notice)
    )
}

#[derive(Default)]
struct Found<'a> {
    pairs: Vec<Pair>,
    /// Elements that control another one, with its id, in page order.
    controls: Vec<(Element<'a>, &'a str, Language)>,
    by_id: HashMap<&'a str, Element<'a>>,
}

impl<'a> Found<'a> {
    fn visit(&mut self, element: Element<'a>, language: Language) {
        if let Some(id) = element.id() {
            self.by_id.entry(id).or_insert(element);
        }
        if element.tag() == Tag::Details {
            self.pairs.extend(details(element, language));
        } else if let Some(id) = controlled_id(element) {
            self.controls.push((element, id, language));
        } else if names(element, "question") {
            self.pairs.extend(named(element));
        }
    }

    fn pairs(mut self) -> Vec<Pair> {
        for (control, id, language) in &self.controls {
            let pair = self
                .by_id
                .get(id)
                .and_then(|panel| controlled(*control, *panel, *language));
            self.pairs.extend(pair);
        }
        self.pairs
    }
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
        .find(|element| names(*element, "answer"));
    let inside_parent = || {
        let parent = question.parent_element()?;
        let mut inside = parent.descendants().filter_map(Node::as_element);
        let mut n_questions = parent
            .child_elements()
            .filter(|child| names(*child, "question"));
        n_questions
            .next()
            .filter(|_| n_questions.next().is_none())?;
        inside.find(|element| names(*element, "answer"))
    };
    let answer = answer.or_else(inside_parent)?;
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
    let (mut linked, mut all) = (0, 0);
    let mut inside = element.descendants();
    while let Some(node) = inside.next() {
        match node.kind() {
            Kind::Text(text) => all += text.trim_ascii().len(),
            Kind::Element(inner) if inner.tag() == Tag::A => {
                let len = inner.text().trim_ascii().len();
                (linked, all) = (linked + len, all + len);
                inside.skip_inside(node);
            }
            _ => {}
        }
    }
    linked * 10 > all * 7
}
