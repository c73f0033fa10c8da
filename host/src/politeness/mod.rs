//! May we contact this host now? A yes is a [`Permit`], held while the page is fetched. Shared by all runs.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Pages fetched from one host at once, unless the configuration says otherwise. High, because a request of one page
/// never crawls; a browser opens up to 6 connections a host, and a server answers many browsers.
pub const IN_FLIGHT_PER_HOST: usize = 64;

/// The pace of every host, in one place.
#[derive(Debug)]
pub struct Politeness {
    in_flight_per_host: usize,
    hosts: Mutex<HashMap<String, Weak<Host>>>,
}

/// The right to contact one host now; given back by drop.
#[derive(Debug)]
pub struct Permit {
    // Field order matters: the place is given back before the host is forgotten.
    _place: OwnedSemaphorePermit,
    host: Arc<Host>,
}

/// What is remembered of a host while anyone wants it.
#[derive(Debug)]
struct Host {
    name: String,
    places: Arc<Semaphore>,
    owner: Weak<Politeness>,
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
        Arc::new(Self {
            in_flight_per_host: config.in_flight_per_host.max(1),
            hosts: Mutex::default(),
        })
    }

    /// Waits until this host may be contacted. Permits are given in the order asked for; a caller that stops waiting leaves
    /// no trace. Case and a trailing dot of the name make no difference.
    pub async fn permit(self: &Arc<Self>, host: &str) -> Permit {
        let host = self.host(&host.trim_end_matches('.').to_ascii_lowercase());
        let place = Arc::clone(&host.places)
            .acquire_owned()
            .await
            .expect("the semaphore of a host is never closed");
        Permit {
            _place: place,
            host,
        }
    }

    /// Hosts that someone holds or awaits a permit of.
    pub fn hosts_known(&self) -> usize {
        self.locked().len()
    }

    fn host(self: &Arc<Self>, name: &str) -> Arc<Host> {
        let mut hosts = self.locked();
        if let Some(host) = hosts.get(name).and_then(Weak::upgrade) {
            return host;
        }
        let host = Arc::new(Host {
            name: name.to_owned(),
            places: Arc::new(Semaphore::new(self.in_flight_per_host)),
            owner: Arc::downgrade(self),
        });
        hosts.insert(name.to_owned(), Arc::downgrade(&host));
        host
    }

    fn locked(&self) -> MutexGuard<'_, HashMap<String, Weak<Host>>> {
        self.hosts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Permit {
    /// The host this permit is for, lower case.
    pub fn host(&self) -> &str {
        &self.host.name
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let Some(owner) = self.owner.upgrade() else {
            return;
        };
        let mut hosts = owner.locked();
        // A newer entry of the same name may already stand here; only a dead one is removed.
        if hosts
            .get(&self.name)
            .is_some_and(|host| host.strong_count() == 0)
        {
            hosts.remove(&self.name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tokio::time::timeout;

    const SOON: Duration = Duration::from_millis(20);

    fn politeness(in_flight_per_host: usize) -> Arc<Politeness> {
        Politeness::new(&PolitenessConfig { in_flight_per_host })
    }

    #[tokio::test]
    async fn a_host_is_contacted_by_no_more_than_its_places() {
        let politeness = politeness(2);
        let first = politeness.permit("a.example").await;
        let _second = politeness.permit("A.example.").await;
        assert!(timeout(SOON, politeness.permit("a.example")).await.is_err());
        assert!(timeout(SOON, politeness.permit("b.example")).await.is_ok());
        drop(first);
        assert!(timeout(SOON, politeness.permit("a.example")).await.is_ok());
    }

    #[tokio::test]
    async fn hosts_are_forgotten_when_nobody_wants_them() {
        let politeness = politeness(1);
        for number in 0..100 {
            let permit = politeness.permit(&format!("h{number}.example")).await;
            assert_eq!(politeness.hosts_known(), 1);
            drop(permit);
        }
        assert_eq!(politeness.hosts_known(), 0);
    }
}
