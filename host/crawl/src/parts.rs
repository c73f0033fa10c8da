//! What crawls are built from.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use trawl_billing::{Billing, Tariff};
use trawl_engine::page::PageEngine;
use trawl_model::clock::Clock;
use trawl_net::robots::Robots;
use trawl_net::sitemap::Sitemaps;
use trawl_plugins::Registry;
use trawl_store::{CrawlStore, PageLogs, Storage};
use trawl_wire::ConfiguredDefaults;

use super::limits::CrawlLimits;
use super::pipeline::Pipelines;
use super::webhooks::Webhooks;

/// What crawls are built from.
pub struct CrawlsParts {
    /// Fetches and extracts pages.
    pub engine: Arc<PageEngine>,
    /// The robots.txt rules of hosts.
    pub robots: Arc<Robots>,
    /// Reads sitemaps.
    pub sitemaps: Arc<Sitemaps>,
    /// Stores crawls, their URLs and their pages.
    pub store: Arc<dyn CrawlStore>,
    /// Whether accounts may store more, and the free space of the disk.
    pub storage: Storage,
    /// How many crawls an account may have at once.
    pub limits: CrawlLimits,
    /// Delivers the events of crawls.
    pub webhooks: Arc<Webhooks>,
    /// Charges pages to accounts.
    pub billing: Billing,
    /// Prices of crawls that are paid by the page.
    pub tariff: Tariff,
    /// The clock.
    pub clock: Clock,
    /// The page logs.
    pub logs: PageLogs,
    /// Returns the plugins in effect.
    pub snapshot: Arc<dyn Fn() -> Arc<Registry> + Send + Sync>,
    /// Configuration that stored requests are planned with when their crawls continue.
    pub defaults: ConfiguredDefaults,
    /// Stores the contacts of crawls that extract them.
    pub pipelines: Pipelines,
    /// Owner of the crawls' tasks.
    pub tasks: TaskTracker,
    /// Cancelled when the server stops: background crawls pause.
    pub stop: CancellationToken,
    /// Cancelled shortly before the drain period ends: streaming crawls end.
    pub drain_deadline: CancellationToken,
}
