//! What the HTTP interface asks of the rooms behind it. `App` answers; tests of this room have a service of their own.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use tokio_util::task::TaskTracker;

use trawl_billing::{Account, Billing, FundsError};
use trawl_crawl::Crawls;
use trawl_crawl::pipeline::Pipelines;
use trawl_engine::page::PageOutcome;
use trawl_model::Terms;
use trawl_plan::{Catalog, ConfiguredPool, PagePlan, RouterMode, TransformPlan};
use trawl_plugins::Registry;
use trawl_store::Store;
use trawl_wire::KnownModel;

/// The server as its HTTP interface sees it.
pub trait Service: Send + Sync + 'static {
    /// Accounts, keys, balances, kept answers.
    fn billing(&self) -> &Billing;

    /// What outlives the process.
    fn store(&self) -> &dyn Store;

    /// Owner of tasks that go on when a caller hangs up.
    fn tasks(&self) -> &TaskTracker;

    /// The configured proxy pools.
    fn pools(&self) -> &[ConfiguredPool];

    /// Requests a minute for each key. Spec S28.
    fn requests_per_minute(&self) -> u32;

    /// Whether the server is on its way out and takes no new work.
    fn is_draining(&self) -> bool;

    /// Counts the requests that are being answered, to the last byte of each answer.
    fn in_flight(&self) -> &TaskTracker;

    /// Begins a run: takes the snapshot of the plugins it keeps to its end. `request_id` names it in the ledger.
    fn begin_run(&self, account: &Arc<Account>, request_id: &str, terms: Terms) -> Arc<dyn Run>;

    /// The crawls of all accounts.
    fn crawls(&self) -> &Crawls;

    /// What pipelines do beside crawling.
    fn pipelines(&self) -> &Pipelines;

    /// The language model that pipelines may ask.
    fn model(&self) -> Option<KnownModel<'_>>;

    /// What `GET /plugins` tells.
    fn plugins(&self) -> serde_json::Value;

    /// Whether this is the operator's own key.
    fn is_admin(&self, key: &str) -> bool;

    /// What `GET /providers` tells.
    fn providers(&self) -> serde_json::Value;

    /// What a request without a `router` object means.
    fn router_default(&self) -> RouterMode;

    /// Whether a real page can be served now.
    fn health(&self) -> BoxFuture<'_, Health>;
}

/// One run: one account, one snapshot of the plugins.
pub trait Run: Send + Sync + 'static {
    /// The plugins of the snapshot, as far as plans have to know them.
    fn catalog(&self) -> &dyn Catalog;

    /// The plugins of the snapshot.
    fn registry(&self) -> Arc<Registry>;

    /// Runs pages, a bounded number at a time; dropping the stream drops the pages in flight.
    ///
    /// # Errors
    /// [`FundsError`] when nothing can be set aside at the start.
    fn scrape(self: Arc<Self>, pages: Vec<PagePlan>, order: Order) -> Result<Outcomes, FundsError>;

    /// Makes outputs of pages handed in; one outcome a source, in their order.
    ///
    /// # Errors
    /// [`FundsError`] when nothing can be set aside at the start.
    fn transform(
        self: Arc<Self>,
        plan: TransformPlan,
    ) -> BoxFuture<'static, Result<Vec<PageOutcome>, FundsError>>;
}

/// Outcomes as they come.
pub type Outcomes = BoxStream<'static, PageOutcome>;

/// The order outcomes come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// That of the plan. The run starts only as many pages ahead as it holds in flight, which bounds what waits in memory.
    Input,
    /// That of finishing.
    Finish,
}

/// Answer of `GET /health`.
#[derive(Clone, Debug)]
pub struct Health {
    /// Whether pages can be served.
    pub is_healthy: bool,
    /// What was tried and how it went, by engine; an object.
    pub report: serde_json::Value,
}
