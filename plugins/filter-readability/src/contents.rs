//! What leads through a page of documentation: its table of contents, and its place among others.

use std::collections::HashMap;

use trawl_sdk::{Element, Kind, Tag};

use crate::blocks::{Mark, Page, Region};
use crate::lexicon::Hint;
use crate::stats::Stats;

/// Fewest links of a table of contents.
const LINKS_MIN: usize = 3;
/// Least share of its links that lead within the page.
const INNER_MIN: f32 = 0.9;
/// Least share of its text in links, and that of what is named after the way through the pages:
/// menus describe their links.
const LINK_SHARE: f32 = 0.7;
const NAMED_LINK_SHARE: f32 = 0.3;
/// Most headings between a list and what its first link leads to.
const HEADINGS_MAX: usize = 2;
/// Most headings for each link, up to what the last one leads to.
const HEADINGS_PER_LINK_MAX: usize = 8;
/// Factor on the probability of what leads through the page.
const FACTOR: f32 = 0.1;

/// Lowers the probabilities of tables of contents and breadcrumbs among these parts: smaller ones
/// than `main`, the part with the text. Whoever reads the text has what they say. Indexes, whose
/// links lead far down, stay.
pub(crate) fn lower(page: &Page<'_>, main: usize, probabilities: &mut [f32]) {
    let half = page.regions[main].stats.units / 2.0;
    let parts = page.regions.iter().filter(|part| part.stats.units < half);
    let ways: Vec<(&Region, Way)> = parts
        .filter_map(|part| Some((part, Way::of(part)?)))
        .collect();
    if ways.is_empty() {
        return;
    }
    let anchors = Anchors::of(page);
    let mut is_lowered = vec![false; probabilities.len()];
    for (part, way) in ways {
        let links = anchors.of_part(part);
        let leads_through = match way {
            Way::Place => true,
            Way::Named => links.are_inner(&part.stats),
            Way::List => links.are_inner(&part.stats) && links.lead_to_what_follows(),
        };
        if leads_through {
            is_lowered[part.range()].fill(true);
        }
    }
    for (probability, is_lowered) in probabilities.iter_mut().zip(is_lowered) {
        *probability *= if is_lowered { FACTOR } else { 1.0 };
    }
}

/// What may lead through a page.
enum Way {
    /// The place of the page among others.
    Place,
    /// A part that is named so.
    Named,
    /// A list of links.
    List,
}

impl Way {
    fn of(part: &Region) -> Option<Self> {
        let is_list = matches!(part.tag, Tag::Ul | Tag::Ol | Tag::Dl | Tag::Menu);
        let (way, least) = if part.has(Hint::CrumbWord) {
            (Self::Place, NAMED_LINK_SHARE)
        } else if part.has(Hint::NavWord) || part.has(Hint::TocWord) {
            (Self::Named, NAMED_LINK_SHARE)
        } else if is_list {
            (Self::List, LINK_SHARE)
        } else {
            return None;
        };
        (part.stats.link_share() >= least).then_some(way)
    }
}

/// Where the links within a page are, and what they lead to.
struct Anchors<'a> {
    /// The block that begins at an element with this id or name, or behind it.
    targets: HashMap<&'a str, usize>,
    /// The blocks of links with text, with the ids that those lead to, in order.
    links: Vec<(usize, &'a str)>,
    /// The first blocks of headings, in order.
    headings: Vec<usize>,
}

impl<'a> Anchors<'a> {
    fn of(page: &Page<'a>) -> Self {
        let (mut targets, mut links, mut next) = (HashMap::new(), Vec::new(), 0);
        // The last link, until its text.
        let mut open: Option<(usize, &str)> = None;
        for (at, (node, mark)) in page.document.descendants().zip(&page.marks).enumerate() {
            if let Mark::Text(block) = *mark {
                next = block as usize + 1;
                if let Some((link, id)) = open.take()
                    && is_inside(page, at, link)
                {
                    links.push((block as usize, id));
                }
            }
            let Kind::Element(element) = node.kind() else {
                continue;
            };
            if let Some(id) = id_of(element) {
                targets.entry(id).or_insert(next);
            }
            let href = element.attr("href").filter(|_| element.tag() == Tag::A);
            if let Some(id) = href.and_then(|href| href.strip_prefix('#')) {
                open = Some((at, id));
            }
        }
        let headings = page.headings().map(|heading| heading.range().start);
        Self {
            targets,
            links,
            headings: headings.collect(),
        }
    }

    fn of_part<'b>(&'b self, part: &Region) -> InnerLinks<'a, 'b> {
        let own = part.range();
        let before = |at: usize| self.links.partition_point(|&(block, _)| block < at);
        InnerLinks {
            anchors: self,
            links: &self.links[before(own.start)..before(own.end)],
            behind: own.end,
        }
    }
}

/// Whether a node is inside of another one.
fn is_inside(page: &Page<'_>, at: usize, outer: usize) -> bool {
    let mut around = std::iter::successors(page.parent(at), |&at| page.parent(at));
    around.any(|at| at == outer)
}

/// The links of a part that lead within the page.
struct InnerLinks<'a, 'b> {
    anchors: &'b Anchors<'a>,
    links: &'b [(usize, &'a str)],
    /// The first block behind the part.
    behind: usize,
}

impl InnerLinks<'_, '_> {
    /// Whether they are several, and nearly all of the links of a part with this text.
    fn are_inner(&self, part: &Stats) -> bool {
        self.links.len() >= LINKS_MIN && self.links.len() as f32 >= part.links * INNER_MIN
    }

    /// Whether the first one leads to what follows the part, and the others to what follows that,
    /// without leaving out much.
    fn lead_to_what_follows(&self) -> bool {
        let target = |link: Option<&(usize, &str)>| {
            let target = self.anchors.targets.get(link?.1).copied();
            target.filter(|&target| target >= self.behind)
        };
        let (Some(first), Some(last)) = (target(self.links.first()), target(self.links.last()))
        else {
            return false;
        };
        let headings = &self.anchors.headings;
        let before = |at: usize| headings.partition_point(|&start| start < at);
        let n_headings = |target: usize| before(target) - before(self.behind);
        n_headings(first) <= HEADINGS_MAX
            && n_headings(last) <= self.links.len() * HEADINGS_PER_LINK_MAX
    }
}

fn id_of(element: Element<'_>) -> Option<&str> {
    let name = || element.attr("name").filter(|_| element.tag() == Tag::A);
    element.id().or_else(name)
}

#[cfg(test)]
mod tests {
    use trawl_sdk::testkit;

    use super::lower;
    use crate::blocks::Page;

    const TEXT: &str = "<p>The dam holds the water of the river, which is high in spring.</p>";

    /// The numbers of the blocks that are lowered.
    fn lowered(html: &str) -> Vec<usize> {
        let page = testkit::page(html);
        let document = page.document();
        let page = Page::of(&document).expect("a small page");
        let mut probabilities = vec![1.0_f32; page.blocks.len()];
        lower(&page, 0, &mut probabilities);
        (0..probabilities.len())
            .filter(|&at| probabilities[at] < 0.5)
            .collect()
    }

    fn links(prefix: &str, names: &[&str]) -> String {
        let links = names
            .iter()
            .map(|name| format!("<li><a href=\"{prefix}{name}\">{name}</a>"));
        links.collect()
    }

    fn sections(names: &[&str]) -> String {
        let sections = names
            .iter()
            .map(|name| format!("<h2 id={name}>{name}</h2>{TEXT}{TEXT}"));
        sections.collect()
    }

    #[test]
    fn a_list_that_leads_to_what_follows_is_a_table_of_contents() {
        let names = ["walls", "gates", "locks"];
        let (own, sections) = (links("#", &names), sections(&names));
        let list = |list: &str| format!("<h1>Dam</h1>{TEXT}<ul>{list}</ul>{sections}");
        assert_eq!(lowered(&list(&own)), [2, 3, 4]);
        // Anchors with names, with the list in parts of its own.
        let old = list(&own)
            .replace("<h2 id=", "<h2><a name=")
            .replace("<ul>", "<div><ul>");
        assert_eq!(lowered(&old), [2, 3, 4]);
        // A link without text is none, whatever follows it.
        let first = own.replacen("<li>", "<li><a href=#no></a>1. ", 1);
        assert_eq!(lowered(&list(&first)), [2, 3, 4]);
        // Other pages, too few links, other text, and places that are not there.
        assert!(lowered(&list(&links("dam.html#", &names))).is_empty());
        assert!(lowered(&list(&links("#", &names[..2]))).is_empty());
        let described = own.replace("</a>", "</a> is a part of nearly every dam");
        assert!(lowered(&list(&described)).is_empty());
        assert!(lowered(&list(&links("#no-", &names))).is_empty());
    }

    #[test]
    fn other_links_before_a_list_change_nothing() {
        let names = ["walls", "gates", "locks"];
        let list = format!("<ul>{}</ul>{}", links("#", &names), sections(&names));
        for before in [
            "<h2 id=toc>Contents <a href=#toc>¶</a></h2>",
            "<h2 id=toc>Contents<a href=#toc></a></h2>",
            "<p>See <a href=#locks>locks</a>.</p>",
            "<template><a href=#toc>a</a></template><p>Parts:</p>",
        ] {
            assert_eq!(lowered(&format!("{before}{list}")), [1, 2, 3], "{before}");
        }
    }

    #[test]
    fn addresses_are_no_table_of_contents() {
        let person =
            |name: &str| format!("<p>{name} <a href='mailto:{name}@x.org'>{name}@x.org</a></p>");
        let people = ["ada", "bob", "cy"].map(person).concat();
        let html = format!("<div class=contents>{people}</div>{}", TEXT.repeat(9));
        assert!(lowered(&html).is_empty());
    }

    #[test]
    fn a_list_of_what_is_elsewhere_on_the_page_stays() {
        let names = ["walls", "gates", "locks"];
        let own = format!("<ul>{}</ul>", links("#", &names));
        let others = sections(&["a", "b", "c"]);
        let after = format!("<h1>Dam</h1>{}{TEXT}{own}", sections(&names));
        assert!(lowered(&after).is_empty());
        let far = format!("<h1>Dam</h1>{own}{others}{}", sections(&names));
        assert!(lowered(&far).is_empty());
        let apart = format!(
            "<h1>Dam</h1>{own}{}{}{}",
            sections(&names[..2]),
            others.repeat(9),
            sections(&names[2..])
        );
        assert!(lowered(&apart).is_empty());
    }

    #[test]
    fn named_parts_are_tables_of_contents_or_the_place_of_the_page() {
        let rest = sections(&["walls", "gates"]).repeat(3);
        let row = |name: &str| format!("<tr><td><a href=#{name}>Part</a><td>of it");
        let menu = format!(
            "<table class=menu>{}</table>{rest}",
            ["a", "b", "c"].map(row).concat()
        );
        assert_eq!(lowered(&menu), [0, 1, 2, 3, 4, 5]);
        let crumbs = format!("<div class=breadcrumbs><a href=/>std</a>::dam</div>{rest}");
        assert_eq!(lowered(&crumbs), [0]);
        let chapters = format!(
            "<div class=toc>{}</div>{rest}",
            links("c/", &["a", "b", "c"])
        );
        assert!(lowered(&chapters).is_empty());
    }
}
