//! `trawl scrape URL`: prints one page, without a server.

use std::sync::Arc;

use anyhow::bail;
use clap::Args;

use trawl_billing::Tariff;
use trawl_engine::page::{self, Purse, RunContext};

use super::engine_args::{EngineArgs, RequestMode};
use super::output_args::OutputArgs;
use crate::app::Engine;

/// Options of `trawl scrape`.
#[derive(Debug, Args)]
pub(super) struct ScrapeArgs {
    /// URL of the page; `https://` may be omitted.
    url: String,
    /// How to fetch the page.
    #[arg(long, value_enum, default_value_t = RequestMode::Smart)]
    request: RequestMode,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    engine: EngineArgs,
}

pub(super) async fn run(args: ScrapeArgs) -> anyhow::Result<()> {
    let request = request(&args)?;
    let (config, manifest) = args.engine.load()?;
    let engine = Engine::build(&config, &manifest, super::cache_folder(), None).await?;
    let registry = engine.plugins.snapshot();
    let mut plans = trawl_wire::plan(&request, &*registry)?;
    let (Some(plan), true) = (plans.pop(), plans.is_empty()) else {
        bail!("give one URL")
    };
    let rooms = Arc::clone(&engine.pages);
    let context = RunContext::new(rooms, registry, String::new(), Tariff::FlatRate);
    let outcome = match plan {
        Ok(plan) => {
            let purse = Purse::unbilled(plan.ceiling);
            page::produce(&context, &plan, &purse).await.outcome
        }
        Err(refused) => page::refused(refused),
    };
    engine.close().await;
    args.output.print(outcome)
}

fn request(args: &ScrapeArgs) -> anyhow::Result<serde_json::Value> {
    let mut request = args.output.request()?;
    request["url"] = args.url.as_str().into();
    request["request"] = args.request.name().into();
    request["binary"] = (args.output.format == "screenshot" && !args.output.prints_entry()).into();
    Ok(request)
}
