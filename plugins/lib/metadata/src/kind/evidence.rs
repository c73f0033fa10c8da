//! What tells the kind of a page: counts of elements, words of classes, types in its data, words of
//! its URL, and what a manual has: headings and links that lead to them.

use trawl_sdk::{Document, Element, Kind, Tag};

use super::words::{
    BOOK_RELATIONS, GENERATORS, LABELS, METAS, N_GROUPS, SEGMENTS, TITLE_WORDS, TYPES, WORDS,
};

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

const OF_MANUAL: usize = OF_PATH + 5;
// What is counted of a manual.
const NAMED_HEADINGS: usize = OF_MANUAL;
const LINKED_HEADINGS: usize = OF_MANUAL + 1;
const INNER_LINKS: usize = OF_MANUAL + 2;
const BOOK_LINKS: usize = OF_MANUAL + 3;
const TITLE: usize = OF_MANUAL + 4;

/// Number of counts.
pub(super) const N_COUNTS: usize = OF_MANUAL + 5;

/// Most bytes of a class list that are read: the rest is utility classes.
const NAMES_BYTES_MAX: usize = 128;
/// Most bytes of a comment that names what made the page.
const COMMENT_BYTES_MAX: usize = 300;
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
        for node in document.descendants() {
            let at = node.index();
            if at < shown_from {
                continue;
            }
            let element = match node.kind() {
                Kind::Element(element) => element,
                Kind::Comment(text) => {
                    evidence.read_comment(text);
                    continue;
                }
                _ => continue,
            };
            match element.tag() {
                Tag::Template => {
                    let last = element.node().descendants().last();
                    shown_from = last.map_or(at, |last| last.index()) + 1;
                    continue;
                }
                Tag::Meta => evidence.read_meta(element, &mut has_og_type),
                Tag::Script => evidence.read_script(element),
                Tag::Link => evidence.read_relations(element),
                tag => evidence.read_tag(tag),
            }
            evidence.read_place(element);
            evidence.read_names(element);
        }
        let logarithms = (OF_TAGS..OF_SEGMENTS).chain(NAMED_HEADINGS..=INNER_LINKS);
        for at in logarithms {
            evidence.counts[at] = evidence.counts[at].ln_1p();
        }
        evidence.read_title(&document.title().unwrap_or_default());
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

    /// Software that makes manuals says so in a comment as often as in a `meta`.
    fn read_comment(&mut self, text: &str) {
        if text.len() <= COMMENT_BYTES_MAX && (text.contains("enerat") || text.contains("reated")) {
            let text = text.to_ascii_lowercase();
            self.note_all(OF_GENERATORS, &GENERATORS[..1], |word| text.contains(word));
        }
    }

    fn read_relations(&mut self, link: Element<'_>) {
        let relations = link.attr("rel").unwrap_or_default();
        let mut relations = relations
            .split_ascii_whitespace()
            .map(str::to_ascii_lowercase);
        if relations.any(|own| BOOK_RELATIONS.contains(&own.as_str())) {
            self.note(BOOK_LINKS);
        }
    }

    /// Counts headings with an id, links within the page, and those of headings.
    fn read_place(&mut self, element: Element<'_>) {
        let is_heading = |element: Element<'_>| element.tag().heading_level().is_some();
        if is_heading(element) && element.id().is_some() {
            self.counts[NAMED_HEADINGS] += 1.0;
        }
        let leads_within = element.tag() == Tag::A
            && element
                .attr("href")
                .is_some_and(|href| href.len() > 1 && href.starts_with('#'));
        if leads_within {
            self.counts[INNER_LINKS] += 1.0;
            let around = element.node().parent().and_then(|node| node.as_element());
            self.counts[LINKED_HEADINGS] += f32::from(around.is_some_and(is_heading));
        }
    }

    fn read_title(&mut self, title: &str) {
        let title = title.to_lowercase();
        let mut words = title.split(|it: char| !it.is_alphanumeric());
        if words.any(|word| TITLE_WORDS.contains(&word)) {
            self.note(TITLE);
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

/// Where the words with each first letter begin in [`WORDS`], and its length.
const STARTS: [usize; 27] = {
    let (mut starts, mut letter, mut at) = ([0; 27], 0, 0);
    while letter < starts.len() {
        while at < WORDS.len() && WORDS[at].0.as_bytes()[0] < b'a' + letter as u8 {
            at += 1;
        }
        starts[letter] = at;
        letter += 1;
    }
    starts
};

/// The group of a word of small letters.
fn group_of(word: &[u8]) -> Option<u8> {
    let letter = usize::from(word.first()?.checked_sub(b'a')?);
    let alike = &WORDS[*STARTS.get(letter)?..*STARTS.get(letter + 1)?];
    // Few words have the same length: the texts are rarely compared.
    let found = alike.iter().find(|(known, _)| known.as_bytes() == word);
    found.map(|&(_, group)| group)
}

#[cfg(test)]
mod tests {
    use trawl_sdk::testkit;

    use super::{
        Evidence, N_GROUPS, OF_GENERATORS, OF_GROUPS, OF_MANUAL, OF_PATH, OF_TAGS, TAGS, Tag,
        WORDS, groups_of,
    };

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
        let path = &evidence.counts[OF_PATH..OF_MANUAL];
        assert_eq!(path, [3.0, 0.0, 2.0, 1.0, 1.0]);
        assert!((evidence.n_texts - 3.0).abs() < f32::EPSILON);
    }

    /// What is counted of a manual, and whether a program for manuals made the page.
    fn of_manual(html: &str) -> ([f32; 5], bool) {
        let page = testkit::page(html);
        let counts = Evidence::of(&page.document()).counts;
        let manual = counts[OF_MANUAL..].try_into().expect("five counts");
        (manual, counts[OF_GENERATORS] > 0.0)
    }

    #[test]
    fn a_manual_has_headings_that_links_lead_to() {
        let html = "<title>Dams 2 reference</title><link rel=\"next Up\" href=b.html>\
            <!-- Created by GNU Texinfo 6.8 --><h1 id=a>A <a href=#a>#</a></h1><h2>B</h2>\
            <p><a href=#a>a</a> <a href=#>top</a> <a href=b.html#b>b</a>";
        let (one, two) = (1_f32.ln_1p(), 2_f32.ln_1p());
        assert_eq!(of_manual(html), ([one, one, two, 1.0, 1.0], true));
        let html = "<title>Dams preferred</title><link rel=next href=b.html>\
            <!-- Texinfo is not here --><h1>A</h1><a href=b.html>b</a>";
        assert_eq!(of_manual(html), ([0.0; 5], false));
        let long = format!("<!-- generated {} by doxygen --><p>a", "a".repeat(300));
        assert!(!of_manual(&long).1);
    }
}
