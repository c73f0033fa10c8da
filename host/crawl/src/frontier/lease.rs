//! What the frontier returns: leases and counts.

use url::Url;

use trawl_model::StopReason;

/// What to do next.
#[derive(Clone, Debug)]
pub(crate) enum Lease {
    /// Fetch this page; end it with `complete` or `skip`, or put it back.
    Page(Leased),
    /// Nothing now; ask again when a page has ended or sitemap URLs were added.
    Wait,
    /// The crawl is over.
    Done(StopReason),
}

/// A page to fetch.
#[derive(Clone, Debug)]
pub(crate) struct Leased {
    /// Its number.
    pub(crate) n: u32,
    /// Its URL.
    pub(crate) url: Url,
    /// Whether it is a seed.
    pub(crate) is_seed: bool,
    /// Whether it is not to be fetched: it stands for sitemaps without pages.
    pub(crate) has_no_sitemap: bool,
}

/// Numbers of URLs by status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// All known URLs.
    pub known: u64,
    /// Those that wait to be leased.
    pub waiting: u64,
    /// Those being fetched.
    pub in_flight: u64,
    /// Those that were fetched.
    pub done: u64,
    /// Those that were skipped.
    pub skipped: u64,
}
