//! Collects the links of one page.

use std::hash::{BuildHasher, RandomState};

use rustc_hash::FxHashMap;

use trawl_model::Discovered;

use super::join::{Joined, Joiner};
use super::written::{Written, stem};

/// Links of one page. HTML site maps have some thousands; the longest lists on the web some ten
/// thousand.
pub const LINKS_MAX: usize = 20_000;
/// Bytes of all links of one page: far more than a usual page needs. Without it, a long base and
/// many short links could need gigabytes.
const TEXT_BYTES_MAX: usize = 16 << 20;
/// Most crawlers of one page that are read which a `meta` of their own forbids to follow its links.
const CRAWLERS_MAX: usize = 20;
/// Longest product token of a crawler that is read.
const TOKEN_BYTES_MAX: usize = 100;
/// Links of one page that need the slow path through the `url` crate: a tenth of a second.
const UNUSUAL_MAX: usize = 100_000;

/// Absolute links, each once, in page order.
pub(super) struct Links {
    joiner: Joiner,
    text: String,
    /// Where each link ends in `text`, and whether all of its occurrences are `nofollow`.
    entries: Vec<(u32, bool)>,
    /// Each link's index in `entries` by its keyed hash, which a page cannot predict.
    indices: FxHashMap<u64, u32>,
    /// How they are written.
    written: Written,
    keys: RandomState,
    n_dropped: u32,
    n_unusual: usize,
    is_unused: bool,
    is_nofollow: bool,
    /// The first canonical URL that the page states.
    canonical: Option<String>,
    /// Texts of links by their index, ascending.
    anchors: Vec<(usize, String)>,
    /// What the page says to single crawlers.
    robots_tags: Vec<String>,
}

impl Links {
    pub(super) fn new(joiner: Joiner) -> Self {
        Self {
            joiner,
            text: String::new(),
            entries: Vec::new(),
            indices: FxHashMap::default(),
            written: Written::default(),
            keys: RandomState::new(),
            n_dropped: 0,
            n_unusual: 0,
            is_unused: true,
            is_nofollow: false,
            canonical: None,
            anchors: Vec::new(),
            robots_tags: Vec::new(),
        }
    }

    /// Whether no link was resolved yet.
    pub(super) fn is_unused(&self) -> bool {
        self.is_unused
    }

    /// Resolves the links to come with this joiner. None was resolved yet.
    pub(super) fn rebase(&mut self, joiner: Joiner) {
        self.joiner = joiner;
    }

    /// Forbids `robots`, or the crawler with this product token, to follow the links of the page.
    pub(super) fn forbid_following(&mut self, name: &str) {
        let is_token = |byte: u8| byte.is_ascii_alphabetic() || matches!(byte, b'-' | b'_');
        if name.eq_ignore_ascii_case("robots") {
            self.is_nofollow = true;
        } else if !name.is_empty()
            && name.len() <= TOKEN_BYTES_MAX
            && name.bytes().all(is_token)
            && self.robots_tags.len() < CRAWLERS_MAX
        {
            self.robots_tags.push(format!("{name}: nofollow"));
        }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Sets the text of the link that was added last.
    pub(super) fn set_anchor(&mut self, text: String) {
        self.anchors.push((self.entries.len() - 1, text));
    }

    /// Notes the canonical URL of the page, which is a link as well.
    pub(super) fn note_canonical(&mut self, href: &str) {
        if self.canonical.is_none() {
            let mut url = String::new();
            self.canonical = self.joiner.join_slowly(href, &mut url).then_some(url);
        }
    }

    /// Adds a link as the page writes it, with references decoded.
    pub(super) fn take(&mut self, href: &str, nofollow: bool) {
        self.is_unused = false;
        if self.entries.len() == LINKS_MAX || self.text.len() > TEXT_BYTES_MAX {
            self.n_dropped = self.n_dropped.saturating_add(1);
            return;
        }
        let stem = stem(href);
        if let Some(known) = stem.and_then(|stem| self.written.find(stem)) {
            self.entries[known].1 &= nofollow;
            return;
        }
        let start = self.text.len();
        let is_link = match self.joiner.join(href, &mut self.text) {
            Joined::Written => {
                let number = self.add(start, nofollow);
                if let Some(stem) = stem {
                    self.written.note(stem, number);
                }
                return;
            }
            Joined::NoPage => false,
            Joined::Unusual if self.n_unusual == UNUSUAL_MAX => {
                self.n_dropped = self.n_dropped.saturating_add(1);
                false
            }
            Joined::Unusual => {
                self.n_unusual += 1;
                self.joiner.join_slowly(href, &mut self.text)
            }
        };
        if is_link {
            self.add(start, nofollow);
        }
    }

    /// Adds the link that was written from `start` on, unless it is already there. Returns its
    /// number.
    fn add(&mut self, start: usize, nofollow: bool) -> usize {
        let hash = self.keys.hash_one(&self.text[start..]);
        if let Some(&index) = self.indices.get(&hash)
            && self.text[self.range(index as usize)] == self.text[start..]
        {
            self.entries[index as usize].1 &= nofollow;
            self.text.truncate(start);
            return index as usize;
        }
        let number = self.entries.len();
        self.indices.insert(hash, number as u32);
        self.entries.push((self.text.len() as u32, nofollow));
        number
    }

    fn range(&self, index: usize) -> std::ops::Range<usize> {
        let start = match index {
            0 => 0,
            _ => self.entries[index - 1].0,
        };
        start as usize..self.entries[index].0 as usize
    }

    pub(super) fn into_discovered(mut self) -> Discovered {
        let mut discovered = Discovered::default();
        discovered.n_dropped = self.n_dropped;
        discovered.canonical = self.canonical.take();
        discovered.robots_tags = std::mem::take(&mut self.robots_tags);
        let mut anchors = std::mem::take(&mut self.anchors).into_iter().peekable();
        for (index, &(_, nofollow)) in self.entries.iter().enumerate() {
            discovered.push(&self.text[self.range(index)], nofollow || self.is_nofollow);
            if let Some((_, text)) = anchors.next_if(|(of, _)| *of == index) {
                discovered.set_anchor(text);
            }
        }
        discovered
    }
}
