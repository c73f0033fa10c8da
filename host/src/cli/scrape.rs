//! `trawl scrape URL`: one page to standard output, without a server.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use ipnet::IpNet;
use serde_json::json;

use super::plugins_file;
use crate::api;
use crate::app::Engine;
use crate::config::Config;
use crate::fetch::CookieJar;
use crate::model::{Content, Piece};
use crate::page::{self, RunContext};

/// Options of `trawl scrape`.
#[derive(Debug, Args)]
pub(super) struct ScrapeArgs {
    /// The page's address; `https://` may be left out.
    url: String,
    /// Format of the content: markdown, html, text, bytes, xml, or one that plugins.toml loads.
    #[arg(long, default_value = "markdown")]
    format: String,
    /// How the page may be fetched.
    #[arg(long, value_enum, default_value_t = RequestMode::Smart)]
    request: RequestMode,
    /// CSS selector: keep only this part.
    #[arg(long, value_name = "CSS")]
    root_selector: Option<String>,
    /// CSS selector: drop these parts.
    #[arg(long, value_name = "CSS")]
    exclude_selector: Option<String>,
    /// Print the whole page entry as JSON instead of its content.
    #[arg(long)]
    json: bool,
    /// Plugin manifest; without it `plugins.toml` here or beside the program.
    #[arg(long, env = "TRAWL_PLUGINS", value_name = "FILE")]
    plugins: Option<PathBuf>,
    /// Configuration file.
    #[arg(long, env = "TRAWL_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
    /// Opens an address range that is not public, such as 127.0.0.1/32; may be repeated.
    #[arg(
        long,
        env = "TRAWL_ALLOW_PRIVATE",
        value_name = "CIDR",
        value_delimiter = ','
    )]
    allow_private: Vec<IpNet>,
}

/// `request`, as in the interface.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum RequestMode {
    Smart,
    Http,
    Browser,
}

pub(super) async fn run(args: ScrapeArgs) -> anyhow::Result<()> {
    let mut config = Config::load(args.config.as_deref())?;
    config.egress.allow_private.extend(&args.allow_private);
    let manifest = plugins_file(args.plugins.clone())?;
    let engine = Engine::build(&config, &manifest, super::cache_folder(), None).await?;
    let registry = engine.plugins.snapshot();
    let mut plans = api::plan(&request(&args), &*registry)?;
    let (Some(plan), true) = (plans.pop(), plans.is_empty()) else {
        bail!("name one page at a time")
    };
    let context = RunContext {
        registry,
        jar: Arc::new(CookieJar::new()),
    };
    let (outcome, _) = page::produce(&engine.rooms, &context, &plan).await;
    if args.json {
        let mut entry = Vec::new();
        api::write_entry(&outcome, &mut entry);
        entry.push(b'\n');
        return Ok(super::print_bytes(&entry)?);
    }
    if let Some(error) = outcome.error {
        bail!("{}: {error} (status {})", outcome.url, outcome.status);
    }
    match outcome.content {
        Content::One(Piece::Bytes(bytes)) => super::print_bytes(&bytes),
        Content::One(Piece::Text(text)) => super::print_bytes(text.as_bytes()),
        _ => bail!("the content is not one piece; ask for it with `--json`"),
    }
    .context("cannot write the content")
}

fn request(args: &ScrapeArgs) -> serde_json::Value {
    let engine = match args.request {
        RequestMode::Smart => "smart",
        RequestMode::Http => "http",
        RequestMode::Browser => "browser",
    };
    json!({
        "url": args.url,
        "return_format": args.format,
        "request": engine,
        "root_selector": args.root_selector,
        "exclude_selector": args.exclude_selector,
    })
}
