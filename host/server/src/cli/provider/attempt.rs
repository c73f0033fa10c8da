//! `trawl provider try`: fetches one page through a provider.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use clap::Args;
use serde_json::json;

use trawl_billing::Tariff;
use trawl_contract::provider::{Abilities, Description};
use trawl_engine::page::{self, PageBudget, Produced, RunContext};
use trawl_model::outcome::{PageOutcome, VendorPart};
use trawl_parameters::COMMAND_FORMAT;
use trawl_plan::router::TargetRequest;
use trawl_plan::{RouterMode, RouterPlan};
use trawl_plugins::ProviderPlugin;

use super::PageArgs;
use crate::app::{self, EngineParts};
use crate::cli::engine_args::EngineArgs;
use crate::cli::environment::cache_folder;
use crate::cli::parameters::{count, help};
use crate::cli::standard_output::print_bytes;

/// Time of the page in addition to the conversation with the provider.
const TIME_SPARE: Duration = Duration::from_secs(1);

/// Options of `trawl provider try`.
#[derive(Debug, Args)]
pub(in crate::cli) struct TryArgs {
    #[command(flatten)]
    page: PageArgs,
    #[arg(long, help = help("return_format").default("").named(), default_value = COMMAND_FORMAT)]
    format: String,
    #[arg(
        long,
        help = help("request_timeout").default("as the adapter describes").named(),
        value_parser = count("request_timeout")
    )]
    timeout: Option<u64>,
    #[command(flatten)]
    engine: EngineArgs,
}

pub(super) async fn run(args: TryArgs) -> anyhow::Result<()> {
    let (mut config, manifest) = args.engine.load()?;
    // Credentials from the command line take precedence over the environment's.
    let keys = args.page.keys()?;
    let given: Vec<(String, String)> = keys
        .iter()
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    config.providers.environment.0.extend(given.clone());
    let engine = EngineParts::build(&config, &manifest, cache_folder()?, None).await?;
    let registry = engine.plugins.snapshot();
    let plugin = super::named(&registry, &args.page.name)?;
    let body = request(&args, plugin.description())?;
    let mut plans = trawl_wire::plan(&body, &*registry)?;
    let plan = plans.pop().context("give one URL")?;
    let mut plan = plan.map_err(|refused| anyhow!("{}", refused.failure))?;
    plan.router = Arc::new(router(&args, &plugin, given));
    let tariff = Tariff::PayAsYouGo(app::prices(&config)?);
    let context = RunContext::new(Arc::clone(&engine.pages), registry, String::new(), tariff);
    let page_budget = PageBudget::unbilled(plan.ceiling);
    let admission = Arc::new(context.admission(&plan));
    let produced = page::produce(&context, &plan, &admission, &page_budget).await;
    let Produced {
        mut outcome, usage, ..
    } = produced;
    engine.close().await;
    if outcome.vendor.is_none() && !was_asked(&outcome) {
        bail!(
            "`{}` was not called: {}",
            args.page.name,
            hinted(
                outcome
                    .error
                    .map_or_else(String::new, |failure| failure.message)
            )
        );
    }
    if outcome.error.is_none() {
        outcome.charge = trawl_billing::price(&usage, &tariff);
    }
    let billed_cost = outcome.charge.vendor_billed;
    outcome.vendor = outcome.vendor.map(|part| VendorPart {
        billed_cost,
        ..part
    });
    let mut entry = Vec::new();
    trawl_wire::write_entry(&outcome, &mut entry);
    entry.push(b'\n');
    print_bytes(&entry)?;
    match outcome.error {
        Some(error) => bail!("{error}"),
        None => Ok(()),
    }
}

/// The router plan that asks this provider and no other.
fn router(
    args: &TryArgs,
    plugin: &ProviderPlugin,
    credentials: Vec<(String, String)>,
) -> RouterPlan {
    let target = args.page.request();
    RouterPlan {
        request: (target != TargetRequest::default()).then_some(target),
        mode: RouterMode::First,
        provider: Some(plugin.info().name.clone()),
        credentials: credentials
            .into_iter()
            .map(|(name, value)| (name, value.into()))
            .collect(),
        is_pinned: true,
        time: match args.timeout {
            Some(_) => Duration::ZERO,
            None => plugin.grant().time_max + TIME_SPARE,
        },
        ..RouterPlan::default()
    }
}

/// Whether the provider got a request, by the attempts in the metadata of the page.
fn was_asked(outcome: &PageOutcome) -> bool {
    let metadata = outcome.fields.metadata.as_ref();
    let attempts = metadata.and_then(|known| known.get("provider_attempts")?.as_array());
    attempts.into_iter().flatten().any(|attempt| {
        let outcome = attempt["outcome"].as_str();
        !matches!(
            outcome,
            Some("left_out" | "unsupported" | "not_covered" | "paused")
        )
    })
}

/// The reason, with what to do about a missing credential.
fn hinted(reason: String) -> String {
    if reason.starts_with("there is no value") {
        return format!("{reason}, give it with --credential NAME=VALUE or in the environment");
    }
    reason
}

/// The request, with all of the reply that the provider can report.
fn request(args: &TryArgs, described: &Description) -> anyhow::Result<serde_json::Value> {
    let page = &args.page;
    let able = match page.js {
        true => described.rendered,
        false => described.plain,
    };
    let headers: serde_json::Map<String, serde_json::Value> = page
        .headers()?
        .into_iter()
        .map(|(name, value)| (name, value.into()))
        .collect();
    let mut wait_for = serde_json::Map::new();
    if let Some(selector) = &page.wait_for {
        wait_for.insert("selector".to_owned(), json!({"selector": selector}));
    }
    if let Some(ms) = page.wait {
        let timeout = json!({"secs": ms / 1000, "nanos": (ms % 1000) * 1_000_000});
        wait_for.insert("delay".to_owned(), json!({"timeout": timeout}));
    }
    Ok(json!({
        "url": page.url,
        "return_format": args.format,
        "metadata": true,
        "return_headers": able.contains(Abilities::TARGET_HEADERS),
        "return_cookies": able.contains(Abilities::TARGET_COOKIES),
        "request": if page.js { "browser" } else { "http" },
        "request_timeout": args.timeout,
        "country_code": page.country,
        "headers": if headers.is_empty() { None } else { Some(headers) },
        "cookies": if page.cookie.is_empty() { None } else { Some(page.cookie.join("; ")) },
        "wait_for": if wait_for.is_empty() { None } else { Some(wait_for) },
        "execution_scripts": page.script.as_ref().map(|script| json!({"*": script})),
        "proxy": if page.residential { Some("residential") } else { None },
    }))
}
