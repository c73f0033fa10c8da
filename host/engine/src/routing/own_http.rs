//! Plain HTTP through our own stack: where robots.txt allows it, at the host's pace, and again when the host says "too many".

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};
use url::Url;

use super::robots_gate::RobotsGate;
use trawl_net::fetch::{Condition, CookieJar, FetchError, Fetched, Fetcher};
use trawl_net::politeness::Politeness;
use trawl_net::robots::Robots;
use trawl_plan::{FetchPlan, RedirectGate};

/// How often a page is tried again after a 429 or 503. A host that is still not ready after two pauses of its own choice is
/// better asked another day.
pub const RETRIES_MAX: usize = 2;
/// How often a page is tried again after its connection was refused or reset: a server that restarts does both.
const RECONNECTS_MAX: usize = 1;
/// Pause before that.
const RECONNECT_PAUSE: Duration = Duration::from_millis(250);
/// Time kept back to hand over the last answer when another try takes too long.
const HAND_OVER_TIME: Duration = Duration::from_millis(20);

/// The route.
pub(super) struct OwnHttp {
    fetcher: Fetcher,
    politeness: Arc<Politeness>,
    robots: Arc<Robots>,
}

/// The time of one page: its own, and what it may wait besides.
struct Time {
    begun: Instant,
    own: Duration,
    patience: Duration,
    waited: Duration,
}

impl OwnHttp {
    pub(super) fn new(fetcher: Fetcher, politeness: Arc<Politeness>, robots: Arc<Robots>) -> Self {
        Self {
            fetcher,
            politeness,
            robots,
        }
    }

    /// Fetches a page, under a condition when there is one.
    ///
    /// # Errors
    /// Why there is no page. Answers of the site are pages, the last "too many" too.
    pub(super) async fn fetch(
        &self,
        plan: &FetchPlan,
        url: &Url,
        jar: &CookieJar,
        condition: Option<Condition<'_>>,
    ) -> Result<Fetched, FetchError> {
        let mut time = Time::of(plan);
        let mut delay = plan.pace.delay;
        if !plan.respect_robots {
            return self
                .attempt(plan, url, jar, condition, delay, &mut time)
                .await;
        }
        let verdict = self.robots.verdict(url).await;
        time.wait_since(time.begun);
        if let Some(refusal) = verdict.refusal(url) {
            return Err(FetchError::Refused(refusal));
        }
        delay = delay.max(verdict.crawl_delay.unwrap_or_default());
        let plan = FetchPlan {
            gate: Some(Arc::new(self.gate(plan))),
            ..plan.clone()
        };
        self.attempt(&plan, url, jar, condition, delay, &mut time)
            .await
    }

    /// Whether a page that is there already may serve: robots.txt and the run say about its address and its redirects what they
    /// say when it is fetched.
    ///
    /// # Errors
    /// Why it may not.
    pub(super) async fn may_serve(
        &self,
        plan: &FetchPlan,
        url: &Url,
        redirects: &[Url],
    ) -> Result<(), FetchError> {
        let gate: Option<Arc<dyn RedirectGate>> = match plan.respect_robots {
            false => plan.gate.clone(),
            true => {
                if let Some(refusal) = self.robots.verdict(url).await.refusal(url) {
                    return Err(FetchError::Refused(refusal));
                }
                Some(Arc::new(self.gate(plan)))
            }
        };
        let Some(gate) = gate else { return Ok(()) };
        for to in redirects {
            if !gate.may_follow(url, to).await {
                return Err(FetchError::RedirectRefused(to.clone()));
            }
        }
        Ok(())
    }

    fn gate(&self, plan: &FetchPlan) -> RobotsGate {
        RobotsGate::new(Arc::clone(&self.robots), plan.gate.clone())
    }

    /// Tries until there is an answer that stands, or no time for another try.
    async fn attempt(
        &self,
        plan: &FetchPlan,
        url: &Url,
        jar: &CookieJar,
        condition: Option<Condition<'_>>,
        delay: Duration,
        time: &mut Time,
    ) -> Result<Fetched, FetchError> {
        let host = url.host_str().unwrap_or_default();
        let (mut retries, mut reconnects) = (0, 0);
        let mut last: Option<Fetched> = None;
        loop {
            let asked = Asked {
                plan,
                url,
                jar,
                condition,
                delay,
            };
            let tried = self.once(asked, time, last.is_some()).await;
            match (tried, last.take()) {
                (Ok(fetched), _) if is_refusal(&fetched) => {
                    let answered = fetched
                        .page
                        .final_url
                        .host_str()
                        .unwrap_or_default()
                        .to_owned();
                    let pause = self.politeness.backoff(&answered, retry_after(&fetched));
                    if retries == RETRIES_MAX || pause >= time.left_for_waiting() {
                        return Ok(time.told(fetched));
                    }
                    retries += 1;
                    last = Some(fetched);
                    if answered != host {
                        // Our turn is at the host that redirects; the one that refused is another.
                        let since = Instant::now();
                        sleep(pause).await;
                        time.wait_since(since);
                    }
                }
                (Ok(fetched), _) => {
                    self.politeness.succeeded(host);
                    if let Some(answered) = fetched.page.final_url.host_str() {
                        self.politeness.succeeded(answered);
                    }
                    return Ok(time.told(fetched));
                }
                // A try that failed does not take away the answer before it.
                (Err(_), Some(before)) => return Ok(time.told(before)),
                (Err(error), None)
                    if reconnects < RECONNECTS_MAX && error.is_refused_or_reset() =>
                {
                    reconnects += 1;
                    sleep(RECONNECT_PAUSE).await;
                }
                (Err(error), None) => return Err(error),
            }
        }
    }

    /// Waits for the page's turn and fetches it.
    async fn once(
        &self,
        asked: Asked<'_>,
        time: &mut Time,
        has_answer: bool,
    ) -> Result<Fetched, FetchError> {
        let Asked { plan, url, .. } = asked;
        let host = url.host_str().unwrap_or_default();
        let pause = self.politeness.pause(host);
        if pause >= time.left_for_waiting() {
            return Err(FetchError::Paused(pause));
        }
        let since = Instant::now();
        let turn = self.politeness.permit_with(host, asked.delay);
        let turn = timeout(time.left_for_waiting(), turn).await;
        time.wait_since(since);
        let permit = turn.map_err(|_| FetchError::TimedOut(plan.timeout))?;
        let left = match has_answer {
            true => time.left().saturating_sub(HAND_OVER_TIME),
            false => time.left(),
        };
        let fetched = self
            .fetcher
            .fetch_if(&permit, url, plan, asked.jar, asked.condition);
        let fetched = timeout(left, fetched).await;
        fetched.unwrap_or(Err(FetchError::TimedOut(plan.timeout)))
    }
}

/// What one try is to fetch, and how.
#[derive(Clone, Copy)]
struct Asked<'a> {
    plan: &'a FetchPlan,
    url: &'a Url,
    jar: &'a CookieJar,
    condition: Option<Condition<'a>>,
    delay: Duration,
}

impl Time {
    fn of(plan: &FetchPlan) -> Self {
        Self {
            begun: Instant::now(),
            own: plan.timeout,
            patience: plan.pace.patience,
            waited: Duration::ZERO,
        }
    }

    /// Notes a wait. What goes beyond the patience is the page's own time.
    fn wait_since(&mut self, since: Instant) {
        self.waited = (self.waited + since.elapsed()).min(self.patience);
    }

    /// A page that tells how long it waited.
    fn told(&self, fetched: Fetched) -> Fetched {
        Fetched {
            waited: self.waited,
            ..fetched
        }
    }

    /// What is left of the page's own time.
    fn left(&self) -> Duration {
        (self.own + self.waited).saturating_sub(self.begun.elapsed())
    }

    fn left_for_waiting(&self) -> Duration {
        self.left() + (self.patience - self.waited)
    }
}

/// Whether the host said "too many" or "not now".
fn is_refusal(fetched: &Fetched) -> bool {
    matches!(fetched.page.status, 429 | 503)
}

fn retry_after(fetched: &Fetched) -> Option<&str> {
    let mut headers = fetched.page.headers.iter();
    let header = headers.find(|(name, _)| name == "retry-after");
    header.map(|(_, value)| value.as_str())
}

#[cfg(test)]
#[path = "own_http_tests.rs"]
mod tests;
