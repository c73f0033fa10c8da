//! The memory budget of the server: what bodies, documents, outputs and answers in flight may
//! hold together, shared fairly among accounts.
//!
//! Code that is about to hold bytes takes them from the budget first, in steps of [`STEP_BYTES`],
//! and gives them back by dropping a [`MemoryLease`]. The budget has three parts:
//! - an eighth for *floors*: what every account may hold whatever others hold (4 MiB, or a 64th of
//!   this part if that is less), so that a small account never waits. When many accounts have used
//!   this part up, further accounts take their floors from the shared part;
//! - a quarter as the *reserve* of elders, see below;
//! - the rest is shared by a dynamic threshold (Choudhury and Hahne, "Dynamic Queue Length
//!   Thresholds for Shared-Memory Packet Switches", 1998): beyond its floor an account may hold as
//!   much as is still free afterwards. An account on its own gets half of it, n + 1 accounts that
//!   want as much as they can get have 1 / (n + 2) each, and something is always left for the next
//!   one.
//!
//! The pages of an account at its share wait, oldest first; other accounts do not. Bytes that are
//! given back go to the waiting account that holds least.
//!
//! No deadlock: pages that hold bytes and wait for more could block each other for ever. So the
//! oldest waiting page of an account becomes an *elder*. It draws from the reserve, which regular
//! grants cannot touch, up to the maximum of one page ([`PAGE_BYTES_MAX`]). The reserve has that
//! much for each elder, so an elder never waits and ends within its page's time; then the next page
//! becomes an elder.
//!
//! An elder *resigns* once its page is finished (its last [`PageMemory`] is dropped), even if the
//! outcome has not been read yet. What it drew then counts as shared bytes of its account if the
//! shared part has room; otherwise the page stays an elder until there is room or the outcome is
//! sent. Until the outcome is sent, the account has no other elder, so an account with slow readers
//! does not stop the pages of others. A wait longer than [`WAIT_MAX`] ends with an error, which
//! fails that page alone.
//!
//! Bytes that exist before their number is known (outputs, answers, what a browser sent) are
//! *recorded*: they count, so that the account waits before it produces more, but recording them
//! never waits. Their number is bounded by the number of threads and tabs that produce them.

mod state;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::oneshot;

use crate::{Cause, PageFailure};
use state::{Grant, Parts, Place, State};

/// Bytes in which leases grow, so that a small page takes from the budget once.
pub const STEP_BYTES: u64 = 64 * 1024;
/// Most bytes that one page holds: a body of 64 MiB, as much again for its text, and its outputs.
pub const PAGE_BYTES_MAX: u64 = 192 * 1024 * 1024;
/// Longest wait of a page for memory, each time it needs more. A body that stalls gives its bytes
/// back after 10 s.
pub const WAIT_MAX: Duration = Duration::from_secs(15);

/// The memory budget. One for the whole server.
pub struct MemoryBudget {
    capacity: u64,
    wait_max: Duration,
    state: Mutex<State<Waiter>>,
    accounts: Mutex<HashMap<String, Weak<Account>>>,
    n_pages: AtomicU64,
}

/// The share of one account in the budget.
#[derive(Clone)]
pub struct MemoryShare(Arc<Account>);

struct Account {
    budget: Arc<MemoryBudget>,
    name: String,
    slot: usize,
}

/// One page's claim on its account's share; its age decides the order of waiting. It lives for as
/// long as the page may take more bytes.
#[derive(Clone, Debug)]
pub struct PageMemory(Arc<Claim>);

#[derive(Debug)]
struct Claim(Page);

#[derive(Clone, Debug)]
struct Page {
    share: MemoryShare,
    page: u64,
}

/// Bytes taken from the budget; given back on drop.
pub struct MemoryLease {
    memory: Page,
    grant: Grant,
}

/// How much of the budget is in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryUse {
    /// Bytes of the budget.
    pub capacity: u64,
    /// Bytes in use, in steps of [`STEP_BYTES`]. Recorded bytes may exceed the capacity.
    pub used: u64,
    /// Pages that wait.
    pub n_waiting: usize,
}

/// Why a page got no memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MemoryError {
    /// Its account was at its share for this long.
    #[error(
        "the page waited {} s for memory: pages of this account hold its share; ask for fewer large pages at once",
        .0.as_secs_f64()
    )]
    Waited(Duration),
}

/// A call that waits for bytes: for which page, and where its lease is sent.
struct Waiter {
    memory: Page,
    sender: oneshot::Sender<MemoryLease>,
}

/// A place in the queue, left on drop.
struct Waiting<'a> {
    memory: &'a Page,
    place: Place,
    granted: oneshot::Receiver<MemoryLease>,
}

/// Bytes together with their lease.
struct Leased<B> {
    bytes: B,
    _lease: MemoryLease,
}

impl MemoryError {
    /// The failure of the page.
    pub fn failure(&self) -> PageFailure {
        PageFailure::new(Cause::Memory, self.to_string())
    }
}

impl MemoryBudget {
    /// A budget of so many bytes, for which a page waits at most [`WAIT_MAX`].
    pub fn new(capacity: u64) -> Arc<Self> {
        Self::with_wait_max(capacity, WAIT_MAX)
    }

    /// The same with another longest wait.
    pub fn with_wait_max(capacity: u64, wait_max: Duration) -> Arc<Self> {
        Arc::new(Self {
            capacity,
            wait_max,
            state: Mutex::new(State::new(Parts::of(capacity, PAGE_BYTES_MAX))),
            accounts: Mutex::default(),
            n_pages: AtomicU64::new(0),
        })
    }

    /// A budget that is never used up: for the command line and for tests.
    pub fn unlimited() -> Arc<Self> {
        Self::new(u64::MAX / 4)
    }

    /// The share of this account; an empty name is the server's own.
    pub fn share(self: &Arc<Self>, account: &str) -> MemoryShare {
        let mut accounts = self.accounts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = accounts.get(account).and_then(Weak::upgrade) {
            return MemoryShare(known);
        }
        let new = Arc::new(Account {
            budget: Arc::clone(self),
            name: account.to_owned(),
            slot: self.state().open(),
        });
        accounts.insert(account.to_owned(), Arc::downgrade(&new));
        MemoryShare(new)
    }

    /// How much is in use.
    pub fn in_use(&self) -> MemoryUse {
        let state = self.state();
        MemoryUse {
            capacity: self.capacity,
            used: state.used(),
            n_waiting: state.n_waiting(),
        }
    }

    /// Grants bytes to waiting calls as far as there is room. The lock is not held while a lease is
    /// sent: one whose receiver is gone is given back when it is dropped.
    fn serve_waiting(&self) {
        loop {
            let Some((waiter, grant)) = self.state().next() else {
                return;
            };
            let Waiter { memory, sender } = waiter;
            let _cancelled = sender.send(MemoryLease { memory, grant });
        }
    }

    fn state(&self) -> MutexGuard<'_, State<Waiter>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl MemoryShare {
    /// The claim of a page that begins.
    pub fn page(&self) -> PageMemory {
        PageMemory(Arc::new(Claim(Page {
            share: self.clone(),
            page: self.0.budget.n_pages.fetch_add(1, Ordering::Relaxed),
        })))
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        let mut accounts = self
            .budget
            .accounts
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        // Another one may have the name by now.
        if accounts
            .get(&self.name)
            .is_some_and(|known| known.strong_count() == 0)
        {
            accounts.remove(&self.name);
        }
        self.budget.state().close(self.slot);
    }
}

impl PageMemory {
    /// An empty lease.
    pub fn lease(&self) -> MemoryLease {
        MemoryLease {
            memory: self.0.0.clone(),
            grant: Grant::default(),
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let budget = self.0.budget();
        if budget.state().finish(self.0.page) {
            budget.serve_waiting();
        }
    }
}

impl Page {
    fn budget(&self) -> &MemoryBudget {
        &self.share.0.budget
    }

    fn slot(&self) -> usize {
        self.share.0.slot
    }
}

impl MemoryLease {
    /// Bytes that the lease covers.
    pub fn bytes(&self) -> u64 {
        self.grant.regular + self.grant.drawn
    }

    /// Takes more bytes until the lease covers this many; waits while the account is at its share.
    /// Cancel-safe.
    ///
    /// # Errors
    /// [`MemoryError::Waited`]: the lease is unchanged.
    pub async fn grow_to(&mut self, bytes: usize) -> Result<(), MemoryError> {
        let more = steps(bytes).saturating_sub(self.bytes());
        if more == 0 {
            return Ok(());
        }
        let Some(mut waiting) = self.ask(more) else {
            return Ok(());
        };
        let wait_max = waiting.memory.budget().wait_max;
        let granted = tokio::time::timeout(wait_max, &mut waiting.granted).await;
        drop(waiting);
        match granted {
            Ok(Ok(mut granted)) => {
                let grant = std::mem::take(&mut granted.grant);
                self.absorb(grant);
                Ok(())
            }
            _ => Err(MemoryError::Waited(wait_max)),
        }
    }

    /// Makes the lease cover this many bytes, which exist already: nobody waits.
    pub fn record(&mut self, bytes: usize) {
        let more = steps(bytes).saturating_sub(self.bytes());
        if more == 0 {
            return self.shrink_to(bytes);
        }
        self.memory.budget().state().force(self.memory.slot(), more);
        self.grant.regular += more;
    }

    /// Gives back what exceeds this many bytes.
    pub fn shrink_to(&mut self, bytes: usize) {
        let less = self.bytes().saturating_sub(steps(bytes));
        if less == 0 {
            return;
        }
        let drawn = less.min(self.grant.drawn);
        let back = Grant {
            regular: less - drawn,
            drawn,
        };
        self.grant.regular -= back.regular;
        self.grant.drawn -= back.drawn;
        let budget = self.memory.budget();
        let mut state = budget.state();
        state.release(self.memory.slot(), self.memory.page, back);
        let has_waiting = state.n_waiting() > 0;
        drop(state);
        if has_waiting {
            budget.serve_waiting();
        }
    }

    /// These bytes, which hold the lease until the last clone of them is dropped.
    pub fn attach(self, bytes: impl AsRef<[u8]> + Send + 'static) -> Bytes {
        Bytes::from_owner(Leased {
            bytes,
            _lease: self,
        })
    }

    /// Takes the bytes now, or queues for them.
    fn ask(&mut self, more: u64) -> Option<Waiting<'_>> {
        let (slot, page) = (self.memory.slot(), self.memory.page);
        let mut state = self.memory.budget().state();
        let place = match state.ask(slot, page, more) {
            Ok(grant) => {
                drop(state);
                self.absorb(grant);
                return None;
            }
            Err(place) => place,
        };
        let (sender, granted) = oneshot::channel();
        let memory = self.memory.clone();
        state.wait(slot, place, more, Waiter { memory, sender });
        drop(state);
        Some(Waiting {
            memory: &self.memory,
            place,
            granted,
        })
    }

    fn absorb(&mut self, grant: Grant) {
        self.grant.regular += grant.regular;
        self.grant.drawn += grant.drawn;
    }
}

impl Drop for MemoryLease {
    fn drop(&mut self) {
        self.shrink_to(0);
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let (budget, slot) = (self.memory.budget(), self.memory.slot());
        let left = budget.state().leave(slot, self.place);
        if left.is_some() {
            // Calls behind it in the queue may be served now.
            budget.serve_waiting();
        }
    }
}

impl<B: AsRef<[u8]>> AsRef<[u8]> for Leased<B> {
    fn as_ref(&self) -> &[u8] {
        self.bytes.as_ref()
    }
}

impl fmt::Debug for MemoryBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.in_use().fmt(f)
    }
}

impl fmt::Debug for MemoryShare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("MemoryShare").field(&self.0.name).finish()
    }
}

impl fmt::Debug for MemoryLease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("MemoryLease").field(&self.bytes()).finish()
    }
}

/// Bytes in whole steps.
fn steps(bytes: usize) -> u64 {
    (bytes as u64).next_multiple_of(STEP_BYTES)
}
