//! What one page came to, before it has a wire form.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::model::{Charge, Content, Discovered, Nanodollars};

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
    /// Links, when asked for: absolute addresses in page order without duplicates.
    pub links: Option<Value>,
    /// Where the page leads, when its plan says to discover it. Stands beside an error, too: a page whose content could not be
    /// made still has links.
    pub discovered: Option<Box<Discovered>>,
    /// Metadata, when asked for, or the parts that are told without being asked (`render_reason`, ...).
    pub metadata: Option<Map<String, Value>>,
    /// Response headers, when asked for: name and value, repeats joined with `, `.
    pub headers: Option<Vec<(String, String)>>,
    /// Cookies, when asked for: name and value.
    pub cookies: Option<Vec<(String, String)>>,
    /// Results of extractors asked for by name.
    pub extracted: Option<Map<String, Value>>,
    /// What the page costs.
    pub charge: Charge,
    /// Set when a provider served the page.
    pub vendor: Option<VendorPart>,
}

/// `costs.vendor`: the provider that served the page. Spec: costs.vendor.
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
