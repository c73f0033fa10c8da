//! A server that is down is left alone for a while, so that each page of a crawl does not wait for it anew.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::{Answered, Unavailable};

/// Questions in a row that failed by the server's doing before it rests.
const FAILURES_MAX: u32 = 3;
/// How long it rests.
const REST: Duration = Duration::from_secs(30);

/// What is remembered of the last questions.
#[derive(Debug, Default)]
pub(super) struct Cooldown(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    n_failed: u32,
    until: Option<Instant>,
}

impl Cooldown {
    pub(super) fn is_on(&self, now: Instant) -> bool {
        self.with(|state| state.until.is_some_and(|until| now < until))
    }

    /// A question came to its end.
    pub(super) fn note(&self, asked: &Result<Answered, Unavailable>, now: Instant) {
        let is_the_servers = match asked {
            Err(Unavailable::Unreachable | Unavailable::Late) => true,
            Err(Unavailable::Status(status)) => *status == 429 || *status >= 500,
            // It is there and talks.
            Ok(_) | Err(Unavailable::Misfit | Unavailable::TooLarge) => false,
            // It was not asked.
            Err(Unavailable::Resting | Unavailable::Busy) => return,
        };
        self.with(|state| {
            state.n_failed = match is_the_servers {
                true => state.n_failed + 1,
                false => 0,
            };
            // One question after the rest decides whether there is another.
            state.until = (state.n_failed >= FAILURES_MAX).then(|| now + REST);
        });
    }

    fn with<T>(&self, use_state: impl FnOnce(&mut State) -> T) -> T {
        use_state(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_is_down_rests_and_is_asked_again() {
        let (rest, now) = (Cooldown::default(), Instant::now());
        let down = Err(Unavailable::Unreachable);
        for _ in 0..FAILURES_MAX {
            assert!(!rest.is_on(now));
            rest.note(&down, now);
            rest.note(&Err(Unavailable::Busy), now);
        }
        assert!(rest.is_on(now));
        let later = now + REST;
        assert!(!rest.is_on(later));
        rest.note(&Err(Unavailable::Status(503)), later);
        assert!(rest.is_on(later), "it failed again");
        rest.note(&Err(Unavailable::Misfit), later);
        assert!(!rest.is_on(later), "it talks");
    }
}
