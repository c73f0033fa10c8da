//! Whether a host may be contacted now. A yes is a [`Permit`], held while the page is fetched.
//! Shared by all runs.
//!
//! A host has a number of concurrency slots, shared fairly among accounts: one whose requests hang
//! always leaves some. The tasks of one account that request a delay also queue in its own lane at
//! the host, one request at a time, so that one account's delay slows no other. Those who obey a
//! crawl delay of robots.txt then queue in the host's lane. A host that responded to an account
//! with 429 or 503 is not contacted by any run of this account until the pause is over, and then
//! gets one request of the account at a time until one succeeds. Other accounts learn of it when
//! they are refused themselves. A waiting task occupies only its position in this one host's queue.
//!
//! A host is a name without its port: what is spared is a machine, and `http` and `https` are two
//! ports of one site. Decision D290.

mod account;
mod hops;
mod host;
mod retry_after;

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep, sleep_until, timeout_at};

use trawl_model::clock::Clock;
use trawl_model::fair::FairPermit;
use trawl_plan::Pace;

use hops::Hops;
use host::{Host, Readiness, Start};
use retry_after::requested_pause;

pub use retry_after::PAUSE_MAX;

/// Pages fetched from one host at once, unless configured otherwise. High, because a request for
/// one page is not a crawl; a browser opens up to 6 connections per host, and a server serves many
/// browsers.
pub const IN_FLIGHT_PER_HOST: usize = 64;
/// Hosts remembered without any task that uses them, because their pause or delay is not over. Some
/// 400 bytes each.
pub const IDLE_HOSTS_MAX: usize = 50_000;
/// Number of known hosts from which on unneeded ones are removed.
const SWEEP_FROM: usize = 1_000;

/// The request pace of every host.
#[derive(Debug)]
pub struct Politeness {
    in_flight_per_host: usize,
    clock: Clock,
    hosts: Mutex<Hosts>,
}

/// The known hosts, and the number at which unneeded ones are removed.
#[derive(Debug)]
struct Hosts {
    by_name: HashMap<Arc<str>, Host>,
    sweep_at: usize,
}

/// An account at a host. Two with the same hash count as one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Owner(u64);

/// The pace of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestPace {
    /// For whom it is sent.
    pub owner: Owner,
    /// Least time after the owner's last request with a delay to the host; zero for no delay.
    pub delay: Duration,
    /// Least time after anyone's last request with such a delay to the host: the crawl delay of
    /// its robots.txt. Zero for no delay.
    pub host_delay: Duration,
}

/// The right to contact one host now; released on drop.
#[derive(Debug)]
pub struct Permit {
    // Field order matters: the slots are released before the host may be forgotten.
    _slot: FairPermit<Owner>,
    hops: Hops,
    _in_flight: HostRequest,
    start: Start,
    visit: Visit,
}

/// A request that a third party sends to one host for us: the next paced one of its account waits
/// for its end. Released on drop.
#[derive(Debug)]
pub struct ProviderTurn {
    // Field order matters, as in a permit.
    _own_lane: OwnedSemaphorePermit,
    start: Start,
    visit: Visit,
}

/// A task that contacts a host or waits for it: while there is one, the host's state is kept.
#[derive(Debug)]
struct Visit {
    politeness: Arc<Politeness>,
    name: Arc<str>,
    owner: Owner,
}

/// One request in flight, counted at its host.
#[derive(Debug)]
struct HostRequest {
    politeness: Arc<Politeness>,
    name: Arc<str>,
    owner: Owner,
}

/// Settings of [`Politeness`].
#[derive(Clone, Debug)]
pub struct PolitenessConfig {
    /// Pages fetched from one host at once; at least 1. An account alone has at most seven eighths
    /// of them, and all but one of a few.
    pub in_flight_per_host: usize,
}

impl Default for PolitenessConfig {
    fn default() -> Self {
        Self {
            in_flight_per_host: IN_FLIGHT_PER_HOST,
        }
    }
}

impl Owner {
    /// The account of this name.
    pub fn of(account: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        account.hash(&mut hasher);
        Self(hasher.finish())
    }
}

impl RequestPace {
    /// No delay.
    pub const NONE: Self = Self {
        owner: Owner(0),
        delay: Duration::ZERO,
        host_delay: Duration::ZERO,
    };

    /// The pace of a page whose host has this crawl delay; zero for none.
    pub fn of(pace: &Pace, owner: Owner, host_delay: Duration) -> Self {
        Self {
            owner,
            delay: pace.delay,
            host_delay,
        }
    }

    /// Whether there is a delay.
    pub fn is_paced(&self) -> bool {
        !self.delay.is_zero() || !self.host_delay.is_zero()
    }
}

impl Politeness {
    /// Starts without any known host.
    pub fn new(config: &PolitenessConfig) -> Arc<Self> {
        Self::with_clock(config, Clock::wall())
    }

    /// [`Self::new`] with a clock for the dates in `Retry-After`.
    pub fn with_clock(config: &PolitenessConfig, clock: Clock) -> Arc<Self> {
        let hosts = Hosts {
            by_name: HashMap::new(),
            sweep_at: SWEEP_FROM,
        };
        Arc::new(Self {
            in_flight_per_host: config.in_flight_per_host.max(1),
            clock,
            hosts: Mutex::new(hosts),
        })
    }

    /// Waits until this host may be contacted, without a delay of its own.
    pub async fn permit(self: &Arc<Self>, host: &str) -> Permit {
        self.permit_with(host, RequestPace::NONE).await
    }

    /// Waits until this host may be contacted. Requests of one owner with a delay are sent one
    /// after the other, each at least its delay after the previous one. Permits of one owner are
    /// granted in the order of the calls; a call can be cancelled at any time. Case and a trailing
    /// dot of the name make no difference.
    pub async fn permit_with(self: &Arc<Self>, host: &str, pace: RequestPace) -> Permit {
        let visit = self.visit(host, pace.owner);
        let own_lane = visit.own_lane(&pace).await;
        // Only now, so that no task waits here for another account's own delay.
        let lane = visit.lane(&pace).await;
        let slots = visit.with_host(|host| Arc::clone(&host.slots));
        loop {
            let changed = visit.with_host(|host| host.changed());
            let mut changed = std::pin::pin!(changed.notified_owned());
            changed.as_mut().enable();
            match visit.with_host(|host| host.readiness(&pace)) {
                Readiness::Now => {}
                // Looks again when a request ends: it may be one that was not sent. Only the first
                // in the lane does, so this wakes one task.
                Readiness::At(instant) if lane.is_some() => {
                    let _elapsed = timeout_at(instant, changed).await;
                    continue;
                }
                Readiness::At(instant) => {
                    sleep_until(instant).await;
                    continue;
                }
                Readiness::AfterCurrent => {
                    changed.await;
                    continue;
                }
            }
            let slot = slots.acquire(pace.owner).await;
            // The host may have requested a pause while this task waited for a slot.
            if let Some((start, in_flight)) = visit.start(&pace) {
                drop(lane);
                return Permit {
                    _slot: slot,
                    hops: Hops::new(own_lane),
                    _in_flight: in_flight,
                    start,
                    visit,
                };
            }
        }
    }

    /// Waits for the turn of a request that a third party sends to this host: its delays hold as in
    /// [`Self::permit_with`]. The host's pause and its slots do not: they are about requests from
    /// here. `None` at once without a delay. Decision D233.
    pub async fn turn_with(
        self: &Arc<Self>,
        host: &str,
        pace: RequestPace,
    ) -> Option<ProviderTurn> {
        if !pace.is_paced() {
            return None;
        }
        let visit = self.visit(host, pace.owner);
        let own_lane = visit.own_lane(&pace).await?;
        let _lane = visit.lane(&pace).await;
        loop {
            let changed = visit.with_host(|host| host.changed());
            let mut changed = std::pin::pin!(changed.notified_owned());
            changed.as_mut().enable();
            match visit.with_host(|host| host.start_elsewhere(&pace)) {
                Ok(start) => {
                    return Some(ProviderTurn {
                        _own_lane: own_lane,
                        start,
                        visit,
                    });
                }
                // Looks again when a request ends: it may be one that was not sent.
                Err(due) => {
                    let _elapsed = timeout_at(due, changed).await;
                }
            }
        }
    }

    /// Waits until this host's pause for an account is over. It takes no slot, so that a request on
    /// behalf of a page that already holds a permit (its robots.txt) cannot deadlock with it.
    pub async fn wait_out_pause(self: &Arc<Self>, host: &str, owner: Owner) {
        let visit = self.visit(host, owner);
        loop {
            let pause = visit.with_host(|host| host.pause_left(owner));
            if pause.is_zero() {
                return;
            }
            sleep(pause).await;
        }
    }

    /// Records a 429 or 503 response to an account: the account does not contact the host for as
    /// long as its `Retry-After` says, at most [`PAUSE_MAX`], or without one for a time that
    /// doubles with each such response in a row. Returns the length of the pause.
    pub fn backoff(
        self: &Arc<Self>,
        host: &str,
        owner: Owner,
        retry_after: Option<&str>,
    ) -> Duration {
        let requested = retry_after.and_then(|value| requested_pause(value, self.clock.now()));
        let visit = self.visit(host, owner);
        visit.with_host(|host| host.pause(owner, requested))
    }

    /// Records a success of an account: earlier refusals by the host are forgotten.
    pub fn succeeded(self: &Arc<Self>, host: &str, owner: Owner) {
        let name = normalized(host);
        if let Some(host) = self.locked().by_name.get_mut(name.as_str()) {
            host.recover(owner);
        }
    }

    /// Notes a request of an account that waited for no turn (robots.txt): its next one with a
    /// delay waits for it.
    pub fn note(self: &Arc<Self>, host: &str, owner: Owner) {
        let visit = self.visit(host, owner);
        visit.with_host(|host| host.note_unpaced(owner));
    }

    /// How long this host may not be contacted by an account from now; zero when it is in no pause.
    pub fn pause(&self, host: &str, owner: Owner) -> Duration {
        let name = normalized(host);
        let hosts = self.locked();
        let host = hosts.by_name.get(name.as_str());
        host.map_or(Duration::ZERO, |host| host.pause_left(owner))
    }

    /// Number of known hosts: those with a permit held or awaited, and those whose pause or delay
    /// is not over.
    pub fn hosts_known(&self) -> usize {
        self.locked().by_name.len()
    }

    fn visit(self: &Arc<Self>, host: &str, owner: Owner) -> Visit {
        let name: Arc<str> = normalized(host).into();
        let mut hosts = self.locked();
        if !hosts.by_name.contains_key(&name) {
            hosts.sweep();
        }
        let host = hosts.by_name.entry(Arc::clone(&name));
        host.or_insert_with(|| Host::new(self.in_flight_per_host))
            .enter(owner);
        Visit {
            politeness: Arc::clone(self),
            name,
            owner,
        }
    }

    fn locked(&self) -> MutexGuard<'_, Hosts> {
        self.hosts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Hosts {
    /// Removes hosts that no task uses and whose pause and delay are over; if too many remain, also
    /// those needed for the shortest time.
    fn sweep(&mut self) {
        if self.by_name.len() < self.sweep_at {
            return;
        }
        let now = Instant::now();
        self.by_name
            .retain(|_, host| host.n_visits > 0 || host.needed_until() > now);
        let idle = self.by_name.values().filter(|host| host.n_visits == 0);
        let mut ends: Vec<Instant> = idle.map(Host::needed_until).collect();
        if ends.len() >= IDLE_HOSTS_MAX {
            let middle = ends.len() / 2;
            let (_, cutoff, _) = ends.select_nth_unstable(middle);
            let cutoff = *cutoff;
            self.by_name
                .retain(|_, host| host.n_visits > 0 || host.needed_until() > cutoff);
        }
        self.sweep_at = (self.by_name.len() * 2).max(SWEEP_FROM);
    }
}

impl Visit {
    fn with_host<T>(&self, act: impl FnOnce(&mut Host) -> T) -> T {
        let mut hosts = self.politeness.locked();
        act(hosts
            .by_name
            .get_mut(&self.name)
            .expect("a visited host is known"))
    }

    /// Waits in the lane of the pace's owner, and then until its own delay is over. `None` without
    /// a delay.
    async fn own_lane(&self, pace: &RequestPace) -> Option<OwnedSemaphorePermit> {
        if !pace.is_paced() {
            return None;
        }
        let lane = self.with_host(|host| host.own_lane(pace.owner));
        let lane = acquired(&lane).await;
        while let Some(due) = self.with_host(|host| host.own_due(pace.owner, pace.delay)) {
            sleep_until(due).await;
        }
        Some(lane)
    }

    /// Waits in the lane of those who obey the host's crawl delay. `None` without one.
    async fn lane(&self, pace: &RequestPace) -> Option<OwnedSemaphorePermit> {
        if pace.host_delay.is_zero() {
            return None;
        }
        let lane = self.with_host(|host| Arc::clone(&host.lane));
        Some(acquired(&lane).await)
    }

    /// Whether this is the host of that name.
    fn is_at(&self, host: &str) -> bool {
        *self.name == normalized(host)
    }

    /// When a further request of the page that has the account's lane may start; `None` if it
    /// starts now.
    fn due(&self, pace: &RequestPace) -> Option<Instant> {
        self.with_host(|host| {
            let own = host.own_due(pace.owner, pace.delay);
            own.or_else(|| host.start_elsewhere(pace).err())
        })
    }

    /// Starts a request if it is still allowed now.
    fn start(&self, pace: &RequestPace) -> Option<(Start, HostRequest)> {
        let start = self.with_host(|host| host.start(pace))?;
        let in_flight = HostRequest {
            politeness: Arc::clone(&self.politeness),
            name: Arc::clone(&self.name),
            owner: self.owner,
        };
        Some((start, in_flight))
    }
}

impl Permit {
    /// The host this permit is for, lower case.
    pub fn host(&self) -> &str {
        &self.visit.name
    }

    /// Gives the permit back without a request: the next one need not wait for a delay after it.
    pub fn release_unused(self) {
        self.visit.with_host(|host| host.undo(&self.start));
    }
}

impl ProviderTurn {
    /// Gives the turn back without a request: the next one need not wait for a delay after it.
    pub fn release_unused(self) {
        self.visit.with_host(|host| {
            host.undo(&self.start);
            host.end_elsewhere();
        });
    }
}

impl Drop for HostRequest {
    fn drop(&mut self) {
        if let Some(host) = self.politeness.locked().by_name.get_mut(&self.name) {
            host.finish(self.owner);
        }
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        let mut hosts = self.politeness.locked();
        let Some(host) = hosts.by_name.get_mut(&self.name) else {
            return;
        };
        host.leave(self.owner);
        if host.n_visits == 0 && host.needed_until() <= Instant::now() {
            hosts.by_name.remove(&self.name);
        }
    }
}

async fn acquired(queue: &Arc<Semaphore>) -> OwnedSemaphorePermit {
    let permit = Arc::clone(queue).acquire_owned().await;
    permit.expect("the semaphores of a host are never closed")
}

fn normalized(host: &str) -> String {
    host.trim_end_matches('.').to_ascii_lowercase()
}

#[cfg(test)]
mod tests;
