//! What the server needs before its plugins are loaded: the locked data directory, the store,
//! accounts, and the control socket.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use anyhow::Context;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use trawl_billing::{Billing, Prices};
use trawl_control::ControlHandler;
use trawl_engine::cache::{self, CacheConfig, PageCache};
use trawl_engine::extract::remote::RemoteWorkers;
use trawl_model::clock::Clock;
use trawl_plugins::Plugins;
use trawl_store::{DataDir, Disk, Objects, PageLogs, Storage, Store};

use super::admin_key::AdminKey;
use super::engine::{EngineParts, load_plugins};
use super::nodes::{HttpTransport, Waiting};
use super::{Paths, plugins_status, settings};
use crate::config::Config;
use crate::listener::ListenerLimits;

/// The first half of the server.
pub(super) struct Foundation {
    pub(super) config: Config,
    pub(super) listener_limits: ListenerLimits,
    pub(super) prices: Prices,
    pub(super) store: Arc<dyn Store>,
    pub(super) logs: PageLogs,
    pub(super) storage: Storage,
    pub(super) admin_key: AdminKey,
    pub(super) page_cache: Option<Arc<PageCache>>,
    pub(super) billing: Billing,
    pub(super) tasks: TaskTracker,
    /// Cancelled when the server is to stop.
    pub(super) stop: CancellationToken,
    pub(super) data: PathBuf,
    compiled: PathBuf,
    /// Nodes that extract pages, of a server whose database others wait for.
    pub(super) remote: Option<Arc<RemoteWorkers>>,
    /// Set when the plugins are loaded.
    plugins: Arc<OnceLock<Arc<Plugins>>>,
    /// The plugins of a standby, which loads them while it waits.
    loading: Option<JoinHandle<anyhow::Result<Arc<Plugins>>>>,
}

impl Foundation {
    /// Locks the data directory, opens the store, and starts billing. A standby loads its plugins
    /// while it waits for the store, and says in `waiting` what it learns.
    ///
    /// # Errors
    /// The directory is in use, or a setting is invalid; of a standby, a plugin does not load.
    pub(super) async fn open(
        config: Config,
        paths: &Paths,
        waiting: &Waiting,
    ) -> anyhow::Result<Self> {
        let tasks = TaskTracker::new();
        let listener_limits = settings::listener(&config)?;
        let prices = settings::prices(&config)?;
        let store_url = settings::store_url(&config)?;
        let data = DataDir::create(&paths.data)?;
        let compiled = data.private_folder("compiled")?;
        let mut loading = None;
        let store = match &store_url {
            Some(url) if config.store.standby => {
                let learned = waiting.plugins.clone();
                loading = Some(tokio::spawn(load_early(
                    paths.plugins.clone(),
                    compiled.clone(),
                    learned,
                )));
                trawl_store::open_when_free(data, url, &waiting.serving).await?
            }
            url => trawl_store::open(data, url.as_ref()).await?,
        };
        let remote = store.cluster_key().and_then(|key| HttpTransport::new(&key));
        let remote = remote.map(|transport| Arc::new(RemoteWorkers::new(Box::new(transport))));
        let logs = open_logs(&config, &store, &paths.data)?;
        let admin_key = AdminKey::open(&paths.data)?;
        let storage = open_storage(&config, &store, &paths.data)?;
        let page_cache = open_page_cache(&config, &paths.data, storage.disk()).await?;
        let billing = start_billing(&config, &store, &tasks).await?;
        Ok(Self {
            config,
            listener_limits,
            prices,
            store,
            logs,
            storage,
            admin_key,
            page_cache,
            billing,
            tasks,
            stop: CancellationToken::new(),
            data: paths.data.clone(),
            compiled,
            remote,
            plugins: Arc::default(),
            loading,
        })
    }

    /// Listens on the control socket, so that commands of the operator are carried out also while
    /// plugins are compiled.
    ///
    /// # Errors
    /// The socket cannot be created.
    pub(super) fn start_control(&self) -> anyhow::Result<()> {
        let plugins = Arc::clone(&self.plugins);
        let handler = ControlHandler {
            billing: self.billing.clone(),
            plugins: Arc::new(move || plugins.get().map(|plugins| plugins_status(plugins))),
        };
        Ok(trawl_control::listen(
            &self.data,
            handler,
            self.stop.clone(),
            &self.tasks,
        )?)
    }

    /// Builds the engine. If that fails, everything is closed.
    ///
    /// # Errors
    /// A setting is invalid, or a plugin does not load.
    pub(super) async fn build_engine(&mut self, manifest: &Path) -> anyhow::Result<EngineParts> {
        let built = self.engine_parts(manifest).await;
        match &built {
            // It is set once: a foundation has one engine.
            Ok(engine) => drop(self.plugins.set(Arc::clone(&engine.plugins))),
            Err(_) => self.close().await,
        }
        built
    }

    async fn engine_parts(&mut self, manifest: &Path) -> anyhow::Result<EngineParts> {
        let plugins = match self.loading.take() {
            Some(loading) => loading.await??,
            None => load_plugins(manifest, self.compiled.clone()).await?,
        };
        let (page_cache, remote) = (self.page_cache.clone(), self.remote.clone());
        EngineParts::with_plugins(&self.config, plugins, page_cache, remote)
    }

    async fn close(&self) {
        self.stop.cancel();
        self.billing.close().await;
        self.tasks.close();
        self.tasks.wait().await;
        self.store.close().await;
    }
}

/// Loads the plugins of a standby, which extracts pages from then on. A plugin that does not load
/// is said at once, not when the standby takes over.
async fn load_early(
    manifest: PathBuf,
    compiled: PathBuf,
    learned: watch::Sender<Option<Arc<Plugins>>>,
) -> anyhow::Result<Arc<Plugins>> {
    let plugins = load_plugins(&manifest, compiled)
        .await
        .inspect_err(|error| {
            tracing::error!(
                error = format!("{error:#}"),
                "this server extracts no pages, and cannot take over"
            );
        })?;
    learned.send_replace(Some(Arc::clone(&plugins)));
    Ok(plugins)
}

/// Starts billing and stores the prices in the price history if they have changed.
async fn start_billing(
    config: &Config,
    store: &Arc<dyn Store>,
    tasks: &TaskTracker,
) -> anyhow::Result<Billing> {
    let billing = Billing::start(store.clone(), Clock::wall(), tasks)
        .await?
        .with_seat_prices(settings::seat_prices(config)?);
    billing
        .record_prices(&settings::price_list(config)?)
        .await?;
    Ok(billing)
}

/// The page logs: in an object store if there is one, otherwise files of the data directory.
fn open_logs(config: &Config, store: &Arc<dyn Store>, data: &Path) -> anyhow::Result<PageLogs> {
    let Some(url) = settings::objects_url(config)? else {
        return Ok(PageLogs::in_files(data));
    };
    let segments = Arc::clone(store).segments();
    let segments = segments
        .context("`[store] objects` needs a PostgreSQL database: name it by `[store] url`")?;
    let objects = Objects::open(&url).with_context(|| format!("cannot use `{url}`"))?;
    Ok(PageLogs::in_segments(
        data,
        objects,
        segments,
        Clock::wall(),
    ))
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
        bytes_max: settings::mebibytes(config.cache.size_mib),
        memory_bytes_max: settings::mebibytes(config.cache.memory_mib),
        is_disk_low: Arc::clone(disk.low_flag()),
        clock: Clock::wall(),
    };
    let opened = tokio::task::spawn_blocking(move || PageCache::open(config)).await?;
    Ok(opened
        .inspect_err(|error| tracing::warn!(error = %error, "cannot open the page cache, pages are not cached"))
        .ok())
}

#[cfg(test)]
mod tests {
    use trawl_control::{Operator, Reply, Request};

    use super::*;

    #[tokio::test]
    async fn commands_are_carried_out_before_the_plugins_are_loaded() {
        let folder = tempfile::tempdir().expect("a folder");
        let paths = Paths {
            data: folder.path().join("data"),
            plugins: folder.path().join("plugins.toml"),
        };
        let foundation = Foundation::open(Config::default(), &paths, &Waiting::default()).await;
        let mut foundation = foundation.expect("a data directory");
        foundation.start_control().expect("a socket");

        let mut operator = Operator::connect(&paths.data).await.expect("a server");
        let created = Request::CreateAccount {
            name: "alice".to_owned(),
            top_up: 0,
        };
        let reply = operator.ask(created).await.expect("created");
        assert!(matches!(reply, Reply::Created { .. }), "{reply:?}");
        assert_eq!(foundation.billing.accounts().len(), 1);
        let refusal = operator.ask(Request::Plugins {}).await;
        let text = refusal.expect_err("not yet").to_string();
        assert!(text.contains("is loading its plugins"), "{text}");

        // There is no manifest.
        assert!(foundation.build_engine(&paths.plugins).await.is_err());
        drop(foundation);
        drop(DataDir::open(&paths.data).expect("released"));
    }
}
