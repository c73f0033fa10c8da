//! Time since this machine was started.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// A moment, as time since this machine was started. It goes on while the machine or the process is
/// suspended, and cannot be set: a node whose clock is wrong by an hour has the same leases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BootTime(Duration);

impl BootTime {
    /// Now, by `CLOCK_BOOTTIME`.
    pub fn now() -> Self {
        let now = clock_gettime(ClockId::Boottime);
        let seconds = u64::try_from(now.tv_sec).unwrap_or_default();
        let nanoseconds = u32::try_from(now.tv_nsec).unwrap_or_default();
        Self(Duration::new(seconds, nanoseconds))
    }

    /// The moment this long after the start of the machine.
    pub const fn after_start(time: Duration) -> Self {
        Self(time)
    }

    /// The moment this much later.
    #[must_use]
    pub fn later(self, time: Duration) -> Self {
        Self(self.0.saturating_add(time))
    }

    /// The moment this much earlier, at most the start of the machine.
    #[must_use]
    pub fn earlier(self, time: Duration) -> Self {
        Self(self.0.saturating_sub(time))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_on() {
        let before = BootTime::now();
        std::thread::sleep(Duration::from_millis(2));
        let after = BootTime::now();
        assert!(after >= before.later(Duration::from_millis(2)));
        assert_eq!(after.earlier(Duration::MAX), BootTime::default());
    }
}
