//! How the requests of a page leave.

use std::sync::Arc;

use trawl_model::Nanodollars;

/// The pool that carried a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolUse {
    /// Its name in the configuration.
    pub name: String,
    /// Price of a gigabyte (10^9 bytes) through it, on top of the ordinary price.
    pub price_per_gigabyte: Nanodollars,
    /// ISO 3166 code of the country from which the page was requested, if known.
    pub country: Option<String>,
}

/// How a request leaves: directly or through one upstream proxy. Chosen once per page, so that all
/// its hops come from one IP address.
#[derive(Clone, Debug, Default)]
pub struct Route {
    /// Index of the proxy in its pool; `None` dials directly.
    pub(super) proxy: Option<usize>,
    /// The pool that carries the page; `None` dials directly.
    pub pool: Option<PoolUse>,
    /// Parameters that could not be honoured, for `X-Ignored-Parameters`.
    pub ignored: Vec<String>,
    /// Whose connections it uses; empty for the server itself.
    pub(super) account: Arc<str>,
}

impl Route {
    /// The account whose connections it uses; empty for the server itself.
    pub(crate) fn account(&self) -> &str {
        &self.account
    }
}
