//! The time of a page on one of its routes.

use std::time::{Duration, Instant};

/// Time reserved to hand over the result before a deadline.
const HAND_OVER_TIME: Duration = Duration::from_millis(50);

/// How long a page may take on a route: its own time, and its patience besides. Its waits for a
/// host's rate limit use up the patience; what exceeds it uses up the page's own time.
#[derive(Clone, Copy, Debug)]
pub(super) struct PageClock {
    /// The page's own time.
    time: Duration,
    /// When that ends, moved by the waits so far.
    deadline: Instant,
    /// How long the page may still wait besides.
    patience: Duration,
    waited: Duration,
    /// When the page is given up, whatever it waits for and whichever route it is on.
    end: Instant,
}

impl PageClock {
    /// A page that begins now, with time of its own and this patience, and is given up at `end`.
    pub(super) fn start(time: Duration, patience: Duration, end: Instant) -> Self {
        Self {
            time,
            deadline: Instant::now() + time,
            patience,
            waited: Duration::ZERO,
            end,
        }
    }

    /// The page on another route, with this time from now on and its whole patience.
    pub(super) fn restarted(self, time: Duration) -> Self {
        Self {
            time,
            deadline: (Instant::now() + time).min(self.end),
            patience: self.patience + self.waited,
            waited: Duration::ZERO,
            ..self
        }
    }

    /// The same with a part of its own time left for something else.
    pub(super) fn shortened(self, by: Duration) -> Self {
        Self {
            time: self.time.saturating_sub(by),
            deadline: before(self.deadline, by),
            ..self
        }
    }

    /// The same with time left to hand over what there is.
    pub(super) fn handing_over(self) -> Self {
        Self {
            deadline: before(self.deadline, HAND_OVER_TIME),
            end: before(self.end, HAND_OVER_TIME),
            ..self
        }
    }

    /// The same after another step of the page that waited so long in all.
    pub(super) fn having_waited(mut self, waited: Duration) -> Self {
        self.add_wait(waited.saturating_sub(self.waited));
        self
    }

    /// Whichever of the two has its own time for longer.
    pub(super) fn or_later(self, other: Self) -> Self {
        if other.deadline > self.deadline {
            other
        } else {
            self
        }
    }

    /// Adds a wait for a host's rate limit. It moves the deadline up to the end of the page.
    pub(super) fn add_wait(&mut self, wait: Duration) {
        let wait = wait.min(self.patience);
        self.deadline = (self.deadline + wait).min(self.end);
        self.waited += wait;
        self.patience -= wait;
    }

    /// Adds a wait that began at this moment.
    pub(super) fn add_wait_since(&mut self, since: Instant) {
        self.add_wait(since.elapsed());
    }

    /// The page's own time, for messages.
    pub(super) const fn time(&self) -> Duration {
        self.time
    }

    /// When the page must be served unless it waits.
    pub(super) const fn deadline(&self) -> Instant {
        self.deadline
    }

    /// When the page must be served however long it waits.
    pub(super) fn latest(&self) -> Instant {
        (self.deadline + self.patience).min(self.end)
    }

    /// What is left of the page's own time.
    pub(super) fn left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// The same without the time that handing over an earlier answer takes.
    pub(super) fn left_to_improve(&self) -> Duration {
        self.left().saturating_sub(HAND_OVER_TIME)
    }

    /// What is left if the page does nothing but wait.
    pub(super) fn left_for_waiting(&self) -> Duration {
        self.latest().saturating_duration_since(Instant::now())
    }

    /// What the page may still wait besides its own time.
    pub(super) const fn patience(&self) -> Duration {
        self.patience
    }

    /// How long the page waited besides its own time.
    pub(super) const fn waited(&self) -> Duration {
        self.waited
    }
}

fn before(moment: Instant, by: Duration) -> Instant {
    moment.checked_sub(by).unwrap_or(moment)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn clock(patience: Duration) -> PageClock {
        PageClock::start(30 * SECOND, patience, Instant::now() + 300 * SECOND)
    }

    #[test]
    fn a_wait_moves_the_deadline_within_the_patience() {
        let mut clock = clock(10 * SECOND);
        let (deadline, latest) = (clock.deadline(), clock.latest());
        clock.add_wait(4 * SECOND);
        assert_eq!(clock.deadline(), deadline + 4 * SECOND);
        assert_eq!(clock.waited(), 4 * SECOND);
        clock.add_wait(60 * SECOND);
        assert_eq!(clock.deadline(), latest);
        assert_eq!(
            (clock.waited(), clock.patience()),
            (10 * SECOND, Duration::ZERO)
        );
        assert_eq!(clock.latest(), latest, "waits never move that");
    }

    #[test]
    fn without_patience_a_wait_uses_up_the_pages_own_time() {
        let mut clock = clock(Duration::ZERO);
        let deadline = clock.deadline();
        clock.add_wait(4 * SECOND);
        assert_eq!(
            (clock.deadline(), clock.waited()),
            (deadline, Duration::ZERO)
        );
    }

    #[test]
    fn waits_that_are_reported_twice_count_once() {
        let mut clock = clock(10 * SECOND);
        clock.add_wait(3 * SECOND);
        assert_eq!(clock.having_waited(3 * SECOND).waited(), 3 * SECOND);
        assert_eq!(clock.having_waited(5 * SECOND).waited(), 5 * SECOND);
    }

    #[test]
    fn a_route_that_begins_has_its_time_and_the_whole_patience_up_to_the_end() {
        let mut clock = clock(10 * SECOND);
        clock.add_wait(4 * SECOND);
        let next = clock.restarted(60 * SECOND);
        assert_eq!((next.time(), next.patience()), (60 * SECOND, 10 * SECOND));
        assert!(next.left() > 59 * SECOND);
        let last = clock.restarted(900 * SECOND);
        assert_eq!(last.deadline(), last.latest(), "the page ends with it");
        assert!(last.left() <= 300 * SECOND);
    }

    #[test]
    fn no_wait_moves_the_deadline_beyond_the_end() {
        let clock = clock(10 * SECOND).restarted(900 * SECOND);
        let mut handing_over = clock.handing_over();
        assert!(handing_over.latest() < clock.latest());
        handing_over.add_wait(4 * SECOND);
        assert_eq!(handing_over.deadline(), handing_over.latest());
        assert!(handing_over.deadline() < clock.deadline());
    }
}
