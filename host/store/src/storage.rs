//! Whether more may be stored: the quota of an account, and the free space of the disk.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use rustix::fs::statvfs;

use crate::account::AccountId;
use crate::error::StoreError;
use crate::totals::TotalsStore;

/// How often the free space is measured. Writers fill a gigabyte, the least default floor, in about
/// as many seconds.
const INTERVAL: Duration = Duration::from_secs(2);
/// Default floor, as a fraction of the disk: one part in fifty.
const FLOOR_FRACTION: u64 = 50;
/// Bounds of the default floor. Below the first, the ledger could not be written for long; more
/// than the second is no more useful on a large disk.
const FLOOR_BYTES_MIN: u64 = 1 << 30;
const FLOOR_BYTES_MAX: u64 = 16 << 30;

/// The free space of the disk that has the data directory, measured every few seconds.
#[derive(Debug)]
pub struct Disk {
    path: PathBuf,
    floor: u64,
    free: AtomicU64,
    is_low: Arc<AtomicBool>,
}

/// Free space below which nothing new is stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DiskThreshold {
    /// 2 % of the disk, but at least 1 GiB and at most 16 GiB.
    #[default]
    Default,
    /// This number of bytes; 0 for as long as there are any.
    Bytes(u64),
}

/// Free space as it was last measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FreeSpace {
    /// Bytes that the server's user may still write.
    pub free: u64,
    /// Bytes below which nothing new is stored.
    pub floor: u64,
    /// Whether less is free.
    pub is_low: bool,
}

impl Disk {
    /// Measures the disk that has this directory.
    ///
    /// # Errors
    /// The operating system does not report it.
    pub fn open(path: &Path, floor: DiskThreshold) -> io::Result<Self> {
        let disk = statvfs(path)?;
        let total = disk.f_blocks.saturating_mul(disk.f_frsize);
        let floor = match floor {
            DiskThreshold::Default => {
                (total / FLOOR_FRACTION).clamp(FLOOR_BYTES_MIN, FLOOR_BYTES_MAX)
            }
            DiskThreshold::Bytes(floor) => floor,
        };
        let disk = Self {
            path: path.to_owned(),
            floor,
            free: AtomicU64::new(u64::MAX),
            is_low: Arc::default(),
        };
        disk.measure();
        Ok(disk)
    }

    /// Whether less than the floor is free, as it was last measured.
    pub fn is_low(&self) -> bool {
        self.is_low.load(Relaxed)
    }

    /// [`is_low`](Self::is_low), for those who do not know the disk.
    pub fn low_flag(&self) -> &Arc<AtomicBool> {
        &self.is_low
    }

    /// Free space as it was last measured.
    pub fn space(&self) -> FreeSpace {
        FreeSpace {
            free: self.free.load(Relaxed),
            floor: self.floor,
            is_low: self.is_low(),
        }
    }

    /// Measures again and again. Never returns.
    pub async fn watch(self: Arc<Self>) {
        loop {
            tokio::time::sleep(INTERVAL).await;
            let disk = Arc::clone(&self);
            // A network file system may take long to answer.
            let _panicked = tokio::task::spawn_blocking(move || disk.measure()).await;
        }
    }

    fn measure(&self) {
        let Ok(disk) = statvfs(&self.path) else {
            return;
        };
        self.note(disk.f_bavail.saturating_mul(disk.f_frsize));
    }

    /// Notes that so many bytes are free. Without a byte nothing can be stored, whatever the floor.
    fn note(&self, free: u64) {
        self.free.store(free, Relaxed);
        metrics::gauge!("trawl_disk_free_bytes").set(free as f64);
        let is_low = free < self.floor.max(1);
        if self.is_low.swap(is_low, Relaxed) == is_low {
            return;
        }
        let floor = self.floor;
        if is_low {
            tracing::error!(
                free,
                floor,
                "the disk is nearly full: new crawls and stored answers are refused until space is free"
            );
        } else {
            tracing::info!(free, floor, "the disk has free space again");
        }
    }
}

/// Decides whether an account may store more. Clones share it.
#[derive(Clone, Debug)]
pub struct Storage {
    totals: Arc<dyn TotalsStore>,
    disk: Arc<Disk>,
    bytes_max: u64,
}

/// Why an account may not store more. The text is for its owner.
#[derive(Debug, thiserror::Error)]
pub enum StorageRefusal {
    /// The disk is nearly full.
    #[error(
        "the server's disk is nearly full, new crawls and stored answers are refused until it has space again: try later, or send the request without `Idempotency-Key`"
    )]
    DiskLow,
    /// The account has stored as much as it may.
    #[error(
        "stored_bytes: the account has stored {used} of {limit} bytes, see `limits` of `GET /account`: wait until crawls expire 7 days after their end and answers after 24 hours, or ask the operator for more"
    )]
    Quota {
        /// Bytes stored.
        used: u64,
        /// Bytes allowed.
        limit: u64,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Storage {
    /// Storage of at most `bytes_max` bytes an account, 0 for no limit.
    pub fn new(totals: Arc<dyn TotalsStore>, disk: Arc<Disk>, bytes_max: u64) -> Self {
        Self {
            totals,
            disk,
            bytes_max,
        }
    }

    /// The disk.
    pub fn disk(&self) -> &Arc<Disk> {
        &self.disk
    }

    /// Bytes that an account may store; `None` if there is no limit.
    pub fn bytes_max(&self) -> Option<u64> {
        (self.bytes_max > 0).then_some(self.bytes_max)
    }

    /// Whether an account that has stored this much may store more.
    pub fn has_room(&self, stored_bytes: u64) -> bool {
        self.bytes_max().is_none_or(|limit| stored_bytes < limit)
    }

    /// Checks that an account may store something new.
    ///
    /// # Errors
    /// [`StorageRefusal`]: the disk is nearly full, the account's quota is used up, or the store
    /// failed.
    pub async fn admit(&self, account: &AccountId) -> Result<(), StorageRefusal> {
        if self.disk.is_low() {
            return Err(StorageRefusal::DiskLow);
        }
        let Some(limit) = self.bytes_max() else {
            return Ok(());
        };
        let used = self.totals.totals(account).await?.stored_bytes();
        if self.has_room(used) {
            Ok(())
        } else {
            Err(StorageRefusal::Quota { used, limit })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_floor_above_the_free_space_is_low() {
        let folder = tempfile::tempdir().expect("a folder");
        let check = |floor: DiskThreshold, is_low: bool| {
            let disk = Disk::open(folder.path(), floor).expect("a disk");
            assert_eq!(disk.is_low(), is_low, "{floor:?}: {:?}", disk.space());
        };
        check(DiskThreshold::Bytes(0), false);
        check(DiskThreshold::Bytes(u64::MAX), true);
        let disk = Disk::open(folder.path(), DiskThreshold::Default).expect("a disk");
        assert!((FLOOR_BYTES_MIN..=FLOOR_BYTES_MAX).contains(&disk.space().floor));
    }

    #[test]
    fn a_full_disk_is_low_without_a_floor() {
        let folder = tempfile::tempdir().expect("a folder");
        let disk = Disk::open(folder.path(), DiskThreshold::Bytes(0)).expect("a disk");
        disk.note(0);
        assert!(disk.is_low() && disk.space().is_low);
        disk.note(1);
        assert!(!disk.is_low());
    }

    #[test]
    fn low_space_ends_when_there_is_more() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut disk = Disk::open(folder.path(), DiskThreshold::Bytes(u64::MAX)).expect("a disk");
        assert!(disk.is_low());
        disk.floor = 0;
        disk.measure();
        assert!(!disk.is_low());
    }
}
