//! The server as the HTTP interface sees it.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use url::Url;

use trawl_api::{
    Health, KeyDirectory, NewRun, Order, Outcomes, Rooms, Service, Settings, Snapshot,
    TraceSettings,
};
use trawl_billing::{AccountId, FundsError, Tariff};
use trawl_engine::page::{Payer, RunContext};
use trawl_engine::scrape;
use trawl_engine::search::{SearchError, SearchOutcome};
use trawl_model::outcome::PageOutcome;
use trawl_model::{RequestTrace, Terms};
use trawl_net::signatures::DIRECTORY_AGE;
use trawl_plan::address::Receiver;
use trawl_plan::search::SearchPlan;
use trawl_plan::{PagePlan, RefusedPage, TransformPlan};

use super::{App, plugins_status, settings};

impl App {
    /// What the HTTP interface uses.
    pub(super) fn rooms(&self) -> Rooms {
        Rooms {
            billing: self.billing.clone(),
            store: Arc::clone(&self.store),
            storage: self.storage.clone(),
            crawls: self.crawls.clone(),
            pipelines: self.pipelines.clone(),
            memory: Arc::clone(&self.page_engine.memory),
            tasks: self.tasks.clone(),
            in_flight: self.in_flight.clone(),
        }
    }

    /// What is configured for the HTTP interface.
    pub(super) fn api_settings(&self) -> Settings {
        let limits = &self.config.limits;
        Settings {
            defaults: self.defaults.clone(),
            requests_per_minute: limits.requests_per_minute,
            queries_per_account: limits.queries_per_account,
            metrics_without_key: self.config.http.metrics_without_key,
            trace: TraceSettings {
                in_responses: self.config.trace.responses,
                in_requests: self.config.trace.requests,
                in_webhooks: self.config.trace.webhooks,
            },
        }
    }

    fn begin(&self, new: NewRun) -> Arc<scrape::ScrapeRun> {
        let tariff = match new.terms {
            Terms::PayAsYouGo => Tariff::PayAsYouGo(self.prices),
            Terms::Unlimited => Tariff::FlatRate,
        };
        let payer = Payer {
            billing: self.billing.clone(),
            account: new.account.id.clone(),
            key: new.account.key,
            run_id: new.request_id,
        };
        let (engine, owner) = (Arc::clone(&self.page_engine), new.account.id.to_string());
        let trace = new.trace.and_then(RequestTrace::for_requests);
        Arc::new(scrape::ScrapeRun {
            context: RunContext::new(engine, new.registry, owner, tariff).with_trace(trace),
            payer,
            payment: new.payment,
            in_flight: self.config.limits.pages_in_flight.max(1),
            // The ledger is closed after these have ended.
            tasks: self.in_flight.clone(),
        })
    }
}

impl Service for App {
    fn tabs(&self, account: &AccountId) -> (usize, usize) {
        let renderer = self.renderer.as_ref();
        let used = renderer.map_or(0, |renderer| renderer.tabs_of(account.as_str()));
        let limit = renderer.map_or(0, |_| settings::tabs_per_account(&self.config));
        (limit, used)
    }

    fn is_draining(&self) -> bool {
        self.stop.is_cancelled()
    }

    fn snapshot(&self) -> Snapshot {
        let registry = self.plugins.snapshot();
        Snapshot {
            catalog: Arc::clone(&registry) as _,
            registry,
        }
    }

    fn scrape(
        &self,
        run: NewRun,
        pages: Vec<Result<PagePlan, RefusedPage>>,
        order: Order,
    ) -> Result<Outcomes, FundsError> {
        self.begin(run).scrape(pages, order)
    }

    fn is_cached(&self, plan: &PagePlan) -> bool {
        self.page_engine.routing.is_cached(plan)
    }

    fn transform(
        &self,
        run: NewRun,
        plan: TransformPlan,
    ) -> BoxFuture<'static, Result<Vec<PageOutcome>, FundsError>> {
        self.begin(run).transform(plan)
    }

    fn search(
        &self,
        run: NewRun,
        plan: SearchPlan,
    ) -> BoxFuture<'static, Result<SearchOutcome, SearchError>> {
        let backends = Arc::from(self.config.search.backends.as_slice());
        self.begin(run).search(plan, backends)
    }

    fn check_receiver<'a>(&'a self, receiver: &'a Receiver) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move {
            let url = Url::parse(receiver.expose()).map_err(|error| error.to_string())?;
            let checked = self.egress.check_receiver(&url).await;
            checked.map_err(|refusal| refusal.to_string())
        })
    }

    fn plugins_generation(&self) -> u64 {
        self.plugins.snapshot().generation()
    }

    fn plugins(&self) -> Value {
        plugins_status(&self.plugins)
    }

    fn is_admin(&self, key: &str) -> bool {
        self.admin_key.is(key)
    }

    fn key_directory(&self) -> Option<KeyDirectory> {
        let signer = self.signer.as_ref()?;
        let fields = signer.sign_directory()?;
        Some(KeyDirectory {
            document: signer.directory(),
            signature_input: fields.input,
            signature: fields.signature,
            age: DIRECTORY_AGE,
        })
    }

    fn providers(&self) -> Value {
        let providers = self.page_engine.routing.providers();
        let status = providers.map(|providers| providers.status(&self.plugins.snapshot()));
        json!({ "providers": status.unwrap_or_default() })
    }

    fn offered_providers(&self) -> Value {
        let providers = self.page_engine.routing.providers();
        let offered = providers.map(|providers| providers.offered(&self.plugins.snapshot()));
        json!({ "providers": offered.unwrap_or_default() })
    }

    fn health(&self) -> BoxFuture<'_, Health> {
        Box::pin(self.cached_health())
    }
}
