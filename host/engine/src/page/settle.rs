//! Settling a page: its charge is posted or voided, and only a page that was paid for is cached.

use tracing::{Instrument, Span};

use trawl_billing::{BillingError, Consumed, FundsError};
use trawl_model::outcome::{PageOutcome, VendorPart};
use trawl_model::{Cause, Charge, Nanodollars, PageFailure, Usage};

use crate::extract::OutputCacheWrite;
use crate::page_budget::PageBudget;
use crate::providers::RouteCounters;
use crate::routing::{CacheWrite, FailedBy, Vendor};

/// A page that was served and extracted, but not paid for yet.
#[derive(Debug)]
pub struct Produced {
    /// The page as the caller will see it, but for its charge.
    pub outcome: PageOutcome,
    /// What it consumed.
    pub usage: Usage,
    /// What made it fail; `None` of a good page.
    pub failed_by: Option<FailedBy>,
    on_paid: OnPaid,
    /// The span of the page; none if it is neither logged nor exported.
    span: Span,
}

/// What happens once the page is paid for. Dropping it does nothing.
#[derive(Debug, Default)]
pub(super) struct OnPaid {
    /// Stores the page in the page cache.
    pub(super) page: Option<CacheWrite>,
    /// Stores its outputs in the output cache.
    pub(super) outputs: Option<OutputCacheWrite>,
    /// Where to count what is billed for a provider's work.
    pub(super) provider: Option<RouteCounters>,
}

impl Produced {
    pub(super) fn new(outcome: PageOutcome, usage: Usage, on_paid: OnPaid) -> Self {
        Self {
            outcome,
            usage,
            failed_by: None,
            on_paid,
            span: Span::none(),
        }
    }

    /// The same with the span of the page, in which it is charged, too.
    #[must_use]
    pub(super) fn within(self, span: Span) -> Self {
        Self { span, ..self }
    }

    /// A page that this made fail. Nothing of it is billed or cached.
    pub(super) fn failed(outcome: PageOutcome, by: FailedBy) -> Self {
        Self {
            failed_by: Some(by),
            ..Self::new(outcome, Usage::default(), OnPaid::default())
        }
    }

    /// The same with the provider that served the page. Its charge is known once the page is
    /// settled.
    pub(super) fn with_vendor(mut self, vendor: Option<Vendor>) -> Self {
        if let Some(vendor) = vendor {
            self.outcome.vendor = Some(VendorPart {
                provider: vendor.provider,
                route: vendor.route,
                vendor_cost: vendor.cost,
                billed_cost: Nanodollars::ZERO,
                byok: vendor.byok,
                attempts: vendor.attempts,
            });
            self.on_paid.provider = Some(vendor.counters);
        }
        self
    }
}

impl OnPaid {
    fn run(self, charge: &Charge) {
        if let Some(write) = self.page {
            write.commit();
        }
        if let Some(write) = self.outputs {
            write.commit();
        }
        if let Some(provider) = self.provider {
            provider.billed(charge.vendor_billed);
        }
    }
}

/// Posts the charge of a good page, voids the charge of a failed one. Content leaves here only once
/// its charge is durable: to the caller, to the page cache and to the output cache.
pub async fn settle(page_budget: PageBudget<'_>, produced: Produced) -> PageOutcome {
    match try_settle(page_budget, produced).await {
        Ok(outcome) => outcome,
        Err(unpaid) => unpaid.failed(),
    }
}

/// As [`settle`], for a page that can wait.
///
/// # Errors
/// [`Unpaid`] if the ledger did not accept the charge.
pub async fn try_settle(
    page_budget: PageBudget<'_>,
    produced: Produced,
) -> Result<PageOutcome, Box<Unpaid>> {
    // Kept until the charge is durable: until then the page has a reservation.
    let _in_flight = page_budget.in_flight();
    let (usage, tariff) = (produced.usage, *page_budget.tariff());
    let failure = produced.outcome.error.as_ref();
    if let Some(charge) = page_budget.settle_before(failure).await {
        count(
            if produced.outcome.error.is_none() {
                "ok"
            } else {
                "failed"
            },
            &usage,
        );
        return Ok(charged(produced.outcome, charge));
    }
    let reservation = page_budget.into_reservation().map(|reservation| {
        reservation.with_consumed(Consumed {
            n_bytes: usage.content_bytes,
            cpu: usage.compute + usage.transform,
        })
    });
    if let Some(error) = &produced.outcome.error {
        if let Some(reservation) = reservation {
            reservation.void(&error.message);
        }
        count("failed", &usage);
        return Ok(produced.outcome);
    }
    let charge = trawl_billing::price(&usage, &tariff);
    let posted = match reservation {
        Some(reservation) => {
            let page = &produced.span;
            let charging = page.in_scope(|| tracing::debug_span!("charge"));
            let posted = reservation.post(&charge).instrument(charging);
            posted.instrument(page.clone()).await
        }
        None => Err(BillingError::Unavailable),
    };
    match posted {
        Ok(charge) => {
            count("ok", &usage);
            produced.on_paid.run(&charge);
            Ok(charged(produced.outcome, charge))
        }
        Err(error) => {
            // The page itself costs too much: it would again.
            let is_final = matches!(error, BillingError::OutgrewCeiling { .. });
            let unpaid = Box::new(Unpaid { produced, error });
            if is_final {
                Ok(unpaid.failed())
            } else {
                Err(unpaid)
            }
        }
    }
}

/// Settles a page whose charge the ledger did not accept before. `page_budget` is a new one; it
/// reserves what the page costs.
///
/// # Errors
/// The ledger still does not accept the charge, or a reservation.
pub async fn settle_again(
    page_budget: PageBudget<'_>,
    unpaid: Box<Unpaid>,
) -> Result<PageOutcome, Box<Unpaid>> {
    let reserved = page_budget.reserve_for(&unpaid.produced.usage).await;
    let Err(failure) = reserved else {
        return try_settle(page_budget, unpaid.produced).await;
    };
    match page_budget.refusal().await {
        Some(FundsError::Busy | FundsError::AllHeld) => Err(unpaid),
        _ => {
            page_budget.void(&failure.message);
            Ok(unpaid.failed_with(failure))
        }
    }
}

/// A good page whose charge the ledger did not accept, as on a full disk. Nothing was charged.
#[derive(Debug)]
pub struct Unpaid {
    produced: Produced,
    error: BillingError,
}

impl Unpaid {
    /// The page as a failed one.
    pub fn failed(self) -> PageOutcome {
        let failure = PageFailure::new(Cause::Internal, self.error.to_string());
        self.failed_with(failure)
    }

    fn failed_with(self, failure: PageFailure) -> PageOutcome {
        let Produced { outcome, usage, .. } = self.produced;
        count("failed", &usage);
        PageOutcome {
            url: outcome.url,
            status: outcome.status,
            elapsed: outcome.elapsed,
            error: Some(failure),
            ..PageOutcome::default()
        }
    }
}

/// The outcome with this charge.
fn charged(outcome: PageOutcome, charge: Charge) -> PageOutcome {
    let vendor = outcome.vendor.map(|part| VendorPart {
        billed_cost: charge.vendor_billed,
        ..part
    });
    PageOutcome {
        charge,
        vendor,
        ..outcome
    }
}

/// Counts a page and the bytes of its decoded body.
pub(super) fn count(outcome: &'static str, usage: &Usage) {
    metrics::counter!("trawl_pages_total", "outcome" => outcome).increment(1);
    metrics::counter!("trawl_page_bytes_total").increment(usage.content_bytes);
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use trawl_billing::{RunBudget, Tariff};
    use trawl_plan::testing::page_plan;

    use super::*;
    use crate::page_budget::tests::{page_budget, payer};
    use crate::page_budget::{PaidBefore, PaidBy, Payer};

    #[tokio::test]
    async fn a_page_is_paid_once_the_ledger_accepts_its_charge() {
        let (closed, _directory) = payer(1_000).await;
        closed.billing.close().await;
        let plan = page_plan("http://site.example/");
        let outcome = PageOutcome {
            status: 200,
            ..PageOutcome::default()
        };
        let usage = Usage {
            content_bytes: 300,
            ..Usage::default()
        };
        let produced = Produced::new(outcome, usage, OnPaid::default());
        let unpaid = try_settle(page_budget(&closed, &plan), produced).await;
        let unpaid = unpaid.expect_err("the ledger is closed");
        let (open, _other_directory) = payer(1_000).await;
        let paid = settle_again(page_budget(&open, &plan), unpaid).await;
        let paid = paid.expect("this one is open");
        assert_eq!((paid.status, paid.error.is_none()), (200, true));
        assert_eq!(paid.charge.total(), Nanodollars(300));
        let funds = open.billing.funds(&open.account);
        assert_eq!(
            (funds.balance, funds.held),
            (Nanodollars(700), Nanodollars::ZERO)
        );
    }

    #[tokio::test]
    async fn an_unpaid_page_has_failed_for_free_if_it_cannot_wait() {
        let (closed, _directory) = payer(1_000).await;
        closed.billing.close().await;
        let plan = page_plan("http://site.example/");
        let usage = Usage {
            content_bytes: 300,
            ..Usage::default()
        };
        let produced = Produced::new(PageOutcome::default(), usage, OnPaid::default());
        let failed = settle(page_budget(&closed, &plan), produced).await;
        assert_eq!(failed.error.map(|error| error.cause), Some(Cause::Internal));
        assert_eq!(failed.charge.total(), Nanodollars::ZERO);
    }

    /// The budget of a request.
    fn budget(payer: &Payer) -> RunBudget {
        let (ceiling, spent) = (Nanodollars::MAX, Nanodollars::ZERO);
        let budget = payer
            .billing
            .run_budget(payer.spender(), "run", ceiling, spent);
        budget.expect("a budget")
    }

    /// The first page of a request, for which an earlier try was charged.
    fn paid_before(budget: &RunBudget, charge: Charge) -> PageBudget<'_> {
        let paid = PaidBefore {
            charge,
            budget,
            page_id: "0",
        };
        let url = "http://site.example/";
        PageBudget::without_page(PaidBy::Before(paid), Tariff::default(), url, Instant::now())
    }

    #[tokio::test]
    async fn a_page_that_was_paid_before_and_fails_now_is_refunded_once() {
        let (payer, _directory) = payer(1_000).await;
        let budget = budget(&payer);
        let (likely, soon) = (Nanodollars(300), Instant::now() + Duration::from_secs(20));
        let reserved = budget.reserve(likely, "http://site.example/", "0", soon.into());
        let charge = Charge {
            bytes_transferred: Nanodollars(200),
            compute: Nanodollars(100),
            ..Charge::default()
        };
        let posted = reserved.await.expect("money").post(&charge).await;
        posted.expect("a charge");
        let balance = || payer.billing.funds(&payer.account).balance;
        assert_eq!(balance(), Nanodollars(700));
        // A kill may follow each try.
        for _ in 0..2 {
            let failure = PageFailure::new(Cause::Timeout, "timed out");
            let outcome = PageOutcome::failed("http://site.example/", failure);
            let produced = Produced::new(outcome, Usage::default(), OnPaid::default());
            let settled = settle(paid_before(&budget, charge), produced).await;
            assert_eq!(settled.charge, Charge::default());
            assert!(settled.error.is_some());
            assert_eq!(balance(), Nanodollars(1_000));
            assert_eq!(budget.spent(), Nanodollars::ZERO);
            let charged = payer.billing.charged("run", "0").await;
            assert_eq!(charged.expect("a store"), Some(Charge::default()));
            let of_run = payer.billing.run_charge("run").await;
            assert_eq!(of_run.expect("a store"), Charge::default());
        }
    }

    #[tokio::test]
    async fn a_repeated_request_shows_what_its_provider_was_billed() {
        let charge = Charge {
            vendor_billed: Nanodollars(7),
            ..Charge::default()
        };
        let part = VendorPart {
            provider: "provider_2".to_owned(),
            route: "provider_2.js".to_owned(),
            vendor_cost: Nanodollars(5),
            billed_cost: Nanodollars::ZERO,
            byok: false,
            attempts: 1,
        };
        let outcome = PageOutcome {
            vendor: Some(part.clone()),
            ..PageOutcome::default()
        };
        let (payer, _directory) = payer(1_000).await;
        let budget = budget(&payer);
        let paid = paid_before(&budget, charge);
        let produced = Produced::new(outcome, Usage::default(), OnPaid::default());
        let settled = settle(paid, produced).await;
        assert_eq!(settled.charge, charge);
        let expected = VendorPart {
            billed_cost: charge.vendor_billed,
            ..part
        };
        assert_eq!(settled.vendor, Some(expected));
    }
}
