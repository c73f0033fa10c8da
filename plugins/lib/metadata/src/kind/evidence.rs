//! What tells the kind of a page: counts of elements, words of classes, types in its data, words of
//! its URL.

use trawl_sdk::{Document, Element, Tag};

/// Elements that are counted, in the order of their counts.
const TAGS: [Tag; 23] = [
    Tag::Article,
    Tag::H1,
    Tag::H2,
    Tag::H3,
    Tag::P,
    Tag::A,
    Tag::Li,
    Tag::Img,
    Tag::Time,
    Tag::Form,
    Tag::Input,
    Tag::Button,
    Tag::Table,
    Tag::Td,
    Tag::Pre,
    Tag::Code,
    Tag::Dt,
    Tag::Blockquote,
    Tag::Figure,
    Tag::Iframe,
    Tag::Nav,
    Tag::Select,
    Tag::Label,
];

/// Groups of words in classes, ids and properties: those of comments, threads, products, prices,
/// reviews, cards, manuals, articles, listings and advertisements for oneself.
const N_GROUPS: usize = 10;

/// The words with their group, sorted.
const WORDS: [(&str, u8); 66] = [
    ("article", 7),
    ("author", 7),
    ("banner", 9),
    ("basket", 3),
    ("byline", 7),
    ("card", 5),
    ("cards", 5),
    ("cart", 3),
    ("checkout", 3),
    ("codehilite", 6),
    ("comment", 0),
    ("comments", 0),
    ("cta", 9),
    ("doc", 6),
    ("docblock", 6),
    ("docs", 6),
    ("entry", 7),
    ("facet", 8),
    ("facets", 8),
    ("features", 9),
    ("filter", 8),
    ("filters", 8),
    ("forum", 1),
    ("forums", 1),
    ("grid", 5),
    ("hero", 9),
    ("highlight", 6),
    ("listing", 8),
    ("listings", 8),
    ("markdown", 6),
    ("message", 1),
    ("messages", 1),
    ("pager", 8),
    ("pagination", 8),
    ("post", 1),
    ("posts", 1),
    ("price", 3),
    ("prices", 3),
    ("pricing", 9),
    ("product", 2),
    ("products", 2),
    ("rating", 4),
    ("ratings", 4),
    ("replies", 0),
    ("reply", 0),
    ("result", 8),
    ("results", 8),
    ("review", 4),
    ("reviews", 4),
    ("sku", 2),
    ("slider", 9),
    ("sphinx", 6),
    ("stars", 4),
    ("story", 7),
    ("teaser", 5),
    ("teasers", 5),
    ("testimonial", 9),
    ("testimonials", 9),
    ("thread", 1),
    ("threads", 1),
    ("tile", 5),
    ("tiles", 5),
    ("toc", 6),
    ("topic", 1),
    ("topics", 1),
    ("variant", 2),
];

/// Parts of schema.org types.
const TYPES: [&[&str]; 8] = [
    &["Article", "BlogPosting", "Report"],
    &["Product", "Offer"],
    &["DiscussionForum", "QAPage", "Question", "Comment"],
    &["CollectionPage", "ItemList", "SearchResults"],
    &["FAQPage", "HowTo", "Recipe"],
    &["Service", "LocalBusiness", "Organization"],
    &["WebPage", "AboutPage"],
    &["BreadcrumbList"],
];

/// Software that generates manuals, and software of forums.
const GENERATORS: [&[&str]; 2] = [
    &[
        "sphinx",
        "mkdocs",
        "docusaurus",
        "rustdoc",
        "doxygen",
        "javadoc",
        "mdbook",
        "gitbook",
        "vitepress",
        "vuepress",
        "typedoc",
        "asciidoctor",
        "docbook",
        "readthedocs",
        "mediawiki",
        "docutils",
    ],
    &[
        "discourse",
        "phpbb",
        "vbulletin",
        "xenforo",
        "flarum",
        "mybb",
        "nodebb",
        "vanilla",
        "invision",
    ],
];

/// Words in a `meta` that say that the page has a price, and when it was published.
const METAS: [&[&str]; 2] = [
    &["price"],
    &[
        "published_time",
        "datepublished",
        "pubdate",
        "publish-date",
        "publish_date",
    ],
];

/// Segments of paths, without their ending.
const SEGMENTS: [&[&str]; 6] = [
    &[
        "docs",
        "doc",
        "documentation",
        "manual",
        "reference",
        "api",
        "wiki",
        "guide",
        "guides",
        "tutorial",
        "tutorials",
        "learn",
        "handbook",
        "help",
    ],
    &[
        "forum",
        "forums",
        "thread",
        "threads",
        "topic",
        "topics",
        "t",
        "questions",
        "question",
        "discussion",
        "discussions",
        "community",
        "viewtopic",
        "showthread",
        "comments",
    ],
    &[
        "product", "products", "p", "item", "items", "dp", "shop", "store", "buy",
    ],
    &[
        "blog", "blogs", "news", "article", "articles", "story", "stories", "post", "posts",
        "magazine",
    ],
    &[
        "category",
        "categories",
        "collection",
        "collections",
        "tag",
        "tags",
        "browse",
        "search",
        "list",
        "listing",
        "listings",
        "results",
        "catalog",
    ],
    &[
        "service",
        "services",
        "solution",
        "solutions",
        "pricing",
        "platform",
        "about",
        "features",
        "industries",
    ],
];

/// Labels of host names.
const LABELS: [&[&str]; 4] = [
    &[
        "docs",
        "doc",
        "developer",
        "developers",
        "wiki",
        "help",
        "support",
        "readthedocs",
    ],
    &[
        "forum",
        "forums",
        "community",
        "discuss",
        "discourse",
        "answers",
        "stackexchange",
        "stackoverflow",
        "reddit",
    ],
    &["shop", "store"],
    &["blog", "news"],
];

// Where the counts of each sort begin.
const OG_TYPES: usize = 0;
const OF_TYPES: usize = OG_TYPES + 3;
const OF_GENERATORS: usize = OF_TYPES + TYPES.len();
const OF_METAS: usize = OF_GENERATORS + GENERATORS.len();
const OF_TAGS: usize = OF_METAS + METAS.len();
const OF_GROUPS: usize = OF_TAGS + TAGS.len();
const OF_SEGMENTS: usize = OF_GROUPS + N_GROUPS;
const OF_LABELS: usize = OF_SEGMENTS + SEGMENTS.len();
const OF_PATH: usize = OF_LABELS + LABELS.len();

/// Number of counts.
pub(super) const N_COUNTS: usize = OF_PATH + 5;

/// Most bytes of a class list that are read: the rest is utility classes.
const NAMES_BYTES_MAX: usize = 128;
/// Most bytes between the key of a type and the end of its value.
const TYPE_BYTES_MAX: usize = 60;

/// The counts of a page.
pub(super) struct Evidence {
    /// Logarithms of numbers, and 0 or 1 for what is there or not.
    pub(super) counts: [f32; N_COUNTS],
    /// Number of elements that usually have text.
    pub(super) n_texts: f32,
}

/// The counts that tell the kind of a page, for training.
#[doc(hidden)]
pub fn kind_evidence(document: &Document<'_>) -> Vec<f32> {
    Evidence::of(document).counts.to_vec()
}

impl Evidence {
    /// Counts what is on a page.
    pub(super) fn of(document: &Document<'_>) -> Self {
        let mut evidence = Self {
            counts: [0.0; N_COUNTS],
            n_texts: 0.0,
        };
        let mut has_og_type = false;
        // The first node behind a template, which is never shown.
        let mut shown_from = 0;
        for element in document.elements() {
            let at = element.node().index();
            if at < shown_from {
                continue;
            }
            match element.tag() {
                Tag::Template => {
                    let last = element.node().descendants().last();
                    shown_from = last.map_or(at, |last| last.index()) + 1;
                    continue;
                }
                Tag::Meta => evidence.read_meta(element, &mut has_og_type),
                Tag::Script => evidence.read_script(element),
                tag => evidence.read_tag(tag),
            }
            evidence.read_names(element);
        }
        for count in &mut evidence.counts[OF_TAGS..OF_SEGMENTS] {
            *count = count.ln_1p();
        }
        if let Some(url) = document.resolve_url(document.url()) {
            evidence.read_host(url.host_str().unwrap_or_default());
            evidence.read_path(url.path());
        }
        evidence
    }

    fn note(&mut self, at: usize) {
        self.counts[at] = 1.0;
    }

    /// Notes each of the lists of words of which the text holds one.
    fn note_all(&mut self, first: usize, lists: &[&[&str]], holds: impl Fn(&str) -> bool) {
        for (at, words) in lists.iter().enumerate() {
            if words.iter().any(|word| holds(word)) {
                self.note(first + at);
            }
        }
    }

    fn read_tag(&mut self, tag: Tag) {
        if let Some(at) = TAGS.iter().position(|known| *known == tag) {
            self.counts[OF_TAGS + at] += 1.0;
        }
        let has_text = matches!(
            tag,
            Tag::P | Tag::Li | Tag::A | Tag::Td | Tag::Pre | Tag::Dt
        );
        self.n_texts += f32::from(has_text);
    }

    fn read_meta(&mut self, meta: Element<'_>, has_og_type: &mut bool) {
        let content = meta.attr("content").unwrap_or_default();
        let is_called = |name: &str| {
            ["name", "property"].iter().any(|attribute| {
                meta.attr(attribute)
                    .is_some_and(|own| own.trim().eq_ignore_ascii_case(name))
            })
        };
        if is_called("og:type") && !std::mem::replace(has_og_type, true) {
            match content.trim().to_ascii_lowercase().as_str() {
                "article" | "blog" => self.note(OG_TYPES),
                "product" | "og:product" | "product.item" => self.note(OG_TYPES + 1),
                "website" => self.note(OG_TYPES + 2),
                _ => {}
            }
        }
        if is_called("generator") {
            let generator = content.to_ascii_lowercase();
            self.note_all(OF_GENERATORS, &GENERATORS, |word| generator.contains(word));
        }
        for (_, value) in meta.attrs() {
            let value = value.to_ascii_lowercase();
            self.note_all(OF_METAS, &METAS, |word| value.contains(word));
        }
    }

    fn read_script(&mut self, script: Element<'_>) {
        let kind = script.attr("type").unwrap_or_default();
        if !kind.trim().eq_ignore_ascii_case("application/ld+json") {
            return;
        }
        for text in script.children().filter_map(|child| child.as_text()) {
            for (at, key) in text.match_indices("\"@type\"") {
                let rest = &text.as_bytes()[at + key.len()..];
                let value = rest[..rest.len().min(TYPE_BYTES_MAX)]
                    .split(|&byte| byte == b'"')
                    .nth(1);
                let value = value.and_then(|value| std::str::from_utf8(value).ok());
                self.read_type(value.unwrap_or_default());
            }
        }
    }

    fn read_type(&mut self, name: &str) {
        self.note_all(OF_TYPES, &TYPES, |part| name.contains(part));
    }

    /// Counts an element for each group of which its classes, its id or its property have a word.
    fn read_names(&mut self, element: Element<'_>) {
        for (name, value) in element.attrs() {
            match name {
                "class" | "id" | "itemprop" => {
                    let groups = groups_of(value);
                    for (at, count) in self.counts[OF_GROUPS..OF_SEGMENTS].iter_mut().enumerate() {
                        *count += f32::from(groups & (1 << at) != 0);
                    }
                }
                "itemtype" => self.read_type(value),
                _ => {}
            }
        }
    }

    fn read_host(&mut self, host: &str) {
        let labels: Vec<&str> = host.split(['.', '-']).collect();
        self.note_all(OF_LABELS, &LABELS, |word| labels.contains(&word));
    }

    fn read_path(&mut self, path: &str) {
        const SEGMENTS_MAX: usize = 8;
        const MARKS_MAX: usize = 10;
        let segments: Vec<&str> = path.split('/').filter(|it| !it.is_empty()).collect();
        let without_ending = |segment: &&str| segment.split('.').next().map(str::to_lowercase);
        let names: Vec<String> = segments.iter().filter_map(without_ending).collect();
        self.note_all(OF_SEGMENTS, &SEGMENTS, |word| {
            names.iter().any(|name| name == word)
        });
        let last = segments.last().copied().unwrap_or_default();
        let marks = |is: fn(char) -> bool| last.chars().filter(|it| is(*it)).count().min(MARKS_MAX);
        self.counts[OF_PATH] = segments.len().min(SEGMENTS_MAX) as f32;
        self.counts[OF_PATH + 1] = f32::from(segments.is_empty());
        self.counts[OF_PATH + 2] = marks(|it| matches!(it, '-' | '_')) as f32;
        self.counts[OF_PATH + 3] = marks(|it| it.is_ascii_digit()) as f32;
        self.counts[OF_PATH + 4] = f32::from(segments.iter().any(|it| begins_year(it)));
    }
}

/// Whether a segment is a year, or begins with one and a dash.
fn begins_year(segment: &str) -> bool {
    let bytes = segment.as_bytes();
    (segment.starts_with("19") || segment.starts_with("20"))
        && bytes.len() >= 4
        && bytes[2..4].iter().all(u8::is_ascii_digit)
        && matches!(bytes.get(4), None | Some(b'-'))
}

/// The set of groups whose words are in a class list, an id or a property. Words are separated by
/// non-letters and by a capital after a small letter.
fn groups_of(names: &str) -> u32 {
    const WORD_MAX: usize = 12;
    let (mut word, mut length, mut was_small) = ([0_u8; WORD_MAX], 0, false);
    let mut groups = 0;
    for byte in names.bytes().take(NAMES_BYTES_MAX).chain([b' ']) {
        let is_letter = byte.is_ascii_alphabetic();
        if length > 0 && (!is_letter || byte.is_ascii_uppercase() && was_small) {
            let found = word.get(..length).and_then(group_of);
            groups |= found.map_or(0, |group| 1 << group);
            length = 0;
        }
        was_small = byte.is_ascii_lowercase();
        if is_letter {
            if let Some(place) = word.get_mut(length) {
                *place = byte.to_ascii_lowercase();
            }
            length += 1;
        }
    }
    groups
}

fn group_of(word: &[u8]) -> Option<u8> {
    let found = WORDS.binary_search_by(|(known, _)| known.as_bytes().cmp(word));
    found.ok().map(|at| WORDS[at].1)
}

#[cfg(test)]
mod tests {
    use trawl_sdk::testkit;

    use super::{Evidence, N_GROUPS, OF_GROUPS, OF_PATH, OF_TAGS, TAGS, Tag, WORDS, groups_of};

    #[test]
    fn words_are_sorted_and_of_a_group() {
        assert!(WORDS.is_sorted_by(|a, b| a.0 < b.0));
        for (word, group) in WORDS {
            assert_eq!(groups_of(word), 1 << group, "{word}");
            assert!(usize::from(group) < N_GROUPS, "{word}");
        }
        assert_eq!(groups_of("postBody x-price_tag"), 1 << 1 | 1 << 3);
        assert_eq!(groups_of("postage testimonialsAndMoreOfThem"), 1 << 9);
        assert_eq!(groups_of(""), 0);
    }

    #[test]
    fn elements_are_counted_in_their_place() {
        let html = "<div class=comments><p>a<p>b<a href=/>c</a></div>\
            <template class=comments><p class=comments>d<template></template></template>";
        let page = testkit::page(html).url("https://a.example/2024/05-x.y/a-b_1");
        let evidence = Evidence::of(&page.document());
        let of_tag = |tag: Tag| {
            let at = TAGS.iter().position(|known| *known == tag);
            evidence.counts[OF_TAGS + at.expect("a counted tag")]
        };
        assert!((of_tag(Tag::P) - 2_f32.ln_1p()).abs() < 1e-6);
        assert!((of_tag(Tag::A) - 1_f32.ln_1p()).abs() < 1e-6);
        assert!((evidence.counts[OF_GROUPS] - 1_f32.ln_1p()).abs() < 1e-6);
        let path = &evidence.counts[OF_PATH..];
        assert_eq!(path, [3.0, 0.0, 2.0, 1.0, 1.0]);
        assert!((evidence.n_texts - 3.0).abs() < f32::EPSILON);
    }
}
