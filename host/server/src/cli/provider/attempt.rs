//! `trawl provider try`: one real page.

use std::sync::Arc;

use anyhow::{Context, bail};
use clap::Args;
use serde_json::json;

use super::WantedArgs;
use crate::app::{self, Engine};
use crate::cli::engine_args::EngineArgs;
use trawl_billing::Tariff;
use trawl_engine::page::{self, RunContext, VendorPart};
use trawl_net::fetch::CookieJar;
use trawl_plan::{RouterMode, RouterPlan};

/// Options of `trawl provider try`.
#[derive(Debug, Args)]
pub(in crate::cli) struct TryArgs {
    #[command(flatten)]
    wanted: WantedArgs,
    /// Format of the content
    #[arg(long, default_value = "markdown")]
    format: String,
    /// Seconds for the whole page
    #[arg(long, default_value_t = 120)]
    timeout: u64,
    #[command(flatten)]
    engine: EngineArgs,
}

pub(super) async fn run(args: TryArgs) -> anyhow::Result<()> {
    let (mut config, manifest) = args.engine.load()?;
    // Credentials given here stand before those of the environment.
    let keys = args.wanted.keys()?;
    let given: Vec<(String, String)> = keys
        .iter()
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    config.providers.environment.0.extend(given.clone());
    let engine = Engine::build(&config, &manifest, crate::cli::cache_folder(), None).await?;
    let registry = engine.plugins.snapshot();
    let plugin = super::named(&registry, &args.wanted.name)?;
    let mut plans = trawl_wire::plan(&request(&args)?, &*registry)?;
    let mut plan = plans.pop().context("name one page")?;
    plan.router = Arc::new(RouterPlan {
        mode: RouterMode::First,
        provider: Some(plugin.info().name.clone()),
        credentials: given
            .into_iter()
            .map(|(name, value)| (name, value.into()))
            .collect(),
        is_pinned: true,
        ..RouterPlan::default()
    });
    let tariff = Tariff::PayAsYouGo(app::prices(&config)?);
    let context = RunContext {
        registry,
        jar: Arc::new(CookieJar::new()),
        owner: String::new(),
        tariff,
    };
    let (mut outcome, usage) = page::produce(&engine.rooms, &context, &plan, plan.ceiling).await;
    engine.close().await;
    let Some(part) = outcome.vendor.take() else {
        bail!(
            "`{}` was not asked: {}",
            args.wanted.name,
            outcome.error.unwrap_or_default()
        );
    };
    if outcome.error.is_none() {
        outcome.charge = trawl_billing::price(&usage, &tariff);
    }
    outcome.vendor = Some(VendorPart {
        billed_cost: outcome.charge.vendor_billed,
        ..part
    });
    let mut entry = Vec::new();
    trawl_wire::write_entry(&outcome, &mut entry);
    entry.push(b'\n');
    crate::cli::print_bytes(&entry)?;
    match outcome.error {
        Some(error) => bail!("{error}"),
        None => Ok(()),
    }
}

fn request(args: &TryArgs) -> anyhow::Result<serde_json::Value> {
    let wanted = &args.wanted;
    let headers: serde_json::Map<String, serde_json::Value> = wanted
        .headers()?
        .into_iter()
        .map(|(name, value)| (name, value.into()))
        .collect();
    let mut wait_for = serde_json::Map::new();
    if let Some(selector) = &wanted.wait_for {
        wait_for.insert("selector".to_owned(), json!({"selector": selector}));
    }
    if let Some(ms) = wanted.wait {
        let timeout = json!({"secs": ms / 1000, "nanos": (ms % 1000) * 1_000_000});
        wait_for.insert("delay".to_owned(), json!({"timeout": timeout}));
    }
    Ok(json!({
        "url": wanted.url,
        "return_format": args.format,
        "request": if wanted.js { "browser" } else { "http" },
        "request_timeout": args.timeout,
        "country_code": wanted.country,
        "headers": if headers.is_empty() { None } else { Some(headers) },
        "cookies": if wanted.cookie.is_empty() { None } else { Some(wanted.cookie.join("; ")) },
        "wait_for": if wait_for.is_empty() { None } else { Some(wait_for) },
        "execution_scripts": wanted.script.as_ref().map(|script| json!({"*": script})),
        "proxy": if wanted.residential { Some("residential") } else { None },
    }))
}
