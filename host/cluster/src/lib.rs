//! Which of several nodes a host, or an account near zero, belongs to. Pure: members, rows and
//! times are arguments; the database and the calls between nodes are elsewhere.
//!
//! A host belongs to a [`HostShard`], a shard has a row in a [`ShardTable`], and each node knows by
//! its [`Ownership`] what it may begin now. `tests/model` explores every state of three nodes.

mod boot_time;
mod owner;
mod placement;
mod shard;
mod table;

pub use boot_time::BootTime;
pub use owner::{GUARD, LEASE, MOVES_AT_ONCE, NotHere, Ownership, RENEWAL, Step, Turn};
pub use placement::{NodeId, home, targets};
pub use shard::{HOST_SHARDS, HostShard};
pub use table::{ShardRow, ShardTable, Stale};
