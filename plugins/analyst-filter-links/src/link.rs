//! Extracts the links of a page with the texts that describe them.

use std::collections::HashMap;

use trawl_rank::{Region, flat_text};
use trawl_sdk::{Document, Element, Kind, Node, Step, Tag};

/// Maximum number of links per page; the rest is ignored.
pub(crate) const LINKS_MAX: usize = 5_000;
/// Maximum anchor text length in characters.
const TEXT_CHARS_MAX: usize = 300;
/// Maximum length of the surrounding text in characters.
const CONTEXT_CHARS: usize = 240;
/// Maximum number of texts and elements visited for the surrounding text.
const CONTEXT_PARTS: usize = 150;

/// Anchor texts that do not describe the target.
const GENERIC: &str = "more,read more,learn more,here,click here,mehr,weiterlesen,mehr lesen,hier,lire la suite,\
    en savoir plus,leer más,ver más,leggi tutto,ler mais,lees meer";

/// A link of a page.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Link {
    /// Absolute URL without fragment.
    pub(crate) url: String,
    /// Anchor text, or the alternative text of an image link.
    pub(crate) text: String,
    /// `title` or `aria-label`, if it differs from the text.
    pub(crate) label: String,
    /// The heading above it.
    pub(crate) heading: String,
    /// The surrounding text.
    pub(crate) context: String,
    /// Page region; the best one if the link occurs repeatedly.
    pub(crate) region: Region,
    /// Whether it has the `download` attribute.
    pub(crate) is_download: bool,
}

/// All links to other pages in page order, each URL once.
pub(crate) fn links(document: &Document<'_>) -> Vec<Link> {
    let mut reader = Reader {
        document,
        links: Vec::new(),
        by_url: HashMap::new(),
        regions: Vec::new(),
        heading: String::new(),
    };
    let mut walk = document.root().walk();
    while let Some(step) = walk.next() {
        match step {
            Step::Enter(node) => match node.kind() {
                Kind::TemplateContents => walk.skip_tree(),
                Kind::Element(element) => {
                    let is_hidden = element.tag().is_never_shown()
                        && !matches!(
                            element.tag(),
                            Tag::Head | Tag::Noscript | Tag::Area | Tag::Object
                        );
                    if is_hidden {
                        walk.skip_tree();
                    } else {
                        reader.enter(element);
                    }
                }
                _ => {}
            },
            Step::Leave(node) => {
                if reader
                    .regions
                    .last()
                    .is_some_and(|(begun, _)| *begun == node)
                {
                    reader.regions.pop();
                }
            }
        }
        if reader.links.len() >= LINKS_MAX {
            break;
        }
    }
    reader.links
}

struct Reader<'a> {
    document: &'a Document<'a>,
    links: Vec<Link>,
    by_url: HashMap<String, usize>,
    regions: Vec<(Node<'a>, Region)>,
    /// The current heading of the main content.
    heading: String,
}

impl<'a> Reader<'a> {
    fn enter(&mut self, element: Element<'a>) {
        let inside = self
            .regions
            .last()
            .map_or(Region::Main, |(_, region)| *region);
        if let Some(region) = Region::begun_by(element, inside) {
            self.regions.push((element.node(), region));
        }
        if element.tag().heading_level().is_some() {
            self.heading = flat_text(element, false);
        }
        if let Some(href) = element.link() {
            self.link(element, href);
        }
    }

    fn link(&mut self, element: Element<'a>, href: &str) {
        let Some(url) = self.document.resolve_page(href) else {
            return;
        };
        let region = self
            .regions
            .last()
            .map_or(Region::Main, |(_, region)| *region);
        let text = text_of(element);
        let labels = ["title", "aria-label"]
            .into_iter()
            .filter_map(|name| element.attr(name));
        let label = labels
            .map(str::trim)
            .find(|label| *label != text)
            .unwrap_or_default()
            .to_owned();
        // Links in navigation do not belong to a heading of the content.
        let heading = match region {
            Region::Main => self.heading.clone(),
            _ => String::new(),
        };
        let link = Link {
            text: text.chars().take(TEXT_CHARS_MAX).collect(),
            label: label.chars().take(TEXT_CHARS_MAX).collect(),
            heading,
            context: context(element),
            region,
            is_download: element.has_attr("download"),
            url,
        };
        match self.by_url.get(&link.url) {
            Some(&at) => self.links[at].merge(link),
            None => {
                self.by_url.insert(link.url.clone(), self.links.len());
                self.links.push(link);
            }
        }
    }
}

impl Link {
    /// Merges another link to the same URL.
    fn merge(&mut self, other: Self) {
        if other.region < self.region || self.context.is_empty() {
            (self.region, self.context, self.heading) =
                (self.region.min(other.region), other.context, other.heading);
        }
        if self.text.is_empty()
            || (!other.text.is_empty() && is_generic(&self.text) && !is_generic(&other.text))
        {
            self.text = other.text;
        }
        if self.label.is_empty() {
            self.label = other.label;
        }
        self.is_download |= other.is_download;
    }
}

/// Whether an anchor text does not describe the target.
fn is_generic(text: &str) -> bool {
    let text = text
        .trim_end_matches(|c: char| !c.is_alphanumeric())
        .to_lowercase();
    GENERIC.split(',').any(|own| own == text) || text.chars().count() < 3
}

fn text_of(element: Element<'_>) -> String {
    let text = flat_text(element, true);
    if !text.is_empty() {
        return text;
    }
    let own = element
        .attr("alt")
        .or_else(|| element.attr("aria-label"))
        .or_else(|| element.attr("title"));
    let inside = || {
        let mut inside = element.descendants().filter_map(Node::as_element);
        inside.find_map(|inner| inner.attr("alt").filter(|alt| !alt.trim().is_empty()))
    };
    own.or_else(inside).unwrap_or_default().trim().to_owned()
}

/// Text of the enclosing block, without the link's own text.
fn context(link: Element<'_>) -> String {
    let is_block = |element: &Element<'_>| element.tag().is_block();
    let Some(block) = link.ancestors().find(is_block) else {
        return String::new();
    };
    let mut text = String::new();
    let mut inside = block.descendants();
    let mut n_parts = 0;
    while let Some(node) = inside.next() {
        n_parts += usize::from(node.is_counted());
        if n_parts > CONTEXT_PARTS || text.len() > CONTEXT_CHARS {
            break;
        }
        match node.kind() {
            Kind::Element(inner) if inner == link || inner.tag().is_never_shown() => {
                inside.skip_inside(node)
            }
            Kind::TemplateContents => inside.skip_inside(node),
            Kind::Text(own) => {
                for word in own.split_whitespace() {
                    if !text.is_empty() {
                        text.push(' ');
                    }
                    text.push_str(word);
                }
            }
            _ => {}
        }
    }
    text.chars().take(CONTEXT_CHARS).collect()
}
