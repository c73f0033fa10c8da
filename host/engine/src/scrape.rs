//! The run of one request: its pages, on one snapshot of the plugins, paid by one account.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use futures_util::{FutureExt, StreamExt, stream};
use tokio::task::JoinError;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};
use tracing::Instrument;
use url::Url;

use trawl_billing::{Billing, BillingError, FundsError, Payment, RunBudget, Tariff};
use trawl_model::outcome::PageOutcome;
use trawl_model::{Charge, Nanodollars, Terms};
use trawl_plan::{PagePlan, RefusedPage, TransformPlan, TransformSource};

use crate::extract::Input;
use crate::page::{self, PaidBefore, PaidBy, Payer, RunContext};

/// How long the pages of a `/transform` may take together.
const TRANSFORM_TIME_MAX: Duration = Duration::from_secs(30);
/// How long a page of a repeated request waits for a ledger that does not say what an earlier try
/// was charged for it. A database that is replaced is back within this.
const LOOK_UP_TIME_MAX: Duration = Duration::from_secs(15);
/// How long the ledger is left alone in between.
const LOOK_UP_DELAY: Duration = Duration::from_millis(200);

/// Outcomes as they come.
pub type Outcomes = BoxStream<'static, PageOutcome>;

/// The order outcomes come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The order of the plan. The run starts at most as many pages ahead as it has in flight, which
    /// bounds the outcomes waiting in memory.
    Input,
    /// The order of completion.
    Finish,
}

/// One run: its context, who pays, and how many pages are in flight at a time.
pub struct ScrapeRun {
    /// What the pages share.
    pub context: RunContext,
    /// Who pays for them.
    pub payer: Payer,
    /// Under which name they are charged, for a request that may be repeated.
    pub payment: Option<Payment>,
    /// Pages in flight at a time.
    pub in_flight: usize,
    /// Owns the tasks of the pages, or of the search.
    pub tasks: TaskTracker,
}

impl ScrapeRun {
    /// Runs pages, a bounded number at a time; dropping the stream ends the pages in flight and
    /// releases their reservations.
    ///
    /// Each page is a task of its own, which goes on while the stream is not polled because its
    /// reader is slow: it may have a turn, a permit of a host or money that others wait for.
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
        let budget = self.budget()?.map(Arc::new);
        let pages = stream::iter(pages).enumerate().map(move |(n, plan)| {
            let (run, budget) = (Arc::clone(&self), budget.clone());
            let page = async move {
                let plan = match plan {
                    Ok(plan) => plan,
                    Err(refused) => return page::refused(refused),
                };
                if !run.may_begin().await {
                    return page::plan_ended(&plan);
                }
                run.page(&n.to_string(), budget.as_deref(), &plan).await
            };
            let task = self.tasks.spawn(page.in_current_span());
            result_of(AbortOnDropHandle::new(task))
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
            let budget = self.budget()?;
            let sources = stream::iter(plan.sources).enumerate();
            let outcomes = sources.map(|(n, source)| {
                let (run, budget) = (&self, budget.as_ref());
                let output = Arc::clone(&output);
                async move {
                    let (page_id, input) = (n.to_string(), input(source));
                    match run.paid_by(&page_id, budget).await {
                        Ok(paid_by) => {
                            page::transform(&run.context, paid_by, input, output, deadline).await
                        }
                        Err(_logged) => page::charge_unknown(input.url.as_str()),
                    }
                }
            });
            Ok(outcomes.buffered(self.in_flight).collect().await)
        }
        .boxed()
    }

    /// Runs one page.
    async fn page(
        &self,
        page_id: &str,
        budget: Option<&RunBudget>,
        plan: &PagePlan,
    ) -> PageOutcome {
        match self.paid_by(page_id, budget).await {
            Ok(paid_by) => page::run(&self.context, paid_by, plan).await,
            Err(_logged) => page::charge_unknown(plan.url.as_str()),
        }
    }

    /// The budget of a request that may be repeated: a page of it is charged once, however often
    /// the request is tried. Others charge the account page by page.
    pub(crate) fn budget(&self) -> Result<Option<RunBudget>, FundsError> {
        let payer = &self.payer;
        let (spender, run_id) = (payer.spender(), &payer.run_id);
        let payment = self.payment.as_ref();
        let no_ceiling = (Nanodollars::MAX, Nanodollars::ZERO);
        let budget = |payment: &Payment| {
            let billing = &payer.billing;
            billing.payment_budget(spender, run_id, &payment.name, no_ceiling)
        };
        payment.map(budget).transpose()
    }

    /// What pays for a page. Decision D305.
    ///
    /// # Errors
    /// The ledger does not say whether an earlier try was charged for it. If it was, it costs
    /// nothing more, and is to be refunded if it fails now.
    pub(crate) async fn paid_by<'a>(
        &'a self,
        page_id: &'a str,
        budget: Option<&'a RunBudget>,
    ) -> Result<PaidBy<'a>, BillingError> {
        let payer = &self.payer;
        let (Some(budget), Some(payment)) = (budget, &self.payment) else {
            return Ok(PaidBy::Account(payer));
        };
        let page = (&*payment.name, page_id);
        if payment.is_repeated
            && let Some(charge) = charged_before(&payer.billing, page, LOOK_UP_TIME_MAX).await?
        {
            return Ok(PaidBy::Before(PaidBefore {
                charge,
                budget,
                page_id,
            }));
        }
        Ok(PaidBy::Run {
            budget,
            payer,
            page_id,
        })
    }

    pub(crate) fn admit(&self) -> Result<(), FundsError> {
        self.payer.billing.admit(self.payer.spender(), self.terms())
    }

    /// Whether another page may begin: under the Unlimited plan not once it has ended. Decision
    /// D304.
    async fn may_begin(&self) -> bool {
        match self.terms() {
            Terms::PayAsYouGo => true,
            Terms::Unlimited => self.payer.billing.has_plan(&self.payer.account).await,
        }
    }

    const fn terms(&self) -> Terms {
        match self.context.tariff {
            Tariff::PayAsYouGo(_) => Terms::PayAsYouGo,
            Tariff::FlatRate => Terms::Unlimited,
        }
    }
}

/// What an earlier try was charged for the page with this id, under the name of its payment. While
/// the ledger does not answer, it is asked again. A failure is logged.
async fn charged_before(
    billing: &Billing,
    (name, page_id): (&str, &str),
    patience: Duration,
) -> Result<Option<Charge>, BillingError> {
    let started = Instant::now();
    loop {
        match billing.charged(name, page_id).await {
            Err(error) if started.elapsed() >= patience => {
                tracing::error!(payment = name, page = page_id, error = %error, "it is not known whether a page was charged");
                return Err(error);
            }
            Err(_unanswered) => tokio::time::sleep(LOOK_UP_DELAY).await,
            charged => return charged,
        }
    }
}

/// The result of a task. A panic of the task goes on here.
pub(crate) async fn result_of<T>(task: impl Future<Output = Result<T, JoinError>>) -> T {
    match task.await {
        Ok(result) => result,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            // The runtime ends, and with it what waits for the task.
            Err(_cancelled) => std::future::pending().await,
        },
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
        is_serialised: false,
        screenshot: None,
    }
}

#[cfg(test)]
mod tests {
    use std::panic::AssertUnwindSafe;

    use trawl_billing::testing::{billing_with, unreadable_billing};

    use super::*;

    async fn broken() -> PageOutcome {
        panic!("a bug")
    }

    #[tokio::test]
    async fn a_page_that_panics_does_so_where_its_outcome_is_awaited() {
        let page = AbortOnDropHandle::new(tokio::spawn(broken()));
        let outcome = AssertUnwindSafe(result_of(page)).catch_unwind().await;
        let panic = outcome.expect_err("a panic");
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"a bug"));
    }

    #[tokio::test]
    async fn a_ledger_that_does_not_answer_is_not_taken_for_one_without_the_charge() {
        let directory = tempfile::tempdir().expect("a directory");
        let (billing, _account) = billing_with(directory.path(), Nanodollars(1_000)).await;
        let page = ("request", "0");
        let charged = charged_before(&billing, page, Duration::ZERO).await;
        assert_eq!(charged.expect("a ledger"), None);
        let directory = tempfile::tempdir().expect("a directory");
        let billing = unreadable_billing(directory.path()).await;
        let charged = charged_before(&billing, page, 2 * LOOK_UP_DELAY).await;
        assert!(charged.is_err(), "{charged:?}");
    }
}
