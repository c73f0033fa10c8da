//! What leads through a page of documentation: its table of contents, and its place among others.

use std::collections::HashMap;

use trawl_sdk::{Element, Kind, Tag};

use crate::blocks::{Mark, Page, Region};
use crate::lexicon::Hint;

/// Fewest links of a table of contents.
const LINKS_MIN: f32 = 3.0;
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

/// Lowers the probabilities of tables of contents and breadcrumbs in the main part of
/// documentation: whoever reads the text has it. Indexes, whose links lead far down, stay.
pub(crate) fn lower(page: &Page<'_>, main: usize, probabilities: &mut [f32]) {
    let half = page.regions[main].stats.units / 2.0;
    let parts = page.regions.iter().filter(|part| part.stats.units < half);
    let mut anchors = None;
    for part in parts {
        let is_way = match Way::of(part) {
            None => false,
            Some(Way::Named) => true,
            Some(Way::List) => {
                let anchors = anchors.get_or_insert_with(|| Anchors::of(page));
                anchors.leads_to_what_follows(page, part)
            }
        };
        if is_way {
            for probability in &mut probabilities[part.range()] {
                *probability *= FACTOR;
            }
        }
    }
}

/// What leads through a page.
enum Way {
    /// A part that is named so.
    Named,
    /// A list of links within the page.
    List,
}

impl Way {
    fn of(part: &Region) -> Option<Self> {
        let stats = &part.stats;
        let is_named = |way: Hint| part.near[way as usize] == 0;
        let is_inner = stats.links >= LINKS_MIN && stats.inner_links >= stats.links * INNER_MIN;
        let is_contents = is_inner && (is_named(Hint::NavWord) || is_named(Hint::TocWord));
        if is_named(Hint::CrumbWord) || is_contents {
            return (stats.link_share() >= NAMED_LINK_SHARE).then_some(Self::Named);
        }
        let is_list = matches!(part.tag, Tag::Ul | Tag::Ol | Tag::Dl | Tag::Menu);
        (is_list && is_inner && stats.link_share() >= LINK_SHARE).then_some(Self::List)
    }
}

/// Where the links within a page are, and what they lead to.
struct Anchors<'a> {
    /// The block that begins at an element with this id or name, or behind it.
    targets: HashMap<&'a str, usize>,
    /// The blocks that begin at links or behind them, with the ids that those lead to, in order.
    links: Vec<(usize, &'a str)>,
}

impl<'a> Anchors<'a> {
    fn of(page: &Page<'a>) -> Self {
        let (mut targets, mut links, mut next) = (HashMap::new(), Vec::new(), 0);
        for (node, mark) in page.document.descendants().zip(&page.marks) {
            match (node.kind(), *mark) {
                (_, Mark::Text(block)) => next = block as usize + 1,
                (Kind::Element(element), _) => {
                    if let Some(id) = id_of(element) {
                        targets.entry(id).or_insert(next);
                    }
                    let href = element.attr("href").filter(|_| element.tag() == Tag::A);
                    if let Some(id) = href.and_then(|href| href.strip_prefix('#')) {
                        links.push((next, id));
                    }
                }
                _ => {}
            }
        }
        Self { targets, links }
    }

    /// Whether the first link of a part leads to what follows the part, and the others to what
    /// follows that, without leaving out much.
    fn leads_to_what_follows(&self, page: &Page<'_>, part: &Region) -> bool {
        let own = part.range();
        let [first, end] =
            [own.start, own.end].map(|at| self.links.partition_point(|&(block, _)| block < at));
        let links = &self.links[first..end];
        let target = |link: Option<&(usize, &str)>| {
            let target = self.targets.get(link?.1).copied();
            target.filter(|&target| target >= own.end)
        };
        let (Some(first), Some(last)) = (target(links.first()), target(links.last())) else {
            return false;
        };
        let n_headings = |before: usize| {
            let starts = page.regions.iter().filter(|region| {
                let is_heading = region.tag.heading_level().is_some();
                is_heading && !region.range().is_empty()
            });
            let starts = starts.map(|region| region.range().start);
            starts
                .filter(|start| (own.end..before).contains(start))
                .count()
        };
        n_headings(first) <= HEADINGS_MAX && n_headings(last) <= links.len() * HEADINGS_PER_LINK_MAX
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
        // Other pages, too few links, other text, and places that are not there.
        assert!(lowered(&list(&links("dam.html#", &names))).is_empty());
        assert!(lowered(&list(&links("#", &names[..2]))).is_empty());
        let described = own.replace("</a>", "</a> is a part of nearly every dam");
        assert!(lowered(&list(&described)).is_empty());
        assert!(lowered(&list(&links("#no-", &names))).is_empty());
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
