//! Every URL that a crawl knows, in compact form: one text buffer, and a hash index whose hits are
//! compared with the text.

use std::hash::{BuildHasher, RandomState};

use trawl_model::{SkipReason, UrlState};

/// URLs that one crawl may know: at about 100 bytes each, a gigabyte.
pub(super) const KNOWN_MAX: usize = 10_000_000;
/// Most bytes of text, so that offsets fit into 32 bits.
const TEXT_BYTES_MAX: usize = u32::MAX as usize;
const EMPTY: u32 = u32::MAX;
/// Slots of an empty index.
const SLOTS_MIN: usize = 1024;

/// The status in one byte; numbers from [`SKIPPED`] on are reasons.
const WAITING: u8 = 0;
const LEASED: u8 = 1;
const DONE: u8 = 2;
const SKIPPED: u8 = 16;

/// The status of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UrlStatus {
    Waiting,
    Leased,
    Done,
    Skipped(SkipReason),
}

impl UrlStatus {
    fn to_byte(self) -> u8 {
        match self {
            Self::Waiting => WAITING,
            Self::Leased => LEASED,
            Self::Done => DONE,
            Self::Skipped(skip) => SKIPPED + skip.number(),
        }
    }

    fn of_byte(byte: u8) -> Self {
        match byte {
            WAITING => Self::Waiting,
            LEASED => Self::Leased,
            DONE => Self::Done,
            skip => {
                let skip = SkipReason::numbered(skip - SKIPPED);
                Self::Skipped(skip.expect("every other byte is the number of a reason"))
            }
        }
    }

    /// The status of a stored URL.
    pub(super) fn restored(state: UrlState) -> Self {
        match state {
            UrlState::Waiting => Self::Waiting,
            UrlState::Done => Self::Done,
            UrlState::Skipped(skip) => Self::Skipped(skip),
        }
    }

    /// The stored form: a page in flight is still waiting.
    pub(super) fn stored(self) -> UrlState {
        match self {
            Self::Waiting | Self::Leased => UrlState::Waiting,
            Self::Done => UrlState::Done,
            Self::Skipped(skip) => UrlState::Skipped(skip),
        }
    }
}

/// One URL without its text.
#[derive(Clone, Copy, Debug)]
struct Meta {
    /// Where its text starts.
    start: u32,
    /// Number of the page that it was found on, or [`EMPTY`].
    referrer: u32,
    depth: u16,
    status: u8,
    flags: u8,
}

/// Whether it is in the list of changes.
const CHANGED: u8 = 1;
/// Whether it was fetched and failed.
const FAILED: u8 = 16;
/// What is known of the other scheme of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Twin {
    /// A page links to it with the other scheme, too.
    Linked = 2,
    /// Its site did not answer under this scheme.
    Wanted = 4,
    /// Both schemes have rows of their own.
    Added = 8,
}

/// The URLs, numbered from 0 in the order of discovery.
#[derive(Debug)]
pub(super) struct Table {
    text: String,
    metas: Vec<Meta>,
    /// Open addressing with linear probing; a power of two, at most 80 % full.
    slots: Vec<u32>,
    /// Randomly keyed, so that a site cannot choose URLs that collide.
    hasher: RandomState,
}

/// Bytes of the schemes that keys are without.
const HTTP_BYTES: usize = "http://".len();
const HTTPS_BYTES: usize = "https://".len();

/// The key of a URL: without its scheme, because `http` and `https` URLs are the same page.
pub(crate) fn key(url: &str) -> &str {
    let rest = url
        .strip_prefix("http")
        .map(|rest| rest.strip_prefix('s').unwrap_or(rest));
    rest.and_then(|rest| rest.strip_prefix("://"))
        .unwrap_or(url)
}

/// The same page under the other scheme; `None` if its scheme is neither `http` nor `https`.
pub(crate) fn with_other_scheme(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let other = match scheme {
        "https" => "http",
        "http" => "https",
        _ => return None,
    };
    Some(format!("{other}://{rest}"))
}

impl Table {
    pub(super) fn new() -> Self {
        Self {
            text: String::new(),
            metas: Vec::new(),
            slots: vec![EMPTY; SLOTS_MIN],
            hasher: RandomState::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.metas.len()
    }

    pub(super) fn url(&self, n: u32) -> &str {
        let (start, end) = self.extent(n);
        &self.text[start..end]
    }

    /// Where the text of a URL starts and ends.
    fn extent(&self, n: u32) -> (usize, usize) {
        let n = n as usize;
        let end = match n + 1 < self.metas.len() {
            true => self.metas[n + 1].start as usize,
            false => self.text.len(),
        };
        (self.metas[n].start as usize, end)
    }

    /// Whether a URL has this key. Most that do not differ in their length already.
    fn has_key(&self, n: u32, key: &str) -> bool {
        let (start, end) = self.extent(n);
        let n_more = (end - start).wrapping_sub(key.len());
        matches!(n_more, 0 | HTTP_BYTES | HTTPS_BYTES) && self::key(self.url(n)) == key
    }

    pub(super) fn depth(&self, n: u32) -> u16 {
        self.metas[n as usize].depth
    }

    pub(super) fn status(&self, n: u32) -> UrlStatus {
        UrlStatus::of_byte(self.metas[n as usize].status)
    }

    /// The page that a URL was found on.
    pub(super) fn referrer(&self, n: u32) -> Option<u32> {
        Some(self.metas[n as usize].referrer).filter(|referrer| *referrer != EMPTY)
    }

    pub(super) fn set_referrer(&mut self, n: u32, referrer: Option<u32>) {
        self.metas[n as usize].referrer = referrer.unwrap_or(EMPTY);
    }

    pub(super) fn is_twin(&self, n: u32, twin: Twin) -> bool {
        self.metas[n as usize].flags & twin as u8 != 0
    }

    pub(super) fn set_twin(&mut self, n: u32, twin: Twin) {
        self.metas[n as usize].flags |= twin as u8;
    }

    /// Whether a page that was fetched had failed.
    pub(super) fn is_failed(&self, n: u32) -> bool {
        self.metas[n as usize].flags & FAILED != 0
    }

    pub(super) fn set_failed(&mut self, n: u32) {
        self.metas[n as usize].flags |= FAILED;
    }

    /// Sets depth and status; `true` when the URL was unchanged before.
    pub(super) fn set(&mut self, n: u32, depth: u16, status: UrlStatus) -> bool {
        let meta = &mut self.metas[n as usize];
        meta.depth = depth;
        meta.status = status.to_byte();
        let is_first = meta.flags & CHANGED == 0;
        meta.flags |= CHANGED;
        is_first
    }

    /// Marks a URL as unchanged, because it is stored.
    pub(super) fn clear_change(&mut self, n: u32) {
        self.metas[n as usize].flags &= !CHANGED;
    }

    /// The number of the page with this URL.
    pub(super) fn find(&self, url: &str) -> Option<u32> {
        let slot = self.slot(url);
        (self.slots[slot] != EMPTY).then(|| self.slots[slot])
    }

    /// Adds a URL that is not in the table, or is there with the other scheme: then the new one is
    /// found from now on. `None` when the table is full.
    pub(super) fn insert(&mut self, url: &str, depth: u16, status: UrlStatus) -> Option<u32> {
        if self.len() >= KNOWN_MAX || self.text.len() + url.len() > TEXT_BYTES_MAX {
            return None;
        }
        if (self.len() + 1) * 5 > self.slots.len() * 4 {
            self.grow();
        }
        let n = u32::try_from(self.len()).ok()?;
        let start = u32::try_from(self.text.len()).ok()?;
        let slot = self.slot(url);
        self.slots[slot] = n;
        self.text.push_str(url);
        self.metas.push(Meta {
            start,
            referrer: EMPTY,
            depth,
            status: status.to_byte(),
            flags: CHANGED,
        });
        Some(n)
    }

    /// Bytes of memory, unused capacity included.
    #[cfg(test)]
    fn bytes(&self) -> usize {
        self.text.capacity()
            + self.metas.capacity() * size_of::<Meta>()
            + self.slots.capacity() * size_of::<u32>()
    }

    /// The slot of a URL, or the empty one where it belongs.
    fn slot(&self, url: &str) -> usize {
        let key = key(url);
        let mask = self.slots.len() - 1;
        let mut slot = self.hash(key) & mask;
        while self.slots[slot] != EMPTY && !self.has_key(self.slots[slot], key) {
            slot = (slot + 1) & mask;
        }
        slot
    }

    fn hash(&self, key: &str) -> usize {
        // Truncated only where pointers have 32 bits.
        self.hasher.hash_one(key) as usize
    }

    fn grow(&mut self) {
        let n_slots = self.slots.len() * 2;
        self.slots.clear();
        self.slots.resize(n_slots, EMPTY);
        let mask = n_slots - 1;
        // Backwards, so that the last of two URLs that differ in their scheme is found first.
        for n in (0..self.metas.len()).rev() {
            // Fits: there are fewer than `KNOWN_MAX`.
            let n = n as u32;
            let mut slot = self.hash(key(self.url(n))) & mask;
            while self.slots[slot] != EMPTY {
                slot = (slot + 1) & mask;
            }
            self.slots[slot] = n;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn http_and_https_are_one_page() {
        let mut table = Table::new();
        let n = table.insert("http://a.example/x?b=1", 1, UrlStatus::Waiting);
        assert_eq!(n, Some(0));
        assert_eq!(table.find("https://a.example/x?b=1"), Some(0));
        assert_eq!(table.find("http://a.example/X?b=1"), None);
        assert_eq!(table.find("http://a.example/x"), None);
    }

    #[test]
    fn every_url_is_found_after_growing() {
        let mut table = Table::new();
        for i in 0..10_000_u32 {
            let url = format!("http://a.example/{i}");
            assert_eq!(table.find(&url), None);
            assert_eq!(table.insert(&url, 3, UrlStatus::Waiting), Some(i));
        }
        for i in 0..10_000_u32 {
            let url = format!("https://a.example/{i}");
            assert_eq!(table.find(&url), Some(i));
            assert_eq!(table.url(i), format!("http://a.example/{i}"));
        }
        for skip in SkipReason::ALL {
            table.set(7, 2, UrlStatus::Skipped(skip));
            assert_eq!(table.status(7), UrlStatus::Skipped(skip));
        }
    }

    #[test]
    fn a_million_urls_take_few_bytes_each() {
        let mut table = Table::new();
        for i in 0..1_000_000 {
            let url = format!(
                "https://docs.example.com/section/{:05}/a-page-of-usual-length/{i:07}.html",
                i % 977
            );
            table.insert(&url, 3, UrlStatus::Waiting);
        }
        let each = table.bytes() / table.len();
        assert!(each <= 150, "{each} bytes per URL");
    }
}
