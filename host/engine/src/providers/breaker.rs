//! Which ways are not worth a try for a while: a key that is wrong or used up, a service that is down or wants to be left alone.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use trawl_sdk::provider::Class;

use super::{Keys, VendorFailure};

/// How long a wrong or used-up key is not tried again. Keys are replaced and accounts filled up by people.
const KEY_PAUSE: Duration = Duration::from_secs(10 * 60);
/// The same for a caller's own key: somebody who has just paid is waiting.
const OWN_KEY_PAUSE: Duration = Duration::from_secs(30);
/// Pause after the first "too many" that says nothing of its own, and the longest; doubles in between.
const RATE_PAUSE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));
/// The same for a service that fails.
const FAULT_PAUSE: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(300));
/// Failures in a row after which a service counts as down.
const FAULTS_MAX: u32 = 5;
/// Ways that are remembered; beyond that those that are open again go first, then all.
const WAYS_MAX: usize = 10_000;

/// A way as it is remembered: the provider, and a hash of its credentials under a key of this process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct BreakerKey {
    provider: String,
    credentials: [u8; 32],
    is_own: bool,
}

/// What is remembered of ways that failed.
pub(super) struct Breakers {
    key: [u8; 32],
    ways: Mutex<HashMap<BreakerKey, BreakerState>>,
}

#[derive(Clone, Debug, Default)]
struct BreakerState {
    /// Failures of the service in a row.
    faults: u32,
    /// "Too many" in a row.
    refusals: u32,
    closed_until: Option<Instant>,
    /// When it was closed: tries begun before tell nothing new.
    closed_at: Option<Instant>,
}

impl Default for Breakers {
    fn default() -> Self {
        let mut key = [0; 32];
        // Without randomness of the system hashes can be guessed, which tells nobody a key: they stay in this process.
        let _ = getrandom::fill(&mut key);
        Self {
            key,
            ways: Mutex::default(),
        }
    }
}

impl Breakers {
    /// The key of a way.
    pub(super) fn key(&self, provider: &str, keys: &Keys, is_own: bool) -> BreakerKey {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        for (name, secret) in keys.iter() {
            for part in [name, secret] {
                hasher.update(&(part.len() as u64).to_le_bytes());
                hasher.update(part.as_bytes());
            }
        }
        BreakerKey {
            provider: provider.to_owned(),
            credentials: *hasher.finalize().as_bytes(),
            is_own,
        }
    }

    /// Whether a way is worth a try now.
    pub(super) fn is_open(&self, key: &BreakerKey, now: Instant) -> bool {
        let ways = self.lock();
        let until = ways.get(key).and_then(|way| way.closed_until);
        until.is_none_or(|until| until <= now)
    }

    /// Remembers how a try ended. A service that was down and fails again when it is tried is down for twice as long.
    pub(super) fn note<T>(
        &self,
        key: &BreakerKey,
        outcome: &Result<T, VendorFailure>,
        begun: Instant,
        now: Instant,
    ) {
        let mut ways = self.lock();
        let closed_at = ways.get(key).and_then(|way| way.closed_at);
        if closed_at.is_some_and(|closed_at| begun < closed_at) {
            return;
        }
        let pause = match outcome {
            Ok(_) => {
                ways.remove(key);
                return;
            }
            Err(failure) => {
                if ways.len() >= WAYS_MAX && !ways.contains_key(key) {
                    ways.retain(|_, way| way.closed_until.is_some_and(|until| until > now));
                    if ways.len() >= WAYS_MAX {
                        ways.clear();
                    }
                }
                ways.entry(key.clone())
                    .or_default()
                    .pause(failure, key.is_own)
            }
        };
        if let (Some(pause), Some(way)) = (pause, ways.get_mut(key)) {
            way.closed_until = Some(now + pause);
            way.closed_at = Some(now);
        }
    }

    /// How many ways of a provider are not tried now, and the longest time that is left of it.
    pub(super) fn paused(&self, provider: &str, now: Instant) -> (usize, Duration) {
        let ways = self.lock();
        let closed = ways
            .iter()
            .filter(|(key, _)| key.provider == provider)
            .filter_map(|(_, way)| way.closed_until?.checked_duration_since(now));
        closed.fold((0, Duration::ZERO), |(n, longest), left| {
            (n + 1, longest.max(left))
        })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<BreakerKey, BreakerState>> {
        self.ways.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BreakerState {
    /// Counts a failure; how long the way is closed for it.
    fn pause(&mut self, failure: &VendorFailure, is_own: bool) -> Option<Duration> {
        match failure.class {
            Some(Class::BadKey | Class::NoCredit) if is_own => Some(OWN_KEY_PAUSE),
            Some(Class::BadKey | Class::NoCredit) => Some(KEY_PAUSE),
            Some(Class::RateLimited) => {
                self.refusals += 1;
                let own = doubled(RATE_PAUSE, self.refusals - 1);
                Some(
                    failure
                        .retry_after
                        .map_or(own, |asked| asked.min(KEY_PAUSE)),
                )
            }
            None | Some(Class::ProviderError | Class::ProviderTimeout | Class::Drift) => {
                self.faults += 1;
                let beyond = self.faults.checked_sub(FAULTS_MAX)?;
                Some(doubled(FAULT_PAUSE, beyond))
            }
            // The page's trouble, not the service's: it works.
            Some(_) => {
                *self = Self::default();
                None
            }
        }
    }
}

fn doubled((first, longest): (Duration, Duration), times: u32) -> Duration {
    first
        .saturating_mul(2_u32.saturating_pow(times))
        .min(longest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use trawl_model::secret::Secret;

    fn key(breakers: &Breakers, secret: &str, is_own: bool) -> BreakerKey {
        let keys = Keys::from_iter([("K".to_owned(), Secret::new(secret))]);
        breakers.key("provider_1", &keys, is_own)
    }

    fn failed(class: Class) -> Result<(), VendorFailure> {
        Err(VendorFailure::of(class, ""))
    }

    #[test]
    fn a_wrong_key_is_left_alone_and_no_other() {
        let (breakers, now) = (Breakers::default(), Instant::now());
        let (wrong, right) = (
            key(&breakers, "wrong", false),
            key(&breakers, "right", false),
        );
        breakers.note(&wrong, &failed(Class::BadKey), now, now);
        assert!(!breakers.is_open(&wrong, now) && breakers.is_open(&right, now));
        assert!(breakers.is_open(&wrong, now + KEY_PAUSE));
        assert_eq!(breakers.paused("provider_1", now), (1, KEY_PAUSE));
        assert_eq!(breakers.paused("provider_2", now), (0, Duration::ZERO));
        assert!(!format!("{wrong:?}").contains("wrong"));
        let own = key(&breakers, "wrong", true);
        breakers.note(&own, &failed(Class::NoCredit), now, now);
        assert!(!breakers.is_open(&own, now) && breakers.is_open(&own, now + OWN_KEY_PAUSE));
    }

    #[test]
    fn a_service_that_is_down_is_tried_less_and_less() {
        let (breakers, mut now) = (Breakers::default(), Instant::now());
        let key = key(&breakers, "a", false);
        for _ in 1..FAULTS_MAX {
            breakers.note(&key, &failed(Class::ProviderError), now, now);
            assert!(breakers.is_open(&key, now));
        }
        let mut pauses = Vec::new();
        for _ in 0..8 {
            breakers.note(&key, &failed(Class::ProviderTimeout), now, now);
            let (_, pause) = breakers.paused("provider_1", now);
            pauses.push(pause.as_secs());
            now += pause;
            assert!(breakers.is_open(&key, now));
        }
        assert_eq!(pauses, [5, 10, 20, 40, 80, 160, 300, 300]);
        breakers.note(&key, &Ok(()), now, now);
        breakers.note(&key, &failed(Class::ProviderError), now, now);
        assert!(breakers.is_open(&key, now), "a success begins anew");
    }

    #[test]
    fn retry_after_is_obeyed_and_the_pages_trouble_is_not_the_services() {
        let (breakers, now) = (Breakers::default(), Instant::now());
        let key = key(&breakers, "a", false);
        let mut limited = VendorFailure::of(Class::RateLimited, "");
        limited.retry_after = Some(Duration::from_secs(7));
        breakers.note(&key, &Err::<(), _>(limited), now, now);
        assert_eq!(breakers.paused("provider_1", now).1, Duration::from_secs(7));
        let later = now + Duration::from_secs(7);
        for class in [
            Class::TargetBlocked,
            Class::TargetFailed,
            Class::BadRequest,
            Class::TargetUnreachable,
        ] {
            for _ in 0..2 * FAULTS_MAX {
                breakers.note(&key, &failed(class), later, later);
            }
            assert!(breakers.is_open(&key, later), "{class:?}");
        }
    }

    #[test]
    fn memory_is_bounded() {
        let (breakers, now) = (Breakers::default(), Instant::now());
        for n in 0..WAYS_MAX + 10 {
            breakers.note(
                &key(&breakers, &n.to_string(), true),
                &failed(Class::BadKey),
                now,
                now,
            );
        }
        assert!(breakers.lock().len() <= WAYS_MAX);
    }

    #[test]
    fn tries_begun_before_it_was_closed_tell_nothing_new() {
        let (breakers, begun) = (Breakers::default(), Instant::now());
        let key = key(&breakers, "a", false);
        let now = begun + Duration::from_secs(1);
        for _ in 0..100 {
            breakers.note(&key, &failed(Class::ProviderTimeout), begun, now);
        }
        assert_eq!(breakers.paused("provider_1", now).1, FAULT_PAUSE.0);
        breakers.note(&key, &Ok(()), begun, now);
        assert!(!breakers.is_open(&key, now), "a late success opens nothing");
    }
}
