//! Author, dates and headline in the body.

use std::collections::VecDeque;

use trawl_sdk::{Document, Element, Kind, Node, Step, Steps, Tag};

use crate::head::{attribute, some_text};
use crate::lines::{Run, headline_of, lines_of};
use crate::names::{Hints, author_rank};

/// Maximum number of candidates of one kind.
const CANDIDATES_MAX: usize = 20;

/// Maximum number of nodes visited for the texts of all candidates. Candidates may be nested.
const STEPS_MAX: u64 = 5_000_000;

/// Maximum number of elements in the item of an author that are searched for its name.
const ITEM_ELEMENTS_MAX: usize = 80;

/// Maximum number of short texts before the first headline that are searched for a date and an
/// author.
const TEXTS_BEFORE_HEADLINE_MAX: usize = 6;

/// The same after the headline.
const TEXTS_AFTER_HEADLINE_MAX: usize = 40;

/// A date in an element.
#[derive(Debug)]
pub(crate) struct BodyDate {
    /// As written, for machines or people.
    pub(crate) text: String,
    /// Whether it is in an attribute and machine-readable.
    pub(crate) is_machine: bool,
    /// Bytes of text before it.
    at: usize,
}

/// A headline of the page.
#[derive(Debug)]
pub(crate) struct Headline {
    pub(crate) text: String,
    /// Whether it is in the main part of the page.
    pub(crate) is_in_main: bool,
    /// Bytes of text before it.
    at: usize,
}

/// Most bytes of text between a date and the headline after it.
const BYTES_BEFORE_HEADLINE_MAX: usize = 400;

/// Most bytes of text between the beginning of a headline and the date after it.
const BYTES_AFTER_HEADLINE_MAX: usize = 2_000;

/// Candidates in the body, in page order.
#[derive(Debug, Default)]
pub(crate) struct Body<'a> {
    /// Texts of `h1`.
    pub(crate) headlines: Vec<Headline>,
    /// Whether the page has a main part.
    pub(crate) has_main: bool,
    /// `itemprop=headline`.
    pub(crate) item_headline: Option<String>,
    /// `itemprop=author`.
    pub(crate) item_authors: Vec<String>,
    /// `rel=author`.
    pub(crate) linked_authors: Vec<String>,
    /// Elements with an author class, with the rank of that class.
    pub(crate) classed_authors: Vec<(usize, String)>,
    /// `itemprop=datePublished`.
    pub(crate) item_dates: Vec<BodyDate>,
    /// `itemprop=dateModified`.
    pub(crate) item_changes: Vec<BodyDate>,
    /// `time` elements marked as publication time.
    pub(crate) published_times: Vec<BodyDate>,
    /// Other `time` elements.
    pub(crate) times: Vec<BodyDate>,
    /// `time` elements marked as modification time.
    pub(crate) changed_times: Vec<BodyDate>,
    /// Elements with a date class.
    pub(crate) classed_dates: Vec<BodyDate>,
    /// Short texts around the first headline.
    pub(crate) texts: VecDeque<String>,
    /// The item of the first author, once found.
    authored: Option<Option<Node<'a>>>,
    /// Number of open elements that are the main part of the page.
    n_mains: usize,
    /// Bytes of text so far.
    n_bytes: usize,
    /// The text being read.
    run: Run,
    steps: Steps,
}

impl<'a> Body<'a> {
    pub(crate) fn of(document: &'a Document<'a>) -> Self {
        let mut body = Self {
            steps: Steps::new(STEPS_MAX),
            ..Self::default()
        };
        let mut n_articles = 0_usize;
        let mut walk = document.root().walk();
        while let Some(step) = walk.next() {
            match step {
                Step::Enter(node) => match node.kind() {
                    Kind::TemplateContents => walk.skip_tree(),
                    Kind::Text(text) => {
                        body.n_bytes += text.trim_ascii().len();
                        body.run.push(text);
                    }
                    Kind::Element(element) => {
                        let is_unseen = element.is_unseen();
                        if !is_unseen {
                            body.pass(element);
                        }
                        let hints = hints_of(element);
                        let is_begun = !body.headlines.is_empty();
                        if is_other(element, hints, is_begun, n_articles > 0) {
                            walk.skip_tree();
                            continue;
                        }
                        n_articles += usize::from(is_article(node));
                        body.n_mains += usize::from(is_main(element));
                        body.has_main |= body.n_mains > 0;
                        body.read(element, hints);
                        if is_unseen {
                            walk.skip_tree();
                        }
                    }
                    _ => {}
                },
                Step::Leave(node) => {
                    if let Some(element) = node.as_element() {
                        body.pass(element);
                        body.n_mains -= usize::from(is_main(element));
                    }
                    n_articles -= usize::from(is_article(node));
                }
            }
        }
        let last = body.run.end();
        body.read_text(last);
        body
    }

    /// The `h1` of the main part of the page, if it has one alone.
    pub(crate) fn only_headline_of_main(&self) -> Option<&str> {
        let mut of_main = self.headlines.iter().filter(|headline| headline.is_in_main);
        let first = of_main.next()?;
        of_main.next().is_none().then_some(first.text.as_str())
    }

    /// Whether a date is by a headline of the page.
    pub(crate) fn is_by_headline(&self, date: &BodyDate) -> bool {
        self.headlines.iter().any(|headline| {
            date.at + BYTES_BEFORE_HEADLINE_MAX >= headline.at
                && date.at <= headline.at + BYTES_AFTER_HEADLINE_MAX
        })
    }

    /// Passes the start or the end of an element, where a text may end.
    fn pass(&mut self, element: Element<'_>) {
        let ended = self.run.pass(element);
        self.read_text(ended);
    }

    fn read(&mut self, element: Element<'a>, hints: Hints) {
        if element.tag() == Tag::H1 {
            let (is_in_main, at) = (self.n_mains > 0, self.n_bytes);
            push(&mut self.headlines, || {
                let text = headline_of(element, &self.steps)?;
                Some(Headline {
                    text,
                    is_in_main,
                    at,
                })
            });
        }
        if let Some(names) = element.attr("itemprop") {
            self.read_item_property(element, names);
        }
        let is_author_link = |rel: &str| {
            rel.split_ascii_whitespace()
                .any(|kind| kind.eq_ignore_ascii_case("author"))
        };
        if element.attr("rel").is_some_and(is_author_link) {
            push(&mut self.linked_authors, || name_text(element, &self.steps));
        }
        if element.tag() == Tag::Time {
            self.read_time(element, hints);
        }
        self.read_by_class(element, hints);
    }

    fn read_item_property(&mut self, element: Element<'a>, names: &str) {
        let at = self.n_bytes;
        for name in names.split_ascii_whitespace() {
            match name {
                "author" | "creator" if self.is_of_first_item(element) => {
                    push(&mut self.item_authors, || name_inside(element, &self.steps));
                }
                "headline" if self.item_headline.is_none() => {
                    self.item_headline = headline_of(element, &self.steps)
                }
                "datePublished" | "dateCreated" | "uploadDate" => {
                    push(&mut self.item_dates, || date_of(element, &self.steps, at));
                }
                "dateModified" => {
                    push(&mut self.item_changes, || date_of(element, &self.steps, at));
                }
                _ => {}
            }
        }
    }

    /// Whether the element belongs to the same item as the first author; other items are comments.
    fn is_of_first_item(&mut self, element: Element<'a>) -> bool {
        let item = element
            .ancestors()
            .find(|outer| outer.has_attr("itemscope"));
        let kind = item
            .and_then(|item| item.attr("itemtype"))
            .unwrap_or_default();
        if ["Review", "Comment", "Answer"]
            .iter()
            .any(|answer| kind.ends_with(answer))
        {
            return false;
        }
        let first = *self.authored.get_or_insert(item.map(Element::node));
        first == item.map(Element::node)
    }

    fn read_time(&mut self, time: Element<'_>, hints: Hints) {
        let around = time.parent_element().map(hints_of).unwrap_or_default();
        let hints = hints.with(around);
        let place = if hints.has(Hints::CHANGED) {
            &mut self.changed_times
        } else if hints.has(Hints::PUBLISHED) || time.has_attr("pubdate") {
            &mut self.published_times
        } else {
            &mut self.times
        };
        let at = self.n_bytes;
        push(place, || date_of(time, &self.steps, at));
    }

    fn read_by_class(&mut self, element: Element<'_>, hints: Hints) {
        if hints.has(Hints::AUTHOR)
            && let Some(rank) = element.attr("class").and_then(author_rank)
        {
            push(&mut self.classed_authors, || {
                Some((rank, name_text(element, &self.steps)?))
            });
        }
        if hints.has(Hints::DATE) && !hints.has(Hints::CHANGED) {
            let has_digit = |text: &String| text.bytes().any(|byte| byte.is_ascii_digit());
            let at = self.n_bytes;
            push(&mut self.classed_dates, || {
                let text = short_text(element, &self.steps).filter(has_digit)?;
                Some(BodyDate {
                    text,
                    is_machine: false,
                    at,
                })
            });
        }
    }

    fn read_text(&mut self, text: Option<String>) {
        let is_before = self.headlines.is_empty();
        let n_max = if is_before {
            TEXTS_BEFORE_HEADLINE_MAX
        } else {
            TEXTS_BEFORE_HEADLINE_MAX + TEXTS_AFTER_HEADLINE_MAX
        };
        if !is_before && self.texts.len() >= n_max {
            return;
        }
        self.texts.extend(text);
        if is_before && self.texts.len() > n_max {
            self.texts.pop_front();
        }
    }
}

fn push<T>(candidates: &mut Vec<T>, candidate: impl FnOnce() -> Option<T>) {
    if candidates.len() < CANDIDATES_MAX {
        candidates.extend(candidate());
    }
}

fn is_article(node: Node<'_>) -> bool {
    let tag = node.as_element().map(Element::tag);
    matches!(tag, Some(Tag::Article | Tag::Main))
}

fn is_main(element: Element<'_>) -> bool {
    element.tag() == Tag::Main || element.attr("role") == Some("main")
}

/// Whether the element is not part of the page's own text.
fn is_other(element: Element<'_>, hints: Hints, is_begun: bool, is_in_article: bool) -> bool {
    match element.tag() {
        Tag::Script | Tag::Style | Tag::Noscript | Tag::Nav | Tag::Aside => true,
        Tag::Footer => !is_in_article,
        Tag::Html | Tag::Head | Tag::Body | Tag::Main | Tag::Article | Tag::H1 => false,
        // The container of the headline may be named after an adjacent column.
        _ => is_begun && hints.has(Hints::OTHER),
    }
}

/// Hints in the element's classes and id.
fn hints_of(element: Element<'_>) -> Hints {
    let names = element
        .attrs()
        .filter(|(name, _)| matches!(*name, "class" | "id"));
    names.fold(Hints::default(), |hints, (_, value)| {
        hints.with(Hints::of(value))
    })
}

/// The element's `content`, or else its `itemprop=name`, or else its text.
fn name_inside(element: Element<'_>, steps: &Steps) -> Option<String> {
    if let Some(content) = attribute(element, "content") {
        return some_text(content);
    }
    let is_name = |inner: &Element<'_>| inner.attr("itemprop") == Some("name");
    let inside = element.descendants().take_while(|_| steps.spend(1));
    let mut inside = inside
        .filter_map(Node::as_element)
        .take(ITEM_ELEMENTS_MAX)
        .filter(is_name);
    match inside.next() {
        Some(name) => attribute(name, "content")
            .and_then(some_text)
            .or_else(|| short_text(name, steps)),
        None => short_text(element, steps),
    }
}

/// The element's text, with the text of nested elements on lines of its own.
fn name_text(element: Element<'_>, steps: &Steps) -> Option<String> {
    Some(lines_of(element, steps)?.join("\n"))
}

/// The date in an element with `at` bytes of text before it.
fn date_of(element: Element<'_>, steps: &Steps, at: usize) -> Option<BodyDate> {
    let written = ["datetime", "content"]
        .into_iter()
        .find_map(|name| attribute(element, name));
    let (text, is_machine) = match written {
        Some(written) => (some_text(written)?, true),
        None => (short_text(element, steps)?, false),
    };
    Some(BodyDate {
        text,
        is_machine,
        at,
    })
}

/// The element's text, with a blank between nested elements; `None` if it is empty or too long for
/// a name or a date.
fn short_text(element: Element<'_>, steps: &Steps) -> Option<String> {
    Some(lines_of(element, steps)?.join(" "))
}
