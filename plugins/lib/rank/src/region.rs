//! Regions of a page: content, navigation, header, footer and so on.

use trawl_sdk::{Element, Kind, Tag};

/// Region of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Region {
    /// The main content, and anything that belongs to no other region.
    #[default]
    Main,
    /// Content beside the main content.
    Aside,
    /// The page header.
    Header,
    /// Navigation: menus, breadcrumbs.
    Nav,
    /// The page footer.
    Footer,
    /// An overlay notice: cookies, consent.
    Notice,
}

/// Maximum number of bytes of class names to examine, because generated ones can be long.
const NAMES_BYTES_MAX: usize = 200;
/// Minimum number of links in an element named like a menu.
const MENU_LINKS_MIN: usize = 2;
/// Maximum number of texts and elements of a menu to examine for links.
const MENU_PARTS_MAX: usize = 400;
/// Maximum number of letters outside links per link in a navigation menu; a restaurant's menu has
/// more.
const MENU_LETTERS_PER_LINK: usize = 12;

impl Region {
    /// Name in results: `main`, `nav` and so on.
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

    /// The region that starts at an element inside another region; `None` if it does not change.
    pub fn begun_by(element: Element<'_>, inside: Self) -> Option<Self> {
        let region = Self::of(element, inside)?;
        // Everything inside a menu, a footer or a notice belongs to it.
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
            // Wrappers are often named after something else in them (`with-sidebar`).
            Some(Self::Aside | Self::Footer | Self::Notice) if element.has_main_start() => None,
            found => found,
        }
    }
}

/// The region that a class or an id names with one of its words.
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

/// Whether an element is inside an article, so that a header or footer belongs to that article.
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
    let (mut n_parts, mut n_links, mut n_letters) = (0, 0, 0);
    let mut inside = element.descendants();
    while let Some(node) = inside.next() {
        n_parts += usize::from(node.is_counted());
        if n_parts > MENU_PARTS_MAX {
            break;
        }
        match node.kind() {
            Kind::Text(text) => {
                n_letters += text.split_ascii_whitespace().map(str::len).sum::<usize>();
            }
            Kind::TemplateContents => inside.skip_inside(node),
            Kind::Element(inner) if inner.is_unseen() => inside.skip_inside(node),
            Kind::Element(inner) if inner.tag() == Tag::A => {
                n_links += 1;
                inside.skip_inside(node);
            }
            _ => {}
        }
    }
    n_links >= MENU_LINKS_MIN && n_letters <= n_links * MENU_LETTERS_PER_LINK
}
