//! One page of a crawl: robots.txt, reservation, fetch, links, charge, delivery.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use tokio_util::sync::CancellationToken;
use url::Url;

use trawl_billing::{Cap, FundsError};
use trawl_engine::page::{self, PaidBy, Produced, Purse};
use trawl_model::memory::MemoryLease;
use trawl_model::outcome::PageOutcome;
use trawl_model::{
    Cause, Charge, ContentHash, Discovered, Nanodollars, PageFailure, SkipReason, StopReason,
};
use trawl_net::egress::on_behalf_of;
use trawl_plan::{FetchPlan, Pace, PagePlan};

use super::batch::Recorded;
use super::frontier::{Frontier, Leased};
use super::lock;
use super::paid::page_id;
use super::run::Run;
use super::webhooks::Event;

/// Pages in a row that could not be paid, after which the crawl ends. One alone may be larger than
/// the others, which can still be paid.
const REFUSED_IN_A_ROW_MAX: u32 = 3;
/// How long the ledger is left alone that did not accept the charge of a page.
const UNPAID_RETRY_DELAY: Duration = Duration::from_millis(500);
/// How often a charge is tried on a ledger that accepts other entries.
const UNPAID_RETRIES_MAX: usize = 20;
/// Most bytes of a failed page's error in lists; its entry has the whole error.
const ERROR_BYTES_MAX: usize = 512;

/// The lease of a page in flight. Dropping it gives the URL back, even when the task is aborted.
struct FrontierLease {
    run: Arc<Run>,
    n: u32,
    is_open: bool,
}

/// How a page ended whose links are followed; with its content, if pages are compared by it.
#[derive(Clone, Copy, Debug)]
enum PageEnd {
    /// It is delivered, unless the crawl has it under another URL.
    Good(Option<ContentHash>),
    /// An earlier process was paid for it: it is delivered.
    Paid(Option<ContentHash>),
    Failed(Cause),
}

impl PageEnd {
    fn of(outcome: &PageOutcome, content: Option<ContentHash>) -> Self {
        match &outcome.error {
            Some(failure) => Self::Failed(failure.cause),
            None => Self::Good(content),
        }
    }
}

/// A page that is completed and not delivered yet. Dropping it fetches the pages that were folded
/// into it, even when the task is aborted.
struct Undelivered {
    run: Arc<Run>,
    n: u32,
    is_open: bool,
}

impl Undelivered {
    fn delivered(mut self) {
        self.is_open = false;
        lock(&self.run.frontier).note_delivered(self.n);
        self.run.frontier_changed.notify_one();
    }
}

impl Drop for Undelivered {
    fn drop(&mut self) {
        if self.is_open {
            lock(&self.run.frontier).release_folded(self.n);
            self.run.frontier_changed.notify_one();
        }
    }
}

impl FrontierLease {
    /// Completes the page, which is to be delivered. `None` if the crawl has it under another URL.
    async fn complete(mut self, mut found: Box<Discovered>, end: PageEnd) -> Option<Undelivered> {
        let robots = self.run.robots.as_ref();
        if robots.is_some_and(|robots| robots.forbids_following(&found.robots_tags)) {
            found.nofollow_all();
        }
        let screened = self
            .run
            .screen
            .links(found.iter().map(|(url, _)| url))
            .await;
        let canonical = canonical(&self.run, &found).await;
        self.is_open = false;
        let mut frontier = lock(&self.run.frontier);
        frontier.set_screened(screened);
        let obeys_nofollow = self.run.robots.is_some();
        let is_folded = match end {
            PageEnd::Good(content) => is_folded(&mut frontier, self.n, canonical.as_ref(), content),
            PageEnd::Paid(content) => {
                // Others fold into it.
                is_folded(&mut frontier, self.n, canonical.as_ref(), content);
                false
            }
            PageEnd::Failed(_) => false,
        };
        match end {
            _ if is_folded => frontier.complete_folded(self.n, &found, obeys_nofollow),
            PageEnd::Good(_) | PageEnd::Paid(_) => {
                frontier.complete(self.n, &found, obeys_nofollow);
            }
            PageEnd::Failed(cause) => {
                frontier.has_failed(self.n);
                frontier.complete(self.n, &found, obeys_nofollow);
                if is_of_its_scheme(cause) {
                    frontier.is_unanswered(self.n);
                }
            }
        }
        drop(frontier);
        self.run.frontier_changed.notify_one();
        (!is_folded).then(|| Undelivered {
            run: Arc::clone(&self.run),
            n: self.n,
            is_open: true,
        })
    }

    fn skip(mut self, reason: SkipReason) {
        self.is_open = false;
        lock(&self.run.frontier).skip(self.n, reason);
        self.run.frontier_changed.notify_one();
    }
}

impl Drop for FrontierLease {
    fn drop(&mut self) {
        if self.is_open {
            lock(&self.run.frontier).skip(self.n, SkipReason::Stopped);
            self.run.frontier_changed.notify_one();
        }
    }
}

/// Takes one page from its URL to the caller. The lease ends as soon as the page's links are known;
/// the charge and the delivery overlap with the next pages.
pub(super) fn crawl(run: Arc<Run>, leased: Leased) -> impl Future<Output = ()> + Send {
    // Made here, because a task may be aborted before it runs for the first time.
    let lease = FrontierLease {
        run: Arc::clone(&run),
        n: leased.n,
        is_open: true,
    };
    let account = run.context.owner.clone();
    on_behalf_of(&account, crawl_leased(run, leased, lease))
}

async fn crawl_leased(run: Arc<Run>, leased: Leased, lease: FrontierLease) {
    if leased.has_no_sitemap {
        let failure = no_sitemap(&run);
        return refused(lease, &leased, SkipReason::Scope, failure).await;
    }
    let mut plan = PagePlan {
        requested: leased.url.to_string(),
        url: leased.url.clone(),
        fetch: run.fetch_plan(&leased.url),
        render: run.render_plan(&leased.url),
        ..run.page.clone()
    };
    if let Some(robots) = &run.robots {
        let verdict = robots.verdict(&leased.url, plan.fetch.exit()).await;
        let is_paced = verdict.crawl_delay.is_some_and(|delay| !delay.is_zero());
        if lock(&run.frontier).pace_host(leased.n, is_paced) {
            run.frontier_changed.notify_one();
        }
        if let Some(failure) = verdict.refusal(&leased.url) {
            return not_allowed(lease, &leased, failure).await;
        }
        slow_down(&mut plan, verdict.crawl_delay);
    }
    let page_id = page_id(&leased.url);
    if let Some(paid) = &run.paid
        && let Some(charge) = paid.charge(&leased.url).await
    {
        return refetch_paid(lease, &plan, leased.n, charge).await;
    }
    let paid_by = PaidBy::Run {
        budget: &run.budget,
        payer: &run.payer,
        page_id: &page_id,
    };
    run.gate.enter(leased.n, &leased.url, false);
    let may_retry = || !run.gate.has_refused(&leased.url);
    let producing = page::produce_paid(&run.context, paid_by, &plan, may_retry);
    let (purse, mut produced) = tokio::select! {
        biased;
        () = run.gives_back(&leased.url) => {
            run.gate.leave(&leased.url);
            return lease.skip(SkipReason::Stopped);
        }
        produced = producing => produced,
    };
    let refused_redirect = run.gate.leave(&leased.url);
    let has_failed = produced.outcome.error.is_some();
    let refusal = purse.refusal().await.filter(|_| has_failed);
    if let Some(error @ (FundsError::Empty | FundsError::KeySpent(_) | FundsError::CeilingReached)) =
        refusal
        && !purse.is_open().await
    {
        lease.skip(SkipReason::Spend);
        return out_of_funds(&run, &error);
    }
    if let Some(reason) = refused_redirect {
        purse.void(reason.name());
        return refused(lease, &leased, reason, redirect_failure(reason)).await;
    }
    let found = produced.outcome.discovered.take().unwrap_or_default();
    let content = compared_content(&run, &produced.outcome);
    let end = PageEnd::of(&produced.outcome, content);
    let Some(undelivered) = lease.complete(found, end).await else {
        return purse.void(SkipReason::Duplicate.name());
    };
    note_refusal(&run, &purse, refusal).await;
    let n_bytes = produced.usage.content_bytes;
    if let Some(outcome) = settled(&run, paid_by, &plan, (purse, produced)).await {
        deliver(undelivered, (n_bytes, content), outcome).await;
    }
}

/// A page once its charge is durable. While the ledger accepts none, as on a full disk, or other
/// pages hold the money for it, the page waits with its content, unless the crawl is stopped. `None`
/// if the server stops before: the next process fetches it again.
async fn settled(
    run: &Run,
    paid_by: PaidBy<'_>,
    plan: &PagePlan,
    (purse, produced): (Purse<'_>, Produced),
) -> Option<PageOutcome> {
    let tariff = run.context.tariff;
    let mut unpaid = match page::try_settle(purse, &tariff, produced).await {
        Ok(outcome) => return Some(outcome),
        Err(unpaid) => unpaid,
    };
    let mut n_retries = 0;
    while n_retries < UNPAID_RETRIES_MAX {
        tokio::select! {
            biased;
            () = run.stopped.cancelled() => return Some(unpaid.failed()),
            () = run.server_stops.cancelled(), if run.job.in_background => return None,
            () = tokio::time::sleep(UNPAID_RETRY_DELAY) => {}
        }
        // Then it knows, too, what became of the charges that it did not accept.
        if run.payer.billing.flush().await.is_err() {
            continue;
        }
        n_retries += 1;
        let purse = Purse::new(paid_by, &run.context.expectations, tariff, plan);
        let settling = page::settle_again(purse, &tariff, unpaid);
        let parks = run.job.in_background;
        unpaid = match unless_parked(settling, parks, &run.server_stops).await? {
            Ok(outcome) => return Some(outcome),
            Err(unpaid) => unpaid,
        };
    }
    Some(unpaid.failed())
}

/// What this returns; `None` if the server stops before, for a crawl that goes on at its next start.
async fn unless_parked<T>(
    work: impl Future<Output = T>,
    parks: bool,
    server_stops: &CancellationToken,
) -> Option<T> {
    tokio::select! {
        biased;
        done = work => Some(done),
        () = server_stops.cancelled(), if parks => None,
    }
}

/// Ends the crawl if its pages cannot be paid any more; `refusal` is why this one was not.
async fn note_refusal(run: &Run, purse: &Purse<'_>, refusal: Option<FundsError>) {
    match refusal {
        // Its own ceiling says nothing about other pages.
        Some(FundsError::Short(short)) if short.cap == Cap::Page => {}
        Some(error) => {
            let in_a_row = run.refused_in_a_row.fetch_add(1, Ordering::Relaxed) + 1;
            let is_page_special = in_a_row < REFUSED_IN_A_ROW_MAX && !purse.began_short().await;
            if !is_page_special {
                out_of_funds(run, &error);
            }
        }
        None => run.refused_in_a_row.store(0, Ordering::Relaxed),
    }
}

/// The failure of a page that was redirected to a URL which the crawl skips for this reason.
fn redirect_failure(reason: SkipReason) -> PageFailure {
    let cause = match reason {
        SkipReason::Robots => Cause::Robots,
        _ => Cause::RedirectRefused,
    };
    let name = reason.name();
    PageFailure::new(
        cause,
        format!("the page redirects to a URL that this crawl skips: {name}"),
    )
}

/// Why a crawl of sitemaps only has no pages.
fn no_sitemap(run: &Run) -> PageFailure {
    let has_urls = lock(&run.frontier).counts().known > 1;
    let text = if has_urls {
        "sitemap_only: no URL of the sitemaps is part of this crawl, see `/crawl/{id}/skipped`"
    } else {
        "sitemap_only: no URL was found in the sitemaps that `sitemap_path` or robots.txt names, or in `/sitemap.xml`"
    };
    PageFailure::new(Cause::NoSitemap, text)
}

/// Whether the page may be served under the other scheme after this failure.
fn is_of_its_scheme(cause: Cause) -> bool {
    matches!(
        cause,
        Cause::Tls
            | Cause::ConnectionRefused
            | Cause::ConnectionClosed
            | Cause::ConnectionReset
            | Cause::ConnectionTimeout
            | Cause::Unreachable
    )
}

/// The content of a page, if later pages are compared with it.
fn compared_content(run: &Run, outcome: &PageOutcome) -> Option<ContentHash> {
    if run.plan.fold.equal && outcome.error.is_none() {
        outcome.content.hash()
    } else {
        None
    }
}

/// Whether the crawl has this page under another URL, by what the request counts as one page.
/// Otherwise others may be left out for it from now on, so it must be completed at once.
fn is_folded(
    frontier: &mut Frontier,
    n: u32,
    canonical: Option<&Url>,
    content: Option<ContentHash>,
) -> bool {
    canonical.is_some_and(|url| frontier.folds_into(n, url))
        || content.is_some_and(|content| !frontier.is_new_content(n, content))
}

/// The canonical URL that a page states, if pages are compared by it. That of a page which is paid
/// already does not count, because it is delivered itself.
async fn canonical(run: &Run, found: &Discovered) -> Option<Url> {
    let stated = found.canonical.as_deref();
    let stated = stated.filter(|_| run.plan.fold.canonical)?;
    let canonical = Url::parse(stated).ok()?;
    if let Some(paid) = &run.paid
        && paid.is_due(&run.frontier, &canonical).await
    {
        return None;
    }
    Some(canonical)
}

/// Ends a page that robots.txt does not allow. Where it could not be asked, nothing forbids the
/// page: it has failed as it would have by itself. Decision D44.
async fn not_allowed(lease: FrontierLease, leased: &Leased, failure: PageFailure) {
    match failure.cause {
        Cause::Robots | Cause::RobotsUnavailable => {
            refused(lease, leased, SkipReason::Robots, failure).await;
        }
        _ => failed(lease, leased, failure).await,
    }
}

/// Skips a page that must not be fetched. Only a seed gets an entry, with the reason. Decision D44.
async fn refused(lease: FrontierLease, leased: &Leased, reason: SkipReason, failure: PageFailure) {
    if leased.is_seed {
        failed(lease, leased, failure).await;
    } else {
        lease.skip(reason);
    }
}

/// Delivers a page that failed before it was requested.
async fn failed(lease: FrontierLease, leased: &Leased, failure: PageFailure) {
    let outcome = PageOutcome {
        url: leased.url.to_string(),
        status: failure.status(),
        error: Some(failure),
        ..PageOutcome::default()
    };
    let end = PageEnd::of(&outcome, None);
    if let Some(undelivered) = lease.complete(Box::default(), end).await {
        deliver(undelivered, (0, None), outcome).await;
    }
}

/// Fetches a page again, free of charge, that an earlier process charged and did not deliver. Its
/// entry has the original charge. It is delivered although the crawl may have it under another URL
/// by now, so that nothing is charged and not delivered. Decision D394.
async fn refetch_paid(lease: FrontierLease, plan: &PagePlan, n: u32, charge: Charge) {
    let run = Arc::clone(&lease.run);
    run.gate.enter(n, &plan.url, true);
    let purse = Purse::unbilled(plan.ceiling);
    let produced = page::produce(&run.context, plan, &purse).await;
    run.gate.leave(&plan.url);
    let n_bytes = produced.usage.content_bytes;
    let mut outcome = PageOutcome {
        charge,
        ..produced.outcome
    };
    let content = compared_content(&run, &outcome);
    let found = outcome.discovered.take().unwrap_or_default();
    let end = match PageEnd::of(&outcome, content) {
        PageEnd::Good(content) => PageEnd::Paid(content),
        failed => failed,
    };
    if let Some(undelivered) = lease.complete(found, end).await {
        deliver(undelivered, (n_bytes, content), outcome).await;
    }
}

/// An error, truncated for lists.
fn truncated(error: &str) -> String {
    error[..error.floor_char_boundary(ERROR_BYTES_MAX)].to_owned()
}

/// Applies the crawl delay of robots.txt. A longer one of the crawl's own wins.
fn slow_down(plan: &mut PagePlan, crawl_delay: Option<Duration>) {
    let Some(host_delay) = crawl_delay.filter(|delay| !delay.is_zero()) else {
        return;
    };
    let pace = Pace {
        host_delay,
        ..plan.fetch.pace
    };
    plan.fetch = Arc::new(FetchPlan {
        pace,
        ..(*plan.fetch).clone()
    });
}

/// Ends the crawl because no page can be paid any more: the run has reached its ceiling, or the
/// budget of its key or the balance is used up, or what is left of them is not enough for a page
/// even once all others ended.
fn out_of_funds(run: &Run, error: &FundsError) {
    let stop = match error {
        FundsError::CeilingReached => StopReason::Spend,
        FundsError::Empty => StopReason::Balance,
        FundsError::KeySpent(_) => StopReason::KeyBudget,
        FundsError::Short(short) if short.may_pass() => return,
        FundsError::Short(short) => match short.cap {
            Cap::Page => return,
            Cap::Run => StopReason::Spend,
            Cap::Key(_) => StopReason::KeyBudget,
            Cap::Balance => StopReason::Balance,
        },
        FundsError::AllHeld | FundsError::Busy => return,
        FundsError::UnknownAccount => StopReason::Failed,
    };
    run.stop(stop);
}

/// The entry of a page with the memory that its outcome held: it gives it back when it is recorded
/// and sent. Its events, which have so many bytes, are stored at the same time.
fn held(memory: Option<Arc<MemoryLease>>, entry: Vec<u8>, event_bytes: usize) -> Bytes {
    match memory.and_then(Arc::into_inner) {
        Some(mut lease) => {
            lease.record(entry.capacity() + event_bytes);
            lease.attach(entry)
        }
        None => entry.into(),
    }
}

/// Notes where a page was found, and whether it has failed, perhaps only because it could not be
/// paid.
fn note_end(undelivered: &Undelivered, outcome: &mut PageOutcome) {
    let (run, n) = (&undelivered.run, undelivered.n);
    let mut frontier = lock(&run.frontier);
    outcome.place = Some(frontier.place(n));
    if outcome.error.is_some() {
        frontier.has_failed(n);
        drop(frontier);
        run.frontier_changed.notify_one();
    }
}

/// Passes a page on to the recorder and to the caller of a streaming crawl, with its decoded bytes
/// and the content that later pages are compared with.
async fn deliver(
    undelivered: Undelivered,
    (n_bytes, content): (u64, Option<ContentHash>),
    mut outcome: PageOutcome,
) {
    let (run, n) = (Arc::clone(&undelivered.run), undelivered.n);
    // Headers that only the webhook requires are not part of the entry.
    let headers = if run.plan.seed.output.headers {
        outcome.headers.clone()
    } else {
        outcome.headers.take()
    };
    let is_failed = outcome.error.is_some();
    note_end(&undelivered, &mut outcome);
    let mut entry = Vec::new();
    trawl_wire::write_entry(&outcome, &mut entry);
    let events = run.events.as_ref().map(|events| {
        let headers = headers.as_deref().unwrap_or_default();
        events.page(n, &outcome, headers, &entry)
    });
    let events = events.unwrap_or_default();
    let event_bytes = events.iter().map(Event::bytes).sum();
    let entry = held(outcome.memory.take(), entry, event_bytes);
    let charge = if is_failed {
        Nanodollars::ZERO
    } else {
        outcome.charge.total()
    };
    run.job.update(|progress| {
        progress.n_pages += 1;
        progress.n_failed += u64::from(is_failed);
        progress.n_bytes += n_bytes;
        progress.spent += charge;
    });
    let recorded = Recorded {
        n,
        status: outcome.status,
        is_failed,
        n_bytes,
        charge,
        at: run.clock.now(),
        cause: outcome.error.as_ref().map(|failure| failure.cause),
        error: outcome
            .error
            .as_ref()
            .map(|failure| truncated(&failure.message)),
        content: content.filter(|_| !is_failed),
        entry: entry.clone(),
        events,
    };
    // Only the entry waits for the recorder and for the caller.
    drop(outcome);
    // The recorder is gone only after the store failed repeatedly; the caller still gets the pages
    // that were charged.
    let _gone = run.recorder.send(recorded).await;
    // Not before: its other URLs are stored as skipped once its entry is.
    undelivered.delivered();
    if let Some(listener) = &run.listener {
        // The loop notices when the caller hangs up.
        let _gone = listener.send(entry).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_page_that_waits_for_money_is_given_up_when_its_crawl_is_parked() {
        let stops = CancellationToken::new();
        let paid = unless_parked(std::future::ready(1), true, &stops).await;
        assert_eq!(paid, Some(1));
        stops.cancel();
        let parked = unless_parked(std::future::pending::<u8>(), true, &stops).await;
        assert_eq!(parked, None);
        let streamed = unless_parked(std::future::ready(1), false, &stops).await;
        assert_eq!(streamed, Some(1), "its crawl does not go on later");
    }
}
