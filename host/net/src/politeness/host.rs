//! The state of one host. It decides and never waits.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, Semaphore};
use tokio::time::Instant;

use trawl_model::fair::FairSemaphore;

use super::account::{ACCOUNTS_IDLE_MAX, Account};
use super::{Owner, RequestPace};

/// Accounts known at one host from which on those without need of it are removed.
const SWEEP_FROM: usize = 64;

/// How long a request without a delay is remembered for those with one: as long as the longest
/// delay that a caller may ask for.
const UNPACED_NEEDED: Duration = Duration::from_secs(60);

/// The state of one host.
#[derive(Debug)]
pub(super) struct Host {
    /// Tasks that hold a permit or wait for one.
    pub(super) n_visits: usize,
    pub(super) slots: Arc<FairSemaphore<Owner>>,
    /// The queue of the tasks of all accounts that obey the host's crawl delay. Held until a
    /// request starts, never during an account's own delay.
    pub(super) lane: Arc<Semaphore>,
    /// When the last request under the crawl delay started, and the delay.
    last_paced: Option<(Instant, Duration)>,
    /// The accounts that use it, or whose delay or pause is not over.
    accounts: HashMap<Owner, Account>,
    /// Number of accounts at which those without need are removed.
    sweep_at: usize,
    /// Until when the delay of the last paced request of any account lasts.
    paced_until: Option<Instant>,
    /// Wakes waiting tasks when a request ends, or the host has recovered.
    changed: Arc<Notify>,
}

/// The start of a request, and what it changed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Start {
    pub(super) pace: RequestPace,
    at: Instant,
    /// The account's `last` before it.
    own_before: Option<(Instant, Duration)>,
    /// The host's `last_paced` before it.
    paced_before: Option<(Instant, Duration)>,
}

/// Whether a request may start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Readiness {
    Now,
    /// Not before this moment; check again then.
    At(Instant),
    /// The host is recovering: one request of the account at a time.
    AfterCurrent,
}

impl Host {
    pub(super) fn new(slots: usize) -> Self {
        Self {
            n_visits: 0,
            slots: FairSemaphore::sharing(slots),
            lane: Arc::new(Semaphore::new(1)),
            accounts: HashMap::new(),
            sweep_at: SWEEP_FROM,
            paced_until: None,
            last_paced: None,
            changed: Arc::default(),
        }
    }

    pub(super) fn changed(&self) -> Arc<Notify> {
        Arc::clone(&self.changed)
    }

    /// A task of this account begins to use the host.
    pub(super) fn enter(&mut self, owner: Owner) {
        if !self.accounts.contains_key(&owner) {
            self.sweep();
        }
        self.n_visits += 1;
        self.account(owner).n_visits += 1;
    }

    /// The end of what [`Self::enter`] began. Forgets an account that has no use for the host.
    pub(super) fn leave(&mut self, owner: Owner) {
        self.n_visits -= 1;
        let account = self.account(owner);
        account.n_visits -= 1;
        let end = account.idle_until();
        if end.is_some_and(|end| end <= Instant::now()) {
            self.accounts.remove(&owner);
        }
    }

    /// Removes accounts that have no use for the host; if too many remain that no task uses, also
    /// those needed for the shortest time.
    fn sweep(&mut self) {
        if self.accounts.len() < self.sweep_at {
            return;
        }
        let now = Instant::now();
        self.accounts
            .retain(|_, account| account.idle_until().is_none_or(|end| end > now));
        let needed = self.accounts.values().filter_map(Account::idle_until);
        let mut ends: Vec<Instant> = needed.collect();
        if ends.len() >= ACCOUNTS_IDLE_MAX {
            let middle = ends.len() / 2;
            let (_, cutoff, _) = ends.select_nth_unstable(middle);
            let cutoff = *cutoff;
            self.accounts
                .retain(|_, account| account.idle_until().is_none_or(|end| end > cutoff));
        }
        self.sweep_at = (self.accounts.len() * 2).max(SWEEP_FROM);
    }

    fn account(&mut self, owner: Owner) -> &mut Account {
        self.accounts.entry(owner).or_default()
    }

    /// The lane of an account.
    pub(super) fn own_lane(&mut self, owner: Owner) -> Arc<Semaphore> {
        Arc::clone(&self.account(owner).lane)
    }

    /// When the account's own delay is over; `None` if it is.
    pub(super) fn own_due(&self, owner: Owner, delay: Duration) -> Option<Instant> {
        let (started, _) = self.accounts.get(&owner)?.last?;
        Some(started + delay).filter(|due| *due > Instant::now())
    }

    /// Accounts that are known here.
    #[cfg(test)]
    pub(super) fn n_accounts(&self) -> usize {
        self.accounts.len()
    }

    /// Whether a request at this pace may start now.
    pub(super) fn readiness(&self, pace: &RequestPace) -> Readiness {
        let account = self.accounts.get(&pace.owner);
        let paused_until = account.and_then(|account| account.paused_until);
        match self.after_delay(pace.host_delay).max(paused_until) {
            Some(instant) if instant > Instant::now() => Readiness::At(instant),
            _ if account.is_some_and(Account::is_tried) => Readiness::AfterCurrent,
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
        if self.readiness(pace) != Readiness::Now {
            return None;
        }
        self.account(pace.owner).in_flight += 1;
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
        let own = self.accounts.get(&pace.owner);
        let start = Start {
            pace: *pace,
            at: now,
            own_before: own.and_then(|own| own.last),
            paced_before: self.last_paced,
        };
        if pace.is_paced() {
            self.account(pace.owner).last = Some((now, pace.delay));
            if !pace.host_delay.is_zero() {
                self.last_paced = Some((now, pace.host_delay));
            }
            let until = now + pace.delay.max(pace.host_delay);
            self.paced_until = self.paced_until.max(Some(until));
        }
        start
    }

    /// Notes a request of this account that waited for no delay: the next one with a delay, of
    /// whatever length, waits for it.
    pub(super) fn note_unpaced(&mut self, owner: Owner) {
        let now = Instant::now();
        self.account(owner).last = Some((now, UNPACED_NEEDED));
        self.last_paced = Some((now, UNPACED_NEEDED));
        self.paced_until = self.paced_until.max(Some(now + UNPACED_NEEDED));
    }

    /// Restores the pace before a request that was not sent, unless a later one changed it.
    /// `paced_until` stays: the host is only remembered for a little longer.
    pub(super) fn undo(&mut self, start: &Start) {
        if !start.pace.is_paced() {
            return;
        }
        let own = self.account(start.pace.owner);
        if own.last == Some((start.at, start.pace.delay)) {
            own.last = start.own_before;
        }
        if self.last_paced == Some((start.at, start.pace.host_delay)) {
            self.last_paced = start.paced_before;
        }
    }

    /// A request of this account ended.
    pub(super) fn finish(&mut self, owner: Owner) {
        self.account(owner).in_flight -= 1;
        self.changed.notify_waiters();
    }

    /// Records a 429 or 503 response to this account. A longer pause that is already in effect
    /// stays.
    pub(super) fn pause(&mut self, owner: Owner, requested: Option<Duration>) -> Duration {
        self.account(owner).pause(requested)
    }

    /// Records a success of this account.
    pub(super) fn recover(&mut self, owner: Owner) {
        if let Some(account) = self.accounts.get_mut(&owner)
            && account.recover()
        {
            self.changed.notify_waiters();
        }
    }

    /// How long this account is not to contact the host.
    pub(super) fn pause_left(&self, owner: Owner) -> Duration {
        let account = self.accounts.get(&owner);
        account.map_or(Duration::ZERO, Account::pause_left)
    }

    /// Until when the host's state is needed although no task uses it.
    pub(super) fn needed_until(&self) -> Instant {
        let accounts = self.accounts.values().filter_map(Account::idle_until);
        accounts
            .max()
            .max(self.paced_until)
            .unwrap_or_else(Instant::now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recovering_host_gets_one_request_of_the_account_at_a_time() {
        let mut host = Host::new(8);
        let (one, other) = (
            RequestPace::NONE,
            RequestPace {
                owner: Owner::of("other"),
                ..RequestPace::NONE
            },
        );
        host.pause(one.owner, Some(Duration::ZERO));
        assert!(host.start(&one).is_some());
        assert_eq!(host.readiness(&one), Readiness::AfterCurrent);
        assert_eq!(host.readiness(&other), Readiness::Now, "it was not refused");
        host.recover(other.owner);
        assert_eq!(host.readiness(&one), Readiness::AfterCurrent);
        host.recover(one.owner);
        assert_eq!(host.readiness(&one), Readiness::Now);
    }

    #[test]
    fn accounts_that_were_refused_are_bounded() {
        let mut host = Host::new(8);
        for n in 0..ACCOUNTS_IDLE_MAX * 5 {
            let owner = Owner::of(&n.to_string());
            host.enter(owner);
            host.pause(owner, Some(Duration::from_secs(60)));
            host.leave(owner);
        }
        let n = host.n_accounts();
        assert!(n <= ACCOUNTS_IDLE_MAX * 2 + SWEEP_FROM, "{n} accounts");
        assert!(n > ACCOUNTS_IDLE_MAX / 4, "{n} accounts");
    }
}
