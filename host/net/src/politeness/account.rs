//! One account at one host: its delay, and the pauses that the host asked of it.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::PAUSE_MAX;

/// Accounts remembered at one host without any task that uses it. Some 100 bytes each.
pub(super) const ACCOUNTS_IDLE_MAX: usize = 1_000;
/// Pause after the first 429 or 503 without a `Retry-After`; it doubles with each further one up to
/// [`PAUSE_MAX`].
const PAUSE_FIRST: Duration = Duration::from_secs(1);
/// Doublings after which the pause is [`PAUSE_MAX`] anyway.
const DOUBLINGS_MAX: u32 = 10;

/// One account's requests to a host: with a delay, one at a time and the delay apart; after a
/// refusal, none until the pause is over.
#[derive(Debug)]
pub(super) struct Account {
    /// Tasks that hold a permit or wait for one.
    pub(super) n_visits: usize,
    /// The queue of the tasks with a delay.
    pub(super) lane: Arc<Semaphore>,
    /// When the last request with a delay started, and its delay.
    pub(super) last: Option<(Instant, Duration)>,
    /// Requests in flight.
    pub(super) in_flight: usize,
    /// No request starts before this moment.
    pub(super) paused_until: Option<Instant>,
    /// Consecutive 429 or 503 responses.
    n_refusals: u32,
}

impl Default for Account {
    fn default() -> Self {
        Self {
            n_visits: 0,
            lane: Arc::new(Semaphore::new(1)),
            last: None,
            in_flight: 0,
            paused_until: None,
            n_refusals: 0,
        }
    }
}

impl Account {
    /// Whether a request tries at the moment if the host has recovered.
    pub(super) fn is_tried(&self) -> bool {
        self.n_refusals > 0 && self.in_flight > 0
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

    /// Records a success. Returns whether it ended a time of refusals.
    pub(super) fn recover(&mut self) -> bool {
        // A success of a request from before the pause says nothing about the pause.
        let has_recovered = self.n_refusals > 0 && self.pause_left().is_zero();
        if has_recovered {
            self.n_refusals = 0;
            self.paused_until = None;
        }
        has_recovered
    }

    pub(super) fn pause_left(&self) -> Duration {
        let until = self.paused_until;
        until.map_or(Duration::ZERO, |until| {
            until.saturating_duration_since(Instant::now())
        })
    }

    /// Until when its state is needed; `None` for as long as tasks use it.
    /// The number of refusals is remembered for [`PAUSE_MAX`] after the pause, so that the next
    /// pause is longer.
    pub(super) fn idle_until(&self) -> Option<Instant> {
        let paused = self.paused_until.map(|until| until + PAUSE_MAX);
        let paced = self.last.map(|(started, delay)| started + delay);
        let until = paused.max(paced).unwrap_or_else(Instant::now);
        (self.n_visits == 0).then_some(until)
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
        let mut account = Account::default();
        let mut before = Duration::ZERO;
        for _ in 0..20 {
            account.paused_until = None;
            let pause = account.pause(None);
            assert!(pause <= PAUSE_MAX);
            assert!(pause >= before / 2, "{pause:?} after {before:?}");
            before = pause;
        }
        assert!(before >= PAUSE_MAX / 2 - Duration::from_millis(1));
    }

    #[test]
    fn refusals_that_come_together_count_once() {
        let mut account = Account::default();
        for _ in 0..8 {
            account.pause(None);
        }
        assert_eq!(account.n_refusals, 1);
        assert!(account.pause_left() <= PAUSE_FIRST);
    }

    #[test]
    fn a_success_from_before_the_pause_does_not_end_it() {
        let mut account = Account::default();
        account.pause(Some(Duration::from_secs(9)));
        account.recover();
        assert!(account.pause_left() > Duration::from_secs(8));
    }
}
