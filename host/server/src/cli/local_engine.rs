//! The engine of a command that fetches pages itself: without a server, accounts and charges.

use std::sync::Arc;

use trawl_billing::Tariff;
use trawl_engine::page::{self, PageBudget, RunContext};
use trawl_model::Terms;
use trawl_model::outcome::PageOutcome;
use trawl_plan::router::RouterDefaults;
use trawl_plan::{ConfiguredPool, PagePlan, RefusedPage};
use trawl_plugins::Registry;
use trawl_wire::{PlanContext, RequestDefaults};

use super::engine_args::EngineArgs;
use super::environment::cache_folder;
use crate::app::{self, EngineParts};
use crate::config::Config;

/// An engine with its plugins, and what requests leave open.
pub(super) struct LocalEngine {
    pub(super) config: Config,
    pub(super) parts: EngineParts,
    registry: Arc<Registry>,
    pools: Vec<ConfiguredPool>,
    router: RouterDefaults,
}

impl LocalEngine {
    /// Builds the engine that the options of a command name.
    ///
    /// # Errors
    /// The configuration cannot be read, a setting is invalid, or a plugin does not load.
    pub(super) async fn build(args: &EngineArgs) -> anyhow::Result<Self> {
        let (config, manifest) = args.load()?;
        let parts = EngineParts::build(&config, &manifest, cache_folder()?, None).await?;
        Ok(Self {
            registry: parts.plugins.snapshot(),
            pools: app::pools(&config)?,
            router: app::router_defaults(&config)?,
            parts,
            config,
        })
    }

    /// What the plan of a request needs to know.
    pub(super) fn plan_context(&self) -> PlanContext<'_> {
        PlanContext {
            catalog: &*self.registry,
            defaults: RequestDefaults {
                pools: &self.pools,
                router: self.router,
                terms: Terms::PayAsYouGo,
                model: None,
            },
        }
    }

    /// A run of pages that cost nothing.
    pub(super) fn run_context(&self) -> RunContext {
        let (pages, registry) = (Arc::clone(&self.parts.pages), Arc::clone(&self.registry));
        RunContext::new(pages, registry, String::new(), Tariff::FlatRate)
    }
}

/// Serves a page.
pub(super) async fn page(context: &RunContext, plan: &PagePlan) -> PageOutcome {
    let page_budget = PageBudget::unbilled(plan.ceiling);
    let admission = Arc::new(context.admission(plan));
    let produced = page::produce(context, plan, &admission, &page_budget).await;
    produced.outcome
}

/// Serves a page, unless its plan is refused.
pub(super) async fn page_of(
    context: &RunContext,
    plan: Result<PagePlan, RefusedPage>,
) -> PageOutcome {
    match plan {
        Ok(plan) => page(context, &plan).await,
        Err(refused) => page::refused(refused),
    }
}
