//! `trawl scrape URL`: one page to standard output, without a server.

use std::sync::Arc;

use anyhow::{Context, bail};
use clap::Args;
use serde_json::json;

use super::engine_args::{EngineArgs, RequestMode};
use crate::api;
use crate::app::Engine;
use crate::billing::Tariff;
use crate::fetch::CookieJar;
use crate::model::{Content, Piece};
use crate::page::{self, RunContext};

/// Options of `trawl scrape`.
#[derive(Debug, Args)]
pub(super) struct ScrapeArgs {
    /// The page's address; `https://` may be left out.
    url: String,
    /// Format of the content: markdown, html, text, bytes, xml, screenshot (a PNG file), or one that plugins.toml loads.
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
    #[command(flatten)]
    engine: EngineArgs,
}

pub(super) async fn run(args: ScrapeArgs) -> anyhow::Result<()> {
    let request = request(&args);
    let (config, manifest) = args.engine.load()?;
    let engine = Engine::build(&config, &manifest, super::cache_folder(), None).await?;
    let registry = engine.plugins.snapshot();
    let mut plans = api::plan(&request, &*registry)?;
    let (Some(plan), true) = (plans.pop(), plans.is_empty()) else {
        bail!("name one page at a time")
    };
    let context = RunContext {
        registry,
        jar: Arc::new(CookieJar::new()),
        owner: String::new(),
        tariff: Tariff::FlatRate,
    };
    let (outcome, _) = page::produce(&engine.rooms, &context, &plan, plan.ceiling).await;
    engine.close().await;
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
    json!({
        "url": args.url,
        "return_format": args.format,
        "request": args.request.name(),
        "binary": args.format == "screenshot" && !args.json,
        "root_selector": args.root_selector,
        "exclude_selector": args.exclude_selector,
    })
}
