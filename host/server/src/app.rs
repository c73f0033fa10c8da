//! App: the only place where rooms are built and joined.

mod admin_key;
mod door;
mod health;
mod notices;
mod run;
mod settings;
mod stop;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context;
use futures_util::future::BoxFuture;
use tokio::net::TcpListener;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use admin_key::AdminKey;
use door::EgressDoor;
use run::AppRun;

use crate::config::Config;
use trawl_api::{Health, Run, Service};
use trawl_billing::{Account, Billing, Prices, SeatPrices, Tariff};
use trawl_control::ControlHandler;
use trawl_crawl::pipeline::Pipelines;
use trawl_crawl::webhooks::Webhooks;
use trawl_crawl::{Crawls, CrawlsParts};
use trawl_engine::ai::Ai;
use trawl_engine::cache::{self, CacheConfig, PageCache};
use trawl_engine::extract::Workers;
use trawl_engine::page::{PageEngine, Payer};
use trawl_engine::providers::{PooledKeys, Providers};
use trawl_engine::routing::Routing;
use trawl_model::Terms;
use trawl_model::clock::Clock;
use trawl_model::secret::Secret;
use trawl_net::egress::Egress;
use trawl_net::fetch::{FetchConfig, Fetcher, Get, PoliteGet};
use trawl_net::politeness::{Politeness, PolitenessConfig};
use trawl_net::robots::Robots;
use trawl_net::sitemap::Sitemaps;
use trawl_plan::{ConfiguredPool, RouterMode};
use trawl_plugins::{Plugins, PluginsConfig};
use trawl_render::Renderer;
use trawl_store::sqlite::SqliteStore;
use trawl_store::{DataDir, Store};
use trawl_wire::KnownModel;

/// Where the server keeps and finds its things.
#[derive(Clone, Debug)]
pub struct Paths {
    /// Data directory: database, compiled plugins, control socket.
    pub data: PathBuf,
    /// The plugin manifest.
    pub plugins: PathBuf,
}

/// The operator's credentials at providers, as the configuration tells where to find them.
///
/// # Errors
/// The file of credentials cannot be read, or is open to others.
pub fn pooled_keys(config: &Config) -> anyhow::Result<PooledKeys> {
    settings::providers(config).context("providers cannot be set up")
}

/// The prices of the configuration.
///
/// # Errors
/// One of them is not a price.
pub fn prices(config: &Config) -> anyhow::Result<Prices> {
    settings::prices(config)
}

/// The prices of seats of the configuration.
///
/// # Errors
/// One of them is not a price, or their steps make no sense.
pub fn seat_prices(config: &Config) -> anyhow::Result<SeatPrices> {
    settings::seat_prices(config)
}

/// The whole server, joined.
pub struct App {
    config: Config,
    pools: Vec<ConfiguredPool>,
    prices: Prices,
    plugins: Arc<Plugins>,
    rooms: Arc<PageEngine>,
    billing: Billing,
    crawls: Crawls,
    pipelines: Pipelines,
    webhooks: Arc<Webhooks>,
    store: Arc<dyn Store>,
    egress: Arc<Egress>,
    renderer: Option<Arc<Renderer>>,
    tasks: TaskTracker,
    pages: Option<Arc<PageCache>>,
    stop: CancellationToken,
    last_call: CancellationToken,
    in_flight: TaskTracker,
    /// Set when nothing changes any balance any more.
    settled: CancellationToken,
    health: Mutex<Option<(Instant, Health)>>,
    browser_health: Mutex<Option<(Instant, serde_json::Value)>>,
    started: Instant,
    data: PathBuf,
    admin_key: AdminKey,
}

/// What serves pages without accounts: for the command line's `scrape` and, inside [`App`], for the server.
pub struct Engine {
    /// The plugins.
    pub plugins: Arc<Plugins>,
    /// The rooms that serve a page.
    pub rooms: Arc<PageEngine>,
    /// What the robots.txt files say.
    pub robots: Arc<Robots>,
    /// What the sitemaps name.
    pub sitemaps: Arc<Sitemaps>,
    egress: Arc<Egress>,
    renderer: Option<Arc<Renderer>>,
}

impl Engine {
    /// Builds the rooms that serve pages. Compiled plugins are kept in `compiled`, fetched pages in `pages`.
    ///
    /// # Errors
    /// A setting that makes no sense, or a plugin that does not load.
    pub async fn build(
        config: &Config,
        manifest: &Path,
        compiled: PathBuf,
        pages: Option<Arc<PageCache>>,
    ) -> anyhow::Result<Self> {
        let egress =
            Egress::new(settings::egress(config)?).context("the way out cannot be set up")?;
        let fetch = FetchConfig {
            user_agent: config
                .egress
                .user_agent
                .clone()
                .unwrap_or(FetchConfig::default().user_agent),
            ..FetchConfig::default()
        };
        let politeness = PolitenessConfig {
            in_flight_per_host: config.limits.connections_per_host,
        };
        let fetcher = Fetcher::new(Arc::clone(&egress), fetch);
        let politeness = Politeness::new(&politeness);
        let get: Arc<dyn Get> = Arc::new(PoliteGet::new(fetcher.clone(), Arc::clone(&politeness)));
        let robots = Arc::new(Robots::new(
            Arc::clone(&get),
            settings::robots_token(config)?,
        ));
        let sitemaps = Arc::new(Sitemaps::new(get, Arc::clone(&robots)));
        let keys = pooled_keys(config)?;
        let providers = Arc::new(Providers::new(fetcher.clone(), keys));
        let ai = settings::ai(config)?.map(|config| Arc::new(Ai::new(config, fetcher.clone())));
        let mut routing = Routing::new(fetcher, politeness, Arc::clone(&robots))
            .with_cache(pages)
            .with_providers(providers);
        let door = EgressDoor(Arc::clone(&egress));
        let renderer =
            settings::browser(config).map(|config| Renderer::new(config, Arc::new(door)));
        let renderer = renderer.map(Arc::new);
        if let Some(renderer) = &renderer {
            routing = routing.with_browser(Arc::clone(renderer));
        }
        let manifest =
            std::path::absolute(manifest).context("the plugin manifest has no absolute path")?;
        let cache_dir = std::path::absolute(compiled)
            .context("the folder for compiled plugins has no absolute path")?;
        let load = move || {
            Plugins::start(PluginsConfig {
                manifest,
                cache_dir,
            })
        };
        let plugins = tokio::task::spawn_blocking(load)
            .await?
            .context("the plugins cannot be loaded")?;
        let rooms = Arc::new(PageEngine {
            routing,
            workers: Workers::new()
                .with_kept_outputs(config.cache.outputs_mib.saturating_mul(1 << 20)),
            ai,
        });
        Ok(Self {
            plugins,
            rooms,
            robots,
            sitemaps,
            egress,
            renderer,
        })
    }

    /// Ends the browser, if one runs.
    pub async fn close(&self) {
        if let Some(renderer) = &self.renderer {
            renderer.close().await;
        }
    }
}

impl App {
    /// Takes the data directory and builds every room.
    ///
    /// # Errors
    /// What kept a room from being built: a directory in use, a plugin that does not load, a setting that makes no sense.
    pub async fn build(config: Config, places: &Paths) -> anyhow::Result<Arc<Self>> {
        let tasks = TaskTracker::new();
        let prices = settings::prices(&config)?;
        let seat_prices = settings::seat_prices(&config)?;
        let store: Arc<dyn Store> =
            Arc::new(SqliteStore::open(DataDir::create(&places.data)?).await?);
        let admin_key = AdminKey::open(&places.data)?;
        let pages = pages(&config, &places.data).await?;
        let compiled = places.data.join("compiled");
        let engine = Engine::build(&config, &places.plugins, compiled, pages.clone()).await?;
        let billing = Billing::start(Arc::clone(&store), Clock::wall(), &tasks)
            .await?
            .with_seat_prices(seat_prices);
        billing.keep_prices(&settings::price_list(&config)?).await?;
        let webhooks = Webhooks::new(Arc::clone(&store), Clock::wall());
        let stop = CancellationToken::new();
        let last_call = CancellationToken::new();
        let pools = settings::pools(&config)?;
        let known_pools = pools.clone();
        let router = settings::router_default(&config);
        let snapshot = Arc::clone(&engine.plugins);
        let model = Arc::clone(&engine.rooms);
        let pipelines =
            Pipelines::new(Arc::clone(&engine.rooms), Arc::clone(&store), Clock::wall());
        let at_end = pipelines.clone();
        let crawls = Crawls::new(CrawlsParts {
            rooms: Arc::clone(&engine.rooms),
            robots: engine.robots,
            sitemaps: engine.sitemaps,
            store: Arc::clone(&store),
            webhooks: Arc::clone(&webhooks),
            billing: billing.clone(),
            tariff: Tariff::PayAsYouGo(prices),
            clock: Clock::wall(),
            data: places.data.clone(),
            snapshot: Arc::new(move || snapshot.snapshot()),
            write_entry: trawl_wire::write_entry,
            replan: Arc::new(move |request, record, registry| {
                let ways = trawl_wire::RequestDefaults {
                    pools: &known_pools,
                    router,
                    terms: record.terms,
                    model: known_model(&model),
                };
                trawl_wire::crawl_plan(request, &record.verb, registry, ways)
            }),
            at_end: Arc::new(move |crawls, ending| {
                let pipelines = at_end.clone();
                Box::pin(async move { pipelines.at_end(crawls, ending).await })
            }),
            tasks: tasks.clone(),
            stop: stop.clone(),
            last_call: last_call.clone(),
        });
        Ok(Arc::new(Self {
            pools,
            config,
            crawls,
            prices,
            plugins: engine.plugins,
            rooms: engine.rooms,
            egress: engine.egress,
            renderer: engine.renderer,
            billing,
            pipelines,
            webhooks,
            store,
            tasks,
            stop,
            last_call,
            in_flight: TaskTracker::new(),
            settled: CancellationToken::new(),
            pages,
            health: Mutex::default(),
            browser_health: Mutex::default(),
            started: Instant::now(),
            data: places.data.clone(),
            admin_key,
        }))
    }

    /// The money.
    pub fn billing(&self) -> &Billing {
        &self.billing
    }

    /// The operator's own key, when this process made it: it is shown once.
    pub fn new_admin_key(&self) -> Option<&Secret> {
        self.admin_key.fresh.as_ref()
    }

    /// Tells the server to take no new work and to end.
    pub fn stop(&self) {
        self.stop.cancel();
    }

    /// Serves at `listener` until [`Self::stop`]; then answers 503 for as long as requests are in flight, and closes the store.
    ///
    /// # Errors
    /// When the control socket cannot be made or the listener fails.
    pub async fn serve(self: Arc<Self>, listener: TcpListener) -> anyhow::Result<()> {
        self.egress.refuse_listener(listener.local_addr()?);
        let plugins = Arc::clone(&self.plugins);
        let desk = ControlHandler {
            billing: self.billing.clone(),
            plugins: Arc::new(move || status(&plugins)),
        };
        trawl_control::listen(&self.data, desk, self.stop.clone(), &self.tasks)?;
        self.tasks
            .spawn(Arc::clone(&self.plugins).watch(self.stop.clone()));
        let webhooks = Arc::clone(&self.webhooks);
        self.tasks
            .spawn(webhooks.run(Arc::clone(&self.egress), self.stop.clone()));
        self.tasks.spawn(notices::tell(
            self.billing.clone(),
            Arc::clone(&self.webhooks),
            self.settled.clone(),
        ));
        let (billing, stop) = (self.billing.clone(), self.stop.clone());
        self.tasks.spawn(async move {
            stop.run_until_cancelled(billing.keep_key_uses()).await;
        });
        // First of all: crawls that go on under a plan need its slots.
        self.billing.renew_due().await;
        let (billing, stop) = (self.billing.clone(), self.stop.clone());
        self.tasks.spawn(async move {
            stop.run_until_cancelled(billing.keep_seats()).await;
        });
        self.crawls
            .recover()
            .await
            .context("the crawls of the last process cannot be taken up")?;
        let stop = self.stop.clone();
        self.tasks.spawn(async move {
            stop.run_until_cancelled(trawl_telemetry::keep_up()).await;
        });
        let service = Arc::clone(&self) as Arc<dyn Service>;
        let router = trawl_api::router(service).into_make_service_with_connect_info::<SocketAddr>();
        let drained = CancellationToken::new();
        let serving =
            axum::serve(listener, router).with_graceful_shutdown(drained.clone().cancelled_owned());
        let draining = async {
            let left = self.drain().await;
            drained.cancel();
            // Ends early, with the last connection.
            tokio::time::sleep(left).await;
        };
        tokio::select! {
            served = serving.into_future() => served?,
            () = draining => {}
        }
        self.close().await;
        Ok(())
    }
}

impl Service for App {
    fn billing(&self) -> &Billing {
        &self.billing
    }

    fn store(&self) -> &dyn Store {
        &*self.store
    }

    fn tasks(&self) -> &TaskTracker {
        &self.tasks
    }

    fn pools(&self) -> &[ConfiguredPool] {
        &self.pools
    }

    fn requests_per_minute(&self) -> u32 {
        self.config.limits.requests_per_minute
    }

    fn is_draining(&self) -> bool {
        self.stop.is_cancelled()
    }

    fn in_flight(&self) -> &TaskTracker {
        &self.in_flight
    }

    fn begin_run(&self, account: &Arc<Account>, request_id: &str, terms: Terms) -> Arc<dyn Run> {
        let tariff = match terms {
            Terms::PayAsYouGo => Tariff::PayAsYouGo(self.prices),
            Terms::Unlimited => Tariff::FlatRate,
        };
        let in_flight = self.config.limits.pages_in_flight.max(1);
        let payer = Payer {
            billing: self.billing.clone(),
            account: account.id.clone(),
            run_id: request_id.to_owned(),
            tariff,
        };
        Arc::new(AppRun::new(
            Arc::clone(&self.rooms),
            self.plugins.snapshot(),
            payer,
            in_flight,
        ))
    }

    fn crawls(&self) -> &Crawls {
        &self.crawls
    }

    fn pipelines(&self) -> &Pipelines {
        &self.pipelines
    }

    fn model(&self) -> Option<KnownModel<'_>> {
        known_model(&self.rooms)
    }

    fn plugins(&self) -> serde_json::Value {
        status(&self.plugins)
    }

    fn is_admin(&self, key: &str) -> bool {
        self.admin_key.is(key)
    }

    fn providers(&self) -> serde_json::Value {
        let providers = self.rooms.routing.providers();
        let status = providers.map(|providers| providers.status(&self.plugins.snapshot()));
        serde_json::json!({ "providers": status.unwrap_or_default() })
    }

    fn router_default(&self) -> RouterMode {
        settings::router_default(&self.config)
    }

    fn health(&self) -> BoxFuture<'_, Health> {
        Box::pin(self.checked_health())
    }
}

/// Opens the page cache unless it is turned off. One that cannot be opened is no reason not to serve.
async fn pages(config: &Config, data: &Path) -> anyhow::Result<Option<Arc<PageCache>>> {
    if config.cache.size_mib == 0 {
        return Ok(None);
    }
    let config = CacheConfig {
        folder: cache::folder(data),
        bytes_max: config.cache.size_mib.saturating_mul(1 << 20),
        memory_bytes_max: config.cache.memory_mib.saturating_mul(1 << 20),
        clock: Clock::wall(),
    };
    let opened = tokio::task::spawn_blocking(move || PageCache::open(config)).await?;
    Ok(opened
        .inspect_err(|error| tracing::warn!(error = %error, "the page cache cannot be opened; pages are not kept"))
        .ok())
}

fn known_model(rooms: &PageEngine) -> Option<KnownModel<'_>> {
    rooms.ai.as_ref().map(|ai| KnownModel {
        name: ai.name(),
        size: ai.size(),
    })
}

fn status(plugins: &Plugins) -> serde_json::Value {
    serde_json::to_value(plugins.status()).unwrap_or_default()
}
