//! `trawl provider …`: checks adapters and credentials before money is spent.

mod attempt;
mod list;
mod outcome;
mod replies;
mod request;

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use clap::{Args, Subcommand};

use trawl_engine::providers::Keys;
use trawl_model::secret::Secret;
use trawl_plan::router::{self, TargetRequest};
use trawl_plugins::{PluginKind, Plugins, PluginsConfig, ProviderPlugin, Registry};

use super::engine_args::EngineArgs;
use super::environment::cache_folder;
use super::runtime::runtime;

/// The commands.
#[derive(Debug, Subcommand)]
pub(super) enum ProviderCommand {
    /// List the providers that `plugins.toml` loads, with their credentials; `--json` adds
    /// abilities and prices
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        engine: EngineArgs,
    },
    /// Print the requests that an adapter would send, without sending them
    Request(Box<request::RequestArgs>),
    /// Fetch one page through a provider and print its entry; this costs money
    Try(Box<attempt::TryArgs>),
}

/// The page to fetch, and the credentials.
#[derive(Debug, Args)]
struct PageArgs {
    /// The provider's name in plugins.toml, or the vendor's: zyte, scrapingbee, …
    name: String,
    /// URL of the page
    #[arg(long)]
    url: String,
    /// HTTP method of the request to the page
    #[arg(long, default_value = "GET")]
    method: String,
    /// Body of the request to the page
    #[arg(long, default_value = "")]
    body: String,
    /// Run the page's JavaScript
    #[arg(long)]
    js: bool,
    /// Wait for this element
    #[arg(long, value_name = "CSS")]
    wait_for: Option<String>,
    /// Wait this many milliseconds after load
    #[arg(long, value_name = "MS")]
    wait: Option<u32>,
    /// JavaScript to run after load
    #[arg(long, value_name = "JAVASCRIPT")]
    script: Option<String>,
    /// Fetch from this country (two-letter code)
    #[arg(long, value_name = "CODE")]
    country: Option<String>,
    /// Fetch from residential IP addresses
    #[arg(long)]
    residential: bool,
    /// Request header; may be repeated
    #[arg(long, value_name = "NAME: VALUE")]
    header: Vec<String>,
    /// Cookie; may be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    cookie: Vec<String>,
    /// Credential; may be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    credential: Vec<String>,
}

impl PageArgs {
    /// The given credentials.
    fn keys(&self) -> anyhow::Result<Keys> {
        let split = |text: &String| {
            let (name, value) = text
                .split_once('=')
                // The value is not shown: it may be a key.
                .context("write `--credential` as NAME=VALUE")?;
            Ok((name.trim().to_owned(), Secret::new(value.trim())))
        };
        self.credential.iter().map(split).collect()
    }

    /// The request to the page.
    fn request(&self) -> TargetRequest {
        TargetRequest {
            method: self.method.to_uppercase(),
            body: self.body.clone().into_bytes(),
        }
    }

    fn headers(&self) -> anyhow::Result<Vec<(String, String)>> {
        pairs(&self.header, ':', "write `--header` as NAME: VALUE")
    }

    fn cookies(&self) -> anyhow::Result<Vec<(String, String)>> {
        pairs(&self.cookie, '=', "write `--cookie` as NAME=VALUE")
    }
}

fn pairs(
    texts: &[String],
    separator: char,
    usage: &'static str,
) -> anyhow::Result<Vec<(String, String)>> {
    let split = |text: &String| {
        let (name, value) = text.split_once(separator).context(usage)?;
        Ok((name.trim().to_owned(), value.trim().to_owned()))
    };
    texts.iter().map(split).collect()
}

/// Runs one of the commands and prints its result.
///
/// # Errors
/// The command failed.
pub(super) fn run(command: ProviderCommand) -> anyhow::Result<()> {
    match command {
        ProviderCommand::List { json, engine } => list::run(&engine, json),
        ProviderCommand::Request(args) => request::run(&args),
        ProviderCommand::Try(args) => runtime()?.block_on(attempt::run(*args)),
    }
}

/// The provider with this name, or of the vendor with this name.
fn named(registry: &Registry, name: &str) -> anyhow::Result<Arc<ProviderPlugin>> {
    let find = |name: &str| registry.providers().find(|it| it.info().name == name);
    let found = find(name).or_else(|| find(router::provider_of(name)?));
    found.cloned().with_context(|| {
        let names = registry.names(PluginKind::Provider).join(", ");
        format!("no provider `{name}` in plugins.toml, expected one of: {names}")
    })
}

/// Loads the plugins of the manifest.
fn plugins(manifest: PathBuf) -> anyhow::Result<Arc<Registry>> {
    let config = PluginsConfig {
        manifest,
        cache_dir: std::path::absolute(cache_folder()?)?,
    };
    Ok(Plugins::start_reporting(config, crate::app::report_compiling)?.snapshot())
}
