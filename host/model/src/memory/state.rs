//! Accounting of the memory budget. Pure: no clock, no locks.

use std::collections::{BTreeMap, BTreeSet};

/// Accounts whose floors fit at least.
const FLOORS_MIN: u64 = 64;
/// Largest floor: ten ordinary pages with their outputs.
const FLOOR_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// How the budget is divided, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Partition {
    /// Guaranteed to every account.
    pub(super) floor: u64,
    /// The sum of all floors in use, at most.
    pub(super) floors: u64,
    /// Shared among accounts beyond their floors.
    pub(super) shared: u64,
    /// Bytes that one privileged page may draw.
    pub(super) privileged_bytes: u64,
    /// Privileged pages at a time.
    pub(super) privileged_max: usize,
}

/// Bytes granted to a lease, by the part they came from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Grant {
    /// Of the account: its floor as long as there is room, then the shared part.
    pub(super) regular: u64,
    /// Of the reserve for privileged pages; once the page is demoted, of its account.
    pub(super) drawn: u64,
}

/// Orders the waiters of an account: the age of its page, then the order of asking.
pub(super) type QueueKey = (u64, u64);

/// The budget and what each account holds. `W` is the value that is queued for a waiter.
#[derive(Debug)]
pub(super) struct Accounting<W> {
    partition: Partition,
    accounts: Vec<Account<W>>,
    free_slots: Vec<usize>,
    /// Accounts with waiters.
    waiting: BTreeSet<usize>,
    floors_used: u64,
    shared_used: u64,
    privileged: Vec<Privileged>,
    /// Pages that were privileged before and still hold what they drew.
    demoted: Vec<Privileged>,
    n_asked: u64,
}

#[derive(Debug)]
struct Account<W> {
    held: u64,
    /// How much of it is from the floors; the rest is from the shared part.
    of_floors: u64,
    waiting: BTreeMap<QueueKey, (u64, W)>,
}

/// A page that draws from the reserve, until it has released all that it drew or is demoted.
#[derive(Debug)]
struct Privileged {
    slot: usize,
    page: u64,
    drawn: u64,
    /// Whether its page takes no more bytes.
    is_finished: bool,
}

impl Partition {
    /// Divides a budget of `capacity` bytes. An eighth is for the floors, a quarter for privileged
    /// pages, the rest is shared.
    pub(super) fn of(capacity: u64, page_max: u64) -> Self {
        let (floors, reserve) = (capacity / 8, capacity / 4);
        let privileged_max = (reserve / page_max).max(1);
        Self {
            floor: (floors / FLOORS_MIN).min(FLOOR_BYTES_MAX),
            floors,
            shared: capacity - floors - reserve,
            privileged_bytes: (reserve / privileged_max).min(page_max),
            privileged_max: usize::try_from(privileged_max).unwrap_or(usize::MAX),
        }
    }
}

impl<W> Accounting<W> {
    pub(super) fn new(partition: Partition) -> Self {
        Self {
            partition,
            accounts: Vec::new(),
            free_slots: Vec::new(),
            waiting: BTreeSet::new(),
            floors_used: 0,
            shared_used: 0,
            privileged: Vec::new(),
            demoted: Vec::new(),
            n_asked: 0,
        }
    }

    /// Adds an account that holds nothing.
    pub(super) fn open(&mut self) -> usize {
        if let Some(slot) = self.free_slots.pop() {
            return slot;
        }
        self.accounts.push(Account {
            held: 0,
            of_floors: 0,
            waiting: BTreeMap::new(),
        });
        self.accounts.len() - 1
    }

    /// Removes an account that holds nothing and waits for nothing.
    pub(super) fn close(&mut self, slot: usize) {
        self.free_slots.push(slot);
    }

    /// Bytes in use.
    pub(super) fn used(&self) -> u64 {
        let drawn: u64 = self
            .privileged
            .iter()
            .map(|privileged| privileged.drawn)
            .sum();
        self.floors_used + self.shared_used + drawn
    }

    /// Waiters of all accounts.
    pub(super) fn n_waiting(&self) -> usize {
        let waiting = self.waiting.iter();
        waiting.map(|slot| self.accounts[*slot].waiting.len()).sum()
    }

    /// Grants the bytes, or returns a key in the queue of the account, whose oldest page is first.
    pub(super) fn ask(&mut self, slot: usize, page: u64, bytes: u64) -> Result<Grant, QueueKey> {
        let first = self.accounts[slot].waiting.first_key_value();
        let is_oldest = first.is_none_or(|((oldest, _), _)| *oldest >= page);
        let granted = if is_oldest {
            self.grant(slot, page, bytes)
        } else {
            self.draw(slot, page, bytes, false)
        };
        granted.ok_or_else(|| {
            self.n_asked += 1;
            (page, self.n_asked)
        })
    }

    /// Queues a waiter under the key that [`Self::ask`] returned.
    pub(super) fn wait(&mut self, slot: usize, key: QueueKey, bytes: u64, waiter: W) {
        self.accounts[slot].waiting.insert(key, (bytes, waiter));
        self.waiting.insert(slot);
    }

    /// Removes a waiter that has not been served.
    pub(super) fn leave(&mut self, slot: usize, key: QueueKey) -> Option<W> {
        let account = &mut self.accounts[slot];
        let (_, waiter) = account.waiting.remove(&key)?;
        if account.waiting.is_empty() {
            self.waiting.remove(&slot);
        }
        Some(waiter)
    }

    /// Grants bytes that exist already, whatever is left.
    pub(super) fn force(&mut self, slot: usize, bytes: u64) {
        self.add(slot, bytes);
    }

    /// Takes granted bytes back.
    pub(super) fn release(&mut self, slot: usize, page: u64, grant: Grant) {
        self.subtract(slot, grant.regular);
        if grant.drawn == 0 {
            return;
        }
        let is_page = |privileged: &Privileged| privileged.page == page;
        let (list, n) = match self.privileged.iter().position(is_page) {
            Some(n) => (&mut self.privileged, n),
            None => {
                self.subtract(slot, grant.drawn);
                let n = self.demoted.iter().position(is_page);
                let n = n.expect("only privileged pages draw");
                (&mut self.demoted, n)
            }
        };
        list[n].drawn -= grant.drawn;
        if list[n].drawn == 0 {
            list.swap_remove(n);
        }
    }

    /// Records that a page takes no more bytes. Returns whether a page was demoted.
    pub(super) fn finish(&mut self, page: u64) -> bool {
        let privileged = self
            .privileged
            .iter_mut()
            .find(|privileged| privileged.page == page);
        let Some(privileged) = privileged else {
            return false;
        };
        privileged.is_finished = true;
        self.demote()
    }

    /// The next waiter that can be served, and what it is granted. Accounts that hold least come
    /// first, and in an account its oldest page.
    pub(super) fn next(&mut self) -> Option<(W, Grant)> {
        if self.waiting.is_empty() {
            return None;
        }
        let mut slots: Vec<usize> = self.waiting.iter().copied().collect();
        slots.sort_by_key(|slot| self.accounts[*slot].held);
        slots.into_iter().find_map(|slot| {
            let (key, (bytes, _)) = self.accounts[slot].waiting.first_key_value()?;
            let (key, bytes) = (*key, *bytes);
            let grant = self.grant(slot, key.0, bytes)?;
            let waiter = self.leave(slot, key)?;
            Some((waiter, grant))
        })
    }

    fn grant(&mut self, slot: usize, page: u64, bytes: u64) -> Option<Grant> {
        let (_, shared) = self.divided(slot, bytes);
        let account = &self.accounts[slot];
        let shared_then = account.held - account.of_floors + shared;
        let free = self
            .partition
            .shared
            .saturating_sub(self.shared_used + shared);
        if shared == 0 || shared_then <= free {
            self.add(slot, bytes);
            return Some(Grant {
                regular: bytes,
                drawn: 0,
            });
        }
        self.draw(slot, page, bytes, true)
    }

    /// Grants bytes of the reserve to a privileged page. `may_promote` makes the page privileged if
    /// there is room for another and its account has none, nor a demoted one that still holds what
    /// it drew.
    fn draw(&mut self, slot: usize, page: u64, bytes: u64, may_promote: bool) -> Option<Grant> {
        if bytes > self.partition.privileged_bytes {
            return None;
        }
        let drawn = Grant {
            regular: 0,
            drawn: bytes,
        };
        if let Some(privileged) = self
            .privileged
            .iter_mut()
            .find(|privileged| privileged.slot == slot)
        {
            let fits = privileged.page == page
                && privileged.drawn + bytes <= self.partition.privileged_bytes;
            return fits.then(|| {
                privileged.drawn += bytes;
                drawn
            });
        }
        let may_promote = may_promote && self.demoted.iter().all(|other| other.slot != slot);
        if may_promote && self.privileged.len() == self.partition.privileged_max {
            self.demote();
        }
        if !may_promote || self.privileged.len() == self.partition.privileged_max {
            return None;
        }
        self.privileged.push(Privileged {
            slot,
            page,
            drawn: bytes,
            is_finished: false,
        });
        Some(drawn)
    }

    /// Moves what finished privileged pages drew to their accounts while the shared part has room
    /// for it, whatever the accounts hold already. Returns whether a page was demoted.
    fn demote(&mut self) -> bool {
        let n_before = self.privileged.len();
        for privileged in std::mem::take(&mut self.privileged) {
            let (_, shared) = self.divided(privileged.slot, privileged.drawn);
            if privileged.is_finished && self.shared_used + shared <= self.partition.shared {
                self.add(privileged.slot, privileged.drawn);
                self.demoted.push(privileged);
            } else {
                self.privileged.push(privileged);
            }
        }
        self.privileged.len() < n_before
    }

    /// Splits `bytes` into those of the account's floor and those of the shared part. If other
    /// accounts have used the floors up, all are shared.
    fn divided(&self, slot: usize, bytes: u64) -> (u64, u64) {
        let own = self.partition.floor - self.accounts[slot].of_floors;
        let of_floors = bytes.min(own).min(self.partition.floors - self.floors_used);
        (of_floors, bytes - of_floors)
    }

    fn add(&mut self, slot: usize, bytes: u64) {
        let (of_floors, shared) = self.divided(slot, bytes);
        let account = &mut self.accounts[slot];
        account.held += bytes;
        account.of_floors += of_floors;
        self.floors_used += of_floors;
        self.shared_used += shared;
    }

    /// Shared bytes go first.
    fn subtract(&mut self, slot: usize, bytes: u64) {
        let account = &mut self.accounts[slot];
        let shared = bytes.min(account.held - account.of_floors);
        let of_floors = bytes - shared;
        account.held -= bytes;
        account.of_floors -= of_floors;
        self.floors_used -= of_floors;
        self.shared_used -= shared;
    }
}
