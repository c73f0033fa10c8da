//! Plain HTTP: where robots.txt allows it, at the host's pace, and with retries after a 429 or 503.

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::sleep;
use tracing::Instrument;
use tracing::field::Empty;
use url::Url;

use futures_util::future::BoxFuture;

use trawl_model::{Nanodollars, PageFailure, Usage, timing};
use trawl_net::fetch::{BodyMeter, Caller, Condition, FetchError, Fetched, Fetcher, PageRequest};
use trawl_net::politeness::{Owner, Politeness, RequestPace};
use trawl_plan::FetchPlan;

use super::admission::Admission;
use super::clock::PageClock;
use super::paid_permit::{PageTurn, paid_permit, timed_out};
use crate::page_budget::{Loader, PageBudget};

/// Most retries after a 429 or 503. A host that is still not ready after two pauses of its own
/// choice will not be ready soon.
pub const RETRIES_MAX: usize = 2;
/// Most retries after a refused or reset connection: a server that restarts causes both.
const RECONNECTS_MAX: usize = 1;
/// Pause before such a retry.
const RECONNECT_PAUSE: Duration = Duration::from_millis(250);

/// The route.
pub(super) struct OwnHttp {
    fetcher: Fetcher,
    politeness: Arc<Politeness>,
}

/// What a page is fetched from: its own URL, or one that a refresh leads to.
#[derive(Clone, Copy)]
pub(super) struct Target<'a> {
    pub(super) url: &'a Url,
    /// Whether it is on the origin that the caller's headers and cookies are for.
    pub(super) is_callers_origin: bool,
}

/// One page to fetch.
#[derive(Clone, Copy)]
pub(super) struct HttpRequest<'a> {
    pub(super) plan: &'a FetchPlan,
    pub(super) target: Target<'a>,
    /// Whether it may be fetched, and which redirects may be followed.
    pub(super) admission: &'a Admission,
    pub(super) caller: Caller<'a>,
    pub(super) page_budget: &'a PageBudget<'a>,
    /// For whom it is fetched.
    pub(super) owner: Owner,
    /// Makes the request conditional.
    pub(super) condition: Option<Condition<'a>>,
}

impl<'a> Target<'a> {
    /// The URL that the caller asked for.
    pub(super) fn own(url: &'a Url) -> Self {
        Self {
            url,
            is_callers_origin: true,
        }
    }

    fn host(self) -> &'a str {
        self.url.host_str().unwrap_or_default()
    }
}

impl OwnHttp {
    pub(super) fn new(fetcher: Fetcher, politeness: Arc<Politeness>) -> Self {
        Self {
            fetcher,
            politeness,
        }
    }

    /// Fetches a page in the time of its clock, to which its waits are added.
    ///
    /// # Errors
    /// Why there is no page. Error answers of the site are pages, the last 429 or 503 too.
    pub(super) async fn fetch(
        &self,
        request: HttpRequest<'_>,
        clock: &mut PageClock,
    ) -> Result<Fetched, FetchError> {
        let begun = Instant::now();
        let checking = request.admission.check(request.target.url);
        let crawl_delay = timing::step("robots", checking).await;
        let crawl_delay = crawl_delay.map_err(FetchError::Refused)?;
        clock.add_wait_since(begun);
        let pace = RequestPace::of(&request.plan.pace, request.owner, crawl_delay);
        self.attempt(request, pace, clock).await
    }

    /// Retries until there is a final answer, or no time for another try.
    async fn attempt(
        &self,
        request: HttpRequest<'_>,
        pace: RequestPace,
        clock: &mut PageClock,
    ) -> Result<Fetched, FetchError> {
        let (host, owner) = (request.target.host(), request.owner);
        let (mut retries, mut reconnects) = (0, 0);
        let mut last: Option<Fetched> = None;
        loop {
            let tried = self.once(request, pace, clock, last.is_some()).await;
            match (tried, last.take()) {
                (Ok(fetched), _) if is_rate_limit(&fetched) => {
                    let final_url = &fetched.page.final_url;
                    let answered = final_url.host_str().unwrap_or_default().to_owned();
                    let asked = retry_after(&fetched);
                    let pause = self.politeness.backoff(&answered, owner, asked);
                    if retries == RETRIES_MAX || pause >= clock.left_for_waiting() {
                        return Ok(fetched);
                    }
                    retries += 1;
                    last = Some(fetched);
                    if answered != host {
                        // The permit is for the host that redirects; another one backed us off.
                        request.page_budget.unreserve().await;
                        let since = Instant::now();
                        sleep(pause).await;
                        clock.add_wait_since(since);
                    }
                }
                (Ok(fetched), _) => {
                    self.politeness.succeeded(host, owner);
                    let answered = fetched.page.final_url.host_str();
                    if let Some(other) = answered.filter(|answered| *answered != host) {
                        self.politeness.succeeded(other, owner);
                    }
                    return Ok(fetched);
                }
                // A failed retry does not take away the answer before it.
                (Err(_), Some(before)) => return Ok(before),
                (Err(error), None) if reconnects < RECONNECTS_MAX && error.is_of_restart() => {
                    reconnects += 1;
                    sleep(RECONNECT_PAUSE).await;
                }
                (Err(error), None) => return Err(error),
            }
        }
    }

    /// Waits for a permit of the page's host and fetches it.
    async fn once(
        &self,
        request: HttpRequest<'_>,
        pace: RequestPace,
        clock: &mut PageClock,
        has_answer: bool,
    ) -> Result<Fetched, FetchError> {
        let HttpRequest {
            plan,
            target,
            page_budget,
            owner,
            ..
        } = request;
        let host = target.host();
        let pause = self.politeness.pause(host, owner);
        if pause >= clock.left_for_waiting() {
            return Err(FetchError::Paused(pause));
        }
        let pool_price = self.fetcher.pool_price(plan);
        let turn = PageTurn {
            host,
            pace,
            page_budget,
            loader: Loader::Http,
            pool_price,
        };
        let waiting = paid_permit(&self.politeness, turn, clock);
        let permit = timing::step("host_wait", waiting).await?;
        request.admission.sends();
        let left = if has_answer {
            clock.left_to_improve()
        } else {
            clock.left()
        };
        let meter = BudgetMeter {
            page_budget,
            pool_price,
        };
        let page = PageRequest {
            url: target.url,
            plan,
            is_callers_origin: target.is_callers_origin,
            caller: request.caller,
            condition: request.condition,
            meter: Some(&meter),
            redirects: Some(request.admission),
        };
        let span = tracing::debug_span!("fetch", host, sent_span_id = Empty);
        let fetched = self.fetcher.fetch_if(&permit, page).instrument(span);
        let fetched = permit.in_time(left, clock.patience(), fetched).await;
        clock.add_wait(permit.waited());
        match fetched.unwrap_or(Err(FetchError::TimedOut(clock.time()))) {
            Err(FetchError::TimedOut(time)) => Err(timed_out(page_budget, time).await),
            fetched => fetched,
        }
    }
}

/// Covers a body with the money of its page.
struct BudgetMeter<'a> {
    page_budget: &'a PageBudget<'a>,
    pool_price: Nanodollars,
}

impl BodyMeter for BudgetMeter<'_> {
    fn cover(&self, n_bytes: u64) -> BoxFuture<'_, Result<u64, PageFailure>> {
        Box::pin(async move {
            let usage = Usage {
                content_bytes: n_bytes,
                pool_price: self.pool_price,
                ..Usage::default()
            };
            let reserved = self.page_budget.reserve_for(&usage).await?;
            Ok(self.page_budget.bytes_for(reserved, self.pool_price))
        })
    }
}

/// Whether the host asks for a pause.
fn is_rate_limit(fetched: &Fetched) -> bool {
    matches!(fetched.page.status, 429 | 503)
}

fn retry_after(fetched: &Fetched) -> Option<&str> {
    let mut headers = fetched.page.headers.iter();
    let header = headers.find(|(name, _)| name == "retry-after");
    header.map(|(_, value)| value.as_str())
}
