//! The parts of a page that readers tell apart.

use crate::{Element, Node, Tag};

/// Where on a page something stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Region {
    /// The content, and everything that is nothing else.
    #[default]
    Main,
    /// What stands beside the content.
    Aside,
    /// The head of the page.
    Header,
    /// Navigation: menus, breadcrumbs.
    Nav,
    /// The foot of the page.
    Footer,
    /// A notice over the page: cookies, consent.
    Notice,
}

/// Most bytes of class names that are looked at; generated ones can be long.
const NAMES_BYTES_MAX: usize = 200;
/// Links from which on an element that calls itself a menu is one.
const MENU_LINKS_MIN: usize = 2;
/// Nodes of a menu that are looked at for its links.
const MENU_NODES_MAX: usize = 400;
/// Nodes that are looked at for the page's content.
const CONTENT_NODES_MAX: usize = 3_000;
/// Letters outside links, for each link, that a menu may have; the menu of a restaurant has more.
const MENU_LETTERS_A_LINK: usize = 12;

impl Region {
    /// Its name in answers: `main`, `nav` and so on.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Main => "main",
            Self::Aside => "aside",
            Self::Header => "header",
            Self::Nav => "nav",
            Self::Footer => "footer",
            Self::Notice => "notice",
        }
    }

    /// The region that an element begins inside a region; `None` when it stays the same.
    pub fn begun_by(element: Element<'_>, inside: Self) -> Option<Self> {
        let region = Self::of(element, inside)?;
        // What stands in a menu, a foot or a notice stays there.
        let is_kept = matches!(inside, Self::Nav | Self::Footer | Self::Notice) || region == inside;
        (!is_kept).then_some(region)
    }

    fn of(element: Element<'_>, inside: Self) -> Option<Self> {
        let role = element.attr("role").unwrap_or_default().trim_ascii();
        match role {
            "navigation" | "menubar" => return Some(Self::Nav),
            "contentinfo" => return Some(Self::Footer),
            "banner" => return Some(Self::Header),
            "complementary" => return Some(Self::Aside),
            "main" | "article" => return Some(Self::Main),
            _ => {}
        }
        match element.tag() {
            Tag::Nav => return Some(Self::Nav),
            Tag::Footer if !is_in_article(element) => return Some(Self::Footer),
            Tag::Header if !is_in_article(element) => return Some(Self::Header),
            Tag::Aside => return Some(Self::Aside),
            Tag::Main => return Some(Self::Main),
            Tag::Article if inside != Self::Aside => return Some(Self::Main),
            Tag::Div | Tag::Section | Tag::Ul | Tag::Ol | Tag::Table | Tag::Td => {}
            _ => return None,
        }
        let names = [element.attr("id"), element.attr("class")];
        let mut found = None;
        for names in names
            .into_iter()
            .flatten()
            .filter(|names| names.len() <= NAMES_BYTES_MAX)
        {
            for name in names.split_ascii_whitespace() {
                found = found.or(named(name));
            }
        }
        match found {
            Some(Self::Nav) if !is_menu(element) => None,
            Some(Self::Aside | Self::Footer | Self::Notice) if holds_content(element) => None,
            found => found,
        }
    }
}

/// The region that a class or an id names by one of its words.
fn named(name: &str) -> Option<Region> {
    let mut words = name.split(['-', '_']).filter(|word| !word.is_empty());
    let is =
        |word: &str, known: &[&str]| known.iter().any(|known| word.eq_ignore_ascii_case(known));
    let first = words.next()?;
    let last = words.next_back().unwrap_or(first);
    for word in [last, first] {
        if is(
            word,
            &[
                "nav",
                "navbar",
                "navigation",
                "menu",
                "topnav",
                "mainmenu",
                "breadcrumb",
                "breadcrumbs",
                "sitenav",
            ],
        ) {
            return Some(Region::Nav);
        }
        if is(
            word,
            &["cookie", "cookies", "consent", "gdpr", "cookiebanner"],
        ) {
            return Some(Region::Notice);
        }
    }
    if is(last, &["footer", "colophon"]) || is(first, &["colophon"]) {
        return Some(Region::Footer);
    }
    if is(last, &["sidebar"]) || is(first, &["sidebar"]) {
        return Some(Region::Aside);
    }
    is(
        name,
        &[
            "header",
            "masthead",
            "site-header",
            "page-header-top",
            "topbar",
        ],
    )
    .then_some(Region::Header)
}

/// Whether the content of the page is inside an element: wrappers are often named after what else is in them (`with-sidebar`).
fn holds_content(element: Element<'_>) -> bool {
    let inside = element.descendants().take(CONTENT_NODES_MAX);
    let mut elements = inside.filter_map(Node::as_element);
    elements.any(|inner| {
        matches!(inner.tag(), Tag::Main | Tag::H1) || inner.attr("role") == Some("main")
    })
}

/// Whether an element stands in the content, so that its head and foot are the content's.
fn is_in_article(element: Element<'_>) -> bool {
    element.ancestors().any(|outer| {
        matches!(
            outer.tag(),
            Tag::Article | Tag::Main | Tag::Section | Tag::Blockquote | Tag::Details
        )
    })
}

/// Whether an element consists of links.
fn is_menu(element: Element<'_>) -> bool {
    let (mut n_links, mut n_letters) = (0, 0);
    let mut inside = element.descendants();
    let mut n_nodes = 0;
    while let Some(node) = inside.next() {
        n_nodes += 1;
        if n_nodes > MENU_NODES_MAX {
            break;
        }
        if let Some(text) = node.as_text() {
            n_letters += text.trim_ascii().len();
        } else if let Some(inner) = node.as_element()
            && inner.tag() == Tag::A
        {
            n_links += 1;
            inside.skip_inside(node);
        }
    }
    n_links >= MENU_LINKS_MIN && n_letters <= n_links * MENU_LETTERS_A_LINK
}
