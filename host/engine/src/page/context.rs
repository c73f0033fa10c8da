//! What the pages of a run share, and who pays for them.

use std::sync::Arc;
use std::time::Instant;

use trawl_billing::{AccountId, Billing, FundsError, Reservation, Tariff};
use trawl_model::Nanodollars;
use trawl_net::fetch::CookieJar;
use trawl_plugins::Registry;

use crate::ai::Ai;
use crate::extract::Workers;
use crate::routing::Routing;

/// What serves and transforms pages: built once, shared by every run.
pub struct PageEngine {
    /// Gets pages.
    pub routing: Routing,
    /// The threads that transform them.
    pub workers: Workers,
    /// The language model that analysts may ask, if the operator configured one.
    pub ai: Option<Arc<Ai>>,
}

/// What the pages of one run share.
#[derive(Clone)]
pub struct RunContext {
    /// What serves the pages.
    pub engine: Arc<PageEngine>,
    /// Snapshot of the plugins, the same from the first page to the last.
    pub registry: Arc<Registry>,
    /// Cookies that sites set during the run.
    pub jar: Arc<CookieJar>,
    /// The account the pages are for: scarce resources are shared fairly between accounts.
    pub owner: String,
    /// Prices of the run. A page that would exceed its ceiling at these prices is given up early.
    pub tariff: Tariff,
}

/// Who pays for the pages of a run.
#[derive(Clone, Debug)]
pub struct Payer {
    /// The ledger.
    pub billing: Billing,
    /// The account that pays.
    pub account: AccountId,
    /// Name of the run in the ledger: the request's id.
    pub run_id: String,
}

impl RunContext {
    /// The context of a run that begins, with an empty cookie jar.
    pub fn new(
        engine: Arc<PageEngine>,
        registry: Arc<Registry>,
        owner: String,
        tariff: Tariff,
    ) -> Self {
        Self {
            engine,
            registry,
            jar: Arc::new(CookieJar::new()),
            owner,
            tariff,
        }
    }
}

impl Payer {
    /// Reserves this much, or the rest of the balance if that is less.
    pub(super) async fn reserve(
        &self,
        ceiling: Nanodollars,
        url: &str,
        deadline: Instant,
    ) -> Result<Reservation, FundsError> {
        self.billing
            .reserve_when_available(&self.account, ceiling, url, &self.run_id, deadline.into())
            .await
    }
}
