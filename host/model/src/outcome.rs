//! The result of one page, before it has a wire form.

use std::sync::Arc;
use std::time::Duration;

use crate::memory::MemoryLease;
use crate::page::Hop;
use crate::{Charge, Content, Discovered, Fields, Nanodollars, PageFailure};

/// The result of one page, good or failed. A failed page has `error` set and a charge of zero.
#[derive(Clone, Debug, Default)]
pub struct PageOutcome {
    /// Final URL after redirects, or the URL as the caller wrote it if nothing was fetched.
    pub url: String,
    /// The site's status, or a synthetic one ([`status`](crate::failure::status)).
    pub status: u16,
    /// Content in the requested formats.
    pub content: Content,
    /// Why the page failed; `None` if it succeeded.
    pub error: Option<PageFailure>,
    /// Time from start to finish, for every page that was fetched.
    pub elapsed: Option<Duration>,
    /// What was extracted from the page.
    pub fields: Fields,
    /// Response headers, if requested: name and value, repeats joined with `, `.
    pub headers: Option<Vec<(String, String)>>,
    /// Cookies, if requested: name and value.
    pub cookies: Option<Vec<(String, String)>>,
    /// Links for a crawl, if its plan needs them.
    pub discovered: Option<Box<Discovered>>,
    /// The redirects that led to it.
    pub redirects: Vec<Hop>,
    /// Where a crawl found it.
    pub place: Option<CrawlPlace>,
    /// Where a batch names it.
    pub batch: Option<BatchPlace>,
    /// What the page costs.
    pub charge: Charge,
    /// Set when a provider served the page.
    pub vendor: Option<VendorPart>,
    /// The memory that the outcome holds, given back with it.
    pub memory: Option<Arc<MemoryLease>>,
}

impl PageOutcome {
    /// A page that failed before anything of it came, with the status of its failure.
    pub fn failed(url: impl Into<String>, failure: PageFailure) -> Self {
        Self {
            url: url.into(),
            status: failure.status(),
            error: Some(failure),
            ..Self::default()
        }
    }
}

/// Where a crawl found a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrawlPlace {
    /// Hops from a seed.
    pub depth: u16,
    /// The page that links to it; `None` for seeds and URLs of sitemaps.
    pub referrer: Option<String>,
    /// The text of that link, if the crawl asks for it.
    pub anchor: Option<String>,
}

/// Where the request of a batch names a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchPlace {
    /// Its index in the request, from 0.
    pub index: u32,
    /// The further indices at which the same page is named.
    pub duplicates: Vec<u32>,
}

/// `costs.vendor`: the provider that served the page. Spec S16.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VendorPart {
    /// Name of the provider.
    pub provider: String,
    /// Route that ran: `provider_2.js`.
    pub route: String,
    /// What the provider charged.
    pub vendor_cost: Nanodollars,
    /// What the service charged for the page.
    pub billed_cost: Nanodollars,
    /// Whether the caller's own key paid.
    pub byok: bool,
    /// Providers tried, the last one included.
    pub attempts: u32,
}
