//! What is remembered of one host. Decides, never waits.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, Semaphore};
use tokio::time::Instant;

use super::PAUSE_MAX;

/// Pause after the first "too many" without a `Retry-After`; doubles with each further one up to [`PAUSE_MAX`].
const PAUSE_FIRST: Duration = Duration::from_secs(1);
/// Doublings after which the pause is [`PAUSE_MAX`] anyway.
const DOUBLINGS_MAX: u32 = 10;

/// What is remembered of one host.
#[derive(Debug)]
pub(super) struct Host {
    /// Who contacts it or waits for it.
    pub(super) visits: usize,
    pub(super) places: Arc<Semaphore>,
    /// Where those wait who want a delay: one at a time.
    pub(super) lane: Arc<Semaphore>,
    /// Requests under way.
    in_flight: usize,
    /// When the last request with a delay began, and its delay.
    last_paced: Option<(Instant, Duration)>,
    /// Until when nobody contacts it.
    paused_until: Option<Instant>,
    /// "Too many" answers in a row.
    n_refusals: u32,
    /// Wakes those who wait while it recovers.
    rested: Arc<Notify>,
}

/// Whose turn it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    Now,
    /// Not before this moment; ask again then.
    At(Instant),
    /// The host recovers: one request at a time.
    AfterTheOther,
}

impl Host {
    pub(super) fn new(places: usize) -> Self {
        Self {
            visits: 0,
            places: Arc::new(Semaphore::new(places)),
            lane: Arc::new(Semaphore::new(1)),
            in_flight: 0,
            last_paced: None,
            paused_until: None,
            n_refusals: 0,
            rested: Arc::default(),
        }
    }

    pub(super) fn rested(&mut self) -> Arc<Notify> {
        Arc::clone(&self.rested)
    }

    /// Whether someone with this delay may begin now.
    pub(super) fn turn(&mut self, delay: Duration) -> Turn {
        let after_delay = match (delay.is_zero(), self.last_paced) {
            (false, Some((begun, _))) => Some(begun + delay),
            _ => None,
        };
        match after_delay.max(self.paused_until) {
            Some(instant) if instant > Instant::now() => Turn::At(instant),
            _ if self.n_refusals > 0 && self.in_flight > 0 => Turn::AfterTheOther,
            _ => Turn::Now,
        }
    }

    /// Begins a request, when it is allowed now.
    pub(super) fn begin(&mut self, delay: Duration) -> bool {
        if self.turn(delay) != Turn::Now {
            return false;
        }
        self.in_flight += 1;
        if !delay.is_zero() {
            self.last_paced = Some((Instant::now(), delay));
        }
        true
    }

    pub(super) fn end(&mut self) {
        self.in_flight -= 1;
        self.rested.notify_waiters();
    }

    /// Notes a "too many". A pause that was already longer stays.
    pub(super) fn pause(&mut self, asked: Option<Duration>) -> Duration {
        let now = Instant::now();
        // Several requests in flight are refused together: that is one refusal, not many in a row.
        if self.paused_until.is_none_or(|until| until <= now) {
            self.n_refusals = self.n_refusals.saturating_add(1);
        }
        let pause = asked.unwrap_or_else(|| with_jitter(doubled(self.n_refusals)));
        let until = (now + pause.min(PAUSE_MAX)).max(self.paused_until.unwrap_or(now));
        self.paused_until = Some(until);
        until - now
    }

    pub(super) fn recover(&mut self) {
        // A good answer to a request from before the pause says nothing about the pause.
        if self.n_refusals > 0 && self.pause_left().is_zero() {
            self.n_refusals = 0;
            self.paused_until = None;
            self.rested.notify_waiters();
        }
    }

    pub(super) fn pause_left(&self) -> Duration {
        let until = self.paused_until;
        until.map_or(Duration::ZERO, |until| {
            until.saturating_duration_since(Instant::now())
        })
    }

    /// Until when the host has to be remembered though nobody wants it. The number of refusals is remembered as long again
    /// as the longest pause, so that the next one is longer.
    pub(super) fn rests_until(&self) -> Instant {
        let paused = self.paused_until.map(|until| until + PAUSE_MAX);
        let paced = self.last_paced.map(|(begun, delay)| begun + delay);
        paused.max(paced).unwrap_or_else(Instant::now)
    }
}

fn doubled(n_refusals: u32) -> Duration {
    let doublings = n_refusals.saturating_sub(1).min(DOUBLINGS_MAX);
    (PAUSE_FIRST * 2_u32.pow(doublings)).min(PAUSE_MAX)
}

/// Between half of it and all of it, so that those who were refused together do not come back together.
fn with_jitter(pause: Duration) -> Duration {
    // Without randomness the whole pause is as good.
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
    fn a_good_answer_from_before_the_pause_does_not_end_it() {
        let mut host = Host::new(8);
        host.pause(Some(Duration::from_secs(9)));
        host.recover();
        assert!(host.pause_left() > Duration::from_secs(8));
    }

    #[test]
    fn a_recovering_host_is_asked_by_one_at_a_time() {
        let mut host = Host::new(8);
        host.pause(Some(Duration::ZERO));
        assert!(host.begin(Duration::ZERO));
        assert_eq!(host.turn(Duration::ZERO), Turn::AfterTheOther);
        host.recover();
        assert_eq!(host.turn(Duration::ZERO), Turn::Now);
    }
}
