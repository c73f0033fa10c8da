//! Segments a page into blocks in one walk over its nodes.

use trawl_sdk::{Document, Element, Kind, Node, Step, Tag};

use crate::blocks::{Block, FAR, Mark, Page, Region};
use crate::boundaries::{is_region, is_wrapper};
use crate::facts::Facts;
use crate::lexicon::{FNV_START, Hint, fnv, hints_of};
use crate::margins;
use crate::stats::{Counter, title_hashes};

/// Maximum number of regions and blocks of a page.
const PARTS_MAX: usize = 40_000;

impl<'a> Page<'a> {
    /// Segments a page; `None` if it has more than [`PARTS_MAX`] parts.
    pub(crate) fn of(document: &'a Document<'a>) -> Option<Self> {
        let (page, hidden_bytes) = Self::cut(document, false)?;
        let shown_letters = page.regions[0].stats.letters;
        if hidden_bytes as f32 > shown_letters {
            // The page is hidden until its script runs.
            Some(Self::cut(document, true)?.0)
        } else {
            Some(page)
        }
    }

    /// Segments a page, and counts the bytes of hidden text that were skipped.
    fn cut(document: &'a Document<'a>, show_hidden: bool) -> Option<(Self, usize)> {
        let title = title_hashes(&document.title().unwrap_or_default());
        let mut cutter = Cutter {
            page: Self {
                document,
                regions: vec![Region::root()],
                blocks: Vec::new(),
                marks: Vec::new(),
                parents: Vec::new(),
                title,
                facts: Facts::of_url(document.url()),
            },
            open: Vec::new(),
            block: None,
            region: 0,
            n_links: 0,
            n_strong: 0,
            n_code: 0,
            unseen: 0,
            n_covers: 0,
            show_hidden,
            hidden_bytes: 0,
            inline_hints: 0,
            last_link: false,
            href: None,
        };
        for step in document.root().walk() {
            match step {
                Step::Enter(node) => cutter.enter(node),
                Step::Leave(_) => cutter.leave(),
            }
            if cutter.page.regions.len() + cutter.page.blocks.len() > PARTS_MAX {
                return None;
            }
        }
        cutter.end_block();
        let mut page = cutter.page;
        margins::remove(&mut page);
        page.sum_up();
        Some((page, cutter.hidden_bytes))
    }
}

struct Cutter<'a> {
    page: Page<'a>,
    open: Vec<Open>,
    block: Option<(Counter, Block)>,
    region: u32,
    n_links: u32,
    n_strong: u32,
    n_code: u32,
    /// Depth of invisible elements.
    unseen: u32,
    /// Depth of those that the page itself hides.
    n_covers: u32,
    /// Whether text counts that the page itself hides.
    show_hidden: bool,
    hidden_bytes: usize,
    inline_hints: u64,
    last_link: bool,
    /// Target of the current link, until its first text.
    href: Option<&'a str>,
}

/// An open element or other parent node.
struct Open {
    node: u32,
    /// The enclosing region and inline hints.
    region: u32,
    inline_hints: u64,
    what: What,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Region,
    /// A wrapper that says nothing about its content.
    Wrapper,
    Link,
    Strong,
    Code,
    /// Never rendered by a browser.
    Unseen,
    /// Hidden by the page itself.
    Covered,
    Plain,
}

impl<'a> Cutter<'a> {
    fn enter(&mut self, node: Node<'a>) {
        match node.kind() {
            Kind::Document => {}
            Kind::Element(element) => self.enter_element(element),
            Kind::Text(text) => self.text(text),
            Kind::TemplateContents => {
                self.mark(Mark::Blank);
                self.push(What::Unseen, self.region);
            }
            _ => self.mark(Mark::Blank),
        }
    }

    fn mark(&mut self, mark: Mark) {
        let parent = self.open.last().map_or(u32::MAX, |open| open.node);
        self.page.parents.push(parent);
        self.page.marks.push(mark);
    }

    fn push(&mut self, what: What, region: u32) {
        self.open.push(Open {
            node: self.page.marks.len() as u32 - 1,
            region,
            inline_hints: self.inline_hints,
            what,
        });
        match what {
            What::Link => self.n_links += 1,
            What::Strong => self.n_strong += 1,
            What::Code => self.n_code += 1,
            What::Unseen => self.unseen += 1,
            What::Covered => {
                self.unseen += 1;
                self.n_covers += 1;
            }
            What::Region | What::Wrapper | What::Plain => {}
        }
    }

    fn leave(&mut self) {
        let Some(open) = self.open.pop() else {
            return;
        };
        match open.what {
            What::Region | What::Wrapper => self.end_block(),
            What::Link => {
                self.end_word();
                self.n_links -= 1;
                self.href = None;
            }
            What::Strong => self.n_strong -= 1,
            What::Code => self.n_code -= 1,
            What::Unseen => self.unseen -= 1,
            What::Covered => {
                self.unseen -= 1;
                self.n_covers -= 1;
            }
            What::Plain => {}
        }
        self.region = open.region;
        self.inline_hints = open.inline_hints;
    }

    fn enter_element(&mut self, element: Element<'a>) {
        let (tag, around) = (element.tag(), self.region);
        self.page.facts.read(element);
        let is_region = is_region(element);
        let is_drawing = tag == Tag::Other && element.name() == "svg";
        let is_cover = tag == Tag::Noscript || (is_region && self.is_cover(element));
        if self.unseen > 0 || (element.is_hidden() && !is_cover) || tag == Tag::Select || is_drawing
        {
            self.enter_unseen(element, is_drawing);
            return;
        }
        if is_wrapper(element) {
            self.end_block();
            self.mark(Mark::Element(around));
            self.push(What::Wrapper, around);
            return;
        }
        if is_region {
            self.end_block();
            self.page.regions[around as usize].n_unseen += u32::from(is_cover);
            self.region = self.begin_region(element, tag, is_cover);
            self.mark(match (is_cover, tag) {
                (true, _) => Mark::Cover(around),
                (_, Tag::Hr) => Mark::Media(around),
                _ => Mark::Element(self.region),
            });
            self.push(What::Region, around);
            self.inline_hints = 0;
            return;
        }
        self.enter_inline(element, tag);
    }

    /// Enters an element that has no text for a reader, or is inside one.
    fn enter_unseen(&mut self, element: Element<'a>, is_drawing: bool) {
        let (tag, around) = (element.tag(), self.region);
        let is_data = tag == Tag::Head
            || self.is_in_data()
            || (tag == Tag::Script
                && element
                    .attr("type")
                    .is_some_and(|kind| kind.contains("json")));
        let shows = is_drawing
            || matches!(
                tag,
                Tag::Video | Tag::Audio | Tag::Iframe | Tag::Object | Tag::Canvas
            );
        self.mark(match (is_data, shows) {
            (true, _) => Mark::Data,
            _ if self.unseen > 0 => Mark::Blank,
            (false, true) => Mark::Media(around),
            (false, false) => Mark::Unseen,
        });
        let is_unseen = self.page.marks.last() == Some(&Mark::Unseen);
        let region = &mut self.page.regions[around as usize];
        region.n_controls += u32::from(tag == Tag::Select);
        region.n_unseen += u32::from(is_unseen);
        let what = match self.unseen {
            _ if tag.is_never_shown() || is_drawing || matches!(tag, Tag::Select | Tag::Dialog) => {
                What::Unseen
            }
            0 => What::Covered,
            _ => What::Plain,
        };
        self.push(what, around);
    }

    fn enter_inline(&mut self, element: Element<'a>, tag: Tag) {
        let around = self.region;
        let region = &mut self.page.regions[around as usize];
        let mark = match tag {
            Tag::Img | Tag::Picture | Tag::Embed => {
                region.n_media += u32::from(tag == Tag::Img);
                if let Some((_, block)) = &mut self.block {
                    block.n_media = block.n_media.saturating_add(1);
                }
                Mark::Media(around)
            }
            Tag::Br => {
                if let Some((counter, block)) = &mut self.block {
                    counter.read(" ", self.last_link, &self.page.title);
                    block.n_breaks = block.n_breaks.saturating_add(1);
                }
                Mark::Media(around)
            }
            Tag::Input | Tag::Textarea => {
                region.n_controls += 1;
                Mark::Element(around)
            }
            _ => Mark::Element(around),
        };
        self.mark(mark);
        let what = match tag {
            Tag::A if element.has_attr("href") => What::Link,
            Tag::B | Tag::Strong => What::Strong,
            Tag::Code | Tag::Kbd | Tag::Samp | Tag::Tt => What::Code,
            _ => What::Plain,
        };
        if what == What::Link {
            self.end_word();
            self.href = element.attr("href");
        }
        self.push(what, around);
        self.inline_hints |= own_hints(element, tag, &mut self.page.facts).0;
    }

    /// Whether an element is hidden, but its content becomes visible to a reader: content moved by
    /// a script, tabs and accordions, or the whole page if most of it is hidden.
    fn is_cover(&self, element: Element<'a>) -> bool {
        let tag = element.tag();
        if tag.is_never_shown() || tag == Tag::Dialog || !element.is_hidden() {
            return false;
        }
        let opens = || {
            let near = &self.page.regions[self.region as usize].near;
            let (hints, _) = own_hints(element, tag, &mut Facts::default());
            hints & Hint::FaqWord.bit() != 0 || near[Hint::FaqWord as usize] < 2
        };
        self.show_hidden
            || is_streamed(element)
            || element.attr("role") == Some("tabpanel")
            || opens()
    }

    fn begin_region(&mut self, element: Element<'a>, tag: Tag, is_cover: bool) -> u32 {
        let at = self.page.regions.len() as u32;
        let (mut hints, class) = own_hints(element, tag, &mut self.page.facts);
        hints |= self.inline_hints;
        if is_cover && tag != Tag::Noscript && !self.show_hidden && !is_streamed(element) {
            hints |= Hint::Hidden.bit();
        }
        let own = class
            .iter()
            .fold(fnv(FNV_START, tag as u8), |hash, &byte| match byte {
                b'0'..=b'9' => hash,
                _ => fnv(hash, byte),
            });
        let parent = &mut self.page.regions[self.region as usize];
        let mut near = parent.near.map(|levels| (levels + 1).min(FAR));
        let mut left = hints;
        while left != 0 {
            near[left.trailing_zeros() as usize] = 0;
            left &= left - 1;
        }
        let region = Region {
            parent: self.region,
            tag,
            depth: parent.depth + 1,
            near,
            own,
            index: parent.n_children,
            n_headings: u32::from(tag.heading_level().is_some()),
            n_controls: u32::from(tag == Tag::Button),
            ..Region::root()
        };
        parent.n_children += 1;
        self.page.regions.push(region);
        let mut signature = FNV_START;
        for level in self.page.around(at).take(4) {
            for byte in self.page.regions[level as usize].own.to_le_bytes() {
                signature = fnv(signature, byte);
            }
        }
        self.page.regions[at as usize].signature = signature;
        at
    }

    fn text(&mut self, text: &str) {
        if self.unseen > 0 {
            if self.unseen == self.n_covers {
                self.hidden_bytes += text.trim_ascii().len();
            }
            self.mark(if self.is_in_data() {
                Mark::Data
            } else {
                Mark::Blank
            });
            return;
        }
        let is_blank = text.chars().all(char::is_whitespace);
        if is_blank && self.block.is_none() {
            self.mark(Mark::Blank);
            return;
        }
        let (region, at) = (self.region, self.page.blocks.len() as u32);
        let (counter, block) = self
            .block
            .get_or_insert_with(|| (Counter::new(), Block::new(region)));
        let in_link = self.n_links > 0;
        if let Some(href) = self.href.take_if(|_| !is_blank) {
            counter.stats.add_link(href);
        }
        let before = counter.stats.units;
        counter.read(text, in_link, &self.page.title);
        let units = counter.stats.units - before;
        block.hints |= self.inline_hints;
        block.strong_units += if self.n_strong > 0 { units } else { 0.0 };
        block.code_units += if self.n_code > 0 { units } else { 0.0 };
        self.last_link = in_link;
        self.mark(if is_blank {
            Mark::Blank
        } else {
            Mark::Text(at)
        });
    }

    fn is_in_data(&self) -> bool {
        let mark = |open: &Open| self.page.marks[open.node as usize];
        self.open
            .last()
            .is_some_and(|open| mark(open) == Mark::Data)
    }

    fn end_word(&mut self) {
        let in_link = self.n_links > 0;
        if let Some((counter, _)) = &mut self.block {
            counter.end_word(in_link, &self.page.title);
        }
    }

    fn end_block(&mut self) {
        let Some((mut counter, mut block)) = self.block.take() else {
            return;
        };
        counter.end(self.last_link, &self.page.title);
        block.stats = counter.stats;
        block.topics = counter.topics;
        block.hash = counter.hash;
        block.title_words = counter.title_words;
        (block.first, block.last) = (counter.first, counter.last);
        if block.is_prose() {
            block.stats.prose_units = block.stats.units;
        }
        self.page.blocks.push(block);
    }
}

/// Whether the element is streamed by React at the end of the body and moved into place by a
/// script.
fn is_streamed(element: Element<'_>) -> bool {
    element.id().is_some_and(|id| id.starts_with("S:"))
}

/// The hints of an element and the first word of its class; records the element's facts about the
/// page.
fn own_hints<'a>(element: Element<'a>, tag: Tag, facts: &mut Facts) -> (u64, &'a [u8]) {
    let mut hints = Hint::of_tag(tag).map_or(0, Hint::bit);
    let mut class = "";
    if tag == Tag::Other && element.name().contains('-') {
        hints |= Hint::Custom.bit() | hints_of(element.name());
    }
    for (name, value) in element.attrs() {
        match name {
            "class" => {
                hints |= hints_of(value);
                class = value.split_ascii_whitespace().next().unwrap_or_default();
            }
            "id" | "itemprop" | "data-testid" | "data-component" => hints |= hints_of(value),
            "itemtype" => facts.note_type(value),
            "role" => hints |= Hint::of_role(value).map_or(0, Hint::bit),
            "aria-hidden" if value == "true" => hints |= Hint::AriaHidden.bit(),
            _ => {}
        }
    }
    (hints, class.as_bytes())
}
