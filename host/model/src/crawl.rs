//! Vocabulary of crawls that several crates share: why one ended, why a URL was not fetched, which
//! links a page had.

/// Why a crawl ended. Spec S7.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StopReason {
    /// Every URL that may be fetched was fetched.
    Completed,
    /// The page cap `limit`.
    Limit,
    /// Only URLs beyond `depth` were left.
    Depth,
    /// Only URLs over their `budget` were left.
    Budget,
    /// The spend ceiling `max_credits_allowed`.
    Spend,
    /// The account's balance.
    Balance,
    /// `crawl_timeout`.
    Timeout,
    /// The caller stopped it.
    Cancelled,
    /// The client of a streaming crawl disconnected.
    HungUp,
    /// The server stopped while a streaming crawl ran; its client is gone.
    ServerStopped,
    /// The account has stored as much as it may.
    Storage,
    /// The Unlimited plan that it ran on ended, was suspended or lapsed. A background crawl is
    /// parked then.
    PlanEnded,
    /// A failure that no page caused.
    Failed,
}

impl StopReason {
    /// Every reason.
    pub const ALL: [Self; 13] = [
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
        Self::Storage,
        Self::PlanEnded,
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
            Self::Storage => "stored_bytes",
            Self::PlanEnded => "plan_ended",
            Self::Failed => "failed",
        }
    }

    /// The reason with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|stop| stop.name() == name)
    }
}

/// Why a discovered URL was not fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SkipReason {
    /// robots.txt forbids it.
    Robots,
    /// Every link to it says `nofollow`, and robots rules are obeyed.
    Nofollow,
    /// More hops from the seed than `depth`.
    Depth,
    /// A path of `budget` is exhausted.
    Budget,
    /// The crawl reached `limit` before it was leased.
    Limit,
    /// The crawl ran out of money before it was leased: its own ceiling or the account's balance.
    Spend,
    /// Its host is not part of the crawl.
    Scope,
    /// `blacklist` names it.
    Blacklist,
    /// `whitelist` does not name it.
    Whitelist,
    /// The crawl has the page under another URL.
    Duplicate,
    /// Not `http` or `https`, or no URL at all.
    Scheme,
    /// Longer than a URL may be.
    TooLong,
    /// The crawl already knows as many URLs as it may.
    Full,
    /// The crawl ended before it was leased: timeout, the caller, the server.
    Stopped,
}

impl SkipReason {
    /// Every reason; the index is its number in the store and never changes.
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

/// A URL that a crawl knows, as stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UrlRow {
    /// Its number in the crawl, from 0 in the order of discovery.
    pub n: u32,
    /// The URL.
    pub url: String,
    /// Hops from the seed.
    pub depth: u16,
    /// Its state.
    pub state: UrlState,
}

/// The state of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UrlState {
    /// Waiting, or being fetched.
    Waiting,
    /// Fetched; there is an entry for it.
    Done,
    /// Not fetched.
    Skipped(SkipReason),
}

/// The links of one page, as in its source: absolute, normalised by the `url` crate, without
/// fragment, each once, in page order. One buffer for all, because pages have hundreds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Discovered {
    text: String,
    /// The end of each link in `text`, and whether it has `nofollow`.
    links: Vec<(u32, bool)>,
    /// Links left out because the page, or the text, has too many.
    pub n_dropped: u32,
    /// The page's `X-Robots-Tag` headers, which may say `nofollow`, and what its `meta` elements say
    /// to single crawlers, in the same form.
    pub robots_tags: Vec<String>,
}

impl Discovered {
    /// Adds a link. The caller ensures that it is new.
    pub fn push(&mut self, url: &str, nofollow: bool) {
        self.text.push_str(url);
        let end = u32::try_from(self.text.len()).expect("a page's links are shorter than 4 GiB");
        self.links.push((end, nofollow));
    }

    /// Marks all links with `nofollow`.
    pub fn nofollow_all(&mut self) {
        for (_, nofollow) in &mut self.links {
            *nofollow = true;
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.links.len()
    }

    /// Bytes in memory.
    pub fn bytes(&self) -> usize {
        let tags = self.robots_tags.iter().map(String::capacity);
        self.text.capacity()
            + self.links.capacity() * size_of::<(u32, bool)>()
            + tags.sum::<usize>()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.links.is_empty()
    }

    /// Each link and whether it has `nofollow`.
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
