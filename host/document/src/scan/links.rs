//! The links of one page while they are being collected.

use std::hash::{BuildHasher, RandomState};

use rustc_hash::FxHashMap;

use trawl_model::Discovered;

use super::LINKS_MAX;
use super::join::{Joined, Joiner};

/// Bytes of all links of one page: as many as fill a page's usual share of memory many times over. A long base and many short
/// links could ask for gigabytes.
const TEXT_BYTES_MAX: usize = 16 << 20;
/// Links of one page that take the long way through the `url` crate: a tenth of a second.
const UNUSUAL_MAX: usize = 100_000;

/// Absolute links, each once, in page order.
pub(super) struct Links {
    joiner: Joiner,
    text: String,
    /// Where each link ends in `text`, and whether each of its places says `nofollow`.
    entries: Vec<(u32, bool)>,
    /// Each link's place in `entries` by its keyed hash, which no page can foresee.
    places: FxHashMap<u64, u32>,
    keys: RandomState,
    n_dropped: u32,
    n_unusual: usize,
    is_untouched: bool,
    is_nofollow: bool,
}

impl Links {
    pub(super) fn new(joiner: Joiner) -> Self {
        Self::with_nofollow(joiner, false)
    }

    /// None yet; whether the page says `nofollow` for all is known.
    pub(super) fn with_nofollow(joiner: Joiner, is_nofollow: bool) -> Self {
        Self {
            joiner,
            text: String::new(),
            entries: Vec::new(),
            places: FxHashMap::default(),
            keys: RandomState::new(),
            n_dropped: 0,
            n_unusual: 0,
            is_untouched: true,
            is_nofollow,
        }
    }

    /// Whether no link was resolved yet.
    pub(super) fn is_untouched(&self) -> bool {
        self.is_untouched
    }

    pub(super) fn is_nofollow(&self) -> bool {
        self.is_nofollow
    }

    /// The page says `nofollow` for all its links.
    pub(super) fn nofollow_all(&mut self) {
        self.is_nofollow = true;
    }

    /// Takes a link as the page writes it, references replaced.
    pub(super) fn take(&mut self, href: &str, nofollow: bool) {
        self.is_untouched = false;
        if self.entries.len() == LINKS_MAX || self.text.len() > TEXT_BYTES_MAX {
            self.n_dropped = self.n_dropped.saturating_add(1);
            return;
        }
        let start = self.text.len();
        let is_link = match self.joiner.join(href, &mut self.text) {
            Joined::Written => true,
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

    /// Keeps what was written from `start` on, unless it is there already.
    fn add(&mut self, start: usize, nofollow: bool) {
        let hash = self.keys.hash_one(&self.text[start..]);
        if let Some(&place) = self.places.get(&hash)
            && self.text[self.range(place as usize)] == self.text[start..]
        {
            self.entries[place as usize].1 &= nofollow;
            self.text.truncate(start);
            return;
        }
        self.places.insert(hash, self.entries.len() as u32);
        self.entries.push((self.text.len() as u32, nofollow));
    }

    fn range(&self, place: usize) -> std::ops::Range<usize> {
        let start = match place {
            0 => 0,
            _ => self.entries[place - 1].0,
        };
        start as usize..self.entries[place].0 as usize
    }

    pub(super) fn into_discovered(self) -> Discovered {
        let mut discovered = Discovered::default();
        discovered.n_dropped = self.n_dropped;
        for (place, &(_, nofollow)) in self.entries.iter().enumerate() {
            discovered.push(&self.text[self.range(place)], nofollow || self.is_nofollow);
        }
        discovered
    }
}
