//! May we contact this host now? A yes is a [`Permit`], held while the page is fetched. Shared by all runs.
//!
//! A host has a number of places. A run that asks for a delay waits in the host's lane, one request at a time. A host that
//! said "too many" is left alone by everyone until its pause is over, and then asked by one request at a time until it answers
//! well again. Whoever waits holds nothing but its place in the line of this one host.

mod host;
mod retry_after;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, sleep, sleep_until};

use host::{Host, Turn};
use trawl_model::clock::Clock;

pub use retry_after::{PAUSE_MAX, pause_asked};

/// Pages fetched from one host at once, unless the configuration says otherwise. High, because a request of one page
/// never crawls; a browser opens up to 6 connections a host, and a server answers many browsers.
pub const IN_FLIGHT_PER_HOST: usize = 64;
/// Hosts remembered although nobody contacts them, because they are to be left alone for now. Some 200 bytes each.
pub const RESTING_HOSTS_MAX: usize = 50_000;
/// Known hosts below which nobody looks for ones to forget.
const SWEEP_FROM: usize = 1_000;

/// The pace of every host, in one place.
#[derive(Debug)]
pub struct Politeness {
    in_flight_per_host: usize,
    clock: Clock,
    hosts: Mutex<Hosts>,
}

/// The hosts that are known, and how many may be before it is time to forget some.
#[derive(Debug)]
struct Hosts {
    by_name: HashMap<Arc<str>, Host>,
    sweep_at: usize,
}

/// The right to contact one host now; given back by drop.
#[derive(Debug)]
pub struct Permit {
    // Field order matters: the places are given back before the host may be forgotten.
    _place: OwnedSemaphorePermit,
    _lane: Option<OwnedSemaphorePermit>,
    _contact: Contact,
    visit: Visit,
}

/// Someone who contacts a host or waits for it: as long as there is one, the host is known.
#[derive(Debug)]
struct Visit {
    politeness: Arc<Politeness>,
    name: Arc<str>,
}

/// One request under way, counted at its host.
#[derive(Debug)]
struct Contact {
    politeness: Arc<Politeness>,
    name: Arc<str>,
}

/// Settings of the room.
#[derive(Clone, Debug)]
pub struct PolitenessConfig {
    /// Pages fetched from one host at once; at least 1.
    pub in_flight_per_host: usize,
}

impl Default for PolitenessConfig {
    fn default() -> Self {
        Self {
            in_flight_per_host: IN_FLIGHT_PER_HOST,
        }
    }
}

impl Politeness {
    /// A room without any host yet.
    pub fn new(config: &PolitenessConfig) -> Arc<Self> {
        Self::with_clock(config, Clock::wall())
    }

    /// A room that reads the dates in `Retry-After` by this clock.
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

    /// Waits until this host may be contacted, without any delay of one's own.
    pub async fn permit(self: &Arc<Self>, host: &str) -> Permit {
        self.permit_with(host, Duration::ZERO).await
    }

    /// Waits until this host may be contacted. With a delay, the requests of all who ask for one go out one after the other,
    /// each begun at least that long after the one before. Permits are given in the order asked for; a caller that stops
    /// waiting leaves no trace. Case and a trailing dot of the name make no difference.
    pub async fn permit_with(self: &Arc<Self>, host: &str, delay: Duration) -> Permit {
        let visit = self.visit(host);
        let (places, lane) = visit.lines();
        let is_open = "the lines of a host are never closed";
        let lane = match delay.is_zero() {
            true => None,
            false => Some(lane.acquire_owned().await.expect(is_open)),
        };
        loop {
            let rested = visit.at_host(Host::rested);
            let mut rested = std::pin::pin!(rested.notified_owned());
            rested.as_mut().enable();
            match visit.turn(delay) {
                Turn::Now => {}
                Turn::At(instant) => {
                    sleep_until(instant).await;
                    continue;
                }
                Turn::AfterTheOther => {
                    rested.await;
                    continue;
                }
            }
            let place = Arc::clone(&places).acquire_owned().await.expect(is_open);
            // The host may have asked for a pause while we stood in its line.
            if let Some(contact) = visit.begin(delay) {
                return Permit {
                    _place: place,
                    _lane: lane,
                    _contact: contact,
                    visit,
                };
            }
        }
    }

    /// Waits until this host is in no pause. For a request on the way to a page whose permit may be held already (its
    /// robots.txt): it takes no place, or two of one host could wait for each other.
    pub async fn errand(self: &Arc<Self>, host: &str) {
        let visit = self.visit(host);
        loop {
            let pause = visit.at_host(|host| host.pause_left());
            if pause.is_zero() {
                return;
            }
            sleep(pause).await;
        }
    }

    /// The host said "too many" or "not now" (429, 503): nobody contacts it for as long as its `Retry-After` says, at most
    /// [`PAUSE_MAX`], or without one for a time that doubles with each such answer in a row. Returns how long that is.
    pub fn backoff(self: &Arc<Self>, host: &str, retry_after: Option<&str>) -> Duration {
        let asked = retry_after.and_then(|value| pause_asked(value, self.clock.now()));
        self.visit(host).at_host(|host| host.pause(asked))
    }

    /// The host answered well: what it said before is forgotten.
    pub fn succeeded(self: &Arc<Self>, host: &str) {
        let name = plain(host);
        if let Some(host) = self.locked().by_name.get_mut(name.as_str()) {
            host.recover();
        }
    }

    /// For how long from now nobody may contact this host; zero when it asked for no pause.
    pub fn pause(&self, host: &str) -> Duration {
        let name = plain(host);
        let hosts = self.locked();
        hosts
            .by_name
            .get(name.as_str())
            .map_or(Duration::ZERO, Host::pause_left)
    }

    /// Hosts that are remembered: someone holds or awaits a permit, or they are to be left alone for now.
    pub fn hosts_known(&self) -> usize {
        self.locked().by_name.len()
    }

    fn visit(self: &Arc<Self>, host: &str) -> Visit {
        let name: Arc<str> = plain(host).into();
        let mut hosts = self.locked();
        if !hosts.by_name.contains_key(&name) {
            hosts.sweep();
        }
        let host = hosts.by_name.entry(Arc::clone(&name));
        host.or_insert_with(|| Host::new(self.in_flight_per_host))
            .visits += 1;
        Visit {
            politeness: Arc::clone(self),
            name,
        }
    }

    fn locked(&self) -> MutexGuard<'_, Hosts> {
        self.hosts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Hosts {
    /// Forgets hosts that nobody wants and that need no rest any more; and when too many need rest, those that need it least.
    fn sweep(&mut self) {
        if self.by_name.len() < self.sweep_at {
            return;
        }
        let now = Instant::now();
        self.by_name
            .retain(|_, host| host.visits > 0 || host.rests_until() > now);
        let resting = self.by_name.values().filter(|host| host.visits == 0);
        let mut ends: Vec<Instant> = resting.map(Host::rests_until).collect();
        if ends.len() >= RESTING_HOSTS_MAX {
            let middle = ends.len() / 2;
            let (_, kept_from, _) = ends.select_nth_unstable(middle);
            let kept_from = *kept_from;
            self.by_name
                .retain(|_, host| host.visits > 0 || host.rests_until() > kept_from);
        }
        self.sweep_at = (self.by_name.len() * 2).max(SWEEP_FROM);
    }
}

impl Visit {
    fn at_host<T>(&self, act: impl FnOnce(&mut Host) -> T) -> T {
        let mut hosts = self.politeness.locked();
        act(hosts
            .by_name
            .get_mut(&self.name)
            .expect("a visited host is known"))
    }

    fn lines(&self) -> (Arc<tokio::sync::Semaphore>, Arc<tokio::sync::Semaphore>) {
        self.at_host(|host| (Arc::clone(&host.places), Arc::clone(&host.lane)))
    }

    fn turn(&self, delay: Duration) -> Turn {
        self.at_host(|host| host.turn(delay))
    }

    /// Begins a request, when it is still allowed now.
    fn begin(&self, delay: Duration) -> Option<Contact> {
        self.at_host(|host| host.begin(delay)).then(|| Contact {
            politeness: Arc::clone(&self.politeness),
            name: Arc::clone(&self.name),
        })
    }
}

impl Permit {
    /// The host this permit is for, lower case.
    pub fn host(&self) -> &str {
        &self.visit.name
    }
}

impl Drop for Contact {
    fn drop(&mut self) {
        if let Some(host) = self.politeness.locked().by_name.get_mut(&self.name) {
            host.end();
        }
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        let mut hosts = self.politeness.locked();
        let Some(host) = hosts.by_name.get_mut(&self.name) else {
            return;
        };
        host.visits -= 1;
        if host.visits == 0 && host.rests_until() <= Instant::now() {
            hosts.by_name.remove(&self.name);
        }
    }
}

fn plain(host: &str) -> String {
    host.trim_end_matches('.').to_ascii_lowercase()
}

#[cfg(test)]
mod tests;
