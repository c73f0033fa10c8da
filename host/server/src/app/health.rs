//! Health check: fetches the built-in sample page with every engine.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use url::Url;

use trawl_api::Health;
use trawl_billing::Tariff;
use trawl_engine::page::{self, PageBudget, RunContext};
use trawl_model::memory::MemoryUse;
use trawl_model::{Content, Nanodollars};
use trawl_net::egress::SAMPLE_HOST;
use trawl_plan::{Engine, FetchPlan, Format, FormatChoice, OutputPlan, PagePlan, RouteDependent};

use super::App;

/// How long a result is reused: monitoring polls often, and a page costs work.
const RESULT_TTL: Duration = Duration::from_secs(1);
/// Timeout of the sample page.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Timeout in a browser, which may have to start first.
const BROWSER_TIMEOUT: Duration = Duration::from_secs(15);
/// How long a result of the browser is reused.
const BROWSER_RESULT_TTL: Duration = Duration::from_secs(30);

/// A result of the browser.
pub(super) struct BrowserHealth {
    at: Instant,
    /// Why the browser did not start when it was last started.
    failure: Option<String>,
    report: Value,
}

impl App {
    /// The last result, or a new one if it is too old.
    pub(super) async fn cached_health(&self) -> Health {
        let mut last = self.health.lock().await;
        if let Some((at, health)) = &*last
            && at.elapsed() < RESULT_TTL
        {
            return health.clone();
        }
        let health = self.check_health().await;
        *last = Some((Instant::now(), health.clone()));
        health
    }

    async fn check_health(&self) -> Health {
        let (engine, registry) = (Arc::clone(&self.page_engine), self.plugins.snapshot());
        let context = RunContext::new(engine, registry, String::new(), Tariff::FlatRate);
        let http = self.fetch_sample(&context, Engine::Http).await;
        let browser = self.browser_health(&context).await;
        let has_ledger = !self.billing.is_failing();
        let is_healthy = http["ok"] == true && has_ledger;
        let memory = self.page_engine.memory.in_use();
        let connections = self.egress.connections();
        let pages = self.page_engine.in_flight.usage();
        let space = self.storage.disk().space();
        let report = json!({
            "status": if is_healthy { "ok" } else { "failing" },
            "engines": { "http": http, "browser": browser },
            "ledger": { "ok": has_ledger },
            "memory": {
                "bytes": memory.used,
                "bytes_max": memory.capacity,
                "waiting": memory.n_waiting,
                "held": held_by_kind(memory),
            },
            "connections": {
                "open": connections.n_used,
                "max": connections.n_permits,
                "waiting": connections.n_waiting,
            },
            "pages": {
                "in_flight": pages.n_used,
                "max": pages.n_permits,
                "waiting": pages.n_waiting,
            },
            "disk": { "ok": !space.is_low, "free_bytes": space.free, "floor_bytes": space.floor },
            "plugins": {
                "ok": self.plugins.is_current(),
                "generation": context.registry.generation(),
            },
            "plugins_generation": context.registry.generation(),
            "uptime_seconds": self.started.elapsed().as_secs(),
            "version": env!("CARGO_PKG_VERSION"),
        });
        Health { is_healthy, report }
    }

    /// The result of the browser. It is measured rarely: rendering costs a thousand times as much
    /// as plain HTTP.
    async fn browser_health(&self, context: &RunContext) -> Value {
        let renderer = self.renderer.as_ref();
        let Some(renderer) = renderer.filter(|renderer| renderer.is_installed()) else {
            return json!({ "ok": false, "error": "no browser is installed" });
        };
        let mut last = self.browser_health.lock().await;
        // A browser that no page could start since is asked again at once, and so is one that
        // starts again. One that is only busy is not: each time would make it busier.
        if let Some(last) = &*last
            && last.at.elapsed() < BROWSER_RESULT_TTL
            && last.failure == renderer.failure()
        {
            return last.report.clone();
        }
        let report = self.fetch_sample(context, Engine::Browser).await;
        *last = Some(BrowserHealth {
            at: Instant::now(),
            failure: renderer.failure(),
            report: report.clone(),
        });
        report
    }

    /// Fetches the sample page with one engine and reports the result.
    async fn fetch_sample(&self, context: &RunContext, engine: Engine) -> Value {
        let started = Instant::now();
        let page_budget = PageBudget::unbilled(Nanodollars::MAX);
        let plan = sample_plan(engine);
        let admission = Arc::new(context.admission(&plan));
        let produced = page::produce(context, &plan, &admission, &page_budget).await;
        let outcome = produced.outcome;
        let error = outcome.error.map(|failure| failure.message);
        let error = error.or_else(|| match outcome.content {
            Content::One(piece) if piece.text().is_some_and(|text| !text.is_empty()) => None,
            _ => Some("the sample page is empty".to_owned()),
        });
        let milliseconds = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        json!({ "ok": error.is_none(), "milliseconds": milliseconds, "error": error })
    }
}

/// Bytes in use by what they are for.
fn held_by_kind(memory: MemoryUse) -> Value {
    let held = memory.held().map(|(kind, bytes)| (kind.name(), bytes));
    held.map(|(name, bytes)| (name.to_owned(), Value::from(bytes)))
        .collect()
}

fn sample_plan(engine: Engine) -> PagePlan {
    let requested = format!("http://{SAMPLE_HOST}/");
    let url = Url::parse(&requested).expect("the sample site has a valid URL");
    PagePlan {
        url,
        requested,
        engine,
        fetch: Arc::new(FetchPlan::bare(match engine {
            Engine::Browser => BROWSER_TIMEOUT,
            Engine::Http | Engine::Smart => TIMEOUT,
        })),
        output: Arc::new(OutputPlan::of(FormatChoice {
            name: "markdown".to_owned(),
            format: Format::Plugin("markdown".to_owned()),
            options: Value::Null,
        })),
        ceiling: Nanodollars::ZERO,
        router: Arc::default(),
        render: Arc::default(),
        route_dependent: RouteDependent::default(),
    }
}
