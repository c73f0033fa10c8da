//! The rows of shards, and the only two changes of them. What SQL does to the table in the database
//! is this.

use std::fmt;

use crate::{HostShard, NodeId};

/// Who owns a shard.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ShardRow {
    /// The owner; `None` before the first one.
    pub owner: Option<NodeId>,
    /// Counts up with each owner: a write under an older one is refused.
    pub epoch: u64,
}

/// All rows, by the number of the shard.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ShardTable {
    rows: Vec<ShardRow>,
}

/// A change is refused: the row is not as it was when the change was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stale;

impl fmt::Display for Stale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the shard has another owner or another epoch")
    }
}

impl std::error::Error for Stale {}

impl ShardTable {
    /// So many shards without owners.
    pub fn new(n_shards: usize) -> Self {
        Self {
            rows: vec![ShardRow::default(); n_shards],
        }
    }

    /// The rows.
    pub fn rows(&self) -> &[ShardRow] {
        &self.rows
    }

    /// Takes a shard that has no owner, or one whose lease has ended: `is_live` answers that in the
    /// same transaction.
    ///
    /// # Errors
    /// It has been taken since.
    pub fn take(
        &mut self,
        shard: HostShard,
        epoch: u64,
        by: &NodeId,
        is_live: impl Fn(&NodeId) -> bool,
    ) -> Result<(), Stale> {
        let row = self.row(shard)?;
        let is_held = row.owner.as_ref().is_some_and(is_live);
        if is_held || row.epoch != epoch {
            return Err(Stale);
        }
        row.owner = Some(by.clone());
        row.epoch += 1;
        Ok(())
    }

    /// Gives a shard to another node.
    ///
    /// # Errors
    /// `from` does not own it under this epoch.
    pub fn give(
        &mut self,
        shard: HostShard,
        epoch: u64,
        from: &NodeId,
        to: &NodeId,
    ) -> Result<(), Stale> {
        let row = self.row(shard)?;
        if row.owner.as_ref() != Some(from) || row.epoch != epoch {
            return Err(Stale);
        }
        row.owner = Some(to.clone());
        row.epoch += 1;
        Ok(())
    }

    fn row(&mut self, shard: HostShard) -> Result<&mut ShardRow, Stale> {
        self.rows.get_mut(usize::from(shard.number())).ok_or(Stale)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_changes_hands_under_a_new_epoch_each_time() {
        let (ann, ben) = (NodeId::new("ann"), NodeId::new("ben"));
        let first = HostShard::new(0).expect("a shard");
        let mut table = ShardTable::new(1);
        assert_eq!(table.take(first, 0, &ann, |_| true), Ok(()));
        assert_eq!(table.take(first, 1, &ben, |_| true), Err(Stale));
        assert_eq!(table.give(first, 1, &ben, &ann), Err(Stale));
        assert_eq!(table.give(first, 0, &ann, &ben), Err(Stale));
        assert_eq!(table.give(first, 1, &ann, &ben), Ok(()));
        // Its owner has died.
        assert_eq!(table.take(first, 1, &ann, |_| false), Err(Stale));
        assert_eq!(table.take(first, 2, &ann, |_| false), Ok(()));
        let owner = Some(ann);
        assert_eq!(table.rows(), [ShardRow { owner, epoch: 3 }]);
        let beyond = HostShard::new(1).expect("a shard");
        assert_eq!(table.take(beyond, 0, &ben, |_| false), Err(Stale));
    }
}
