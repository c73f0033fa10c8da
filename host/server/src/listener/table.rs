//! All open connections: who gets in, and who makes room.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::connection::{Connection, EndReason, WaitsFor};
use super::limits::{ListenerLimits, ROOM_SHARE, peer_group};
use super::refusal;

/// Pause after a look at all connections that found them at work: a peer that connects again and
/// again must not make the server look each time.
const LOOK_PAUSE: Duration = Duration::from_millis(100);

/// How long a new connection has to send its request before it makes room for another of the same
/// peer. The server cannot distinguish the clients behind one address: without a pause for each,
/// one of them that connects again and again would leave the others no time to send anything.
const GRACE: Duration = Duration::from_millis(100);

/// Why a connection is refused. All others that count are at work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// The server has this many connections.
    All(usize),
    /// The peer has this many connections.
    Peer(usize),
}

impl Refused {
    /// Its name in the metrics.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::All(_) => "all",
            Self::Peer(_) => "peer",
        }
    }

    /// The response to the peer.
    pub(super) fn response(self) -> Vec<u8> {
        let error = match self {
            Self::All(limit) => format!(
                "the server has {limit} connections, which is its limit, and all are at work; try again"
            ),
            Self::Peer(limit) => format!(
                "your IP address has {limit} connections, which is its limit, and all are at work; use fewer"
            ),
        };
        refusal::response("503 Service Unavailable", true, &error)
    }
}

/// Why there is no room for a new connection.
enum NoRoom {
    /// All others are at work.
    AtWork(Refused),
    /// There may be room from this time on.
    Until(Instant),
}

/// Whether connections made room.
enum Room {
    Made,
    /// Those that wait for their peer were accepted just now, and may make room from this time on.
    Later(Instant),
    /// All are at work.
    None,
}

/// All open connections.
pub(super) struct Connections {
    limits: Arc<ListenerLimits>,
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    last_id: u64,
    open: HashMap<u64, Arc<Connection>>,
    peers: HashMap<IpAddr, Peer>,
    /// Until when all connections are taken to be at work.
    at_work_until: Option<Instant>,
}

#[derive(Default)]
struct Peer {
    n_open: usize,
    /// Until when all of them are taken to be at work.
    at_work_until: Option<Instant>,
}

/// A connection in the table; leaves it on drop.
pub(super) struct Admitted {
    pub(super) connection: Arc<Connection>,
    id: u64,
    connections: Arc<Connections>,
}

impl Drop for Admitted {
    fn drop(&mut self) {
        self.connections.table().remove(self.id);
    }
}

impl Connections {
    pub(super) fn new(limits: Arc<ListenerLimits>) -> Arc<Self> {
        Arc::new(Self {
            limits,
            table: Mutex::default(),
        })
    }

    /// Takes a new connection in. If there are too many, others that wait for their peer make room:
    /// those of the same peer if the peer has too many, and else those of the peer that has most.
    /// Waits for a moment if those are of the same peer and were accepted just now.
    ///
    /// # Errors
    /// [`Refused`] if all of them are at work.
    pub(super) async fn admit(self: &Arc<Self>, peer: SocketAddr) -> Result<Admitted, Refused> {
        let admitted = loop {
            match self.try_admit(peer, Instant::now()) {
                Ok(admitted) => break Ok(admitted),
                Err(NoRoom::AtWork(refused)) => break Err(refused),
                Err(NoRoom::Until(later)) => tokio::time::sleep_until(later).await,
            }
        };
        match &admitted {
            Ok(_) => metrics::counter!("trawl_connections_total").increment(1),
            Err(refused) => {
                metrics::counter!("trawl_connections_refused_total", "reason" => refused.name())
                    .increment(1);
            }
        }
        admitted
    }

    fn try_admit(self: &Arc<Self>, peer: SocketAddr, now: Instant) -> Result<Admitted, NoRoom> {
        let limits = &self.limits;
        let group = peer_group(peer.ip());
        let mut table = self.table();
        let n_of_peer = table.peers.get(&group).map_or(0, |peer| peer.n_open);
        let per_peer = limits.connections_per_peer;
        if n_of_peer >= per_peer && !limits.is_trusted(peer.ip()) {
            match table.make_room(Some(group), per_peer, Some(group), now) {
                Room::Made => {}
                Room::Later(later) => return Err(NoRoom::Until(later)),
                Room::None => return Err(NoRoom::AtWork(Refused::Peer(per_peer))),
            }
        }
        let in_all = limits.connections;
        if table.open.len() >= in_all {
            match table.make_room(None, in_all, Some(group), now) {
                Room::Made => {}
                Room::Later(later) => return Err(NoRoom::Until(later)),
                Room::None => return Err(NoRoom::AtWork(Refused::All(in_all))),
            }
        }
        let connection = Arc::new(Connection::new(peer, limits, now));
        let id = table.insert(Arc::clone(&connection));
        drop(table);
        Ok(Admitted {
            connection,
            id,
            connections: Arc::clone(self),
        })
    }

    /// Ends some connections that wait for their peer, because the system has no more descriptors.
    pub(super) fn make_room(&self, now: Instant) {
        let limit = self.limits.connections;
        self.table().make_room(None, limit, None, now);
    }

    /// Ends connections whose time-outs have expired.
    pub(super) fn sweep(&self, now: Instant) {
        let open: Vec<_> = {
            let table = self.table();
            let open = table.open.iter();
            open.map(|(id, connection)| (*id, Arc::clone(connection)))
                .collect()
        };
        metrics::gauge!("trawl_connections").set(open.len() as f64);
        for (id, connection) in open {
            if let Some(reason) = connection.check(now, &self.limits) {
                connection.end(reason);
                self.table().remove(id);
            }
        }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    fn insert(&mut self, connection: Arc<Connection>) -> u64 {
        self.last_id += 1;
        self.peers.entry(connection.group).or_default().n_open += 1;
        self.open.insert(self.last_id, connection);
        self.last_id
    }

    fn remove(&mut self, id: u64) {
        let Some(connection) = self.open.remove(&id) else {
            return;
        };
        if let Some(peer) = self.peers.get_mut(&connection.group) {
            peer.n_open -= 1;
            if peer.n_open == 0 {
                self.peers.remove(&connection.group);
            }
        }
    }

    /// Ends connections that wait for their peer: of `group`, or of the peer that has most of them.
    /// Connections without a request go first, up to a share of `limit` at once; of those within a
    /// request one goes. A connection of the newcomer's own peer has [`GRACE`] to send its request.
    fn make_room(
        &mut self,
        group: Option<IpAddr>,
        limit: usize,
        newcomer: Option<IpAddr>,
        now: Instant,
    ) -> Room {
        if self.at_work_until(group).is_some_and(|until| now < until) {
            return Room::None;
        }
        let mut waiting: HashMap<IpAddr, Vec<(WaitsFor, Instant, u64)>> = HashMap::new();
        for (id, connection) in &self.open {
            if group.is_none_or(|group| group == connection.group)
                && let Some((what, since)) = connection.waits(now)
            {
                let of_peer = waiting.entry(connection.group).or_default();
                of_peer.push((what, since, *id));
            }
        }
        let most = waiting.into_iter().max_by_key(|(_, of_peer)| {
            (
                of_peer.len(),
                of_peer.iter().min().map(|first| Reverse(*first)),
            )
        });
        let Some((of_peer, mut most)) = most else {
            *self.at_work_until(group) = Some(now + LOOK_PAUSE);
            return Room::None;
        };
        most.sort_unstable();
        let n_without_request = most.partition_point(|(what, ..)| *what < WaitsFor::Stream);
        let mut n_ended = n_without_request.min(limit / ROOM_SHARE).max(1);
        if newcomer == Some(of_peer) {
            let is_new = |(what, since, _): &(WaitsFor, Instant, u64)| {
                *what == WaitsFor::Head && now.duration_since(*since) < GRACE
            };
            if let Some((_, since, _)) = most.first().filter(|first| is_new(first)) {
                return Room::Later(*since + GRACE);
            }
            let old = most.iter().take_while(|one| !is_new(one));
            n_ended = n_ended.min(old.count());
        }
        for (_, _, id) in most.into_iter().take(n_ended) {
            if let Some(connection) = self.open.get(&id) {
                connection.end(EndReason::Evicted);
            }
            self.remove(id);
        }
        Room::Made
    }

    /// Until when the connections of `group`, or all, are taken to be at work.
    fn at_work_until(&mut self, group: Option<IpAddr>) -> &mut Option<Instant> {
        match group {
            Some(group) => &mut self.peers.entry(group).or_default().at_work_until,
            None => &mut self.at_work_until,
        }
    }
}
