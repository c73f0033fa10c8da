//! The state of one host. It decides and never waits.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, Semaphore};
use tokio::time::Instant;

use super::{Owner, PAUSE_MAX, RequestPace};

/// Pause after the first 429 or 503 without a `Retry-After`; it doubles with each further one up to
/// [`PAUSE_MAX`].
const PAUSE_FIRST: Duration = Duration::from_secs(1);
/// Doublings after which the pause is [`PAUSE_MAX`] anyway.
const DOUBLINGS_MAX: u32 = 10;

/// The state of one host.
#[derive(Debug)]
pub(super) struct Host {
    /// Tasks that hold a permit or wait for one.
    pub(super) n_visits: usize,
    pub(super) slots: Arc<Semaphore>,
    /// The queue of the tasks that obey the host's crawl delay, whoever they are. Held until a
    /// request starts, never during an account's own delay.
    pub(super) lane: Arc<Semaphore>,
    /// Requests in flight.
    in_flight: usize,
    /// When the last request under the crawl delay started, and the delay.
    last_paced: Option<(Instant, Duration)>,
    /// The accounts that have a lane of their own.
    owners: HashMap<Owner, OwnLane>,
    /// Until when the delay of the last paced request of any account lasts.
    paced_until: Option<Instant>,
    /// No request starts before this moment.
    paused_until: Option<Instant>,
    /// Consecutive 429 or 503 responses.
    n_refusals: u32,
    /// Wakes waiting tasks when a request ends, or the host has recovered.
    changed: Arc<Notify>,
}

/// One account's requests to a host: one at a time, and its own delay apart.
#[derive(Debug)]
struct OwnLane {
    lane: Arc<Semaphore>,
    /// When the last request started, and its delay.
    last: Option<(Instant, Duration)>,
}

/// The start of a request, and what it changed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Start {
    pace: RequestPace,
    at: Instant,
    /// The owner's `last` before it.
    own_before: Option<(Instant, Duration)>,
    /// The host's `last_paced` before it.
    paced_before: Option<(Instant, Duration)>,
}

/// Accounts with a lane at one host from which on idle ones are removed.
const OWNERS_SWEEP_FROM: usize = 64;

/// Whether a request may start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Readiness {
    Now,
    /// Not before this moment; check again then.
    At(Instant),
    /// The host is recovering: one request at a time.
    AfterCurrent,
}

impl Host {
    pub(super) fn new(slots: usize) -> Self {
        Self {
            n_visits: 0,
            slots: Arc::new(Semaphore::new(slots)),
            lane: Arc::new(Semaphore::new(1)),
            in_flight: 0,
            owners: HashMap::new(),
            paced_until: None,
            last_paced: None,
            paused_until: None,
            n_refusals: 0,
            changed: Arc::default(),
        }
    }

    pub(super) fn changed(&mut self) -> Arc<Notify> {
        Arc::clone(&self.changed)
    }

    /// The lane of an account.
    pub(super) fn own_lane(&mut self, owner: Owner) -> Arc<Semaphore> {
        if self.owners.len() >= OWNERS_SWEEP_FROM && !self.owners.contains_key(&owner) {
            let now = Instant::now();
            self.owners.retain(|_, own| own.is_needed(now));
        }
        let own = self.owners.entry(owner).or_insert_with(|| OwnLane {
            lane: Arc::new(Semaphore::new(1)),
            last: None,
        });
        Arc::clone(&own.lane)
    }

    /// When the account's own delay is over; `None` if it is.
    pub(super) fn own_due(&self, owner: Owner, delay: Duration) -> Option<Instant> {
        let (started, _) = self.owners.get(&owner)?.last?;
        Some(started + delay).filter(|due| *due > Instant::now())
    }

    /// Accounts with a lane.
    #[cfg(test)]
    pub(super) fn n_owners(&self) -> usize {
        self.owners.len()
    }

    /// Removes the lane of an account that has no use for it.
    pub(super) fn leave(&mut self, owner: Owner) {
        let now = Instant::now();
        if self
            .owners
            .get(&owner)
            .is_some_and(|own| !own.is_needed(now))
        {
            self.owners.remove(&owner);
        }
    }

    /// Whether a request under this crawl delay may start now.
    pub(super) fn readiness(&mut self, host_delay: Duration) -> Readiness {
        match self.after_delay(host_delay).max(self.paused_until) {
            Some(instant) if instant > Instant::now() => Readiness::At(instant),
            _ if self.n_refusals > 0 && self.in_flight > 0 => Readiness::AfterCurrent,
            _ => Readiness::Now,
        }
    }

    /// When the crawl delay after the last request under one is over.
    fn after_delay(&self, host_delay: Duration) -> Option<Instant> {
        match (host_delay.is_zero(), self.last_paced) {
            (false, Some((started, _))) => Some(started + host_delay),
            _ => None,
        }
    }

    /// Starts a request; `None` if it is not allowed now.
    pub(super) fn start(&mut self, pace: &RequestPace) -> Option<Start> {
        if self.readiness(pace.host_delay) != Readiness::Now {
            return None;
        }
        self.in_flight += 1;
        Some(self.note(pace))
    }

    /// Starts a request that is sent from elsewhere.
    ///
    /// # Errors
    /// When the host's crawl delay is over.
    pub(super) fn start_elsewhere(&mut self, pace: &RequestPace) -> Result<Start, Instant> {
        match self.after_delay(pace.host_delay) {
            Some(due) if due > Instant::now() => Err(due),
            _ => Ok(self.note(pace)),
        }
    }

    /// A request that was to be sent from elsewhere ended without being sent.
    pub(super) fn end_elsewhere(&self) {
        self.changed.notify_waiters();
    }

    /// Notes that a request at this pace starts now.
    fn note(&mut self, pace: &RequestPace) -> Start {
        let now = Instant::now();
        let own = self.owners.get(&pace.owner);
        let start = Start {
            pace: *pace,
            at: now,
            own_before: own.and_then(|own| own.last),
            paced_before: self.last_paced,
        };
        if pace.is_paced() {
            if let Some(own) = self.owners.get_mut(&pace.owner) {
                own.last = Some((now, pace.delay));
            }
            if !pace.host_delay.is_zero() {
                self.last_paced = Some((now, pace.host_delay));
            }
            let until = now + pace.delay.max(pace.host_delay);
            self.paced_until = self.paced_until.max(Some(until));
        }
        start
    }

    /// Restores the pace before a request that was not sent, unless a later one changed it.
    /// `paced_until` stays: the host is only remembered for a little longer.
    pub(super) fn undo(&mut self, start: &Start) {
        if !start.pace.is_paced() {
            return;
        }
        if let Some(own) = self.owners.get_mut(&start.pace.owner)
            && own.last == Some((start.at, start.pace.delay))
        {
            own.last = start.own_before;
        }
        if self.last_paced == Some((start.at, start.pace.host_delay)) {
            self.last_paced = start.paced_before;
        }
    }

    pub(super) fn finish(&mut self) {
        self.in_flight -= 1;
        self.changed.notify_waiters();
    }

    /// Records a 429 or 503 response. A longer pause that is already in effect stays.
    pub(super) fn pause(&mut self, requested: Option<Duration>) -> Duration {
        let now = Instant::now();
        // Several requests in flight are refused together: that is one refusal, not several in a
        // row.
        if self.paused_until.is_none_or(|until| until <= now) {
            self.n_refusals = self.n_refusals.saturating_add(1);
        }
        let pause = requested.unwrap_or_else(|| with_jitter(doubled(self.n_refusals)));
        let until = (now + pause.min(PAUSE_MAX)).max(self.paused_until.unwrap_or(now));
        self.paused_until = Some(until);
        until - now
    }

    pub(super) fn recover(&mut self) {
        // A success of a request from before the pause says nothing about the pause.
        if self.n_refusals > 0 && self.pause_left().is_zero() {
            self.n_refusals = 0;
            self.paused_until = None;
            self.changed.notify_waiters();
        }
    }

    pub(super) fn pause_left(&self) -> Duration {
        let until = self.paused_until;
        until.map_or(Duration::ZERO, |until| {
            until.saturating_duration_since(Instant::now())
        })
    }

    /// Until when the host's state is needed although no task uses it. The number of refusals is
    /// remembered for [`PAUSE_MAX`] after the pause, so that the next pause is longer.
    pub(super) fn needed_until(&self) -> Instant {
        let paused = self.paused_until.map(|until| until + PAUSE_MAX);
        paused.max(self.paced_until).unwrap_or_else(Instant::now)
    }
}

impl OwnLane {
    /// Whether a task uses it, or its delay is not over.
    fn is_needed(&self, now: Instant) -> bool {
        let due = self.last.map(|(started, delay)| started + delay);
        Arc::strong_count(&self.lane) > 1 || due.is_some_and(|due| due > now)
    }
}

fn doubled(n_refusals: u32) -> Duration {
    let doublings = n_refusals.saturating_sub(1).min(DOUBLINGS_MAX);
    (PAUSE_FIRST * 2_u32.pow(doublings)).min(PAUSE_MAX)
}

/// Between half of the pause and all of it, so that requests that were refused together do not
/// return together.
fn with_jitter(pause: Duration) -> Duration {
    // Without randomness the full pause is used.
    let share = getrandom::u32().unwrap_or(u32::MAX);
    let half = pause / 2;
    half + half.mul_f64(f64::from(share) / f64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest() {
        let mut host = Host::new(1);
        let mut before = Duration::ZERO;
        for _ in 0..20 {
            host.paused_until = None;
            let pause = host.pause(None);
            assert!(pause <= PAUSE_MAX);
            assert!(pause >= before / 2, "{pause:?} after {before:?}");
            before = pause;
        }
        assert!(before >= PAUSE_MAX / 2 - Duration::from_millis(1));
    }

    #[test]
    fn refusals_that_come_together_count_once() {
        let mut host = Host::new(8);
        for _ in 0..8 {
            host.pause(None);
        }
        assert_eq!(host.n_refusals, 1);
        assert!(host.pause_left() <= PAUSE_FIRST);
    }

    #[test]
    fn a_success_from_before_the_pause_does_not_end_it() {
        let mut host = Host::new(8);
        host.pause(Some(Duration::from_secs(9)));
        host.recover();
        assert!(host.pause_left() > Duration::from_secs(8));
    }

    #[test]
    fn a_recovering_host_gets_one_request_at_a_time() {
        let mut host = Host::new(8);
        host.pause(Some(Duration::ZERO));
        assert!(host.start(&RequestPace::default()).is_some());
        assert_eq!(host.readiness(Duration::ZERO), Readiness::AfterCurrent);
        host.recover();
        assert_eq!(host.readiness(Duration::ZERO), Readiness::Now);
    }
}
