//! Vocabulary of crawls that several crates share: why one ended, why a URL was not fetched, which
//! links a page had.

/// Why a crawl ended. Spec S7.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StopReason {
    /// No URL that may be fetched is left; pages may have failed.
    Completed,
    /// The page cap `limit`.
    Limit,
    /// Only URLs beyond `depth` were left.
    Depth,
    /// Only URLs over their `budget` were left.
    Budget,
    /// Only URLs of hosts that have `host_limit` pages were left.
    HostLimit,
    /// The spend ceiling `max_credits_allowed`.
    Spend,
    /// The account's balance.
    Balance,
    /// The monthly budget of the key that it was requested with.
    KeyBudget,
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
    pub const ALL: [Self; 15] = [
        Self::Completed,
        Self::Limit,
        Self::Depth,
        Self::Budget,
        Self::HostLimit,
        Self::Spend,
        Self::Balance,
        Self::KeyBudget,
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
            Self::HostLimit => "host_limit",
            Self::Spend => "max_credits_allowed",
            Self::Balance => "balance",
            Self::KeyBudget => "key_budget",
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
    /// The crawl ran out of money before it was leased: its own ceiling, the budget of its key or
    /// the account's balance.
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
    /// Its path repeats itself, or it differs from a known URL in a session id alone.
    Trap,
    /// Its host has `host_limit` pages.
    HostLimit,
    /// Its site refuses the use that the request states as its purpose.
    Rights,
}

impl SkipReason {
    /// Every reason; the index is its number in the store and never changes.
    pub const ALL: [Self; 17] = [
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
        Self::Trap,
        Self::HostLimit,
        Self::Rights,
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
            Self::Trap => "trap",
            Self::HostLimit => "host_limit",
            Self::Rights => "rights",
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
    /// Number of the page whose link it has this depth by; `None` for seeds and URLs of sitemaps.
    pub referrer: Option<u32>,
    /// The text of that link, if the crawl asks for it.
    pub anchor: Option<String>,
    /// Where it redirects to, if it was skipped for that.
    pub target: Option<String>,
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
    /// The page's `X-Robots-Tag` headers, which may say `nofollow`, and what its `meta` elements
    /// say to single crawlers, in the same form.
    pub robots_tags: Vec<String>,
    /// The canonical URL that the page states.
    pub canonical: Option<String>,
    /// The texts of links by number, in ascending order, if they are asked for.
    anchors: Vec<(u32, String)>,
}

impl Discovered {
    /// Adds a link. The caller ensures that it is new.
    pub fn push(&mut self, url: &str, nofollow: bool) {
        self.text.push_str(url);
        let end = u32::try_from(self.text.len()).expect("a page's links are shorter than 4 GiB");
        self.links.push((end, nofollow));
    }

    /// Sets the text of the link that was added last.
    pub fn set_anchor(&mut self, text: String) {
        // Fits: a page's links are bounded.
        if let Some(last) = self.links.len().checked_sub(1) {
            self.anchors.push((last as u32, text));
        }
    }

    /// The text of the link with this number.
    pub fn anchor(&self, number: usize) -> Option<&str> {
        let number = u32::try_from(number).ok()?;
        let found = self.anchors.binary_search_by_key(&number, |(of, _)| *of);
        found.ok().map(|at| self.anchors[at].1.as_str())
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
        let texts = self.anchors.iter().map(|(_, text)| text.capacity());
        self.text.capacity()
            + self.links.capacity() * size_of::<(u32, bool)>()
            + tags.sum::<usize>()
            + texts.sum::<usize>()
            + self.anchors.capacity() * size_of::<(u32, String)>()
            + self.canonical.as_ref().map_or(0, String::capacity)
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
        found.set_anchor("b".to_owned());
        assert_eq!((found.anchor(0), found.anchor(1)), (None, Some("b")));
    }
}
