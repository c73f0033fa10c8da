//! Stops asking a server that is down for a while, so that not every page of a crawl waits for it.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::{Answered, Unavailable};

/// Consecutive failures of the server that start a cooldown.
const FAILURES_MAX: u32 = 3;
/// How long it lasts.
const COOLDOWN: Duration = Duration::from_secs(30);

/// The outcomes of the last questions that decide about a cooldown.
#[derive(Debug, Default)]
pub(super) struct Cooldown(Mutex<RecentOutcomes>);

#[derive(Debug, Default)]
struct RecentOutcomes {
    n_failed: u32,
    until: Option<Instant>,
}

impl Cooldown {
    pub(super) fn is_on(&self, now: Instant) -> bool {
        self.with(|state| state.until.is_some_and(|until| now < until))
    }

    /// Records how a question ended.
    pub(super) fn note(&self, outcome: &Result<Answered, Unavailable>, now: Instant) {
        let is_server_fault = match outcome {
            Err(Unavailable::Unreachable | Unavailable::Late) => true,
            Err(Unavailable::Status(status)) => *status == 429 || *status >= 500,
            // The server is up.
            Ok(_) | Err(Unavailable::Misfit | Unavailable::TooLarge) => false,
            // Nothing was sent.
            Err(Unavailable::CoolingDown | Unavailable::Busy) => return,
        };
        self.with(|state| {
            state.n_failed = if is_server_fault {
                state.n_failed + 1
            } else {
                0
            };
            // The first question after a cooldown decides whether there is another.
            state.until = (state.n_failed >= FAILURES_MAX).then(|| now + COOLDOWN);
        });
    }

    fn with<T>(&self, use_state: impl FnOnce(&mut RecentOutcomes) -> T) -> T {
        use_state(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_is_down_is_asked_again_after_the_cooldown() {
        let (cooldown, now) = (Cooldown::default(), Instant::now());
        let down = Err(Unavailable::Unreachable);
        for _ in 0..FAILURES_MAX {
            assert!(!cooldown.is_on(now));
            cooldown.note(&down, now);
            cooldown.note(&Err(Unavailable::Busy), now);
        }
        assert!(cooldown.is_on(now));
        let later = now + COOLDOWN;
        assert!(!cooldown.is_on(later));
        cooldown.note(&Err(Unavailable::Status(503)), later);
        assert!(cooldown.is_on(later), "it failed again");
        cooldown.note(&Err(Unavailable::Misfit), later);
        assert!(!cooldown.is_on(later), "it is up");
    }
}
