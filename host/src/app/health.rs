//! Whether a real page can be served now: the built-in sample page through every engine.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use url::Url;

use super::App;
use crate::api::Health;
use crate::egress::SAMPLE_HOST;
use crate::fetch::CookieJar;
use crate::model::{Content, Nanodollars, Piece};
use crate::page::{self, RunContext};
use crate::plan::{
    CachePlan, Engine, FetchPlan, Format, FormatChoice, OutputPlan, Pace, PagePlan, Pool,
    RouterPlan,
};

/// How long an answer is used again: watchers ask often, and a page costs work.
const FRESH: Duration = Duration::from_secs(1);
/// How long the sample page may take.
const TIME_MAX: Duration = Duration::from_secs(5);

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
        let started = Instant::now();
        let context = RunContext {
            registry: self.plugins.snapshot(),
            jar: Arc::new(CookieJar::new()),
        };
        let plan = sample_plan();
        let (outcome, _) = page::produce(&self.rooms, &context, &plan).await;
        let error = outcome.error.or_else(|| match outcome.content {
            Content::One(Piece::Text(text)) if !text.is_empty() => None,
            _ => Some("the sample page came back empty".to_owned()),
        });
        let is_healthy = error.is_none();
        let milliseconds = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let report = json!({
            "status": if is_healthy { "ok" } else { "failing" },
            "engines": {
                "http": { "ok": is_healthy, "milliseconds": milliseconds, "error": error },
                "browser": { "ok": false, "error": "no browser is installed" },
            },
            "plugins_generation": context.registry.generation(),
            "uptime_seconds": self.started.elapsed().as_secs(),
            "version": env!("CARGO_PKG_VERSION"),
        });
        Health { is_healthy, report }
    }
}

fn sample_plan() -> PagePlan {
    let requested = format!("http://{SAMPLE_HOST}/");
    let url = Url::parse(&requested).expect("the sample site has a valid address");
    PagePlan {
        url: Ok(url),
        requested,
        engine: Engine::Http,
        fetch: Arc::new(FetchPlan {
            timeout: TIME_MAX,
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
            },
            pace: Pace::default(),
            gate: None,
        }),
        output: Arc::new(OutputPlan {
            formats: vec![FormatChoice {
                name: "markdown".to_owned(),
                format: Format::Plugin("markdown".to_owned()),
                options: Value::Null,
            }],
            single_format: true,
            filters: Vec::new(),
            extractors: Default::default(),
            metadata: false,
            links: false,
            discover: false,
            headers: false,
            cookies: false,
            chunking: None,
            max_size: None,
        }),
        ceiling: Nanodollars::ZERO,
        router: RouterPlan::default(),
    }
}
