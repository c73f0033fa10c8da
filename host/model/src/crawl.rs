//! Words of a crawl that several rooms share: why it ended, why an address was not fetched, which links a page had.

/// Why a crawl ended. Spec S7.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StopReason {
    /// Every address that may be fetched was fetched.
    Completed,
    /// The page cap `limit`.
    Limit,
    /// Only addresses beyond `depth` were left.
    Depth,
    /// Only addresses over their `budget` were left.
    Budget,
    /// The spend ceiling `max_credits_allowed`.
    Spend,
    /// The account's balance.
    Balance,
    /// `crawl_timeout`.
    Timeout,
    /// The caller stopped it.
    Cancelled,
    /// The caller of a streaming crawl hung up.
    HungUp,
    /// The server stopped while a streaming crawl ran; nobody is left to take its pages.
    ServerStopped,
    /// Something failed that no page can be blamed for.
    Failed,
}

impl StopReason {
    /// Every reason.
    pub const ALL: [Self; 11] = [
        Self::Completed,
        Self::Limit,
        Self::Depth,
        Self::Budget,
        Self::Spend,
        Self::Balance,
        Self::Timeout,
        Self::Cancelled,
        Self::HungUp,
        Self::ServerStopped,
        Self::Failed,
    ];

    /// Its name on the wire and in the store.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Limit => "limit",
            Self::Depth => "depth",
            Self::Budget => "budget",
            Self::Spend => "max_credits_allowed",
            Self::Balance => "balance",
            Self::Timeout => "crawl_timeout",
            Self::Cancelled => "cancelled",
            Self::HungUp => "client_gone",
            Self::ServerStopped => "server_stopped",
            Self::Failed => "failed",
        }
    }

    /// The reason with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|stop| stop.name() == name)
    }
}

/// Why a discovered address was not fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SkipReason {
    /// robots.txt forbids it.
    Robots,
    /// Every link to it says `nofollow`, and robots rules are obeyed.
    Nofollow,
    /// More hops from the seed than `depth`.
    Depth,
    /// A path of `budget` is used up.
    Budget,
    /// The crawl ended at `limit` before its turn.
    Limit,
    /// The crawl ran out of money before its turn: its own ceiling or the account's.
    Spend,
    /// Its host is not part of the crawl.
    Scope,
    /// `blacklist` names it.
    Blacklist,
    /// `whitelist` does not name it.
    Whitelist,
    /// It is a page that the crawl has under another address.
    Duplicate,
    /// Not `http` or `https`, or no address at all.
    Scheme,
    /// Longer than an address may be.
    TooLong,
    /// The crawl knows as many addresses as it may know.
    Full,
    /// The crawl ended before its turn: time, the caller, the server.
    Stopped,
}

impl SkipReason {
    /// Every reason; the place is its number in the store and never changes.
    pub const ALL: [Self; 14] = [
        Self::Robots,
        Self::Nofollow,
        Self::Depth,
        Self::Budget,
        Self::Limit,
        Self::Spend,
        Self::Scope,
        Self::Blacklist,
        Self::Whitelist,
        Self::Duplicate,
        Self::Scheme,
        Self::TooLong,
        Self::Full,
        Self::Stopped,
    ];

    /// Its name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Robots => "robots",
            Self::Nofollow => "nofollow",
            Self::Depth => "depth",
            Self::Budget => "budget",
            Self::Limit => "limit",
            Self::Spend => "max_credits_allowed",
            Self::Scope => "scope",
            Self::Blacklist => "blacklist",
            Self::Whitelist => "whitelist",
            Self::Duplicate => "duplicate",
            Self::Scheme => "scheme",
            Self::TooLong => "too_long",
            Self::Full => "full",
            Self::Stopped => "stopped",
        }
    }

    /// Its number in the store.
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// The reason with this number.
    pub fn numbered(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }
}

/// An address that a crawl knows, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UrlRow {
    /// Its number in the crawl, from 0 in the order of finding.
    pub n: u32,
    /// The address.
    pub url: String,
    /// Hops from the seed.
    pub depth: u16,
    /// What became of it.
    pub state: UrlState,
}

/// What became of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UrlState {
    /// It waits for its turn, or is being fetched.
    Waiting,
    /// It was fetched; there is an entry for it.
    Done,
    /// It was not fetched.
    Skipped(SkipReason),
}

/// The links of one page, as its source has them: absolute, normalised as the `url` crate writes them, without fragment, each
/// once, in page order. One buffer for all, because pages have hundreds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Discovered {
    text: String,
    /// Where each link ends in `text`, and whether it says `nofollow`.
    links: Vec<(u32, bool)>,
    /// Links that were left out because the page has more than are taken.
    pub n_dropped: u32,
}

impl Discovered {
    /// Adds a link. The caller takes care that it is not there yet.
    pub fn push(&mut self, url: &str, nofollow: bool) {
        self.text.push_str(url);
        let end = u32::try_from(self.text.len()).expect("a page's links are shorter than 4 GiB");
        self.links.push((end, nofollow));
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.links.len()
    }

    /// Bytes that they take in memory.
    pub fn bytes(&self) -> usize {
        self.text.capacity() + self.links.capacity() * size_of::<(u32, bool)>()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.links.is_empty()
    }

    /// Each link and whether it says `nofollow`.
    pub fn iter(&self) -> impl Iterator<Item = (&str, bool)> {
        let mut start = 0;
        self.links.iter().map(move |&(end, nofollow)| {
            let link = &self.text[start..end as usize];
            start = end as usize;
            (link, nofollow)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_lead_back() {
        for stop in StopReason::ALL {
            assert_eq!(StopReason::named(stop.name()), Some(stop));
        }
        for skip in SkipReason::ALL {
            assert_eq!(SkipReason::numbered(skip.number()), Some(skip));
        }
    }

    #[test]
    fn links_come_back_as_they_went_in() {
        let mut found = Discovered::default();
        found.push("http://a/", false);
        found.push("http://a/b", true);
        let links: Vec<_> = found.iter().collect();
        assert_eq!(links, [("http://a/", false), ("http://a/b", true)]);
    }
}
