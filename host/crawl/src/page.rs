//! One page of a crawl: robots.txt, reservation, fetch, links, charge, delivery.

use std::sync::Arc;

use trawl_engine::page::{self, Admission, FailedBy, PageBudget, PageRules, PaidBy, Produced};
use trawl_model::outcome::PageOutcome;
use trawl_model::{Cause, ContentHash, PageFailure, SkipReason};
use trawl_net::egress::{on_behalf_of, traced};
use trawl_plan::PagePlan;

use super::completion::{FrontierLease, PageEnd};
use super::delivery::deliver;
use super::frontier::Leased;
use super::gate::PageGate;
use super::lock;
use super::paid::PaidPage;
use super::payment::{charged_before, is_spent, note_unfunded, out_of_funds, refunded, settled};
use super::run::CrawlRun;

/// Takes one page from its URL to the caller. The lease ends as soon as the page's links are known;
/// the charge and the delivery overlap with the next pages.
pub(super) fn crawl(run: Arc<CrawlRun>, leased: Leased) -> impl Future<Output = ()> + Send {
    // Made here, because a task may be aborted before it runs for the first time.
    let lease = FrontierLease::new(&run, leased.n);
    let (account, trace) = (run.context.owner.clone(), run.context.trace);
    on_behalf_of(&account, traced(trace, crawl_leased(run, leased, lease)))
}

async fn crawl_leased(run: Arc<CrawlRun>, leased: Leased, lease: FrontierLease) {
    if leased.has_no_sitemap {
        let outcome = PageOutcome::failed(leased.url.as_str(), no_sitemap(&run));
        return refused(lease, &leased, SkipReason::Scope, outcome).await;
    }
    let page_id = run.pages.id(leased.n, &leased.url);
    let Ok(paid) = charged_before(&run, (&page_id, &leased.url)).await else {
        return lease.give_back();
    };
    let plan = match run.pages.of(leased.n, &leased.url) {
        Ok(plan) => plan,
        Err(unfetchable) => return failed(lease, paid, page::refused(unfetchable)).await,
    };
    let admission = run.context.admission(&plan);
    let refusal = ask_robots(&run, &leased, &admission).await;
    if let Some(paid) = paid {
        if let Some(failure) = refusal {
            let outcome = PageOutcome::failed(leased.url.as_str(), failure);
            return failed(lease, Some(paid), outcome).await;
        }
        let gate = Arc::new(PageGate::new(&run.gate, leased.n, true));
        return refetch_paid(lease, &plan, (admission, gate), paid).await;
    }
    if let Some(failure) = refusal {
        return not_allowed(lease, &leased, failure).await;
    }
    let paid_by = PaidBy::Run {
        budget: &run.money.budget,
        payer: &run.money.payer,
        page_id: &page_id,
    };
    let gate = Arc::new(PageGate::new(&run.gate, leased.n, false));
    let rules = Arc::clone(&gate) as Arc<dyn PageRules>;
    let admission = Arc::new(admission.under(rules));
    // A stop refuses pages that wait for money: they are not requested again then.
    let may_retry = || !run.stopped.is_cancelled();
    // By far the largest part of the task, which is moved several times before it runs.
    let producing = page::produce_paid(&run.context, paid_by, &plan, &admission, may_retry);
    let producing = Box::pin(producing);
    let (page_budget, produced) = tokio::select! {
        biased;
        () = run.gives_back(&gate) => return lease.give_back(),
        produced = producing => produced,
    };
    match produced.failed_by {
        Some(FailedBy::Rule(reason)) => {
            page_budget.void(reason.name());
            refused(lease, &leased, reason, produced.outcome).await;
        }
        Some(FailedBy::Funds(unfunded)) if is_spent(&unfunded) => {
            lease.skip(SkipReason::Spend);
            out_of_funds(&run, &unfunded.error);
        }
        _ => charge_and_deliver(lease, paid_by, &plan, (page_budget, produced)).await,
    }
}

/// Ends the lease of a page, since its links are known, then charges and delivers it.
async fn charge_and_deliver(
    lease: FrontierLease,
    paid_by: PaidBy<'_>,
    plan: &PagePlan,
    (page_budget, mut produced): (PageBudget<'_>, Produced),
) {
    let run = lease.run();
    let found = produced.outcome.discovered.take().unwrap_or_default();
    let content = compared_content(&run, &produced.outcome);
    let end = PageEnd::of(&produced.outcome, content);
    let Some(undelivered) = lease.complete(found, end).await else {
        return page_budget.void(SkipReason::Duplicate.name());
    };
    note_unfunded(&run, produced.failed_by);
    let n_bytes = produced.usage.content_bytes;
    if let Some(outcome) = settled(&run, paid_by, plan, (page_budget, produced)).await {
        deliver(undelivered, (n_bytes, content), outcome).await;
    }
}

/// Asks robots.txt, if it is obeyed, before money is reserved. Returns why the page must not be
/// fetched.
async fn ask_robots(run: &CrawlRun, leased: &Leased, admission: &Admission) -> Option<PageFailure> {
    let verdict = admission.verdict(&leased.url).await?;
    let is_paced = verdict.crawl_delay.is_some_and(|delay| !delay.is_zero());
    if lock(&run.frontier).pace_host(leased.n, is_paced) {
        run.frontier_changed.notify_one();
    }
    verdict.refusal(&leased.url)
}

/// Why a crawl of sitemaps only has no pages.
fn no_sitemap(run: &CrawlRun) -> PageFailure {
    let has_urls = lock(&run.frontier).counts().known > 1;
    let text = if has_urls {
        "sitemap_only: no URL of the sitemaps is part of this crawl, see `/crawl/{id}/skipped`"
    } else {
        "sitemap_only: no URL was found in the sitemaps that `sitemap_path` or robots.txt names, or in `/sitemap.xml`"
    };
    PageFailure::new(Cause::NoSitemap, text)
}

/// The content of a page, if later pages are compared with it.
fn compared_content(run: &CrawlRun, outcome: &PageOutcome) -> Option<ContentHash> {
    if run.plan.fold.equal && outcome.error.is_none() {
        outcome.content.hash()
    } else {
        None
    }
}

/// Ends a page that robots.txt does not allow. Where it could not be asked, nothing forbids the
/// page: it has failed as it would have by itself. Decision D44.
async fn not_allowed(lease: FrontierLease, leased: &Leased, failure: PageFailure) {
    let cause = failure.cause;
    let outcome = PageOutcome::failed(leased.url.as_str(), failure);
    match cause {
        Cause::Robots | Cause::RobotsUnavailable => {
            refused(lease, leased, SkipReason::Robots, outcome).await;
        }
        Cause::Rights => refused(lease, leased, SkipReason::Rights, outcome).await,
        _ => failed(lease, None, outcome).await,
    }
}

/// Skips a page that must not be fetched. Only a seed gets an entry, with the reason. Decision D44.
async fn refused(lease: FrontierLease, leased: &Leased, reason: SkipReason, outcome: PageOutcome) {
    if leased.is_seed {
        failed(lease, None, outcome).await;
    } else {
        lease.skip(reason);
    }
}

/// Delivers a page that failed without a charge, or whose charge by an earlier process is refunded.
async fn failed(lease: FrontierLease, paid: Option<PaidPage>, outcome: PageOutcome) {
    if let Some(paid) = paid {
        return deliver_paid(lease, paid, (0, outcome)).await;
    }
    let end = PageEnd::of(&outcome, None);
    if let Some(undelivered) = lease.complete(Box::default(), end).await {
        deliver(undelivered, (0, None), outcome).await;
    }
}

/// Fetches a page again, free of charge, that an earlier process charged and did not deliver. What
/// a background crawl does not fetch again is refunded at its end.
async fn refetch_paid(
    lease: FrontierLease,
    plan: &PagePlan,
    (admission, gate): (Admission, Arc<PageGate>),
    paid: PaidPage,
) {
    let run = lease.run();
    let rules = Arc::clone(&gate) as Arc<dyn PageRules>;
    let admission = Arc::new(admission.under(rules));
    let producing = Box::pin(page::produce_unbilled(&run.context, plan, &admission));
    let produced = tokio::select! {
        biased;
        () = run.gives_back(&gate), if run.job.in_background => return lease.give_back(),
        produced = producing => produced,
    };
    let delivered = (produced.usage.content_bytes, produced.outcome);
    deliver_paid(lease, paid, delivered).await;
}

/// Delivers a page that an earlier process charged, with its decoded bytes: with the original
/// charge, or refunded if it has failed now. It is delivered although the crawl may have it under
/// another URL by now, so that nothing is charged and not delivered. Decision D394.
async fn deliver_paid(
    lease: FrontierLease,
    paid: PaidPage,
    (n_bytes, mut outcome): (u64, PageOutcome),
) {
    let run = lease.run();
    let content = compared_content(&run, &outcome);
    let found = outcome.discovered.take().unwrap_or_default();
    let end = match PageEnd::of(&outcome, content) {
        PageEnd::Good(content) => PageEnd::Paid(content),
        failed => failed,
    };
    let Some(undelivered) = lease.complete(found, end).await else {
        return;
    };
    let charge = match &outcome.error {
        None => Some(paid.charge),
        Some(failure) => refunded(&run, &paid, failure).await,
    };
    if let Some(charge) = charge {
        outcome.charge = charge;
        deliver(undelivered, (n_bytes, content), outcome).await;
    }
}
