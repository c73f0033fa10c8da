//! The cap of each host: how many of its pages were leased, and which of its URLs wait for a place.

use std::collections::{HashMap, VecDeque};

/// Counts leased pages by host. Holds nothing when there is no cap.
#[derive(Debug)]
pub(super) struct HostCaps {
    most: Option<u64>,
    hosts: HashMap<String, Host>,
}

#[derive(Debug, Default)]
struct Host {
    /// Pages that were leased and not skipped.
    n_taken: u64,
    /// URLs that wait for a place.
    held: VecDeque<u32>,
}

impl HostCaps {
    pub(super) fn new(most: Option<u64>) -> Self {
        Self {
            most,
            hosts: HashMap::new(),
        }
    }

    /// Whether a host has as many pages as it may. Then the URL is held until there is a place.
    pub(super) fn hold_if_full(&mut self, host: &str, n: u32) -> bool {
        let Some(most) = self.most else { return false };
        let host = self.host(host);
        let is_full = host.n_taken >= most;
        if is_full {
            host.held.push_back(n);
        }
        is_full
    }

    /// Counts a page.
    pub(super) fn take(&mut self, host: &str) {
        if self.most.is_some() {
            self.host(host).n_taken += 1;
        }
    }

    /// Takes a page out of the count again.
    pub(super) fn give_back(&mut self, host: &str) {
        if self.most.is_some() {
            self.host(host).n_taken -= 1;
        }
    }

    /// Removes the URL that waits longest for a place of its host.
    pub(super) fn next_held(&mut self, host: &str) -> Option<u32> {
        self.hosts.get_mut(host)?.held.pop_front()
    }

    /// The URLs that are held.
    pub(super) fn drain(&mut self) -> Vec<u32> {
        let hosts = self.hosts.values_mut();
        hosts.flat_map(|host| host.held.drain(..)).collect()
    }

    fn host(&mut self, host: &str) -> &mut Host {
        self.hosts.entry(host.to_owned()).or_default()
    }
}
