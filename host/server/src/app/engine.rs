//! The part of the server that serves pages without accounts.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;

use trawl_engine::ai::Ai;
use trawl_engine::cache::PageCache;
use trawl_engine::extract::Workers;
use trawl_engine::extract::remote::RemoteWorkers;
use trawl_engine::in_flight::PagesInFlight;
use trawl_engine::page::PageEngine;
use trawl_engine::providers::Providers;
use trawl_engine::routing::Routing;
use trawl_net::egress::Egress;
use trawl_net::fetch::{FetchConfig, Fetcher, Get, PoliteGet};
use trawl_net::politeness::{Politeness, PolitenessConfig};
use trawl_net::robots::Robots;
use trawl_net::signatures::Signer;
use trawl_net::sitemap::Sitemaps;
use trawl_plugins::{Compiling, Plugins, PluginsConfig};
use trawl_render::Renderer;

use super::{memory, settings};
use crate::config::Config;

/// Serves pages without accounts: for `trawl scrape` and, inside [`App`](super::App), for the
/// server.
pub struct EngineParts {
    /// The plugins.
    pub plugins: Arc<Plugins>,
    /// Fetches, renders and transforms pages.
    pub pages: Arc<PageEngine>,
    /// Rules of robots.txt files.
    pub robots: Arc<Robots>,
    /// URLs of sitemaps.
    pub sitemaps: Arc<Sitemaps>,
    pub(super) egress: Arc<Egress>,
    /// Signs requests, if the operator has a key.
    pub(super) signer: Option<Arc<Signer>>,
    pub(super) renderer: Option<Arc<Renderer>>,
}

impl EngineParts {
    /// Builds the engine. Compiled plugins are stored in `compiled`, fetched pages in `page_cache`.
    ///
    /// # Errors
    /// A setting is invalid, or a plugin does not load.
    pub async fn build(
        config: &Config,
        manifest: &Path,
        compiled: PathBuf,
        page_cache: Option<Arc<PageCache>>,
    ) -> anyhow::Result<Self> {
        let plugins = load_plugins(manifest, compiled).await?;
        Self::with_plugins(config, plugins, page_cache, None)
    }

    /// The same with plugins that are loaded already. Pages may go to the other nodes that extract
    /// some.
    ///
    /// # Errors
    /// A setting is invalid.
    pub(super) fn with_plugins(
        config: &Config,
        plugins: Arc<Plugins>,
        page_cache: Option<Arc<PageCache>>,
        remote: Option<Arc<RemoteWorkers>>,
    ) -> anyhow::Result<Self> {
        let egress = Egress::new(settings::egress(config)?).context("cannot set up egress")?;
        let memory = memory::budget(config);
        let fetch = fetch_config(config)?;
        let signer = fetch.signer.clone();
        let fetcher = Fetcher::new(Arc::clone(&egress), fetch).with_memory(&memory);
        let politeness = Politeness::new(&PolitenessConfig {
            in_flight_per_host: config.limits.connections_per_host,
        });
        let get: Arc<dyn Get> = Arc::new(PoliteGet::new(fetcher.clone(), Arc::clone(&politeness)));
        let token = settings::robots_token(config)?;
        let robots = Arc::new(Robots::new(Arc::clone(&get), token));
        let sitemaps = Arc::new(Sitemaps::new(get, Arc::clone(&robots)));
        let providers = Providers::new(fetcher.clone(), settings::pooled_keys(config)?);
        let ai = settings::ai(config)?.map(|config| Arc::new(Ai::new(config, fetcher.clone())));
        let mut routing = Routing::new(fetcher, politeness, Arc::clone(&robots))
            .with_cache(page_cache)
            .with_providers(Arc::new(providers));
        let renderer = settings::browser(config)
            .map(|config| Arc::new(Renderer::new(config, Arc::clone(&egress))));
        if let Some(renderer) = &renderer {
            routing = routing.with_browser(Arc::clone(renderer));
        }
        let output_cache_bytes = settings::mebibytes(config.cache.outputs_mib);
        let mut workers = Workers::new().with_output_cache(output_cache_bytes);
        if let Some(remote) = remote {
            workers = workers.with_remote(remote);
        }
        let pages = Arc::new(PageEngine {
            costs: Arc::default(),
            routing,
            workers,
            ai,
            memory,
            in_flight: PagesInFlight::default(),
        });
        Ok(Self {
            plugins,
            pages,
            robots,
            sitemaps,
            egress,
            signer,
            renderer,
        })
    }

    /// Stops the browser, if one is running.
    pub async fn close(&self) {
        if let Some(renderer) = &self.renderer {
            renderer.close().await;
        }
    }
}

fn fetch_config(config: &Config) -> anyhow::Result<FetchConfig> {
    Ok(FetchConfig {
        user_agent: settings::identity::user_agent(config)?,
        signer: settings::identity::signer(config)?,
        body_idle_max: Duration::from_secs(config.limits.body_idle_seconds.max(1)),
        ..FetchConfig::default()
    })
}

/// Reports that a plugin is being compiled: in the log if there is one, otherwise on standard
/// error.
pub fn report_compiling(compiling: Compiling<'_>) {
    let Compiling {
        kind,
        name,
        n_loaded,
        n_all,
    } = compiling;
    let text = format!(
        "compiling plugins, once per version: {n_loaded} of {n_all} are loaded, now the {kind} `{name}`"
    );
    if tracing::dispatcher::has_been_set() {
        tracing::info!("{text}");
    } else {
        trawl_telemetry::say(text);
    }
}

/// Loads the plugins of a manifest, and says which ones are compiled.
///
/// # Errors
/// A plugin does not load.
pub(super) async fn load_plugins(
    manifest: &Path,
    compiled: PathBuf,
) -> anyhow::Result<Arc<Plugins>> {
    let config = PluginsConfig {
        manifest: std::path::absolute(manifest)
            .context("the plugin manifest has no absolute path")?,
        cache_dir: std::path::absolute(compiled)
            .context("the folder for compiled plugins has no absolute path")?,
    };
    tokio::task::spawn_blocking(move || Plugins::start_reporting(config, report_compiling))
        .await?
        .context("cannot load the plugins")
}
