//! Pages of documentation: whether their headings and list items are kept, and the links of their
//! navigation are not.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

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
const BESIDE: [&str; 12] = [
    "nav",
    "navpath",
    "footer",
    "modal",
    "leftnav",
    "sidebar",
    "navbar",
    "navigation",
    "breadcrumb",
    "breadcrumbs",
    "menu",
    "toc",
];

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
    let (mut inside, mut beside) = (Texts::new(), Texts::new());
    for element in page.select(selector) {
        let words: Vec<&str> = element.text().flat_map(str::split_whitespace).collect();
        let text: String = words.join(" ").chars().take(CHARACTERS).collect();
        // The sign of a link to a heading itself is left out.
        let text = text.trim_end_matches(|c: char| !c.is_alphanumeric());
        if text.is_empty() {
            continue;
        }
        let mut around = element.ancestors().filter_map(ElementRef::wrap);
        let is_beside = around.any(stands_beside) || stands_beside(element);
        let place = if is_beside { &mut beside } else { &mut inside };
        *place.entry(text.to_owned()).or_default() += 1;
    }
    (inside, beside)
}

/// Whether an element is navigation, a sidebar or a footer.
fn stands_beside(element: ElementRef<'_>) -> bool {
    let own = element.value();
    let by_role = own.attr("role").is_some_and(|role| {
        matches!(
            role,
            "navigation" | "complementary" | "contentinfo" | "search"
        )
    });
    let names = own.classes().chain(own.id());
    let mut words = names.flat_map(|name| name.split(['-', '_']));
    matches!(own.name(), "nav" | "aside" | "footer")
        || by_role
        || words.any(|word| BESIDE.contains(&word))
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
    use scraper::Html;

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
}
