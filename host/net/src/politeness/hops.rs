//! The further requests of a page that is redirected: each waits for the page's delays as the first
//! one did.

use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, sleep_until, timeout_at};

use super::{Permit, ProviderTurn, RequestPace};

/// Least time between two looks at whether a page waits.
const CHECK_INTERVAL: Duration = Duration::from_millis(20);

/// What a page holds at its hosts in addition to its slot, and how long it has waited between its
/// requests.
#[derive(Debug, Default)]
pub(super) struct Hops(Mutex<HopsState>);

#[derive(Debug, Default)]
struct HopsState {
    /// The account's lane at the first host.
    own_lane: Option<OwnedSemaphorePermit>,
    /// The page's turn at the host it was redirected to.
    turn: Option<ProviderTurn>,
    waited: Duration,
    /// Since when it waits.
    since: Option<Instant>,
}

/// A wait between two requests, counted when it ends.
struct Wait<'a>(&'a Hops);

impl Hops {
    pub(super) fn new(own_lane: Option<OwnedSemaphorePermit>) -> Self {
        Self(Mutex::new(HopsState {
            own_lane,
            ..HopsState::default()
        }))
    }

    fn state(&self) -> MutexGuard<'_, HopsState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait(&self) -> Wait<'_> {
        self.state().since = Some(Instant::now());
        Wait(self)
    }

    /// How long the page has waited, the current wait included.
    fn waited(&self) -> Duration {
        let state = self.state();
        let current = state.since.map(|since| since.elapsed());
        state.waited + current.unwrap_or_default()
    }
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        if let Some(since) = state.since.take() {
            state.waited += since.elapsed();
        }
    }
}

impl Permit {
    /// Waits until a redirected page may send its next request, which goes to this host: its delays
    /// hold between all requests to a host. At another host than the permit's it waits among
    /// the requests of its account there, and leaves the first host to the next of them.
    pub async fn follow(&self, host: &str) {
        let pace = self.start.pace;
        if !pace.is_paced() {
            return;
        }
        let _wait = self.hops.wait();
        let politeness = &self.visit.politeness;
        // A page never waits at one host while it keeps others waiting at the one before: two pages
        // that redirect to each other's hosts would wait for ever.
        drop(self.hops.state().turn.take());
        let is_at_first = self.hops.state().own_lane.is_some() && self.visit.is_at(host);
        if is_at_first {
            while let Some(due) = self.visit.due(&pace) {
                sleep_until(due).await;
            }
            return;
        }
        drop(self.hops.state().own_lane.take());
        let pace = RequestPace {
            // That is what the first host asked for.
            host_delay: Duration::ZERO,
            ..pace
        };
        let turn = politeness.turn_with(host, pace).await;
        self.hops.state().turn = turn;
    }

    /// How long the page has waited in [`Self::follow`] so far.
    pub fn waited(&self) -> Duration {
        self.hops.waited()
    }

    /// Runs work that may take this long, and longer by what it waits in [`Self::follow`], up to
    /// `patience`. `None` when its time is over.
    pub async fn in_time<T>(
        &self,
        time: Duration,
        patience: Duration,
        work: impl Future<Output = T>,
    ) -> Option<T> {
        let (begun, before) = (Instant::now(), self.waited());
        let end = || begun + time + self.waited().saturating_sub(before).min(patience);
        let mut work = pin!(work);
        loop {
            let look = end().max(Instant::now() + CHECK_INTERVAL);
            if let Ok(done) = timeout_at(look, work.as_mut()).await {
                return Some(done);
            }
            if end() <= Instant::now() {
                return None;
            }
        }
    }
}
