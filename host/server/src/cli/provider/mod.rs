//! `trawl provider …`: what operators and authors of adapters look at before a key is spent.

mod attempt;
mod list;
mod replies;
mod request;

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use clap::{Args, Subcommand};

use super::engine_args::EngineArgs;
use trawl_engine::providers::Keys;
use trawl_model::secret::Secret;
use trawl_plugins::{PluginKind, Plugins, PluginsConfig, ProviderPlugin, Registry};

/// The commands.
#[derive(Debug, Subcommand)]
pub(super) enum ProviderCommand {
    /// List the providers that `plugins.toml` loads, with their credentials and prices
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        engine: EngineArgs,
    },
    /// Print the requests that an adapter would send; nothing is sent
    Request(Box<request::RequestArgs>),
    /// Have one page served by one provider, and print its entry; this spends credit
    Try(Box<attempt::TryArgs>),
}

/// The page that is wanted, and with which keys.
#[derive(Debug, Args)]
struct WantedArgs {
    /// The provider's name in plugins.toml
    name: String,
    /// The page's address
    #[arg(long)]
    url: String,
    /// Run the page's scripts
    #[arg(long)]
    js: bool,
    /// Wait until this element is there
    #[arg(long, value_name = "CSS")]
    wait_for: Option<String>,
    /// Wait so many milliseconds after load
    #[arg(long, value_name = "MS")]
    wait: Option<u32>,
    /// A script to run after load
    #[arg(long, value_name = "JAVASCRIPT")]
    script: Option<String>,
    /// Ask from this country, two letters
    #[arg(long, value_name = "CODE")]
    country: Option<String>,
    /// Ask from residential addresses
    #[arg(long)]
    residential: bool,
    /// A header for the page; may be repeated
    #[arg(long, value_name = "NAME: VALUE")]
    header: Vec<String>,
    /// A cookie for the page; may be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    cookie: Vec<String>,
    /// A credential; may be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    credential: Vec<String>,
}

impl WantedArgs {
    /// The credentials given.
    fn keys(&self) -> anyhow::Result<Keys> {
        let split = |text: &String| {
            let (name, value) = text
                .split_once('=')
                // The text is not shown: it may be the key alone.
                .context("a `--credential` is written NAME=VALUE")?;
            Ok((name.trim().to_owned(), Secret::new(value.trim())))
        };
        self.credential.iter().map(split).collect()
    }

    fn headers(&self) -> anyhow::Result<Vec<(String, String)>> {
        pairs(&self.header, ':', "a `--header` is written NAME: VALUE")
    }

    fn cookies(&self) -> anyhow::Result<Vec<(String, String)>> {
        pairs(&self.cookie, '=', "a `--cookie` is written NAME=VALUE")
    }
}

fn pairs(
    texts: &[String],
    between: char,
    form: &'static str,
) -> anyhow::Result<Vec<(String, String)>> {
    let split = |text: &String| {
        let (name, value) = text.split_once(between).context(form)?;
        Ok((name.trim().to_owned(), value.trim().to_owned()))
    };
    texts.iter().map(split).collect()
}

/// Runs one of the commands; results go to standard output.
///
/// # Errors
/// One sentence for people, with its causes chained.
pub(super) fn run(command: ProviderCommand) -> anyhow::Result<()> {
    match command {
        ProviderCommand::List { json, engine } => list::run(&engine, json),
        ProviderCommand::Request(args) => request::run(&args),
        ProviderCommand::Try(args) => super::runtime()?.block_on(attempt::run(*args)),
    }
}

/// A provider by its name.
fn named(registry: &Registry, name: &str) -> anyhow::Result<Arc<ProviderPlugin>> {
    let found = registry.providers().find(|it| it.info().name == name);
    found.cloned().with_context(|| {
        let names = registry.names(PluginKind::Provider).join(", ");
        format!("there is no provider `{name}` in plugins.toml, there are: {names}")
    })
}

/// The plugins of the manifest, without a server.
fn plugins(manifest: PathBuf) -> anyhow::Result<Arc<Registry>> {
    let config = PluginsConfig {
        manifest,
        cache_dir: std::path::absolute(super::cache_folder())?,
    };
    Ok(Plugins::start(config)?.snapshot())
}
