//! All open connections: which are accepted, and which make room.

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
/// peer. The server cannot distinguish the clients behind one IP address: without a pause for each,
/// one of them that connects again and again would leave the others no time to send anything.
const GRACE: Duration = Duration::from_millis(100);

/// Why a connection is refused: none of the connections that count towards the limit can make room.
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
            Self::All(limit) => format!("connection limit of {limit} reached; try again later"),
            Self::Peer(limit) => {
                format!("connection limit of {limit} reached for your IP address; use fewer")
            }
        };
        refusal::response("503 Service Unavailable", true, &error)
    }
}

/// There is no room for a new connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct NoRoom {
    /// Which limit is reached.
    pub(super) refused: Refused,
    /// From when on there may be room, if connections of the same peer were accepted just now.
    pub(super) later: Option<Instant>,
}

/// Whether connections made room.
enum Room {
    Made,
    /// Those that could were accepted just now, and may make room from this time on.
    Later(Instant),
    /// All are at work.
    None,
}

impl Room {
    fn or(self, refused: Refused) -> Result<(), NoRoom> {
        let later = match self {
            Self::Made => return Ok(()),
            Self::Later(later) => Some(later),
            Self::None => None,
        };
        Err(NoRoom { refused, later })
    }
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
    /// Until when all connections are assumed to be at work.
    at_work_until: Option<Instant>,
}

#[derive(Default)]
struct Peer {
    n_open: usize,
    /// Until when all of them are assumed to be at work.
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
    ///
    /// # Errors
    /// [`NoRoom`] if all of them are at work, or those of the same peer were accepted just now.
    pub(super) fn admit(
        self: &Arc<Self>,
        peer: SocketAddr,
        now: Instant,
    ) -> Result<Admitted, NoRoom> {
        let group = peer_group(peer.ip());
        self.admitted(peer, Some(group), now)
    }

    /// The same for a connection that waits no longer: others of the same peer make room however
    /// new they are.
    ///
    /// # Errors
    /// [`NoRoom`] if all of them are at work.
    pub(super) fn admit_late(
        self: &Arc<Self>,
        peer: SocketAddr,
        now: Instant,
    ) -> Result<Admitted, NoRoom> {
        self.admitted(peer, None, now)
    }

    /// Connections of `spared` that are new make no room.
    fn admitted(
        self: &Arc<Self>,
        peer: SocketAddr,
        spared: Option<IpAddr>,
        now: Instant,
    ) -> Result<Admitted, NoRoom> {
        let limits = &self.limits;
        let group = peer_group(peer.ip());
        let mut table = self.table();
        let n_of_peer = table.peers.get(&group).map_or(0, |peer| peer.n_open);
        let per_peer = limits.connections_per_peer;
        if n_of_peer >= per_peer && !limits.is_trusted(peer.ip()) {
            let room = table.make_room(Some(group), per_peer, spared, now);
            room.or(Refused::Peer(per_peer))?;
        }
        let in_all = limits.connections;
        if table.open.len() >= in_all {
            let room = table.make_room(None, in_all, spared, now);
            room.or(Refused::All(in_all))?;
        }
        let connection = Arc::new(Connection::new(peer, limits, now));
        let id = table.insert(Arc::clone(&connection));
        drop(table);
        metrics::counter!("trawl_connections_total").increment(1);
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
    /// request one goes. A connection of the peer `spared` has [`GRACE`] to send its request: until
    /// then older ones without a request go, and those within a request stay.
    fn make_room(
        &mut self,
        group: Option<IpAddr>,
        limit: usize,
        spared: Option<IpAddr>,
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
        if spared == Some(of_peer) {
            let is_new = |(what, since, _): &(WaitsFor, Instant, u64)| {
                *what == WaitsFor::Head && now.duration_since(*since) < GRACE
            };
            let first_new = most.iter().find(|one| is_new(one)).map(|one| one.1);
            most.retain(|one| !is_new(one));
            let has_none = most
                .first()
                .is_none_or(|(what, ..)| *what == WaitsFor::Stream);
            if let Some(since) = first_new.filter(|_| has_none) {
                return Room::Later(since + GRACE);
            }
        }
        let n_without_request = most.partition_point(|(what, ..)| *what < WaitsFor::Stream);
        let n_ended = n_without_request.min(limit / ROOM_SHARE).max(1);
        for (_, _, id) in most.into_iter().take(n_ended) {
            if let Some(connection) = self.open.get(&id) {
                connection.end(EndReason::Evicted);
            }
            self.remove(id);
        }
        Room::Made
    }

    /// Until when the connections of `group`, or all, are assumed to be at work.
    fn at_work_until(&mut self, group: Option<IpAddr>) -> &mut Option<Instant> {
        match group {
            Some(group) => &mut self.peers.entry(group).or_default().at_work_until,
            None => &mut self.at_work_until,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::listener::tests::limits;

    const MOMENT: Duration = Duration::from_millis(10);

    fn connections(per_peer: usize) -> Arc<Connections> {
        Connections::new(Arc::new(ListenerLimits {
            connections_per_peer: per_peer,
            ..limits()
        }))
    }

    fn peer() -> SocketAddr {
        "192.0.2.7:80".parse().expect("a socket address")
    }

    fn admit(connections: &Arc<Connections>, now: Instant) -> Admitted {
        connections.admit(peer(), now).expect("room")
    }

    fn is_evicted(admitted: &Admitted) -> bool {
        admitted.connection.ended() == Some(EndReason::Evicted)
    }

    #[test]
    fn an_idle_connection_makes_room_before_one_that_is_new() {
        let (connections, now) = (connections(2), Instant::now());
        let idle = admit(&connections, now);
        drop(idle.connection.begin());
        let new = admit(&connections, now + 10 * GRACE);
        let _newest = admit(&connections, now + 10 * GRACE + MOMENT);
        assert!(is_evicted(&idle) && !is_evicted(&new));
    }

    #[test]
    fn new_connections_of_a_peer_make_room_later_or_for_one_that_has_waited() {
        let (connections, now) = (connections(2), Instant::now());
        let [first, second] = [now, now + MOMENT].map(|now| admit(&connections, now));
        let soon = now + 2 * MOMENT;
        let no_room = connections.admit(peer(), soon).err();
        let no_room = no_room.expect("both are new");
        assert_eq!(no_room.later, Some(now + GRACE));
        assert_eq!(no_room.refused, Refused::Peer(2));
        assert!(!is_evicted(&first) && !is_evicted(&second));
        let _late = connections.admit_late(peer(), soon).expect("room");
        assert!(is_evicted(&first) && !is_evicted(&second));
        let _old_enough = admit(&connections, now + MOMENT + GRACE);
        assert!(is_evicted(&second));
    }

    #[test]
    fn a_stalled_request_stays_while_new_connections_may_make_room() {
        let (connections, now) = (connections(2), Instant::now());
        let stalled = admit(&connections, now);
        let in_flight = stalled.connection.begin();
        in_flight.exchange.body_waits(true);
        let later = now + Duration::from_secs(3_600);
        let new = admit(&connections, later);
        let soon = later + MOMENT;
        let no_room = connections.admit(peer(), soon).err();
        let no_room = no_room.expect("one is new, the other has a request");
        assert_eq!(no_room.later, Some(later + GRACE));
        let _late = connections.admit_late(peer(), soon).expect("room");
        assert!(is_evicted(&new) && !is_evicted(&stalled));
    }
}
