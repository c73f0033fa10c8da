//! Which node should have what, by rendezvous hashing: every node computes the same from the same
//! members, and a change of the members moves little.

use std::fmt;
use std::sync::Arc;

use crate::HOST_SHARDS;
use crate::shard::{HostShard, hash};

/// A node has at most so many hundredths of its fair share of the shards. Plain rendezvous hashing
/// would give one of a hundred nodes twice its share.
const SHARE_MAX: usize = 125;

/// The name of a node, the same as long as it is a member.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(Arc<str>);

impl NodeId {
    /// The node of this name.
    pub fn new(name: &str) -> Self {
        Self(name.into())
    }

    /// Its name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The home node of an account: the one that decides alone on what has to be right at once (the
/// last of a balance, rates, seats). `None` without members. The order of the members makes no
/// difference.
pub fn home<'a>(members: &'a [NodeId], account: &str) -> Option<&'a NodeId> {
    let key = hash(account);
    let weight = |node: &NodeId| (mix(hash(node.as_str()), key), node.clone());
    members.iter().max_by_key(|node| weight(node))
}

/// The owner that each shard should have, by the number of the shard; empty without members. The
/// order of the members makes no difference.
pub fn targets(members: &[NodeId]) -> Vec<NodeId> {
    let mut members = members.to_vec();
    members.sort_unstable();
    members.dedup();
    if members.is_empty() {
        return Vec::new();
    }
    let seeds: Vec<u64> = members.iter().map(|node| hash(node.as_str())).collect();
    let most = (usize::from(HOST_SHARDS) * SHARE_MAX).div_ceil(100 * members.len());
    let mut n_shards = vec![0; members.len()];
    let place = |shard: HostShard| {
        let key = u64::from(shard.number());
        let with_room = (0..members.len()).filter(|node| n_shards[*node] < most);
        let best = with_room.max_by_key(|node| (mix(seeds[*node], key), *node));
        let best = best.expect("all together have room for more than all shards");
        n_shards[best] += 1;
        members[best].clone()
    };
    HostShard::all().map(place).collect()
}

/// The weight of a node for a key: the finalizer of SplitMix64 (Steele, Lea and Flood, 2014), over
/// both.
fn mix(node: u64, key: u64) -> u64 {
    let scramble = |value: u64| {
        let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ (value >> 31)
    };
    scramble(node.wrapping_add(scramble(key.wrapping_add(0x9e37_79b9_7f4a_7c15))))
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    fn nodes(n: usize) -> Vec<NodeId> {
        (0..n).map(|n| NodeId::new(&format!("node-{n}"))).collect()
    }

    /// Shards of each node.
    fn shares(targets: &[NodeId]) -> HashMap<&NodeId, usize> {
        let mut shares = HashMap::new();
        for node in targets {
            *shares.entry(node).or_default() += 1;
        }
        shares
    }

    #[test]
    fn all_nodes_get_about_their_share() {
        for n in [1, 2, 3, 10, 100] {
            let targets = targets(&nodes(n));
            let shares = shares(&targets);
            assert_eq!(targets.len(), usize::from(HOST_SHARDS));
            assert_eq!(shares.len(), n);
            let most = (usize::from(HOST_SHARDS) * 125).div_ceil(100 * n);
            assert!(shares.values().all(|share| *share <= most), "{shares:?}");
        }
        assert_eq!(targets(&[]), []);
    }

    #[test]
    fn a_change_of_the_members_moves_little() {
        for n in [1, 3, 10, 50] {
            let (before, after) = (targets(&nodes(n)), targets(&nodes(n + 1)));
            let n_moved = before.iter().zip(&after).filter(|(a, b)| a != b).count();
            // At least the share of the new node; some more, since each may hold less than before.
            let share = usize::from(HOST_SHARDS) / (n + 1);
            assert!(n_moved >= share / 2, "{n}: {n_moved}");
            assert!(n_moved <= 2 * share, "{n}: {n_moved}");
        }
    }

    #[test]
    fn the_order_of_the_members_makes_no_difference() {
        let forth = nodes(7);
        let back: Vec<NodeId> = forth.iter().rev().cloned().collect();
        assert_eq!(targets(&forth), targets(&back));
        assert_eq!(home(&forth, "acct_1"), home(&back, "acct_1"));
    }

    #[test]
    fn a_home_node_stays_while_it_lives() {
        let all = nodes(5);
        let mut n_moved = 0;
        for n in 0..1_000 {
            let account = format!("acct_{n}");
            let (first, later) = (home(&all, &account), home(&all[1..], &account));
            let has_left = first == Some(&all[0]);
            assert!(has_left || first == later, "{account}");
            n_moved += usize::from(has_left);
        }
        assert!((100..=300).contains(&n_moved), "{n_moved}");
        assert_eq!(home(&[], "acct_1"), None);
    }
}
