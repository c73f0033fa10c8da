//! The server: builds all components, connects them, and runs them.

mod admin_key;
mod balance_events;
mod engine;
mod foundation;
mod health;
mod memory;
mod nodes;
mod serve;
mod service;
mod settings;
mod shutdown;
mod spans;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use tokio::net::TcpListener;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use trawl_api::Health;
use trawl_billing::{Billing, Prices, Tariff};
use trawl_crawl::pipeline::Pipelines;
use trawl_crawl::webhooks::Webhooks;
use trawl_crawl::{Crawls, CrawlsParts};
use trawl_engine::cache::PageCache;
use trawl_engine::extract::remote::RemoteWorkers;
use trawl_engine::page::PageEngine;
use trawl_model::clock::Clock;
use trawl_model::secret::Secret;
use trawl_net::egress::Egress;
use trawl_net::signatures::Signer;
use trawl_plugins::Plugins;
use trawl_render::Renderer;
use trawl_store::{Storage, Store};
use trawl_wire::{ConfiguredDefaults, KnownModel};

use crate::config::{Config, StoreSettings};
use crate::listener::{self, ListenerLimits};
use admin_key::AdminKey;
use foundation::Foundation;
use nodes::Standby;

pub use engine::{EngineParts, report_compiling};
pub(crate) use nodes::Waiting;
pub use settings::{pooled_keys, pools, prices, router_defaults, seat_prices};
pub(crate) use spans::start_logs;

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
    /// What applies where a request sets nothing.
    defaults: ConfiguredDefaults,
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
    /// Signs requests to sites, if the operator has a key.
    signer: Option<Arc<Signer>>,
    renderer: Option<Arc<Renderer>>,
    tasks: TaskTracker,
    page_cache: Option<Arc<PageCache>>,
    /// Nodes that extract pages, of a server whose database others wait for.
    remote: Option<Arc<RemoteWorkers>>,
    /// Cancelled when the server is to stop.
    stop: CancellationToken,
    /// Cancelled when streaming crawls have to end their responses.
    drain_deadline: CancellationToken,
    /// Requests in flight, and their pages.
    in_flight: TaskTracker,
    /// Cancelled when no balance changes any more.
    settled: CancellationToken,
    health: Mutex<Option<(Instant, Health)>>,
    browser_health: Mutex<Option<health::BrowserHealth>>,
    started: Instant,
    admin_key: AdminKey,
}

impl App {
    /// Locks the data directory, listens on the control socket, and builds all components.
    ///
    /// # Errors
    /// The directory is in use, a plugin does not load, or a setting is invalid.
    pub async fn build(config: Config, paths: &Paths) -> anyhow::Result<Arc<Self>> {
        Self::build_in_turn(config, paths, &Waiting::default()).await
    }

    /// The same, where a standby says in `waiting` what it learns while it waits.
    ///
    /// # Errors
    /// As [`Self::build`].
    pub(crate) async fn build_in_turn(
        config: Config,
        paths: &Paths,
        waiting: &Waiting,
    ) -> anyhow::Result<Arc<Self>> {
        let foundation = Foundation::open(config, paths, waiting).await?;
        foundation.start_control()?;
        settings::identity::note_contact(&foundation.config);
        Self::on(foundation, paths).await
    }

    /// The same without a control socket, for a command that has a data directory of its own. Its
    /// store is there as well, whatever the configuration says of the server's.
    ///
    /// # Errors
    /// As [`Self::build`].
    pub async fn build_alone(config: Config, paths: &Paths) -> anyhow::Result<Arc<Self>> {
        let config = Config {
            store: StoreSettings::default(),
            ..config
        };
        let foundation = Foundation::open(config, paths, &Waiting::default()).await?;
        Self::on(foundation, paths).await
    }

    async fn on(mut foundation: Foundation, paths: &Paths) -> anyhow::Result<Arc<Self>> {
        let engine = foundation.build_engine(&paths.plugins).await?;
        let parts = crawls_parts(&foundation, &engine)?;
        let Foundation {
            config,
            listener_limits,
            prices,
            store,
            storage,
            admin_key,
            page_cache,
            billing,
            tasks,
            stop,
            remote,
            ..
        } = foundation;
        Ok(Arc::new(Self {
            defaults: parts.defaults.clone(),
            pipelines: parts.pipelines.clone(),
            webhooks: Arc::clone(&parts.webhooks),
            drain_deadline: parts.drain_deadline.clone(),
            crawls: Crawls::new(parts),
            config,
            listener_limits,
            prices,
            plugins: engine.plugins,
            page_engine: engine.pages,
            egress: engine.egress,
            signer: engine.signer,
            renderer: engine.renderer,
            billing,
            store,
            storage,
            tasks,
            stop,
            in_flight: TaskTracker::new(),
            settled: CancellationToken::new(),
            page_cache,
            remote,
            health: Mutex::default(),
            browser_health: Mutex::default(),
            started: Instant::now(),
            admin_key,
        }))
    }

    /// Sends every request at `listener` to the server that has the database, and extracts pages
    /// for that one, until `ended`.
    ///
    /// # Errors
    /// A setting of the listener is invalid.
    pub(crate) fn stand_by(
        config: &Config,
        listener: TcpListener,
        waiting: &Waiting,
        ended: CancellationToken,
    ) -> anyhow::Result<impl Future<Output = ()> + Send + use<>> {
        let limits = settings::listener(config)?;
        let log = settings::access_log(config);
        let configured = config.store.address.as_deref();
        let address = nodes::own_address(configured, listener.local_addr().ok());
        let standby = Standby::new(waiting);
        let router = standby.router();
        let serving = listener::serve(listener, router, limits, log, ended.clone());
        let working = standby.work(address, ended);
        Ok(async move {
            tokio::join!(serving, working);
        })
    }

    /// Accounts and balances.
    pub fn billing(&self) -> &Billing {
        &self.billing
    }

    /// The crawls of all accounts.
    pub fn crawls(&self) -> &Crawls {
        &self.crawls
    }

    /// What applies where a request sets nothing: proxy pools, providers, the model.
    pub fn defaults(&self) -> &ConfiguredDefaults {
        &self.defaults
    }

    /// The admin key, if it had not been used when the process started.
    pub fn unused_admin_key(&self) -> Option<&Secret> {
        self.admin_key.unused.as_ref()
    }

    /// Makes the server stop: it accepts no new work and shuts down.
    pub fn stop(&self) {
        self.stop.cancel();
    }
}

/// What crawls on this engine are built from.
fn crawls_parts(foundation: &Foundation, engine: &EngineParts) -> anyhow::Result<CrawlsParts> {
    let config = &foundation.config;
    let store = &foundation.store;
    let webhooks = Webhooks::new(
        store.clone(),
        Clock::wall(),
        settings::webhook_limits(config),
    );
    let pipelines = Pipelines::new(Arc::clone(&engine.pages), store.clone(), Clock::wall());
    let plugins = Arc::clone(&engine.plugins);
    Ok(CrawlsParts {
        engine: Arc::clone(&engine.pages),
        robots: Arc::clone(&engine.robots),
        sitemaps: Arc::clone(&engine.sitemaps),
        store: store.clone(),
        storage: foundation.storage.clone(),
        limits: settings::crawl_limits(config),
        webhooks,
        billing: foundation.billing.clone(),
        tariff: Tariff::PayAsYouGo(foundation.prices),
        clock: Clock::wall(),
        logs: foundation.logs.clone(),
        snapshot: Arc::new(move || plugins.snapshot()),
        defaults: ConfiguredDefaults {
            pools: settings::pools(config)?,
            router: settings::router_defaults(config)?,
            model: known_model(&engine.pages).map(Into::into),
        },
        pipelines,
        tasks: foundation.tasks.clone(),
        stop: foundation.stop.clone(),
        drain_deadline: CancellationToken::new(),
    })
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
