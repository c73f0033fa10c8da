//! One run of the server: a request's pages, on one snapshot of the plugins, paid by one account.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt, stream};
use url::Url;

use trawl_api::{Order, Outcomes, Run};
use trawl_billing::{FundsError, Tariff};
use trawl_engine::extract::Input;
use trawl_engine::page::{self, PageEngine, PageOutcome, Payer, RunContext};
use trawl_engine::scrape;
use trawl_model::Terms;
use trawl_net::fetch::CookieJar;
use trawl_plan::{Catalog, PagePlan, TransformPlan, TransformSource};
use trawl_plugins::Registry;

/// How long the pages of a `/transform` may take together.
const TRANSFORM_TIME_MAX: Duration = Duration::from_secs(30);

pub(super) struct AppRun {
    rooms: Arc<PageEngine>,
    context: RunContext,
    payer: Payer,
    in_flight: usize,
}

impl AppRun {
    pub(super) fn new(
        rooms: Arc<PageEngine>,
        registry: Arc<Registry>,
        payer: Payer,
        in_flight: usize,
    ) -> Self {
        let context = RunContext {
            registry,
            jar: Arc::new(CookieJar::new()),
            owner: payer.account.to_string(),
            tariff: payer.tariff,
        };
        Self {
            rooms,
            context,
            payer,
            in_flight,
        }
    }

    fn admit(&self) -> Result<(), FundsError> {
        let terms = match self.payer.tariff {
            Tariff::PayAsYouGo(_) => Terms::PayAsYouGo,
            Tariff::FlatRate => Terms::Unlimited,
        };
        self.payer.billing.admit(&self.payer.account, terms)
    }
}

impl Run for AppRun {
    fn catalog(&self) -> &dyn Catalog {
        &*self.context.registry
    }

    fn registry(&self) -> Arc<Registry> {
        Arc::clone(&self.context.registry)
    }

    fn scrape(self: Arc<Self>, pages: Vec<PagePlan>, order: Order) -> Result<Outcomes, FundsError> {
        self.admit()?;
        let in_flight = self.in_flight;
        let pages = scrape::pages(
            Arc::clone(&self.rooms),
            self.context.clone(),
            self.payer.clone(),
            pages,
        );
        Ok(match order {
            Order::Input => pages.buffered(in_flight).boxed(),
            Order::Finish => pages.buffer_unordered(in_flight).boxed(),
        })
    }

    fn transform(
        self: Arc<Self>,
        plan: TransformPlan,
    ) -> BoxFuture<'static, Result<Vec<PageOutcome>, FundsError>> {
        async move {
            self.admit()?;
            let deadline = Instant::now() + TRANSFORM_TIME_MAX;
            let output = Arc::new(plan.output);
            let run = &self;
            let outcomes = stream::iter(plan.sources)
                .map(|source| {
                    let output = Arc::clone(&output);
                    async move {
                        page::transform(
                            &run.rooms,
                            &run.context,
                            &run.payer,
                            input(source),
                            output,
                            deadline,
                        )
                        .await
                    }
                })
                .buffered(self.in_flight)
                .collect()
                .await;
            Ok(outcomes)
        }
        .boxed()
    }
}

fn input(source: TransformSource) -> Input {
    // Without an address relative links have nothing to resolve against and stay as they are.
    let nowhere = || Url::parse("about:blank").expect("about:blank is an address");
    Input {
        url: source.url.unwrap_or_else(nowhere),
        body: source.html,
        content_type: "text/html".to_owned(),
        picture: None,
    }
}
