//! What holds the URLs of a host back: its cap of pages, and pages of it that wait for their turn.

use std::collections::{BTreeSet, HashMap};

/// Pages of a host with a delay that are leased at once: one is sent, and the next one waits. More
/// would only take places from other hosts. Decision D396.
const PACED_AT_ONCE: u64 = 2;

/// The hosts of a crawl.
#[derive(Debug)]
pub(super) struct Hosts {
    /// Most pages of a host.
    most: Option<u64>,
    /// Whether there is a delay between the requests to any host.
    are_paced: bool,
    /// Whether each may ask for a delay in its robots.txt.
    may_ask: bool,
    by_name: HashMap<String, Host>,
    /// Counts up with each URL that is held.
    n_held: u64,
}

#[derive(Debug, Default)]
struct Host {
    /// Pages that were leased and not skipped.
    n_taken: u64,
    /// Pages that are leased.
    n_leased: u64,
    /// Whether its robots.txt asks for a delay, once that is known.
    is_paced: Option<bool>,
    /// URLs that wait for a place: the entries of `prefer` that each misses, since when it waits,
    /// and its number.
    held: BTreeSet<(u8, u64, u32)>,
}

impl Host {
    fn is_capped(&self, most: Option<u64>) -> bool {
        most.is_some_and(|most| self.n_taken >= most)
    }
}

impl Hosts {
    pub(super) fn new(most: Option<u64>, are_paced: bool, may_ask: bool) -> Self {
        Self {
            most,
            are_paced,
            may_ask,
            by_name: HashMap::new(),
            n_held: 0,
        }
    }

    /// Whether no page of a host may be leased now. Then the URL is held until there is a place.
    /// Those that miss fewer entries of `prefer` go first.
    pub(super) fn hold_if_full(&mut self, host: &str, missed: u8, n: u32) -> bool {
        let (most, are_paced, may_ask) = (self.most, self.are_paced, self.may_ask);
        let since = self.n_held;
        self.n_held += 1;
        let host = self.host(host);
        let is_paced = are_paced || host.is_paced.unwrap_or(may_ask);
        let is_full = host.is_capped(most) || is_paced && host.n_leased >= PACED_AT_ONCE;
        if is_full {
            host.held.insert((missed, since, n));
        }
        is_full
    }

    /// Counts a page.
    pub(super) fn take(&mut self, host: &str) {
        self.host(host).n_taken += 1;
    }

    /// Takes a page out of the count again.
    pub(super) fn give_back(&mut self, host: &str) {
        self.host(host).n_taken -= 1;
    }

    /// A page of the host is leased.
    pub(super) fn start(&mut self, host: &str) {
        self.host(host).n_leased += 1;
    }

    /// The lease of a page has ended.
    pub(super) fn end(&mut self, host: &str) {
        self.host(host).n_leased -= 1;
    }

    /// The host asks for a delay between requests, or does not. Returns the URLs that need not wait
    /// for their turn.
    pub(super) fn pace(&mut self, host: &str, is_paced: bool) -> Vec<u32> {
        let host = self.host(host);
        let was_known = host.is_paced.replace(is_paced).is_some();
        match was_known || is_paced {
            true => Vec::new(),
            false => std::mem::take(&mut host.held)
                .into_iter()
                .map(number)
                .collect(),
        }
    }

    /// Removes the URL that gets the next place of its host: of those that are preferred most the
    /// one that waits longest.
    pub(super) fn next_held(&mut self, host: &str) -> Option<u32> {
        self.by_name.get_mut(host)?.held.pop_first().map(number)
    }

    /// Whether URLs wait for other pages of their host, and not because of its cap.
    pub(super) fn has_turns_left(&self) -> bool {
        let mut hosts = self.by_name.values();
        hosts.any(|host| !host.held.is_empty() && !host.is_capped(self.most))
    }

    /// Removes the URLs that are held, and tells whether each is because of the cap.
    pub(super) fn drain(&mut self) -> Vec<(u32, bool)> {
        let mut urls = Vec::new();
        for host in self.by_name.values_mut() {
            let is_capped = host.is_capped(self.most);
            let held = std::mem::take(&mut host.held).into_iter();
            urls.extend(held.map(|held| (number(held), is_capped)));
        }
        urls
    }

    fn host(&mut self, host: &str) -> &mut Host {
        self.by_name.entry(host.to_owned()).or_default()
    }
}

/// The number of a held URL.
const fn number((_, _, n): (u8, u64, u32)) -> u32 {
    n
}
