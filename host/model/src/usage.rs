//! What serving a page consumed, and what that costs.

use std::time::Duration;

use super::Nanodollars;

/// What one page consumed. Measured, never estimated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Decoded bytes of the main document (and of sub-resources when rendered). Spec S14.
    pub content_bytes: u64,
    /// CPU time of decoding and parsing the page, and of the browser for rendered pages.
    pub compute: Duration,
    /// CPU time of filters, extractors, formats and chunkers.
    pub transform: Duration,
    /// Price of a gigabyte (10^9 bytes) through the proxy pool that carried the page, on top of the
    /// ordinary price.
    pub pool_price: Nanodollars,
    /// Set when a provider served the page: then no content was transferred through us.
    pub vendor: Option<VendorUse>,
    /// Cost of the language model's answers about the page.
    pub ai: Nanodollars,
}

/// What a provider's work on a page consumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VendorUse {
    /// What the provider charged, by its list price.
    pub cost: Nanodollars,
    /// Whether the caller's own key paid.
    pub byok: bool,
}

/// What one page costs, in the parts of the wire's `costs` object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Charge {
    /// Charge for AI work.
    pub ai: Nanodollars,
    /// Charge for CPU other than transformations.
    pub compute: Nanodollars,
    /// Charge for stored files: zero, since storing is free. Decision D81.
    pub file: Nanodollars,
    /// Charge for transferred content.
    pub bytes_transferred: Nanodollars,
    /// Charge for the CPU of plugins.
    pub transform: Nanodollars,
    /// What the service charges for a provider's work (`costs.vendor.billed_cost`).
    pub vendor_billed: Nanodollars,
}

impl Charge {
    /// The whole charge: the sum of its parts, or the largest amount there is.
    pub fn total(&self) -> Nanodollars {
        let parts = [
            self.ai,
            self.compute,
            self.file,
            self.bytes_transferred,
            self.transform,
            self.vendor_billed,
        ];
        let sum = parts
            .iter()
            .fold(0, |sum: i64, part| sum.saturating_add(part.0));
        Nanodollars(sum)
    }
}
