//! Whether a real page can be served now: the built-in sample page through every engine.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use url::Url;

use super::App;
use trawl_api::Health;
use trawl_billing::Tariff;
use trawl_engine::page::{self, RunContext};
use trawl_model::{Content, Nanodollars};
use trawl_net::egress::SAMPLE_HOST;
use trawl_net::fetch::CookieJar;
use trawl_plan::{
    CachePlan, Engine, FetchPlan, Format, FormatChoice, OutputPlan, Pace, PagePlan, Pool,
};

/// How long an answer is used again: watchers ask often, and a page costs work.
const FRESH: Duration = Duration::from_secs(1);
/// How long the sample page may take.
const TIME_MAX: Duration = Duration::from_secs(5);
/// The same for a browser, which may have to be started first.
const BROWSER_TIME_MAX: Duration = Duration::from_secs(15);
/// How long the answer of the browser is used again.
const BROWSER_FRESH: Duration = Duration::from_secs(30);

impl App {
    /// Serves the sample page unless that was done a moment ago.
    pub(super) async fn checked_health(&self) -> Health {
        let mut last = self.health.lock().await;
        if let Some((at, health)) = &*last
            && at.elapsed() < FRESH
        {
            return health.clone();
        }
        let health = self.measured_health().await;
        *last = Some((Instant::now(), health.clone()));
        health
    }

    async fn measured_health(&self) -> Health {
        let context = RunContext {
            registry: self.plugins.snapshot(),
            jar: Arc::new(CookieJar::new()),
            owner: String::new(),
            tariff: Tariff::FlatRate,
        };
        let http = self.tried(&context, Engine::Http).await;
        let browser = self.browser_health(&context).await;
        let is_healthy = http["ok"] == true;
        let report = json!({
            "status": if is_healthy { "ok" } else { "failing" },
            "engines": { "http": http, "browser": browser },
            "plugins_generation": context.registry.generation(),
            "uptime_seconds": self.started.elapsed().as_secs(),
            "version": env!("CARGO_PKG_VERSION"),
        });
        Health { is_healthy, report }
    }
}

impl App {
    /// How the browser did. A page is rendered once in a while only: it costs a thousand times what plain HTTP does.
    async fn browser_health(&self, context: &RunContext) -> Value {
        let is_installed = self
            .renderer
            .as_ref()
            .is_some_and(|renderer| renderer.is_installed());
        if !is_installed {
            return json!({ "ok": false, "error": "no browser is installed" });
        }
        let mut last = self.browser_health.lock().await;
        if let Some((at, report)) = &*last
            && at.elapsed() < BROWSER_FRESH
        {
            return report.clone();
        }
        let report = self.tried(context, Engine::Browser).await;
        *last = Some((Instant::now(), report.clone()));
        report
    }

    /// Serves the sample page by one engine and says how that went.
    async fn tried(&self, context: &RunContext, engine: Engine) -> Value {
        let started = Instant::now();
        let (outcome, _) = page::produce(
            &self.rooms,
            context,
            &sample_plan(engine),
            Nanodollars::ZERO,
        )
        .await;
        let error = outcome.error.or_else(|| match outcome.content {
            Content::One(piece) if piece.text().is_some_and(|text| !text.is_empty()) => None,
            _ => Some("the sample page came back empty".to_owned()),
        });
        let milliseconds = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        json!({ "ok": error.is_none(), "milliseconds": milliseconds, "error": error })
    }
}

fn sample_plan(engine: Engine) -> PagePlan {
    let requested = format!("http://{SAMPLE_HOST}/");
    let url = Url::parse(&requested).expect("the sample site has a valid address");
    PagePlan {
        url: Ok(url),
        requested,
        engine,
        fetch: Arc::new(FetchPlan {
            timeout: match engine {
                Engine::Browser => BROWSER_TIME_MAX,
                Engine::Http | Engine::Smart => TIME_MAX,
            },
            headers: Vec::new(),
            cookies: Vec::new(),
            user_agent: None,
            locale: None,
            country_code: None,
            pool: Pool::Standard,
            respect_robots: false,
            cache: CachePlan {
                enabled: false,
                max_age: Duration::ZERO,
                allow_stale: false,
                skip_browser: false,
            },
            pace: Pace::default(),
            gate: None,
        }),
        output: Arc::new(OutputPlan::of(FormatChoice {
            name: "markdown".to_owned(),
            format: Format::Plugin("markdown".to_owned()),
            options: Value::Null,
        })),
        ceiling: Nanodollars::ZERO,
        router: Arc::default(),
        render: Arc::default(),
    }
}
