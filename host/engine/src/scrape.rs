//! The run of one request: its pages, on one snapshot of the plugins, paid by one account.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use futures_util::{FutureExt, StreamExt, stream};
use url::Url;

use trawl_billing::{FundsError, Tariff};
use trawl_model::Terms;
use trawl_model::outcome::PageOutcome;
use trawl_plan::{PagePlan, RefusedPage, TransformPlan, TransformSource};

use crate::extract::Input;
use crate::page::{self, Payer, RunContext};

/// How long the pages of a `/transform` may take together.
const TRANSFORM_TIME_MAX: Duration = Duration::from_secs(30);

/// Outcomes as they come.
pub type Outcomes = BoxStream<'static, PageOutcome>;

/// The order outcomes come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// That of the plan. The run starts at most as many pages ahead as it has in flight, which
    /// bounds the outcomes waiting in memory.
    Input,
    /// That of finishing.
    Finish,
}

/// One run: its context, who pays, and how many pages are in flight at a time.
pub struct Run {
    /// What the pages share.
    pub context: RunContext,
    /// Who pays for them.
    pub payer: Payer,
    /// Pages in flight at a time.
    pub in_flight: usize,
}

impl Run {
    /// Runs pages, a bounded number at a time; dropping the stream drops the pages in flight and
    /// releases their reservations.
    ///
    /// # Errors
    /// [`FundsError`] if nothing can be reserved at the start.
    pub fn scrape(
        self: Arc<Self>,
        pages: Vec<Result<PagePlan, RefusedPage>>,
        order: Order,
    ) -> Result<Outcomes, FundsError> {
        self.admit()?;
        let in_flight = self.in_flight;
        // Boxed, because queues of futures move them.
        let pages = stream::iter(pages).map(move |plan| {
            let run = Arc::clone(&self);
            async move {
                match plan {
                    Ok(plan) => page::run(&run.context, &run.payer, &plan).await,
                    Err(refused) => page::refused(refused),
                }
            }
            .boxed()
        });
        Ok(match order {
            Order::Input => pages.buffered(in_flight).boxed(),
            Order::Finish => pages.buffer_unordered(in_flight).boxed(),
        })
    }

    /// Makes outputs of pages that the caller handed in; one outcome per source, in their order.
    ///
    /// # Errors
    /// [`FundsError`] if nothing can be reserved at the start.
    pub fn transform(
        self: Arc<Self>,
        plan: TransformPlan,
    ) -> BoxFuture<'static, Result<Vec<PageOutcome>, FundsError>> {
        async move {
            self.admit()?;
            let deadline = Instant::now() + TRANSFORM_TIME_MAX;
            let output = Arc::new(plan.output);
            let (context, payer) = (&self.context, &self.payer);
            let outcomes = stream::iter(plan.sources).map(|source| {
                let output = Arc::clone(&output);
                page::transform(context, payer, input(source), output, deadline)
            });
            Ok(outcomes.buffered(self.in_flight).collect().await)
        }
        .boxed()
    }

    fn admit(&self) -> Result<(), FundsError> {
        let terms = match self.context.tariff {
            Tariff::PayAsYouGo(_) => Terms::PayAsYouGo,
            Tariff::FlatRate => Terms::Unlimited,
        };
        self.payer.billing.admit(&self.payer.account, terms)
    }
}

fn input(source: TransformSource) -> Input {
    // Without a URL, relative links have nothing to resolve against and stay unchanged.
    let no_url = || Url::parse("about:blank").expect("about:blank is a URL");
    let content_type = if source.is_text {
        trawl_document::utf_8_type(&source.content_type, &source.html)
    } else {
        source.content_type
    };
    Input {
        url: source.url.unwrap_or_else(no_url),
        body: source.html,
        content_type,
        screenshot: None,
    }
}
