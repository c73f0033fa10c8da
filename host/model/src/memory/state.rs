//! Who may hold how much: the arithmetic of the budget, without time and without locks.

use std::collections::{BTreeMap, BTreeSet};

/// Accounts whose floors fit at least.
const FLOORS_MIN: u64 = 64;
/// Largest floor: ten ordinary pages with their outputs.
const FLOOR_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// The parts of the budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Parts {
    /// What every account may hold whatever others hold.
    pub(super) floor: u64,
    /// What all floors together may hold.
    pub(super) floors: u64,
    /// What is shared beyond the floors.
    pub(super) shared: u64,
    /// What one elder may draw.
    pub(super) elder: u64,
    /// Elders at a time.
    pub(super) elders: usize,
}

/// Bytes granted to a lease, by the part they came from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Grant {
    /// Of the account: its floor as long as there is room, then the shared part.
    pub(super) regular: u64,
    /// Of the elders' reserve; after the elder has resigned, of its account.
    pub(super) drawn: u64,
}

/// Place of a waiter in its account's queue: the age of its page, then the order of asking.
pub(super) type Place = (u64, u64);

/// The budget and what each account holds. `W` is the value that is queued for a waiter.
#[derive(Debug)]
pub(super) struct State<W> {
    parts: Parts,
    accounts: Vec<Account<W>>,
    free_slots: Vec<usize>,
    /// Accounts with waiters.
    waiting: BTreeSet<usize>,
    floors_used: u64,
    shared_used: u64,
    elders: Vec<Elder>,
    /// Former elders that still hold what they drew.
    resigned: Vec<Elder>,
    n_asked: u64,
}

#[derive(Debug)]
struct Account<W> {
    held: u64,
    /// How much of it is from the floors; the rest is from the shared part.
    of_floors: u64,
    waiting: BTreeMap<Place, (u64, W)>,
}

/// A page that draws from the reserve, until it has given back all that it drew or resigns.
#[derive(Debug)]
struct Elder {
    slot: usize,
    page: u64,
    drawn: u64,
    /// Whether its page takes no more bytes.
    is_finished: bool,
}

impl Parts {
    /// Divides a budget of so many bytes. An eighth is for the floors, a quarter for the elders,
    /// the rest is shared.
    pub(super) fn of(capacity: u64, page_max: u64) -> Self {
        let (floors, reserve) = (capacity / 8, capacity / 4);
        let elders = (reserve / page_max).max(1);
        Self {
            floor: (floors / FLOORS_MIN).min(FLOOR_BYTES_MAX),
            floors,
            shared: capacity - floors - reserve,
            elder: (reserve / elders).min(page_max),
            elders: usize::try_from(elders).unwrap_or(usize::MAX),
        }
    }
}

impl<W> State<W> {
    pub(super) fn new(parts: Parts) -> Self {
        Self {
            parts,
            accounts: Vec::new(),
            free_slots: Vec::new(),
            waiting: BTreeSet::new(),
            floors_used: 0,
            shared_used: 0,
            elders: Vec::new(),
            resigned: Vec::new(),
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
        let drawn: u64 = self.elders.iter().map(|elder| elder.drawn).sum();
        self.floors_used + self.shared_used + drawn
    }

    /// Waiters of all accounts.
    pub(super) fn n_waiting(&self) -> usize {
        let waiting = self.waiting.iter();
        waiting.map(|slot| self.accounts[*slot].waiting.len()).sum()
    }

    /// Grants bytes to a page now, or answers with its place in the queue. Nobody overtakes an
    /// older page of the same account.
    pub(super) fn ask(&mut self, slot: usize, page: u64, bytes: u64) -> Result<Grant, Place> {
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

    /// Queues a waiter at the place that [`Self::ask`] answered.
    pub(super) fn wait(&mut self, slot: usize, place: Place, bytes: u64, waiter: W) {
        self.accounts[slot].waiting.insert(place, (bytes, waiter));
        self.waiting.insert(slot);
    }

    /// Removes a waiter that has not been served.
    pub(super) fn leave(&mut self, slot: usize, place: Place) -> Option<W> {
        let account = &mut self.accounts[slot];
        let (_, waiter) = account.waiting.remove(&place)?;
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
        let is_page = |elder: &Elder| elder.page == page;
        let (list, n) = match self.elders.iter().position(is_page) {
            Some(n) => (&mut self.elders, n),
            None => {
                self.subtract(slot, grant.drawn);
                let n = self.resigned.iter().position(is_page);
                let n = n.expect("what was drawn, an elder drew");
                (&mut self.resigned, n)
            }
        };
        list[n].drawn -= grant.drawn;
        if list[n].drawn == 0 {
            list.swap_remove(n);
        }
    }

    /// A page takes no more bytes. Returns whether it resigns as an elder.
    pub(super) fn finish(&mut self, page: u64) -> bool {
        let elder = self.elders.iter_mut().find(|elder| elder.page == page);
        let Some(elder) = elder else {
            return false;
        };
        elder.is_finished = true;
        self.resign()
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
            let (place, (bytes, _)) = self.accounts[slot].waiting.first_key_value()?;
            let (place, bytes) = (*place, *bytes);
            let grant = self.grant(slot, place.0, bytes)?;
            let waiter = self.leave(slot, place)?;
            Some((waiter, grant))
        })
    }

    fn grant(&mut self, slot: usize, page: u64, bytes: u64) -> Option<Grant> {
        let (_, shared) = self.divided(slot, bytes);
        let account = &self.accounts[slot];
        let shared_then = account.held - account.of_floors + shared;
        let free = self.parts.shared.saturating_sub(self.shared_used + shared);
        if shared == 0 || shared_then <= free {
            self.add(slot, bytes);
            return Some(Grant {
                regular: bytes,
                drawn: 0,
            });
        }
        self.draw(slot, page, bytes, true)
    }

    /// Grants bytes of the reserve to an elder. `may_appoint` makes the page one if there is room
    /// for another and its account has none, nor one that resigned and still holds what it drew.
    fn draw(&mut self, slot: usize, page: u64, bytes: u64, may_appoint: bool) -> Option<Grant> {
        if bytes > self.parts.elder {
            return None;
        }
        let drawn = Grant {
            regular: 0,
            drawn: bytes,
        };
        if let Some(elder) = self.elders.iter_mut().find(|elder| elder.slot == slot) {
            let fits = elder.page == page && elder.drawn + bytes <= self.parts.elder;
            return fits.then(|| {
                elder.drawn += bytes;
                drawn
            });
        }
        let may_appoint = may_appoint && self.resigned.iter().all(|elder| elder.slot != slot);
        if may_appoint && self.elders.len() == self.parts.elders {
            self.resign();
        }
        if !may_appoint || self.elders.len() == self.parts.elders {
            return None;
        }
        self.elders.push(Elder {
            slot,
            page,
            drawn: bytes,
            is_finished: false,
        });
        Some(drawn)
    }

    /// Elders whose pages take no more bytes resign, as far as the shared part has room for what
    /// they drew: from then on it counts for their accounts, whatever those hold already. Returns
    /// whether one did.
    fn resign(&mut self) -> bool {
        let n_before = self.elders.len();
        for elder in std::mem::take(&mut self.elders) {
            let (_, shared) = self.divided(elder.slot, elder.drawn);
            if elder.is_finished && self.shared_used + shared <= self.parts.shared {
                self.add(elder.slot, elder.drawn);
                self.resigned.push(elder);
            } else {
                self.elders.push(elder);
            }
        }
        self.elders.len() < n_before
    }

    /// How many of so many more bytes are from the floors, and how many from the shared part. An
    /// account whose floor does not fit any more, because others have used the floors up, holds
    /// shared bytes.
    fn divided(&self, slot: usize, bytes: u64) -> (u64, u64) {
        let own = self.parts.floor - self.accounts[slot].of_floors;
        let of_floors = bytes.min(own).min(self.parts.floors - self.floors_used);
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
