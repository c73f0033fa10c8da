//! The memory budget of the server: what request bodies, page bodies, documents, outputs, answers
//! and all that is read back from the store may hold together, shared fairly among accounts.
//!
//! Whatever comes from outside or from the store is held as [`Held`], which only a lease makes.
//!
//! Code that is about to hold bytes takes them from the budget first, in steps of [`STEP_BYTES`],
//! and gives them back by dropping a [`MemoryLease`]. The budget is divided into three:
//! - an eighth for *floors*: what every account may hold whatever others hold (4 MiB, or a 64th of
//!   this part if that is less), so that a small account never waits. When many accounts have used
//!   this part up, further accounts take their floors from the shared part;
//! - a quarter as the *reserve* of privileged pages, see below;
//! - the rest is shared by a dynamic threshold (Choudhury and Hahne, "Dynamic Queue Length
//!   Thresholds for Shared-Memory Packet Switches", 1998): beyond its floor an account may hold as
//!   much as is still free afterwards. An account on its own gets half of it, n + 1 accounts that
//!   want as much as they can get have 1 / (n + 2) each, and something is always left for the next
//!   one.
//!
//! The pages of an account at its share wait, oldest first; other accounts do not. Bytes that are
//! given back go to the waiting account that holds least. A request body that is read, an entry
//! that is read back and a batch of webhook events wait like a page, each with a claim of its own.
//!
//! No deadlock: pages that hold bytes and wait for more could block each other for ever. So the
//! oldest waiting page of an account becomes *privileged*. It draws from the reserve, which regular
//! grants cannot touch, up to the maximum of one page ([`PAGE_BYTES_MAX`]). The reserve has that
//! much for each privileged page, so such a page never waits and ends within its own time; then the
//! next page becomes privileged.
//!
//! A privileged page is *demoted* once it is finished (its last [`PageMemory`] is dropped), even if
//! the outcome has not been read yet. What it drew then counts as shared bytes of its account if
//! the shared part has room; otherwise it stays privileged until there is room or the outcome is
//! sent. Until the outcome is sent, the account has no other privileged page, so an account with
//! slow readers does not stop the pages of others. A wait longer than [`WAIT_MAX`] ends with an
//! error, which fails that page alone.
//!
//! Bytes that exist before their number is known (outputs, answers, what a browser sent) are
//! *recorded*: they count, so that the account waits before it produces more, but recording them
//! never waits. Their number is bounded by the number of threads and tabs that produce them.

mod held;
mod kind;
mod state;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::oneshot;

use crate::{Cause, PageFailure};
pub use held::{Held, HeldBuffer};
pub use kind::MemoryKind;
use state::{Accounting, Grant, Partition, QueueKey};

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
    books: Mutex<Books>,
    accounts: Mutex<HashMap<String, Weak<Account>>>,
    n_pages: AtomicU64,
}

/// Who holds how much, and what for.
struct Books {
    state: Accounting<Waiter>,
    /// Bytes in use by kind, in the order of [`MemoryKind::ALL`].
    held: [u64; MemoryKind::ALL.len()],
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
    /// The claim that it takes from.
    claim: Weak<Claim>,
    kind: MemoryKind,
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
    /// [`Self::used`] by kind, in the order of [`MemoryKind::ALL`].
    held: [u64; MemoryKind::ALL.len()],
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

/// A call that waits for bytes: for which page, what for, and where its lease is sent.
struct Waiter {
    memory: Page,
    kind: MemoryKind,
    sender: oneshot::Sender<MemoryLease>,
}

/// A waiter in the queue, removed on drop.
struct QueuedRequest<'a> {
    memory: &'a Page,
    key: QueueKey,
    granted: oneshot::Receiver<MemoryLease>,
}

impl MemoryUse {
    /// Bytes in use by kind; their sum is [`Self::used`].
    pub fn held(&self) -> impl Iterator<Item = (MemoryKind, u64)> {
        MemoryKind::ALL.into_iter().zip(self.held)
    }
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
            books: Mutex::new(Books {
                state: Accounting::new(Partition::of(capacity, PAGE_BYTES_MAX)),
                held: Default::default(),
            }),
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
            slot: self.books().state.open(),
        });
        accounts.insert(account.to_owned(), Arc::downgrade(&new));
        MemoryShare(new)
    }

    /// How much is in use.
    pub fn in_use(&self) -> MemoryUse {
        let Books { state, held } = &*self.books();
        MemoryUse {
            capacity: self.capacity,
            used: state.used(),
            n_waiting: state.n_waiting(),
            held: *held,
        }
    }

    /// Grants bytes to waiting calls while there is room. The lock is not held while a lease is
    /// sent: one whose receiver is gone is given back when it is dropped.
    fn serve_waiting(&self) {
        loop {
            let Some((waiter, grant)) = self.books().next() else {
                return;
            };
            let Waiter {
                memory,
                kind,
                sender,
            } = waiter;
            let _cancelled = sender.send(MemoryLease {
                memory,
                // What it covers becomes a part of the lease that waits.
                claim: Weak::new(),
                kind,
                grant,
            });
        }
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Books {
    /// Notes a grant.
    fn granted(&mut self, kind: MemoryKind, grant: Grant) {
        self.held[kind as usize] += grant.bytes();
    }

    /// The next waiter that can be served, with its grant.
    fn next(&mut self) -> Option<(Waiter, Grant)> {
        let (waiter, grant) = self.state.next()?;
        self.granted(waiter.kind, grant);
        Some((waiter, grant))
    }
}

impl Grant {
    fn bytes(self) -> u64 {
        self.regular + self.drawn
    }
}

impl MemoryShare {
    /// Name of the account; empty for the server's own share.
    pub fn account(&self) -> &str {
        &self.0.name
    }

    /// The claim of a page that begins, or of a request body, an entry or a batch that is read:
    /// whatever is held and may wait for more on its own.
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
        self.budget.books().state.close(self.slot);
    }
}

impl PageMemory {
    /// Name of the account; empty for the server's own share.
    pub fn account(&self) -> &str {
        self.0.0.share.account()
    }

    /// An empty lease for a body of this page.
    pub fn lease(&self) -> MemoryLease {
        self.lease_for(MemoryKind::PageBodies)
    }

    /// An empty lease for something else.
    pub fn lease_for(&self, kind: MemoryKind) -> MemoryLease {
        MemoryLease {
            memory: self.0.0.clone(),
            claim: Arc::downgrade(&self.0),
            kind,
            grant: Grant::default(),
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.0.finish();
    }
}

impl Page {
    fn budget(&self) -> &MemoryBudget {
        &self.share.0.budget
    }

    fn slot(&self) -> usize {
        self.share.0.slot
    }

    /// Records that the page takes no more bytes.
    fn finish(&self) {
        let budget = self.budget();
        let is_demoted = budget.books().state.finish(self.page);
        if is_demoted {
            budget.serve_waiting();
        }
    }
}

impl MemoryLease {
    /// Bytes that the lease covers.
    pub fn bytes(&self) -> u64 {
        self.grant.bytes()
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
                self.finish_after_claim();
                Ok(())
            }
            _ => Err(MemoryError::Waited(wait_max)),
        }
    }

    /// Makes the lease cover this many bytes, which exist already: it never waits.
    pub fn record(&mut self, bytes: usize) {
        let more = steps(bytes).saturating_sub(self.bytes());
        if more == 0 {
            return self.shrink_to(bytes);
        }
        let grant = Grant {
            regular: more,
            drawn: 0,
        };
        let mut books = self.memory.budget().books();
        books.state.force(self.memory.slot(), more);
        books.granted(self.kind, grant);
        drop(books);
        self.absorb(grant);
    }

    /// [`Self::record`], if that is more than the lease covers: it never gives anything back.
    pub fn record_at_least(&mut self, bytes: usize) {
        if bytes as u64 > self.bytes() {
            self.record(bytes);
        }
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
        let mut books = budget.books();
        let (slot, page) = (self.memory.slot(), self.memory.page);
        books.state.release(slot, page, back);
        books.held[self.kind as usize] -= back.bytes();
        let has_waiting = books.state.n_waiting() > 0;
        drop(books);
        if has_waiting {
            budget.serve_waiting();
        }
    }

    /// Takes the bytes now, or queues for them.
    fn ask(&mut self, more: u64) -> Option<QueuedRequest<'_>> {
        let (slot, page) = (self.memory.slot(), self.memory.page);
        let mut books = self.memory.budget().books();
        let key = match books.state.ask(slot, page, more) {
            Ok(grant) => {
                books.granted(self.kind, grant);
                drop(books);
                self.absorb(grant);
                self.finish_after_claim();
                return None;
            }
            Err(key) => key,
        };
        let (sender, granted) = oneshot::channel();
        let waiter = Waiter {
            memory: self.memory.clone(),
            kind: self.kind,
            sender,
        };
        books.state.wait(slot, key, more, waiter);
        drop(books);
        Some(QueuedRequest {
            memory: &self.memory,
            key,
            granted,
        })
    }

    /// A lease may take bytes after its claim has ended. Then nothing else ends its page, which
    /// would keep the place of a privileged one for as long as the lease is held.
    fn finish_after_claim(&self) {
        if self.grant.drawn > 0 && self.claim.strong_count() == 0 {
            self.memory.finish();
        }
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

impl Drop for QueuedRequest<'_> {
    fn drop(&mut self) {
        let (budget, slot) = (self.memory.budget(), self.memory.slot());
        let left = budget.books().state.leave(slot, self.key);
        if left.is_some() {
            // Calls behind it in the queue may be served now.
            budget.serve_waiting();
        }
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
