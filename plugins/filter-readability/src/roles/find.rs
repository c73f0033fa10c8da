//! Gives roles to the elements of a page.

use trawl_metadata::{Metadata, PageKind};
use trawl_sdk::{Element, Tag};

use super::names::{names_wall, role_of};
use super::outline::Outline;
use super::phrases;
use super::role::Role;

/// Most bytes of text, and most nodes, of an element whose text is compared.
const TEXT_BYTES_MAX: usize = 1_200;
const TEXT_NODES_MAX: usize = 200;
/// Fewest bytes of a paragraph of a text.
const PROSE_BYTES_MIN: usize = 120;
/// Largest share of links in such a paragraph.
const PROSE_LINKS_MAX: f32 = 0.4;
/// Most bytes of text between the headline and what introduces the text.
const LEAD_BYTES_MAX: usize = 1_500;
/// Most nodes before the heading of a list of other pages.
const NODES_BEFORE_HEADING_MAX: usize = 24;
/// Largest share of the page's text in one element with a role, other than comments.
const SHARE_MAX: f32 = 0.5;

/// The role of each node of a page.
pub(crate) fn find(outline: &Outline<'_>, metadata: &Metadata) -> Vec<Option<Role>> {
    let finder = Finder::new(outline, metadata);
    let mut roles: Vec<Option<Role>> = Vec::with_capacity(outline.nodes.len());
    for (at, node) in outline.nodes.iter().enumerate() {
        let outer = outline.parents[at].and_then(|parent| roles[parent]);
        let own = match node.as_element() {
            Some(element) if outer.is_none_or(may_hold_others) => finder.role(at, element),
            _ => None,
        };
        roles.push(own.or(outer));
    }
    roles
}

/// Whether a part of this role may have parts of other roles. What is in all others belongs to
/// them: the date of a comment is not that of the page.
fn may_hold_others(role: Role) -> bool {
    matches!(role, Role::LeadImage | Role::Caption | Role::Byline)
}

/// What is known of the page before its elements are looked at.
struct Finder<'p> {
    outline: &'p Outline<'p>,
    metadata: &'p Metadata,
    /// The first heading that is the headline of the metadata, or else the only `h1`.
    headline: Option<usize>,
    /// The first paragraph of the text.
    prose: Option<usize>,
    /// Number of paragraphs of text before each node, and of all at the end.
    n_prose: Vec<usize>,
    /// Bytes of text of the page.
    n_bytes: usize,
    is_forum: bool,
}

impl<'p> Finder<'p> {
    fn new(outline: &'p Outline<'p>, metadata: &'p Metadata) -> Self {
        let mut finder = Self {
            outline,
            metadata,
            headline: None,
            prose: None,
            n_prose: vec![0],
            n_bytes: outline.bytes_between(0, outline.nodes.len()),
            is_forum: metadata.page_type() == Some(PageKind::Forum),
        };
        let elements = || {
            let elements = outline.nodes.iter().enumerate();
            elements.filter_map(|(at, node)| Some((at, node.as_element()?)))
        };
        finder.headline = elements()
            .find(|&(at, element)| finder.is_headline(at, element))
            .map(|(at, _)| at)
            .or_else(|| {
                let is_h1 = |at: usize, element: Element<'_>| {
                    let has_text = outline.is_shown[at] && outline.text_bytes(at) > 0;
                    has_text && element.tag() == Tag::H1
                };
                let mut h1 = elements().filter(|&(at, element)| is_h1(at, element));
                let first = h1.next().map(|(at, _)| at);
                first.filter(|_| h1.next().is_none())
            });
        let first = finder.headline.unwrap_or(0);
        finder.prose = elements()
            .find(|&(at, element)| at >= first && finder.is_prose(at, element))
            .map(|(at, _)| at);
        for (at, node) in outline.nodes.iter().enumerate() {
            let element = node.as_element();
            let is_prose = element.is_some_and(|element| finder.is_prose(at, element));
            finder
                .n_prose
                .push(finder.n_prose[at] + usize::from(is_prose));
        }
        finder
    }

    /// The text of an element on one line; `None` if it is long.
    fn text(&self, at: usize, element: Element<'_>) -> Option<String> {
        let is_short = self.outline.text_bytes(at) <= TEXT_BYTES_MAX
            && self.outline.n_nodes(at) <= TEXT_NODES_MAX;
        is_short.then(|| element.line_text())
    }

    fn is_headline(&self, at: usize, element: Element<'_>) -> bool {
        let is_heading = matches!(element.tag(), Tag::H1 | Tag::H2)
            || element.attr("itemprop") == Some("headline");
        let is_shown = self.outline.is_shown[at];
        is_heading
            && is_shown
            && self
                .text(at, element)
                .is_some_and(|text| self.metadata.is_headline(&text))
    }

    fn is_prose(&self, at: usize, element: Element<'_>) -> bool {
        element.tag() == Tag::P
            && self.outline.is_shown[at]
            && self.outline.text_bytes(at) >= PROSE_BYTES_MIN
            && self.outline.link_share(at) <= PROSE_LINKS_MAX
    }

    /// Whether a node is between the headline and the text.
    fn is_lead(&self, at: usize) -> bool {
        self.headline.is_some_and(|headline| {
            at > headline
                && self.prose.is_none_or(|prose| at <= prose)
                && self.outline.bytes_between(headline, at) <= LEAD_BYTES_MAX
        })
    }

    fn holds_headline(&self, at: usize) -> bool {
        self.headline
            .is_some_and(|headline| at < headline && headline < self.outline.ends[at])
    }

    /// The role of an element by itself.
    fn role(&self, at: usize, element: Element<'_>) -> Option<Role> {
        if matches!(
            element.tag(),
            Tag::Html | Tag::Head | Tag::Body | Tag::Main | Tag::Script | Tag::Style
        ) {
            return None;
        }
        let by_element = self.role_of_element(at, element);
        by_element
            .or_else(|| self.role_of_name(at, element))
            .or_else(|| self.role_of_heading(at, element))
            .or_else(|| self.role_of_text(at, element))
    }

    fn role_of_element(&self, at: usize, element: Element<'_>) -> Option<Role> {
        let tag = element.tag();
        match tag {
            Tag::Iframe | Tag::Video | Tag::Audio => Some(Role::Player),
            Tag::Figcaption => Some(Role::Caption),
            Tag::Figure | Tag::Picture | Tag::Img if self.is_lead_image(at) => {
                Some(Role::LeadImage)
            }
            _ if self.headline == Some(at) => Some(Role::Headline),
            Tag::H1 | Tag::H2 if self.is_headline(at, element) => Some(Role::Headline),
            Tag::Time if self.is_date(at, element) => Some(Role::Date),
            Tag::A if has_word(element, "rel", "author") => Some(Role::Byline),
            Tag::A if has_word(element, "rel", "tag") => Some(Role::Tags),
            _ => None,
        }
    }

    /// Whether a picture stands between the headline and the text, for itself: it may be in the
    /// first paragraph of it, but not among text.
    fn is_lead_image(&self, at: usize) -> bool {
        self.is_lead(at) && self.prose != Some(at)
    }

    fn is_date(&self, at: usize, element: Element<'_>) -> bool {
        self.is_forum
            || element
                .attr("datetime")
                .is_some_and(|time| self.metadata.is_date(time))
            || self
                .text(at, element)
                .is_some_and(|text| self.metadata.is_date(&text))
    }

    /// The role that the classes, the id or the property of an element name, if its text fits.
    fn role_of_name(&self, at: usize, element: Element<'_>) -> Option<Role> {
        let named = ["class", "id", "itemprop", "data-testid", "data-component"];
        let mut names = named.iter().filter_map(|name| element.attr(name));
        let mut all = names.clone();
        let role = names.find_map(|name| role_of(name).filter(|role| self.fits(*role, at)))?;
        let is_right = match role {
            Role::Headline => self
                .text(at, element)
                .is_some_and(|text| self.metadata.is_headline(&text)),
            Role::Standfirst => self.is_lead(at),
            Role::LeadImage => self.is_lead_image(at) || self.outline.text_bytes(at) == 0,
            Role::Byline => self.is_byline(at, element),
            Role::Date => self
                .text(at, element)
                .is_some_and(|text| self.is_forum || self.metadata.is_date(&text)),
            // What is behind a wall is named after it, too.
            Role::Consent => !(all.any(names_wall) && self.has_prose(at)),
            _ => true,
        };
        is_right.then_some(role)
    }

    /// Whether a node is or has a paragraph of text.
    fn has_prose(&self, at: usize) -> bool {
        self.n_prose[at] < self.n_prose[self.outline.ends[at]]
    }

    /// Whether an element is small enough for its role, and made as one.
    fn fits(&self, role: Role, at: usize) -> bool {
        let (bytes, links) = (self.outline.text_bytes(at), self.outline.link_share(at));
        let is_small = |most: usize| bytes <= most;
        let fits = match role {
            Role::Headline | Role::Byline | Role::Date | Role::Credit => is_small(300),
            Role::Standfirst => is_small(800),
            Role::Share => is_small(500),
            Role::Tags => is_small(800) && (links >= 0.5 || bytes == 0),
            Role::LeadImage | Role::Caption | Role::Newsletter | Role::Disclaimer => {
                is_small(1_500)
            }
            Role::Biography | Role::Consent | Role::Player => is_small(2_500),
            Role::Related => bytes == 0 || links >= 0.3,
            Role::Comments => !self.is_forum,
            Role::Transcript => true,
        };
        let is_part = bytes as f32 <= self.n_bytes as f32 * SHARE_MAX
            || matches!(role, Role::Comments | Role::Headline | Role::Consent);
        let holds_prose = || {
            self.prose
                .is_some_and(|prose| at < prose && prose < self.outline.ends[at])
        };
        let is_wall = matches!(role, Role::Comments | Role::Related | Role::Transcript);
        fits && is_part && !self.holds_headline(at) && !(is_wall && holds_prose())
    }

    fn is_byline(&self, at: usize, element: Element<'_>) -> bool {
        let Some(text) = self.text(at, element) else {
            return false;
        };
        // Elsewhere a class of authors may be that of anything about them.
        self.is_forum
            || self.metadata.is_byline(&text)
            || self.metadata.authors().next().is_none() && self.is_lead(at)
    }

    /// The role of a part of the page by the heading that it begins with.
    fn role_of_heading(&self, at: usize, element: Element<'_>) -> Option<Role> {
        let is_part = matches!(
            element.tag(),
            Tag::Div | Tag::Section | Tag::Aside | Tag::Article
        );
        if !is_part || !self.outline.is_shown[at] || !self.fits(Role::Related, at) {
            return None;
        }
        let end = self.outline.ends[at].min(at + NODES_BEFORE_HEADING_MAX);
        let mut inside = self.outline.nodes[at..end].iter().enumerate();
        let heading = inside.find_map(|(n, node)| {
            let text = node.as_text()?.trim();
            (!text.is_empty() && self.outline.is_shown[at + n]).then_some(text)
        })?;
        let has_more = self.outline.text_bytes(at) > heading.len();
        (has_more && phrases::heads_related(heading)).then_some(Role::Related)
    }

    /// The role of a short text by what it says.
    fn role_of_text(&self, at: usize, element: Element<'_>) -> Option<Role> {
        let is_block = matches!(
            element.tag(),
            Tag::P | Tag::Div | Tag::Li | Tag::Span | Tag::H2 | Tag::H3 | Tag::H4 | Tag::Strong
        );
        if !is_block || !self.outline.is_shown[at] || self.outline.text_bytes(at) > 400 {
            return None;
        }
        let text = self.text(at, element)?;
        let links = self.outline.link_share(at);
        if self.is_lead(at) {
            if self.metadata.is_description(&text) {
                return Some(Role::Standfirst);
            }
            if self.metadata.is_byline(&text) {
                return Some(Role::Byline);
            }
            if self.metadata.is_date(&text) {
                return Some(Role::Date);
            }
        }
        phrases::role_of(&text, links)
    }
}

/// Whether an attribute has this word among others.
fn has_word(element: Element<'_>, attribute: &str, word: &str) -> bool {
    let words = element.attr(attribute).unwrap_or_default();
    words
        .split_ascii_whitespace()
        .any(|own| own.eq_ignore_ascii_case(word))
}
