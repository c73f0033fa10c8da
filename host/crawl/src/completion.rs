//! The end of a page's lease: its links are followed, and it is to be delivered, or the crawl has
//! it under another URL.

use std::sync::Arc;

use url::Url;

use trawl_model::outcome::PageOutcome;
use trawl_model::{Cause, ContentHash, Discovered, SkipReason};

use super::delivery::Undelivered;
use super::frontier::Frontier;
use super::lock;
use super::run::CrawlRun;

/// The lease of a page in flight. Dropping it gives the URL back, even when the task is aborted.
pub(super) struct FrontierLease {
    run: Arc<CrawlRun>,
    n: u32,
    is_open: bool,
}

/// How a page ended whose links are followed; with its content, if pages are compared by it.
#[derive(Clone, Copy, Debug)]
pub(super) enum PageEnd {
    /// It is delivered, unless the crawl has it under another URL.
    Good(Option<ContentHash>),
    /// An earlier process was paid for it: it is delivered.
    Paid(Option<ContentHash>),
    Failed(Cause),
}

impl PageEnd {
    pub(super) fn of(outcome: &PageOutcome, content: Option<ContentHash>) -> Self {
        match &outcome.error {
            Some(failure) => Self::Failed(failure.cause),
            None => Self::Good(content),
        }
    }
}

impl FrontierLease {
    pub(super) fn new(run: &Arc<CrawlRun>, n: u32) -> Self {
        Self {
            run: Arc::clone(run),
            n,
            is_open: true,
        }
    }

    /// The crawl of the page.
    pub(super) fn run(&self) -> Arc<CrawlRun> {
        Arc::clone(&self.run)
    }

    /// Completes the page, which is to be delivered. `None` if the crawl has it under another URL.
    pub(super) async fn complete(
        mut self,
        mut found: Box<Discovered>,
        end: PageEnd,
    ) -> Option<Undelivered> {
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
        (!is_folded).then(|| Undelivered::new(&self.run, self.n))
    }

    /// Gives back a page that was not requested: a crawl that is paused or parked fetches it when
    /// it continues, any other one skips it.
    pub(super) fn give_back(mut self) {
        if !self.run.paused.is_cancelled() {
            return self.skip(SkipReason::Stopped);
        }
        self.is_open = false;
        lock(&self.run.frontier).put_back(self.n);
        self.run.frontier_changed.notify_one();
    }

    pub(super) fn skip(mut self, reason: SkipReason) {
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

/// The canonical URL that a page states, if pages are compared by it. The URL of a page that is
/// paid already does not count, because that page is delivered itself.
async fn canonical(run: &CrawlRun, found: &Discovered) -> Option<Url> {
    let stated = found.canonical.as_deref();
    let stated = stated.filter(|_| run.plan.fold.canonical)?;
    let canonical = Url::parse(stated).ok()?;
    if let Some(paid) = &run.money.paid
        && paid.is_due(&run.frontier, &canonical).await
    {
        return None;
    }
    Some(canonical)
}
