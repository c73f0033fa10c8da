//! What one page came to, before it has a wire form.

use std::time::Duration;

use crate::extract::{OutputCacheWrite, Outputs};
use crate::providers::RouteCounters;
use crate::routing::CacheWrite;
use trawl_model::{Charge, Content, Discovered, Fields, Nanodollars};

/// The result of one page, good or failed. A failed page has `error` set and a charge of zero.
#[derive(Clone, Debug, Default)]
pub struct PageOutcome {
    /// Final address after redirects, or the address as the caller wrote it when nothing was fetched.
    pub url: String,
    /// The site's status, or a synthetic one (`model::failure::status`).
    pub status: u16,
    /// Content in the formats asked for.
    pub content: Content,
    /// Why the page failed; `None` when it succeeded.
    pub error: Option<String>,
    /// Time from start to finish, for every page that was fetched.
    pub elapsed: Option<Duration>,
    /// What was read out of the page.
    pub fields: Fields,
    /// Response headers, when asked for: name and value, repeats joined with `, `.
    pub headers: Option<Vec<(String, String)>>,
    /// Cookies, when asked for: name and value.
    pub cookies: Option<Vec<(String, String)>>,
    /// Links for a crawl, when its plan asks for them.
    pub discovered: Option<Box<Discovered>>,
    /// What the page costs.
    pub charge: Charge,
    /// Set when a provider served the page.
    pub vendor: Option<VendorPart>,
    /// Where to count what is billed for a provider's work.
    pub tally: Option<RouteCounters>,
    /// What is to be kept for others of a page that was just fetched; settling does so once the page is paid for.
    pub keeping: Option<CacheWrite>,
    /// What is to be kept for others of what was just made of it, likewise.
    pub keeping_outputs: Option<OutputCacheWrite>,
}

impl PageOutcome {
    /// A page that was handed in rather than fetched, and what was made of it.
    pub fn handed_in(url: String, outputs: Outputs, elapsed: Duration) -> Self {
        Self {
            url,
            status: 200,
            content: outputs.content,
            fields: outputs.fields,
            error: outputs.failure.map(|failure| failure.message),
            elapsed: Some(elapsed),
            ..Self::default()
        }
    }
}

/// `costs.vendor`: the provider that served the page. Spec S16.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VendorPart {
    /// Provider that served the page.
    pub provider: String,
    /// Route that ran.
    pub route: String,
    /// What the provider charged.
    pub vendor_cost: Nanodollars,
    /// What the service charged for the page.
    pub billed_cost: Nanodollars,
    /// Whether the caller's own key paid.
    pub byok: bool,
    /// Provider routes tried before one served the page.
    pub attempts: u32,
}
