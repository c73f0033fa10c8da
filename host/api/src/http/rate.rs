//! Rate limit: requests per minute and key.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

const WINDOW: Duration = Duration::from_secs(60);

/// Counts requests per key in fixed windows of one minute. All keys share the window, so all counts
/// are dropped together and memory is bounded by the keys seen within a minute.
#[derive(Debug)]
pub(crate) struct RateLimits {
    limit: u32,
    window: Mutex<Window>,
}

#[derive(Debug)]
struct Window {
    started: Instant,
    counts: HashMap<[u8; 32], u32>,
}

/// State of a key's limit after a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RateLimit {
    /// Whether the request is allowed.
    pub(crate) is_granted: bool,
    /// Requests per minute.
    pub(crate) limit: u32,
    /// Requests left in this window.
    pub(crate) remaining: u32,
    /// Seconds until the next window, at least 1.
    pub(crate) reset_seconds: u64,
}

impl RateLimits {
    pub(crate) fn new(limit: u32, now: Instant) -> Self {
        let window = Window {
            started: now,
            counts: HashMap::new(),
        };
        Self {
            limit,
            window: Mutex::new(window),
        }
    }

    /// Counts one request of a key.
    pub(crate) fn take(&self, key: &str, now: Instant) -> RateLimit {
        let key = *blake3::hash(key.as_bytes()).as_bytes();
        let mut window = self.window.lock().unwrap_or_else(PoisonError::into_inner);
        let mut age = now.saturating_duration_since(window.started);
        if age >= WINDOW {
            *window = Window {
                started: now,
                counts: HashMap::new(),
            };
            age = Duration::ZERO;
        }
        let count = window.counts.entry(key).or_default();
        let is_granted = *count < self.limit;
        *count += u32::from(is_granted);
        RateLimit {
            is_granted,
            limit: self.limit,
            remaining: self.limit - *count,
            reset_seconds: (WINDOW - age).as_secs() + 1
                - u64::from((WINDOW - age).subsec_nanos() == 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_limited_per_window() {
        let start = Instant::now();
        let limits = RateLimits::new(2, start);
        let check =
            |key: &str, seconds: u64, is_granted: bool, remaining: u32, reset_seconds: u64| {
                let expected = RateLimit {
                    is_granted,
                    limit: 2,
                    remaining,
                    reset_seconds,
                };
                assert_eq!(
                    limits.take(key, start + Duration::from_secs(seconds)),
                    expected
                );
            };
        check("a", 0, true, 1, 60);
        check("a", 1, true, 0, 59);
        check("a", 2, false, 0, 58);
        check("b", 2, true, 1, 58);
        check("a", 59, false, 0, 1);
        check("a", 60, true, 1, 60);
    }
}
