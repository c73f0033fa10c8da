//! Rate limit: requests of an account in any 60 seconds.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use trawl_billing::AccountId;

const WINDOW: Duration = Duration::from_secs(60);
/// Name of the limit in the fields `RateLimit` and `RateLimit-Policy`.
const POLICY: &str = "minute";
/// Requests that are counted together: an account needs at most 61 counts, and gets a request back
/// a second late at most, never early.
const SLOT: Duration = Duration::from_secs(1);

/// Counts requests per account in a sliding window. Memory is bounded by the accounts seen within
/// two minutes.
#[derive(Debug)]
pub(crate) struct RateLimits {
    limit: u32,
    recent: Mutex<Recent>,
}

#[derive(Debug)]
struct Recent {
    accounts: HashMap<AccountId, Window>,
    /// When accounts without requests were last removed.
    swept: Instant,
}

/// The requests of one account.
#[derive(Debug, Default)]
struct Window {
    slots: VecDeque<Slot>,
    /// The sum over all slots.
    count: u32,
}

#[derive(Debug)]
struct Slot {
    first: Instant,
    last: Instant,
    count: u32,
}

/// State of an account's limit after a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RateLimit {
    /// Whether the request is allowed.
    pub(crate) is_granted: bool,
    /// Requests per minute.
    pub(crate) limit: u32,
    /// Requests left.
    pub(crate) remaining: u32,
    /// Seconds until the earliest counted requests are a minute old, at least 1.
    pub(crate) reset_seconds: u64,
}

impl RateLimit {
    /// Value of `RateLimit-Policy`: the requests in a window, and its seconds. A list of structured
    /// fields (RFC 9651), draft-ietf-httpapi-ratelimit-headers-11. Decision D460.
    pub(crate) fn policy_field(&self) -> String {
        format!("\"{POLICY}\";q={};w={}", self.limit, WINDOW.as_secs())
    }

    /// Value of `RateLimit`: the requests left, and the seconds until more are.
    pub(crate) fn field(&self) -> String {
        let (remaining, seconds) = (self.remaining, self.reset_seconds);
        format!("\"{POLICY}\";r={remaining};t={seconds}")
    }
}

impl RateLimits {
    pub(crate) fn new(limit: u32, now: Instant) -> Self {
        let recent = Recent {
            accounts: HashMap::new(),
            swept: now,
        };
        Self {
            limit,
            recent: Mutex::new(recent),
        }
    }

    /// Counts one request of an account. A request that is refused does not count.
    pub(crate) fn take(&self, account: &AccountId, now: Instant) -> RateLimit {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        recent.sweep(now);
        let window = match recent.accounts.get_mut(account) {
            Some(window) => window,
            None => recent.accounts.entry(account.clone()).or_default(),
        };
        window.forget(now);
        let is_granted = window.count < self.limit;
        if is_granted {
            window.add(now);
        }
        RateLimit {
            is_granted,
            limit: self.limit,
            remaining: self.limit - window.count,
            reset_seconds: window.reset_seconds(now),
        }
    }

    /// Requests per minute, and how many of them an account has used.
    pub(crate) fn used(&self, account: &AccountId, now: Instant) -> (u32, u32) {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let used = recent.accounts.get_mut(account).map_or(0, |window| {
            window.forget(now);
            window.count
        });
        (self.limit, used)
    }
}

impl Recent {
    fn sweep(&mut self, now: Instant) {
        if now.saturating_duration_since(self.swept) < WINDOW {
            return;
        }
        self.swept = now;
        self.accounts.retain(|_, window| {
            window.forget(now);
            window.count > 0
        });
    }
}

impl Window {
    /// Drops requests that are a minute old.
    fn forget(&mut self, now: Instant) {
        while let Some(slot) = self.slots.front()
            && now.saturating_duration_since(slot.last) >= WINDOW
        {
            self.count -= slot.count;
            self.slots.pop_front();
        }
    }

    fn add(&mut self, now: Instant) {
        self.count += 1;
        match self.slots.back_mut() {
            Some(slot) if now.saturating_duration_since(slot.first) < SLOT => {
                slot.last = now;
                slot.count += 1;
            }
            _ => self.slots.push_back(Slot {
                first: now,
                last: now,
                count: 1,
            }),
        }
    }

    fn reset_seconds(&self, now: Instant) -> u64 {
        let left = self.slots.front().map_or(WINDOW, |slot| {
            WINDOW.saturating_sub(now.saturating_duration_since(slot.last))
        });
        (left.as_secs() + u64::from(left.subsec_nanos() > 0)).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_limited_in_any_minute() {
        let start = Instant::now();
        let limits = RateLimits::new(2, start);
        let check =
            |account: &str, seconds: u64, is_granted: bool, remaining: u32, reset_seconds: u64| {
                let expected = RateLimit {
                    is_granted,
                    limit: 2,
                    remaining,
                    reset_seconds,
                };
                let now = start + Duration::from_secs(seconds);
                let found = limits.take(&AccountId::new(account), now);
                assert_eq!(found, expected, "{account} {seconds}");
            };
        check("a", 0, true, 1, 60);
        check("a", 50, true, 0, 10);
        check("a", 59, false, 0, 1);
        check("b", 59, true, 1, 60);
        // Only the request of second 0 is a minute old: a fixed window would grant two now.
        check("a", 60, true, 0, 50);
        check("a", 61, false, 0, 49);
        check("a", 110, true, 0, 10);
        let later = start + Duration::from_secs(300);
        assert_eq!(limits.used(&AccountId::new("a"), later), (2, 0));
        check("c", 300, true, 1, 60);
        let recent = limits.recent.lock().expect("no panic");
        assert_eq!(recent.accounts.len(), 1, "idle accounts are forgotten");
    }

    #[test]
    fn the_fields_name_the_limit_and_what_is_left_of_it() {
        let limit = RateLimit {
            is_granted: true,
            limit: 10_000,
            remaining: 9_998,
            reset_seconds: 41,
        };
        assert_eq!(limit.policy_field(), "\"minute\";q=10000;w=60");
        assert_eq!(limit.field(), "\"minute\";r=9998;t=41");
    }

    #[test]
    fn requests_within_a_second_are_counted_together() {
        let start = Instant::now();
        let limits = RateLimits::new(1_000, start);
        let account = AccountId::new("a");
        for millis in 0..900 {
            limits.take(&account, start + Duration::from_millis(millis));
        }
        let used = |millis| {
            limits
                .used(&account, start + Duration::from_millis(millis))
                .1
        };
        assert_eq!((used(60_898), used(60_899)), (900, 0));
    }
}
