//! The server: builds all components, connects them, and runs them.

mod admin_key;
mod balance_events;
mod engine;
mod health;
mod memory;
mod run;
mod serve;
mod service;
mod settings;
mod shutdown;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use trawl_api::Health;
use trawl_billing::{Billing, Prices, Tariff};
use trawl_crawl::pipeline::Pipelines;
use trawl_crawl::webhooks::Webhooks;
use trawl_crawl::{Crawls, CrawlsParts};
use trawl_engine::cache::{self, CacheConfig, PageCache};
use trawl_engine::page::PageEngine;
use trawl_model::clock::Clock;
use trawl_model::secret::Secret;
use trawl_net::egress::Egress;
use trawl_plan::ConfiguredPool;
use trawl_plugins::Plugins;
use trawl_render::Renderer;
use trawl_store::sqlite::SqliteStore;
use trawl_store::{DataDir, Disk, Storage, Store};
use trawl_wire::{ConfiguredDefaults, KnownModel};

use crate::config::Config;
use crate::listener::ListenerLimits;
use admin_key::AdminKey;

pub use engine::Engine;
pub use settings::{pooled_keys, prices, seat_prices};

/// Files and directories of the server.
#[derive(Clone, Debug)]
pub struct Paths {
    /// Data directory: database, compiled plugins, control socket.
    pub data: PathBuf,
    /// The plugin manifest.
    pub plugins: PathBuf,
}

/// The complete server.
pub struct App {
    config: Config,
    listener_limits: ListenerLimits,
    pools: Vec<ConfiguredPool>,
    prices: Prices,
    plugins: Arc<Plugins>,
    page_engine: Arc<PageEngine>,
    billing: Billing,
    crawls: Crawls,
    pipelines: Pipelines,
    webhooks: Arc<Webhooks>,
    store: Arc<dyn Store>,
    storage: Storage,
    egress: Arc<Egress>,
    renderer: Option<Arc<Renderer>>,
    tasks: TaskTracker,
    page_cache: Option<Arc<PageCache>>,
    /// Cancelled when the server is to stop.
    stop: CancellationToken,
    /// Cancelled when streaming crawls have to end their responses.
    last_call: CancellationToken,
    in_flight: TaskTracker,
    /// Cancelled when no balance changes any more.
    settled: CancellationToken,
    health: Mutex<Option<(Instant, Health)>>,
    browser_health: Mutex<Option<health::BrowserHealth>>,
    started: Instant,
    data: PathBuf,
    admin_key: AdminKey,
}

impl App {
    /// Locks the data directory and builds all components.
    ///
    /// # Errors
    /// The directory is in use, a plugin does not load, or a setting is invalid.
    pub async fn build(config: Config, paths: &Paths) -> anyhow::Result<Arc<Self>> {
        let tasks = TaskTracker::new();
        let listener_limits = settings::listener(&config)?;
        let prices = prices(&config)?;
        let data = DataDir::create(&paths.data)?;
        let compiled = data.private_folder("compiled")?;
        let store: Arc<dyn Store> = Arc::new(SqliteStore::open(data).await?);
        let admin_key = AdminKey::open(&paths.data)?;
        let storage = open_storage(&config, &store, &paths.data)?;
        let page_cache = open_page_cache(&config, &paths.data, storage.disk()).await?;
        let engine = Engine::build(&config, &paths.plugins, compiled, page_cache.clone()).await?;
        let billing = start_billing(&config, &store, &tasks).await?;
        let webhooks = Webhooks::new(
            store.clone(),
            Clock::wall(),
            settings::webhook_limits(&config),
        );
        let (stop, last_call) = (CancellationToken::new(), CancellationToken::new());
        let pools = settings::pools(&config)?;
        let pipelines = Pipelines::new(Arc::clone(&engine.pages), store.clone(), Clock::wall());
        let plugins = Arc::clone(&engine.plugins);
        let crawls = Crawls::new(CrawlsParts {
            engine: Arc::clone(&engine.pages),
            robots: engine.robots,
            sitemaps: engine.sitemaps,
            store: store.clone(),
            storage: storage.clone(),
            limits: settings::crawl_limits(&config),
            webhooks: Arc::clone(&webhooks),
            billing: billing.clone(),
            tariff: Tariff::PayAsYouGo(prices),
            clock: Clock::wall(),
            data: paths.data.clone(),
            snapshot: Arc::new(move || plugins.snapshot()),
            defaults: ConfiguredDefaults {
                pools: pools.clone(),
                router: settings::router_default(&config),
                model: known_model(&engine.pages).map(Into::into),
            },
            pipelines: pipelines.clone(),
            tasks: tasks.clone(),
            stop: stop.clone(),
            last_call: last_call.clone(),
        });
        Ok(Arc::new(Self {
            pools,
            config,
            listener_limits,
            crawls,
            prices,
            plugins: engine.plugins,
            page_engine: engine.pages,
            egress: engine.egress,
            renderer: engine.renderer,
            billing,
            pipelines,
            webhooks,
            store,
            storage,
            tasks,
            stop,
            last_call,
            in_flight: TaskTracker::new(),
            settled: CancellationToken::new(),
            page_cache,
            health: Mutex::default(),
            browser_health: Mutex::default(),
            started: Instant::now(),
            data: paths.data.clone(),
            admin_key,
        }))
    }

    /// Accounts and balances.
    pub fn billing(&self) -> &Billing {
        &self.billing
    }

    /// The admin key, if this process created it. It is shown once.
    pub fn new_admin_key(&self) -> Option<&Secret> {
        self.admin_key.new.as_ref()
    }

    /// Makes the server stop: it accepts no new work and shuts down.
    pub fn stop(&self) {
        self.stop.cancel();
    }
}

/// Starts billing and stores the prices in the price history if they have changed.
async fn start_billing(
    config: &Config,
    store: &Arc<dyn Store>,
    tasks: &TaskTracker,
) -> anyhow::Result<Billing> {
    let billing = Billing::start(store.clone(), Clock::wall(), tasks)
        .await?
        .with_seat_prices(seat_prices(config)?);
    billing
        .record_prices(&settings::price_list(config)?)
        .await?;
    Ok(billing)
}

/// Measures the disk and applies the limits of what accounts store.
fn open_storage(config: &Config, store: &Arc<dyn Store>, data: &Path) -> anyhow::Result<Storage> {
    let disk = Disk::open(data, settings::floor(config))
        .context("cannot read the free space of the data directory")?;
    let bytes_max = settings::stored_bytes_max(config);
    Ok(Storage::new(store.clone(), Arc::new(disk), bytes_max))
}

/// Opens the page cache unless it is disabled. The server also runs without it if it cannot be
/// opened.
async fn open_page_cache(
    config: &Config,
    data: &Path,
    disk: &Disk,
) -> anyhow::Result<Option<Arc<PageCache>>> {
    if config.cache.size_mib == 0 {
        return Ok(None);
    }
    let config = CacheConfig {
        folder: cache::folder(data),
        bytes_max: config.cache.size_mib.saturating_mul(1 << 20),
        memory_bytes_max: config.cache.memory_mib.saturating_mul(1 << 20),
        is_disk_low: Arc::clone(disk.low_flag()),
        clock: Clock::wall(),
    };
    let opened = tokio::task::spawn_blocking(move || PageCache::open(config)).await?;
    Ok(opened
        .inspect_err(|error| tracing::warn!(error = %error, "cannot open the page cache, pages are not cached"))
        .ok())
}

fn known_model(engine: &PageEngine) -> Option<KnownModel<'_>> {
    engine.ai.as_ref().map(|ai| KnownModel {
        name: ai.name(),
        size: ai.size(),
    })
}

fn plugins_status(plugins: &Plugins) -> serde_json::Value {
    serde_json::to_value(plugins.status()).unwrap_or_default()
}
