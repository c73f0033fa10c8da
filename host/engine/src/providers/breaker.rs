//! Circuit breakers: which routes are not tried for a while, because their key is wrong or has no
//! credit left, or because their provider is down or rate-limits us.
//!
//! Each account has breakers of its own: what its pages and searches ask for may be why a provider
//! fails. Decision D680.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use trawl_contract::provider::Class;

use super::{Keys, VendorFailure};

/// How long a key that is wrong or without credit is not tried again. People replace keys and top
/// up accounts.
const KEY_PAUSE: Duration = Duration::from_secs(10 * 60);
/// The same for a caller's own key: its owner may just have topped up and be waiting.
const OWN_KEY_PAUSE: Duration = Duration::from_secs(30);
/// Pause after the first rate limit without a `Retry-After`, and the longest; it doubles in
/// between.
const RATE_PAUSE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));
/// The same for a provider that fails.
const FAULT_PAUSE: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(300));
/// Consecutive failures after which a provider counts as down.
const FAULTS_MAX: u32 = 5;
/// Most breakers; beyond that those that are closed again are dropped first, then all.
const BREAKERS_MAX: usize = 10_000;

/// Names a breaker: the account that tries the route, the provider, and a hash of the credentials
/// under a key of this process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct BreakerKey {
    account: String,
    provider: String,
    credentials: [u8; 32],
    is_own: bool,
}

/// The breakers of routes that failed.
pub(super) struct Breakers {
    key: [u8; 32],
    breakers: Mutex<HashMap<BreakerKey, BreakerState>>,
}

#[derive(Clone, Debug, Default)]
struct BreakerState {
    /// Consecutive failures of the provider.
    faults: u32,
    /// Consecutive rate limits.
    rate_limits: u32,
    open_until: Option<Instant>,
    /// When it opened: the outcome of a try that began before is ignored.
    opened_at: Option<Instant>,
    /// Until when the probe after the pause is under way. Other pages wait for its outcome.
    probe_until: Option<Instant>,
    /// The failure that it opened for; `None` for one of the adapter.
    class: Option<Class>,
}

/// How much longer a route is paused, and after which failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// How much longer.
    pub left: Duration,
    /// The failure; `None` for one of the adapter.
    pub class: Option<Class>,
}

/// Permission for one try. If it is dropped without an outcome, the next page may try.
pub(super) struct ProbePermit<'a> {
    breakers: &'a Breakers,
    /// `None` for a route that was not paused.
    key: Option<BreakerKey>,
}

impl Drop for ProbePermit<'_> {
    fn drop(&mut self) {
        let Some(key) = &self.key else {
            return;
        };
        if let Some(breaker) = self.breakers.lock().get_mut(key) {
            breaker.probe_until = None;
        }
    }
}

impl Default for Breakers {
    fn default() -> Self {
        let mut key = [0; 32];
        // Without the system's randomness the hashes could be guessed, which reveals no key: they
        // stay in this process.
        let _ = getrandom::fill(&mut key);
        Self {
            key,
            breakers: Mutex::default(),
        }
    }
}

impl Breakers {
    /// The key of a route's breaker for an account, or for a client of another name.
    pub(super) fn key(
        &self,
        account: &str,
        provider: &str,
        keys: &Keys,
        is_own: bool,
    ) -> BreakerKey {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        for (name, secret) in keys.iter() {
            for part in [name, secret] {
                hasher.update(&(part.len() as u64).to_le_bytes());
                hasher.update(part.as_bytes());
            }
        }
        BreakerKey {
            account: account.to_owned(),
            provider: provider.to_owned(),
            credentials: *hasher.finalize().as_bytes(),
            is_own,
        }
    }

    /// How much longer the route is paused, and why; `None` if it may be tried now.
    pub(super) fn pause(&self, key: &BreakerKey, now: Instant) -> Option<Pause> {
        let breakers = self.lock();
        let breaker = breakers.get(key)?;
        Some(Pause {
            left: breaker.left(now)?,
            class: breaker.class,
        })
    }

    /// Permission to try the route now, for a try that ends by then. After a pause only one page
    /// gets it until the outcome is known.
    pub(super) fn admit(
        &self,
        key: &BreakerKey,
        now: Instant,
        end: Instant,
    ) -> Option<ProbePermit<'_>> {
        let mut breakers = self.lock();
        let mut probe = ProbePermit {
            breakers: self,
            key: None,
        };
        let Some(breaker) = breakers.get_mut(key) else {
            return Some(probe);
        };
        if breaker.left(now).is_some() {
            return None;
        }
        if breaker.open_until.is_some() {
            breaker.probe_until = Some(end);
            probe.key = Some(key.clone());
        }
        Some(probe)
    }

    /// Records how a try ended. A provider that was down and fails the next try is paused for twice
    /// as long.
    pub(super) fn note<T>(
        &self,
        key: &BreakerKey,
        outcome: &Result<T, VendorFailure>,
        begun: Instant,
        now: Instant,
    ) {
        let mut breakers = self.lock();
        let opened_at = breakers.get(key).and_then(|breaker| breaker.opened_at);
        if opened_at.is_some_and(|opened_at| begun < opened_at) {
            return;
        }
        let Err(failure) = outcome else {
            breakers.remove(key);
            return;
        };
        if breakers.len() >= BREAKERS_MAX && !breakers.contains_key(key) {
            breakers.retain(|_, breaker| breaker.open_until.is_some_and(|until| until > now));
            if breakers.len() >= BREAKERS_MAX {
                breakers.clear();
            }
        }
        let breaker = breakers.entry(key.clone()).or_default();
        if let Some(pause) = breaker.pause(failure, key.is_own) {
            breaker.open_until = Some(now + pause);
            breaker.opened_at = Some(now);
            breaker.class = failure.class;
        }
    }

    /// How many routes of a provider are paused now, and the longest time left.
    pub(super) fn paused(&self, provider: &str, now: Instant) -> (usize, Duration) {
        let breakers = self.lock();
        let open = breakers
            .iter()
            .filter(|(key, _)| key.provider == provider)
            .filter_map(|(_, breaker)| breaker.left(now));
        open.fold((0, Duration::ZERO), |(n, longest), left| {
            (n + 1, longest.max(left))
        })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<BreakerKey, BreakerState>> {
        self.breakers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BreakerState {
    /// How much longer the route is paused, or its probe under way.
    fn left(&self, now: Instant) -> Option<Duration> {
        let left = |until: Option<Instant>| until?.checked_duration_since(now);
        let left = left(self.open_until).max(left(self.probe_until));
        left.filter(|left| !left.is_zero())
    }

    /// Counts a failure; returns how long the route is paused for it.
    fn pause(&mut self, failure: &VendorFailure, is_own: bool) -> Option<Duration> {
        match failure.class {
            Some(Class::BadKey | Class::NoCredit) if is_own => Some(OWN_KEY_PAUSE),
            Some(Class::BadKey | Class::NoCredit) => Some(KEY_PAUSE),
            Some(Class::RateLimited) => {
                self.rate_limits += 1;
                let own = doubled(RATE_PAUSE, self.rate_limits - 1);
                Some(
                    failure
                        .retry_after
                        .map_or(own, |pause| pause.min(KEY_PAUSE)),
                )
            }
            None | Some(Class::ProviderError | Class::ProviderTimeout | Class::Drift) => {
                self.faults += 1;
                let beyond = self.faults.checked_sub(FAULTS_MAX)?;
                Some(doubled(FAULT_PAUSE, beyond))
            }
            // The page failed, not the provider: it works.
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
    use trawl_model::secret::Secret;

    use super::*;

    fn key(breakers: &Breakers, secret: &str, is_own: bool) -> BreakerKey {
        let keys = Keys::from_iter([("K".to_owned(), Secret::new(secret))]);
        breakers.key("acc_1", "provider_1", &keys, is_own)
    }

    impl Breakers {
        fn is_closed(&self, key: &BreakerKey, now: Instant) -> bool {
            self.pause(key, now).is_none()
        }
    }

    fn failed(class: Class) -> Result<(), VendorFailure> {
        Err(VendorFailure::of(class, ""))
    }

    #[test]
    fn only_the_wrong_key_is_paused() {
        let (breakers, now) = (Breakers::default(), Instant::now());
        let (wrong, right) = (
            key(&breakers, "wrong", false),
            key(&breakers, "right", false),
        );
        breakers.note(&wrong, &failed(Class::BadKey), now, now);
        assert!(!breakers.is_closed(&wrong, now) && breakers.is_closed(&right, now));
        assert!(breakers.is_closed(&wrong, now + KEY_PAUSE));
        assert_eq!(breakers.paused("provider_1", now), (1, KEY_PAUSE));
        assert_eq!(breakers.paused("provider_2", now), (0, Duration::ZERO));
        assert!(!format!("{wrong:?}").contains("wrong"));
        let own = key(&breakers, "wrong", true);
        breakers.note(&own, &failed(Class::NoCredit), now, now);
        let pause = Pause {
            left: OWN_KEY_PAUSE,
            class: Some(Class::NoCredit),
        };
        assert_eq!(breakers.pause(&own, now), Some(pause));
        assert!(!breakers.is_closed(&own, now) && breakers.is_closed(&own, now + OWN_KEY_PAUSE));
    }

    #[test]
    fn a_pause_is_for_the_account_whose_pages_failed() {
        let (breakers, now) = (Breakers::default(), Instant::now());
        let keys = Keys::from_iter([("K".to_owned(), Secret::new("a"))]);
        let [one, other] =
            ["acc_1", "acc_2"].map(|account| breakers.key(account, "provider_1", &keys, false));
        for _ in 0..=FAULTS_MAX {
            breakers.note(&one, &failed(Class::ProviderTimeout), now, now);
        }
        assert!(!breakers.is_closed(&one, now) && breakers.is_closed(&other, now));
        breakers.note(&other, &failed(Class::RateLimited), now, now);
        assert!(!breakers.is_closed(&other, now), "it was refused as well");
        assert_eq!(breakers.paused("provider_1", now).0, 2);
    }

    #[test]
    fn a_provider_that_is_down_is_tried_less_and_less() {
        let (breakers, mut now) = (Breakers::default(), Instant::now());
        let key = key(&breakers, "a", false);
        for _ in 1..FAULTS_MAX {
            breakers.note(&key, &failed(Class::ProviderError), now, now);
            assert!(breakers.is_closed(&key, now));
        }
        let mut pauses = Vec::new();
        for _ in 0..8 {
            breakers.note(&key, &failed(Class::ProviderTimeout), now, now);
            let (_, pause) = breakers.paused("provider_1", now);
            pauses.push(pause.as_secs());
            now += pause;
            assert!(breakers.is_closed(&key, now));
        }
        assert_eq!(pauses, [5, 10, 20, 40, 80, 160, 300, 300]);
        breakers.note(&key, &Ok(()), now, now);
        breakers.note(&key, &failed(Class::ProviderError), now, now);
        assert!(breakers.is_closed(&key, now), "a success resets it");
    }

    #[test]
    fn retry_after_is_obeyed_and_a_failed_page_is_not_the_providers_fault() {
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
            assert!(breakers.is_closed(&key, later), "{class:?}");
        }
    }

    #[test]
    fn the_number_of_breakers_is_bounded() {
        let (breakers, now) = (Breakers::default(), Instant::now());
        for n in 0..BREAKERS_MAX + 10 {
            breakers.note(
                &key(&breakers, &n.to_string(), true),
                &failed(Class::BadKey),
                now,
                now,
            );
        }
        assert!(breakers.lock().len() <= BREAKERS_MAX);
    }

    #[test]
    fn tries_that_began_before_it_opened_are_ignored() {
        let (breakers, begun) = (Breakers::default(), Instant::now());
        let key = key(&breakers, "a", false);
        let now = begun + Duration::from_secs(1);
        for _ in 0..100 {
            breakers.note(&key, &failed(Class::ProviderTimeout), begun, now);
        }
        assert_eq!(breakers.paused("provider_1", now).1, FAULT_PAUSE.0);
        breakers.note(&key, &Ok(()), begun, now);
        assert!(
            !breakers.is_closed(&key, now),
            "a late success closes nothing"
        );
    }

    #[test]
    fn after_a_pause_one_page_tries() {
        let (breakers, now) = (Breakers::default(), Instant::now());
        let key = key(&breakers, "a", false);
        let end = now + Duration::from_secs(3_600);
        let admitted = |now| -> Vec<_> {
            let all = (0..100).filter_map(|_| breakers.admit(&key, now, end));
            all.collect()
        };
        assert_eq!(admitted(now).len(), 100, "it is closed");
        breakers.note(&key, &failed(Class::BadKey), now, now);
        assert_eq!(admitted(now).len(), 0, "it is open");
        let later = now + KEY_PAUSE;
        let probes = admitted(later);
        assert_eq!(probes.len(), 1);
        assert!(!breakers.is_closed(&key, later), "its probe is under way");
        // A probe without an outcome leaves the next one to another page.
        drop(probes);
        assert!(breakers.is_closed(&key, later));
        let probes = admitted(later);
        breakers.note(&key, &failed(Class::BadKey), later, later);
        drop(probes);
        assert_eq!(admitted(later).len(), 0, "its probe failed");
        let latest = later + KEY_PAUSE;
        let probes = admitted(latest);
        breakers.note(&key, &Ok(()), latest, latest);
        drop(probes);
        assert_eq!(admitted(latest).len(), 100, "its probe succeeded");
    }

    #[test]
    fn a_trial_that_never_ends_blocks_nothing() {
        let (breakers, now) = (Breakers::default(), Instant::now());
        let key = key(&breakers, "a", false);
        breakers.note(&key, &failed(Class::BadKey), now, now);
        let (later, end) = (now + KEY_PAUSE, now + 2 * KEY_PAUSE);
        let probe = breakers.admit(&key, later, end);
        assert!(probe.is_some() && breakers.admit(&key, later, end).is_none());
        assert!(breakers.admit(&key, end, end + KEY_PAUSE).is_some());
    }
}
