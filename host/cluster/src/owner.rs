//! What a node may begin at the hosts that it owns.
//!
//! A node begins a request only while its lease is valid by its own clock, with two seconds to
//! spare; the next owner begins after that lease has ended by the database's clock. A lease starts
//! for the node before the renewal is sent, so that it ends for the node first. A living owner that
//! hands a shard over begins nothing more there and waits until its requests have ended.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use crate::{BootTime, HostShard, NodeId, ShardRow};

/// How long a node is a member without a renewal.
pub const LEASE: Duration = Duration::from_secs(10);
/// How often it renews its lease, and looks at the shards.
pub const RENEWAL: Duration = Duration::from_secs(3);
/// A node begins nothing so long before its lease ends.
pub const GUARD: Duration = Duration::from_secs(2);
/// Shards that a node hands over at once: their hosts wait for a moment.
pub const MOVES_AT_ONCE: usize = 8;

/// The shards of a node, as it knows them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ownership {
    node: NodeId,
    lease_end: BootTime,
    owned: BTreeMap<HostShard, Owned>,
    /// Owners of all shards when it last looked.
    owners: Vec<Option<NodeId>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Owned {
    epoch: u64,
    /// When this node learnt that it is the owner.
    since: BootTime,
    /// Whether the owner before told what it knew of the hosts.
    is_informed: bool,
    n_begun: u32,
    leaves: bool,
}

/// A request that has begun. It is given back to [`Ownership::end`].
#[derive(Debug, PartialEq, Eq, Hash)]
#[must_use = "a shard is handed over once all its requests have ended"]
pub struct Turn {
    shard: HostShard,
    epoch: u64,
    unknown_since: Option<BootTime>,
}

/// Why a request may not begin here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotHere {
    /// That node owns the host: it is to be asked.
    Theirs(NodeId),
    /// The host has no owner for a moment, or its owner hands it over.
    Moving,
    /// The node's own lease is about to end, or has ended.
    LeaseEnds,
}

/// What a node wants to change in the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Take a shard whose owner is gone, if it still has this epoch.
    Take {
        /// The shard.
        shard: HostShard,
        /// Its epoch as it was seen.
        epoch: u64,
    },
    /// Give a shard to the node that should have it.
    Give {
        /// The shard.
        shard: HostShard,
        /// The epoch under which this node owns it.
        epoch: u64,
        /// The next owner.
        to: NodeId,
    },
}

impl fmt::Display for NotHere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Theirs(node) => write!(f, "the node `{node}` owns the host"),
            Self::Moving => f.write_str("the host changes its owner"),
            Self::LeaseEnds => f.write_str("the node's lease ends"),
        }
    }
}

impl std::error::Error for NotHere {}

impl Turn {
    /// Since when nothing is known of the host's last request: its delays count from then. `None`
    /// if the owner before told, or there was none.
    pub const fn unknown_since(&self) -> Option<BootTime> {
        self.unknown_since
    }

    /// The epoch under which it has begun.
    pub const fn epoch(&self) -> u64 {
        self.epoch
    }
}

impl Ownership {
    /// A node that owns nothing and has no lease.
    pub fn new(node: NodeId) -> Self {
        Self {
            node,
            lease_end: BootTime::default(),
            owned: BTreeMap::new(),
            owners: Vec::new(),
        }
    }

    /// The database has confirmed a renewal that was sent at this moment.
    pub fn renewed(&mut self, sent: BootTime) {
        self.lease_end = self.lease_end.max(sent.later(LEASE));
    }

    /// The database has refused a renewal, or the lease has ended by the node's clock: all that it
    /// owned is another's. Its requests in flight are to be ended.
    pub fn lose_all(&mut self) {
        self.lease_end = BootTime::default();
        self.owned.clear();
        self.owners.clear();
    }

    /// Whether the node may begin work now.
    pub fn is_member(&self, now: BootTime) -> bool {
        now < self.lease_end.earlier(GUARD)
    }

    /// Begins a request to a host of this shard.
    ///
    /// # Errors
    /// It may not begin here, or not now.
    pub fn begin(&mut self, shard: HostShard, now: BootTime) -> Result<Turn, NotHere> {
        if !self.is_member(now) {
            return Err(NotHere::LeaseEnds);
        }
        if let Some(owned) = self.owned.get_mut(&shard) {
            if owned.leaves {
                return Err(NotHere::Moving);
            }
            owned.n_begun += 1;
            return Ok(Turn {
                shard,
                epoch: owned.epoch,
                unknown_since: (!owned.is_informed).then_some(owned.since),
            });
        }
        match self.owners.get(usize::from(shard.number())) {
            Some(Some(owner)) if *owner != self.node => Err(NotHere::Theirs(owner.clone())),
            _ => Err(NotHere::Moving),
        }
    }

    /// A request has ended.
    pub fn end(&mut self, turn: Turn) {
        let owned = self.owned.get_mut(&turn.shard);
        // A shard that was lost and taken again has other requests.
        if let Some(owned) = owned.filter(|owned| owned.epoch == turn.epoch) {
            owned.n_begun -= 1;
        }
    }

    /// The owner before has told what it knew of the shard's hosts when it gave it away under this
    /// epoch.
    pub fn informed(&mut self, shard: HostShard, epoch: u64) {
        let owned = self.owned.get_mut(&shard);
        if let Some(owned) = owned.filter(|owned| owned.epoch == epoch) {
            owned.is_informed = true;
        }
    }

    /// Looks at the rows, with the owner that each shard should have (see [`crate::targets`]) and
    /// the members. Returns the changes that this node wants; the next look shows what became of
    /// them.
    pub fn look(
        &mut self,
        rows: &[ShardRow],
        targets: &[NodeId],
        is_member: impl Fn(&NodeId) -> bool,
        now: BootTime,
    ) -> Vec<Step> {
        self.owners = rows.iter().map(|row| row.owner.clone()).collect();
        let mut steps = Vec::new();
        for ((row, target), shard) in rows.iter().zip(targets).zip(HostShard::all()) {
            let is_ours = row.owner.as_ref() == Some(&self.node);
            if is_ours {
                self.keep(shard, row, now);
            } else {
                self.owned.remove(&shard);
            }
            let has_owner = row.owner.as_ref().is_some_and(&is_member);
            if !has_owner && *target == self.node {
                let epoch = row.epoch;
                steps.push(Step::Take { shard, epoch });
            }
        }
        steps.extend(self.moves(targets));
        steps
    }

    /// A shard that the node owns by its row.
    fn keep(&mut self, shard: HostShard, row: &ShardRow, now: BootTime) {
        let known = self.owned.get(&shard);
        if known.is_some_and(|owned| owned.epoch == row.epoch) {
            return;
        }
        let new = Owned {
            epoch: row.epoch,
            since: now,
            // Under the first epoch there was no owner before.
            is_informed: row.epoch == 1,
            n_begun: 0,
            leaves: false,
        };
        self.owned.insert(shard, new);
    }

    /// Shards that belong elsewhere: a few leave at once, and those without requests are given.
    fn moves(&mut self, targets: &[NodeId]) -> Vec<Step> {
        let mut n_leaving = 0;
        let mut steps = Vec::new();
        for (shard, owned) in &mut self.owned {
            let target = targets.get(usize::from(shard.number()));
            let target = target.filter(|target| **target != self.node);
            owned.leaves = target.is_some() && n_leaving < MOVES_AT_ONCE;
            if !owned.leaves {
                continue;
            }
            n_leaving += 1;
            if let Some(to) = target.filter(|_| owned.n_begun == 0) {
                steps.push(Step::Give {
                    shard: *shard,
                    epoch: owned.epoch,
                    to: to.clone(),
                });
            }
        }
        steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ShardTable, targets};

    fn at(seconds: u64) -> BootTime {
        BootTime::after_start(Duration::from_secs(seconds))
    }

    fn shard(number: u16) -> HostShard {
        HostShard::new(number).expect("a shard")
    }

    fn take_all(table: &mut ShardTable, node: &NodeId, steps: Vec<Step>) {
        for step in steps {
            match step {
                Step::Take { shard, epoch } => table.take(shard, epoch, node, |_| false),
                Step::Give { shard, epoch, to } => table.give(shard, epoch, node, &to),
            }
            .expect("nothing has changed");
        }
    }

    /// A node that owns all of so many shards from the second 0 on.
    fn alone(table: &mut ShardTable, name: &str) -> Ownership {
        let node = NodeId::new(name);
        let mut ownership = Ownership::new(node.clone());
        ownership.renewed(at(0));
        let wanted = vec![node.clone(); table.rows().len()];
        let steps = ownership.look(table.rows(), &wanted, |_| true, at(0));
        take_all(table, &node, steps);
        let rows = table.rows().to_vec();
        let steps = ownership.look(&rows, &wanted, |_| true, at(0));
        assert_eq!(steps, []);
        ownership
    }

    #[test]
    fn nothing_begins_shortly_before_the_lease_ends() {
        let mut table = ShardTable::new(1);
        let mut ann = alone(&mut table, "ann");
        let turn = ann.begin(shard(0), at(7)).expect("it begins");
        ann.end(turn);
        assert_eq!(ann.begin(shard(0), at(8)), Err(NotHere::LeaseEnds));
        ann.renewed(at(3));
        let turn = ann.begin(shard(0), at(10)).expect("it begins");
        ann.end(turn);
        // An answer that is late shortens nothing.
        ann.renewed(at(1));
        assert!(ann.is_member(at(10)) && !ann.is_member(at(11)));
        ann.lose_all();
        assert_eq!(ann.begin(shard(0), at(1)), Err(NotHere::LeaseEnds));
    }

    #[test]
    fn a_host_is_asked_for_at_its_owner() {
        let mut table = ShardTable::new(2);
        alone(&mut table, "ann");
        let (ann, ben) = (NodeId::new("ann"), NodeId::new("ben"));
        let mut other = Ownership::new(ben);
        other.renewed(at(0));
        assert_eq!(other.begin(shard(0), at(1)), Err(NotHere::Moving));
        let wanted = vec![ann.clone(); 2];
        assert_eq!(other.look(table.rows(), &wanted, |_| true, at(1)), []);
        assert_eq!(other.begin(shard(0), at(1)), Err(NotHere::Theirs(ann)));
    }

    #[test]
    fn a_shard_is_handed_over_once_its_requests_have_ended() {
        let mut table = ShardTable::new(1);
        let mut ann = alone(&mut table, "ann");
        let ben = NodeId::new("ben");
        let turn = ann.begin(shard(0), at(1)).expect("it begins");
        let wanted = [ben.clone()];
        assert_eq!(ann.look(table.rows(), &wanted, |_| true, at(2)), []);
        assert_eq!(ann.begin(shard(0), at(2)), Err(NotHere::Moving));
        ann.end(turn);
        let steps = ann.look(table.rows(), &wanted, |_| true, at(5));
        let give = Step::Give {
            shard: shard(0),
            epoch: 1,
            to: ben.clone(),
        };
        assert_eq!(steps, [give]);
        take_all(&mut table, &NodeId::new("ann"), steps);
        assert_eq!(ann.look(table.rows(), &wanted, |_| true, at(5)), []);
        let mut other = Ownership::new(ben);
        other.renewed(at(5));
        assert_eq!(other.look(table.rows(), &wanted, |_| true, at(5)), []);
        let turn = other.begin(shard(0), at(6)).expect("it begins");
        assert_eq!((turn.epoch(), turn.unknown_since()), (2, Some(at(5))));
        other.end(turn);
        other.informed(shard(0), 2);
        let turn = other.begin(shard(0), at(6)).expect("it begins");
        assert_eq!(turn.unknown_since(), None);
        other.end(turn);
    }

    #[test]
    fn a_hand_over_is_called_off_when_the_target_is_gone() {
        let mut table = ShardTable::new(1);
        let mut ann = alone(&mut table, "ann");
        let turn = ann.begin(shard(0), at(1)).expect("it begins");
        ann.look(table.rows(), &[NodeId::new("ben")], |_| true, at(2));
        ann.look(table.rows(), &[NodeId::new("ann")], |_| true, at(3));
        let second = ann.begin(shard(0), at(3)).expect("it begins");
        ann.end(turn);
        ann.end(second);
    }

    #[test]
    fn the_shards_of_a_dead_node_are_taken_and_a_few_move_at_once() {
        let all = [NodeId::new("ann"), NodeId::new("ben")];
        let mut table = ShardTable::new(usize::from(crate::HOST_SHARDS));
        let mut ann = alone(&mut table, "ann");
        let wanted = targets(&all);
        let mut n_looks = 0;
        loop {
            let steps = ann.look(table.rows(), &wanted, |_| true, at(1));
            assert!(steps.len() <= MOVES_AT_ONCE, "{}", steps.len());
            if steps.is_empty() {
                break;
            }
            n_looks += 1;
            take_all(&mut table, &all[0], steps);
        }
        assert!(n_looks > 50, "{n_looks}");
        let owners = table.rows().iter().map(|row| row.owner.clone());
        assert!(owners.eq(wanted.iter().cloned().map(Some)));
        // Ben's lease has ended.
        let alone = targets(&all[..1]);
        let is_member = |node: &NodeId| *node == all[0];
        let steps = ann.look(table.rows(), &alone, is_member, at(1));
        let n_lost = wanted.iter().filter(|node| **node == all[1]).count();
        assert_eq!(steps.len(), n_lost);
        take_all(&mut table, &all[0], steps);
        assert_eq!(ann.look(table.rows(), &alone, is_member, at(1)), []);
    }

    #[test]
    fn a_shard_that_was_lost_and_taken_again_has_other_requests() {
        let mut table = ShardTable::new(1);
        let mut ann = alone(&mut table, "ann");
        let wanted = [NodeId::new("ann")];
        let old = ann.begin(shard(0), at(1)).expect("it begins");
        let ben = NodeId::new("ben");
        table.take(shard(0), 1, &ben, |_| false).expect("taken");
        table.give(shard(0), 2, &ben, &wanted[0]).expect("given");
        ann.look(table.rows(), &wanted, |_| true, at(2));
        let new = ann.begin(shard(0), at(2)).expect("it begins");
        ann.end(old);
        // The new request still holds the shard.
        let elsewhere = [ben];
        assert_eq!(ann.look(table.rows(), &elsewhere, |_| true, at(3)), []);
        ann.end(new);
        assert_eq!(ann.look(table.rows(), &elsewhere, |_| true, at(3)).len(), 1);
    }
}
