//! What the HTTP interface needs from the server: its rooms, what its operator configured, and what
//! it does. The tests of this crate have a [`Service`] of their own.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio_util::task::TaskTracker;

use trawl_billing::{Account, AccountId, Billing, FundsError, Payment};
use trawl_crawl::Crawls;
use trawl_crawl::pipeline::Pipelines;
pub use trawl_engine::scrape::{Order, Outcomes};
use trawl_engine::search::{SearchError, SearchOutcome};
use trawl_model::memory::MemoryBudget;
use trawl_model::outcome::PageOutcome;
use trawl_model::{RequestTrace, Terms};
use trawl_plan::address::Receiver;
use trawl_plan::search::SearchPlan;
use trawl_plan::{Catalog, PagePlan, RefusedPage, TransformPlan};
use trawl_plugins::Registry;
use trawl_store::{Storage, Store};
use trawl_wire::ConfiguredDefaults;

use crate::http::trace::TraceSettings;

/// The rooms of the server that endpoints use.
#[derive(Clone)]
pub struct Rooms {
    /// Accounts, keys, balances, stored responses of idempotent requests.
    pub billing: Billing,
    /// Persistent storage.
    pub store: Arc<dyn Store>,
    /// Whether accounts may store more.
    pub storage: Storage,
    /// The crawls of all accounts.
    pub crawls: Crawls,
    /// What pipelines do in addition to crawling.
    pub pipelines: Pipelines,
    /// The memory that pages and answers in flight may hold.
    pub memory: Arc<MemoryBudget>,
    /// Owns tasks that continue when a client disconnects.
    pub tasks: TaskTracker,
    /// Counts the requests in flight, each until the last byte of its response is sent.
    pub in_flight: TaskTracker,
}

/// What the operator configured.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What applies where a request sets nothing: proxy pools, providers, the model.
    pub defaults: ConfiguredDefaults,
    /// Rate limit of each account, in requests per minute. Spec S28.
    pub requests_per_minute: u32,
    /// Lists and statements that an account may read at once.
    pub queries_per_account: usize,
    /// Whether `/metrics` needs no key on connections from the server's own machine.
    pub metrics_without_key: bool,
    /// Where trace context is sent.
    pub trace: TraceSettings,
}

/// What the server does for its HTTP interface.
pub trait Service: Send + Sync + 'static {
    /// Browser tabs that an account may have at once, and how many it has.
    fn tabs(&self, account: &AccountId) -> (usize, usize);

    /// Whether the server is shutting down and accepts no new work.
    fn is_draining(&self) -> bool;

    /// The plugins in effect now.
    fn snapshot(&self) -> Snapshot;

    /// Runs pages, a limited number at a time. Dropping the stream cancels the pages in flight.
    ///
    /// # Errors
    /// [`FundsError`] if nothing can be reserved at the start.
    fn scrape(
        &self,
        run: NewRun,
        pages: Vec<Result<PagePlan, RefusedPage>>,
        order: Order,
    ) -> Result<Outcomes, FundsError>;

    /// Whether the page cache has a page that any caller would be answered with.
    fn is_cached(&self, plan: &PagePlan) -> bool;

    /// Transforms the given sources; returns one outcome per source, in the same order.
    ///
    /// # Errors
    /// [`FundsError`] if nothing can be reserved at the start.
    fn transform(
        &self,
        run: NewRun,
        plan: TransformPlan,
    ) -> BoxFuture<'static, Result<Vec<PageOutcome>, FundsError>>;

    /// Searches the web with the configured search services. A search whose service is asked goes
    /// on to its end although the future is dropped.
    ///
    /// # Errors
    /// [`SearchError`]: none is configured, none answers, or the search cannot be paid.
    fn search(
        &self,
        run: NewRun,
        plan: SearchPlan,
    ) -> BoxFuture<'static, Result<SearchOutcome, SearchError>>;

    /// Checks that events may be sent to a URL; the error is for its owner.
    fn check_receiver<'a>(&'a self, receiver: &'a Receiver) -> BoxFuture<'a, Result<(), String>>;

    /// Which plugins are in effect: their options change when this number does.
    fn plugins_generation(&self) -> u64;

    /// Response of `GET /plugins`.
    fn plugins(&self) -> serde_json::Value;

    /// Whether this is the admin key.
    fn is_admin(&self, key: &str) -> bool;

    /// The public key that requests to sites are signed with; `None` if they are not.
    fn key_directory(&self) -> Option<KeyDirectory>;

    /// Response of `GET /providers` to the admin key.
    fn providers(&self) -> serde_json::Value;

    /// Response of `GET /providers` to an account's key.
    fn offered_providers(&self) -> serde_json::Value;

    /// Checks that a page can be served now.
    fn health(&self) -> BoxFuture<'_, Health>;
}

/// The directory of the server's public keys, signed.
#[derive(Clone, Debug)]
pub struct KeyDirectory {
    /// A set of JSON Web Keys.
    pub document: String,
    /// Value of `Signature-Input`.
    pub signature_input: String,
    /// Value of `Signature`.
    pub signature: String,
    /// How long it may be cached.
    pub age: Duration,
}

/// The plugins in effect at one moment: a run has the same from its plan to its last page.
#[derive(Clone)]
pub struct Snapshot {
    /// What planning needs to know of them.
    pub catalog: Arc<dyn Catalog + Send + Sync>,
    /// The plugins.
    pub registry: Arc<Registry>,
}

/// A run to begin, once its request is planned.
pub struct NewRun {
    /// The account that pays.
    pub account: Arc<Account>,
    /// The id of its request, by which the ledger identifies it.
    pub request_id: String,
    /// The terms it is billed on.
    pub terms: Terms,
    /// Under a payment each of its pages is charged once, however often the request is tried.
    pub payment: Option<Payment>,
    /// The plugins that its plan was made with.
    pub registry: Arc<Registry>,
    /// The trace that its request is part of.
    pub trace: Option<RequestTrace>,
}

/// Result of `GET /health`.
#[derive(Clone, Debug)]
pub struct Health {
    /// Whether pages can be served.
    pub is_healthy: bool,
    /// The result of each engine, as a JSON object.
    pub report: serde_json::Value,
}
