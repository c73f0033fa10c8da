//! Pages of documentation: whether their headings and list items are kept, and the links of their
//! navigation are not.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use anyhow::{Context, ensure};
use scraper::{ElementRef, Html, Selector};
use serde_json::json;

use crate::transformer::Transformer;

/// Goal for the shares of what is kept and of what is left out.
const SHARE: f64 = 0.98;
/// Most pages of one generator.
const PAGES_MAX: usize = 20;
/// Sizes of pages that count, in bytes.
const BYTES: std::ops::RangeInclusive<u64> = 2_000..=500_000;
/// Characters of a text by which it is recognised.
const CHARACTERS: usize = 60;
/// Words in classes and ids of what stands beside a page of documentation.
const BESIDE: [&str; 14] = [
    "nav",
    "navheader",
    "navfooter",
    "navpath",
    "footer",
    "popup",
    "leftnav",
    "modal",
    "sidebar",
    "navbar",
    "navigation",
    "breadcrumb",
    "breadcrumbs",
    "menu",
];
/// What generators name otherwise: the header and the lists of chapters and versions of Node.js,
/// the box of links beside a page of Apache, the bar of rustdoc on small screens.
const BESIDE_OF_GENERATORS: [&str; 5] = [
    ".header-container",
    "#column2",
    "#gtoc",
    "#quickview",
    "rustdoc-topbar",
];
/// Words in classes and ids of tables of contents.
const CONTENTS: [&str; 2] = ["toc", "contents"];
/// Fewest links of a list of contents, and the share of those that lead within the page.
const CONTENTS_LINKS_MIN: usize = 3;
const CONTENTS_WITHIN_MIN: f64 = 0.9;
/// Share of the text in links of one that is named so, and of a list.
const CONTENTS_TEXT_MIN: f64 = 0.5;
const LIST_TEXT_MIN: f64 = 0.7;
/// Most headings between a list of contents and what its first link leads to.
const CONTENTS_HEADINGS_MAX: usize = 2;

static OF_GENERATORS: LazyLock<Selector> =
    LazyLock::new(|| Selector::parse(&BESIDE_OF_GENERATORS.join(", ")).expect("selectors"));

/// How often each text occurs.
type Texts = HashMap<String, usize>;

/// Parts of a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Count {
    part: usize,
    whole: usize,
}

/// What is counted on the pages of a generator.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    headings: Count,
    items: Count,
    /// Links of navigation that are left out.
    navigation: Count,
}

/// Prints the shares for each folder in `folder`: the pages of one generator.
pub(super) fn run(transformer: &Transformer, folder: &Path) -> anyhow::Result<()> {
    let plan = transformer.plan(json!({"return_format": "html", "readability": true}))?;
    println!(
        "{:<16} {:>5} {:>9} {:>7} {:>19}",
        "documentation", "pages", "headings", "items", "navigation left out"
    );
    let mut all = Counts::default();
    let mut n_all = 0;
    for generator in sorted(folder)?.into_iter().filter(|path| path.is_dir()) {
        let mut counts = Counts::default();
        let pages = sample(&generator)?;
        for file in &pages {
            let bytes = std::fs::read(file)?;
            let html = String::from_utf8_lossy(&bytes).into_owned();
            let url = format!("https://documentation.invalid/{}", file.display());
            let (kept, _) = transformer.text(&url, html.as_bytes(), &plan)?;
            counts.add(&Html::parse_document(&html), &Html::parse_document(&kept));
        }
        let name = generator.file_name().unwrap_or_default().to_string_lossy();
        counts.print(&name, pages.len(), "");
        all.join(&counts);
        n_all += pages.len();
    }
    ensure!(n_all > 0, "`{}` has no pages in folders", folder.display());
    let is_missed = [all.headings, all.items, all.navigation]
        .iter()
        .any(|count| count.share() < SHARE);
    let verdict = if is_missed { ", MISSED" } else { "" };
    let goal = format!("   goal: each at least {SHARE}{verdict}");
    all.print("all", n_all, &goal);
    Ok(())
}

impl Count {
    /// The share, 0 to 1; 1 of nothing.
    fn share(self) -> f64 {
        if self.whole == 0 {
            1.0
        } else {
            self.part as f64 / self.whole as f64
        }
    }

    fn join(&mut self, other: Self) {
        self.part += other.part;
        self.whole += other.whole;
    }
}

impl Counts {
    /// Adds a page and what is kept of it.
    fn add(&mut self, page: &Html, kept: &Html) {
        let [headings, items, links] = ["h1, h2, h3, h4, h5, h6", "li", "a[href]"]
            .map(|css| Selector::parse(css).expect("a selector"));
        for (count, selector) in [(&mut self.headings, &headings), (&mut self.items, &items)] {
            let (of_text, _) = texts(page, selector);
            let (inside, beside) = texts(kept, selector);
            count.whole += of_text.values().sum::<usize>();
            for (text, n) in &of_text {
                let n_kept = [&inside, &beside].map(|texts| texts.get(text).copied().unwrap_or(0));
                count.part += (*n).min(n_kept.iter().sum());
            }
        }
        let (of_text, of_navigation) = texts(page, &links);
        let (inside, beside) = texts(kept, &links);
        for (text, n) in &of_navigation {
            let n_kept: usize = [&inside, &beside]
                .map(|texts| texts.get(text).copied().unwrap_or(0))
                .iter()
                .sum();
            // The same link in the text is not one of navigation.
            let n_kept = n_kept.saturating_sub(of_text.get(text).copied().unwrap_or(0));
            self.navigation.whole += n;
            self.navigation.part += n - n_kept.min(*n);
        }
    }

    fn join(&mut self, other: &Self) {
        self.headings.join(other.headings);
        self.items.join(other.items);
        self.navigation.join(other.navigation);
    }

    fn print(&self, name: &str, n_pages: usize, end: &str) {
        println!(
            "{name:<16} {n_pages:>5} {:>9.3} {:>7.3} {:>19.3}{end}",
            self.headings.share(),
            self.items.share(),
            self.navigation.share()
        );
    }
}

/// The texts of the elements that match, in the text of the page and beside it.
fn texts(page: &Html, selector: &Selector) -> (Texts, Texts) {
    let places = Places::of(page);
    let (mut inside, mut beside) = (Texts::new(), Texts::new());
    // Where the outermost element that stands beside the text ends.
    let mut beside_until = 0;
    for (order, element) in elements(page) {
        let behind = order + 1 + elements_of(element).count();
        let is_beside =
            order < beside_until || stands_beside(element) || places.is_contents(element, behind);
        if is_beside {
            beside_until = beside_until.max(behind);
        }
        if !selector.matches(&element) {
            continue;
        }
        let words: Vec<&str> = element.text().flat_map(str::split_whitespace).collect();
        let text: String = words.join(" ").chars().take(CHARACTERS).collect();
        // The sign of a link to a heading itself is left out.
        let text = text.trim_end_matches(|c: char| !c.is_alphanumeric());
        if !text.is_empty() {
            let place = if is_beside { &mut beside } else { &mut inside };
            *place.entry(text.to_owned()).or_default() += 1;
        }
    }
    (inside, beside)
}

/// The elements of a page in document order, with their place in it.
fn elements(page: &Html) -> impl Iterator<Item = (usize, ElementRef<'_>)> {
    let nodes = page.tree.root().descendants();
    nodes.filter_map(ElementRef::wrap).enumerate()
}

/// The elements inside of another one.
fn elements_of(element: ElementRef<'_>) -> impl Iterator<Item = ElementRef<'_>> {
    element.descendants().skip(1).filter_map(ElementRef::wrap)
}

/// Whether an element is navigation, a sidebar or a footer. The page itself is none, whatever its
/// classes say of its state.
fn stands_beside(element: ElementRef<'_>) -> bool {
    let own = element.value();
    if matches!(own.name(), "html" | "body") {
        return false;
    }
    let by_role = own.attr("role").is_some_and(|role| {
        matches!(
            role,
            "navigation" | "complementary" | "contentinfo" | "search"
        )
    });
    matches!(own.name(), "nav" | "aside" | "footer")
        || by_role
        || is_named(element, &BESIDE)
        || OF_GENERATORS.matches(&element)
}

/// Whether a class or the id of an element has one of these words.
fn is_named(element: ElementRef<'_>, words: &[&str]) -> bool {
    let own = element.value();
    let names = own.classes().chain(own.id());
    let mut own = names.flat_map(|name| name.split(['-', '_']));
    own.any(|own| words.contains(&own.to_ascii_lowercase().as_str()))
}

/// Where on a page what can be led to is, in document order.
struct Places<'a> {
    ids: HashMap<&'a str, usize>,
    headings: Vec<usize>,
}

impl<'a> Places<'a> {
    fn of(page: &'a Html) -> Self {
        let (mut ids, mut headings) = (HashMap::new(), Vec::new());
        for (order, element) in elements(page) {
            let name = element
                .attr("name")
                .filter(|_| element.value().name() == "a");
            if let Some(id) = element.attr("id").or(name) {
                ids.entry(id).or_insert(order);
            }
            if matches!(
                element.value().name(),
                "h1" | "h2" | "h3" | "h4" | "h5" | "h6"
            ) {
                headings.push(order);
            }
        }
        Self { ids, headings }
    }

    /// Whether an element is a table of contents of the page: one by its name, or a list that is
    /// followed by what its first link leads to. A list of other pages is text. `behind` is the
    /// place behind the element.
    fn is_contents(&self, element: ElementRef<'_>, behind: usize) -> bool {
        let name = element.value().name();
        let is_named = !matches!(name, "html" | "body") && is_named(element, &CONTENTS);
        if !is_named && !matches!(name, "ul" | "ol" | "dl") {
            return false;
        }
        let length = |element: ElementRef<'_>| -> usize {
            let words = element.text().flat_map(str::split_whitespace);
            words.map(str::len).sum()
        };
        let (mut n_links, mut in_links, mut targets) = (0, 0, Vec::new());
        for link in elements_of(element).filter(|link| link.value().name() == "a") {
            let Some(href) = link.attr("href") else {
                continue;
            };
            n_links += 1;
            in_links += length(link);
            targets.extend(href.strip_prefix('#'));
        }
        let (least_links, least) = if is_named {
            (1, CONTENTS_TEXT_MIN)
        } else {
            (CONTENTS_LINKS_MIN, LIST_TEXT_MIN)
        };
        n_links >= least_links
            && targets.len() as f64 >= n_links as f64 * CONTENTS_WITHIN_MIN
            && in_links as f64 >= length(element) as f64 * least
            && (is_named || self.follows(behind, targets[0]))
    }

    /// Whether the element with this id is at or behind a place, with few headings between.
    fn follows(&self, behind: usize, id: &str) -> bool {
        let target = self.ids.get(id).filter(|&&target| target >= behind);
        target.is_some_and(|&target| {
            let headings = self.headings.iter();
            let between = headings.filter(|&heading| (behind..target).contains(heading));
            between.count() <= CONTENTS_HEADINGS_MAX
        })
    }
}

/// Up to [`PAGES_MAX`] pages below a folder, evenly over their sorted paths.
fn sample(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for path in sorted(&folder)? {
            let is_page = path.extension().is_some_and(|end| end == "html");
            if path.is_dir() {
                folders.push(path);
            } else if is_page && BYTES.contains(&path.metadata()?.len()) {
                found.push(path);
            }
        }
    }
    found.sort();
    let step = found.len().div_ceil(PAGES_MAX).max(1);
    Ok(found.into_iter().step_by(step).collect())
}

fn sorted(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries =
        std::fs::read_dir(folder).with_context(|| format!("cannot read `{}`", folder.display()))?;
    let mut paths = Vec::new();
    for entry in entries {
        paths.push(entry?.path());
    }
    paths.sort();
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use scraper::{Html, Selector};

    use super::{Count, Counts};

    #[test]
    fn what_is_kept_and_left_out_is_counted_by_its_text() {
        let page = Html::parse_document(
            "<nav><a href=/a>A</a> <a href=/b>B</a></nav><div class=side-bar><h2>Side</h2></div>\
             <div class=page-sidebar><h2>Menu</h2></div><div id=site-nav><h2>All</h2></div>\
             <h1>Title <a>¶</a></h1><h2>One</h2><ul><li>x<li>y</ul><a href=/b>B</a>",
        );
        let kept =
            Html::parse_document("<h1>Title</h1><ul><li>x</ul><a href=/a>A</a><a href=/b>B</a>");
        let mut counts = Counts::default();
        counts.add(&page, &kept);
        let count = |part, whole| Count { part, whole };
        assert_eq!(counts.headings, count(1, 3));
        assert_eq!(counts.items, count(1, 2));
        assert_eq!(counts.navigation, count(1, 2));
        assert!((Count::default().share() - 1.0).abs() < f64::EPSILON);
    }

    /// How many list items are in the text of a page, and how many links beside it.
    fn n_items_and_links_beside(html: &str) -> (usize, usize) {
        let page = Html::parse_document(html);
        let texts = |css: &str| super::texts(&page, &Selector::parse(css).expect("a selector"));
        let ((items, _), (_, links)) = (texts("li"), texts("a[href]"));
        (items.values().sum(), links.values().sum())
    }

    #[test]
    fn tables_of_contents_stand_beside_the_text() {
        let links = |prefix: &str| {
            let link = |name| format!("<li><a href={prefix}{name}>{name}</a>");
            ["a", "b", "c"].map(link).concat()
        };
        let rest = "<h2 id=a>A</h2><h2 id=b>B</h2><h2><a name=c>C</a></h2>";
        let (own, others) = (links("#"), links("x.html#"));
        let list = |links: &str| n_items_and_links_beside(&format!("<ul>{links}</ul>{rest}"));
        assert_eq!(list(&own), (0, 3));
        assert_eq!(list(&others), (3, 0));
        assert_eq!(list(&own.replace("</a>", "</a> with a text")), (3, 0));
        assert_eq!(list(&own.replace("<li><a href=#c>c</a>", "")), (2, 0));
        // Behind what it leads to, and far before it.
        let behind = format!("{rest}<ul>{own}</ul>");
        assert_eq!(n_items_and_links_beside(&behind), (3, 0));
        let far = format!("<ul>{own}</ul><h2>x</h2><h2>y</h2><h2>z</h2>{rest}");
        assert_eq!(n_items_and_links_beside(&far), (3, 0));
        // By name, wherever it is.
        let named = |links: &str| format!("{rest}<div class=page-TOC><ul>{links}</ul></div>");
        assert_eq!(n_items_and_links_beside(&named(&own)), (0, 3));
        assert_eq!(n_items_and_links_beside(&named(&others)), (3, 0));
        let body = format!("<body class=sidebar-visible>{rest}<ul>{others}</ul>");
        assert_eq!(n_items_and_links_beside(&body), (3, 0));
        let generators = format!("<div id=column2><ul>{others}</ul></div>{rest}");
        assert_eq!(n_items_and_links_beside(&generators), (0, 3));
    }
}
