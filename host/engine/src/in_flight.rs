//! Pages in flight: how many there are at once, shared fairly among accounts. A page is admitted
//! before it reserves money, waits for its host, dials or takes a tab, and counts until its charge
//! is durable, so none of these is ever full because of one account. Decision D294.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use trawl_model::fair::{FairPermit, FairSemaphore, PermitUse};
use trawl_model::{Cause, PageFailure};

/// Pages in flight at once: a quarter of the reservations that may be open, some of which are only
/// waiting for the ledger. A page that waits for its site holds some 50 KiB.
pub const PAGES_IN_FLIGHT_MAX: usize = 4_096;

/// Pages of an account in flight from which on it gives way to others while the machine is busy:
/// more than one crawl has.
const CROWD: usize = 16;
/// How long a task may wait for its turn on an event loop that is not busy. An answer takes some
/// ten turns.
const TURN_TIME_MAX: Duration = Duration::from_millis(20);
/// How long a page gives way at most, once it is the next one.
const GIVE_WAY_MAX: Duration = Duration::from_secs(1);
/// Pages of a crowd that enter after one of them has found the event loops not busy, before another
/// one looks, and how long that finding counts. What they do at once takes less than a turn.
const CALM_PAGES: usize = 16;
const CALM_TIME: Duration = Duration::from_millis(5);

/// The pages in flight. One for the whole server.
#[derive(Clone, Debug)]
pub struct PagesInFlight {
    pages: Arc<FairSemaphore>,
    /// The pages of a crowd enter one by one; each account has an entry of its own.
    entry: Arc<FairSemaphore>,
    calm: Arc<Mutex<Calm>>,
}

/// What is left of the last finding that the event loops are not busy.
#[derive(Debug, Default)]
struct Calm {
    until: Option<Instant>,
    n_pages: usize,
}

/// A page in flight; it ends with the last clone.
#[derive(Clone, Debug)]
pub struct InFlight {
    _permit: Arc<FairPermit>,
}

impl Default for PagesInFlight {
    fn default() -> Self {
        Self::new(PAGES_IN_FLIGHT_MAX)
    }
}

impl PagesInFlight {
    /// At most so many; at least one.
    pub fn new(pages_max: usize) -> Self {
        Self {
            pages: FairSemaphore::sharing(pages_max.max(1)),
            entry: FairSemaphore::new(usize::MAX, 1),
            calm: Arc::default(),
        }
    }

    /// Admits a page of this account; waits at most this long.
    ///
    /// # Errors
    /// The page's failure: its account has as many pages in flight as it may have, or so many that
    /// it gives way to others while the machine is busy.
    pub async fn admit(&self, account: &str, wait_max: Duration) -> Result<InFlight, PageFailure> {
        let deadline = tokio::time::Instant::now() + wait_max;
        if self.pages.in_use(account) >= CROWD {
            let turn = async {
                let _entry = self.entry.acquire(account).await;
                if !self.is_calm() && give_way().await {
                    self.note_calm();
                }
            };
            let turn = tokio::time::timeout_at(deadline, turn).await;
            turn.map_err(|_elapsed| self.refusal(account, wait_max, true))?;
        }
        let permit = self.pages.acquire(account);
        let permit = tokio::time::timeout_at(deadline, permit).await;
        let permit = permit.map_err(|_elapsed| self.refusal(account, wait_max, false))?;
        Ok(InFlight {
            _permit: Arc::new(permit),
        })
    }

    /// Whether the event loops were not busy a moment ago, as one of few pages after that.
    fn is_calm(&self) -> bool {
        let mut calm = self.calm.lock().unwrap_or_else(PoisonError::into_inner);
        let is_known = calm.n_pages > 0 && calm.until.is_some_and(|until| until > Instant::now());
        calm.n_pages = calm.n_pages.saturating_sub(1);
        is_known
    }

    /// Notes that the event loops are not busy now.
    fn note_calm(&self) {
        let mut calm = self.calm.lock().unwrap_or_else(PoisonError::into_inner);
        *calm = Calm {
            until: Some(Instant::now() + CALM_TIME),
            n_pages: CALM_PAGES,
        };
    }

    /// Why a page was not admitted: it gave way to others, or there was no room for it.
    fn refusal(&self, account: &str, waited: Duration, gave_way: bool) -> PageFailure {
        let (n_own, n_max) = (self.pages.in_use(account), self.pages.n_permits());
        let reason = match n_own {
            _ if gave_way => format!(
                "the server is busy, and the account has {n_own} pages in flight, so pages of other accounts come first"
            ),
            0 => format!("the server has {n_max} pages in flight, as many as it may have"),
            _ => format!(
                "the account has {n_own} pages in flight, its share of the {n_max} of the server"
            ),
        };
        let waited = waited.as_secs_f64();
        PageFailure::new(
            Cause::Timeout,
            format!("the page waited {waited} s to be fetched: {reason}; ask for fewer at once"),
        )
    }

    /// How many pages are in flight, and how many wait.
    pub fn usage(&self) -> PermitUse {
        self.pages.usage()
    }
}

/// Waits while the event loops are behind with their tasks, so that tasks of other accounts do not
/// queue behind a crowd of one account's. Returns whether they are not busy any more.
async fn give_way() -> bool {
    let begun = Instant::now();
    loop {
        let asked = Instant::now();
        // Behind all tasks that are ready now.
        tokio::task::yield_now().await;
        let waited = asked.elapsed();
        let is_calm = waited <= TURN_TIME_MAX;
        if is_calm || begun.elapsed() >= GIVE_WAY_MAX {
            return is_calm;
        }
        tokio::time::sleep(waited.min(GIVE_WAY_MAX)).await;
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    const SOON: Duration = Duration::from_millis(200);

    #[tokio::test]
    async fn a_crowd_gives_way_while_the_loop_is_busy_and_a_few_pages_do_not() {
        let pages = PagesInFlight::default();
        let busy = tokio::spawn(async {
            for _ in 0..40 {
                std::thread::sleep(2 * TURN_TIME_MAX);
                tokio::task::yield_now().await;
            }
        });
        let mut admitted = Vec::new();
        for _ in 0..CROWD {
            let page = pages.admit("greedy", GIVE_WAY_MAX).now_or_never();
            admitted.push(page.expect("at once").expect("admitted"));
        }
        let begun = Instant::now();
        let one_more = pages.admit("greedy", 2 * GIVE_WAY_MAX).await;
        assert!(begun.elapsed() > 2 * TURN_TIME_MAX, "{:?}", begun.elapsed());
        one_more.expect("admitted in the end");
        let other = pages.admit("other", GIVE_WAY_MAX).now_or_never();
        other.expect("at once").expect("admitted");
        busy.abort();
    }

    #[test]
    fn one_page_of_a_crowd_looks_for_a_few() {
        let pages = PagesInFlight::default();
        let note_calm = |until: Instant| {
            pages.note_calm();
            pages.calm.lock().expect("no panic").until = Some(until);
        };
        assert!(!pages.is_calm(), "no page has looked yet");
        // Longer than in truth: the machine may be slow.
        note_calm(Instant::now() + 60 * GIVE_WAY_MAX);
        for _ in 0..CALM_PAGES {
            assert!(pages.is_calm());
        }
        assert!(!pages.is_calm(), "these were all");
        note_calm(Instant::now());
        assert!(!pages.is_calm(), "that was before");
    }

    #[tokio::test]
    async fn the_crowd_of_one_account_does_not_wait_for_that_of_another() {
        let pages = PagesInFlight::default();
        let mut admitted = Vec::new();
        for account in ["greedy", "other"] {
            for _ in 0..CROWD {
                let page = pages.admit(account, SOON).await;
                admitted.push(page.expect("admitted"));
            }
        }
        // A page of the one is giving way.
        let _entry = pages.entry.acquire("greedy").await;
        let other = pages.admit("other", GIVE_WAY_MAX).await;
        other.expect("it enters on its own");
        let failure = pages.admit("greedy", SOON).await.expect_err("one by one");
        assert!(failure.message.contains("the server is busy"), "{failure}");
    }

    #[tokio::test]
    async fn an_account_with_all_its_pages_in_flight_keeps_no_other_waiting() {
        let pages = PagesInFlight::default();
        let mut hanging = Vec::new();
        while let Ok(page) = pages.admit("greedy", SOON).await {
            hanging.push(page);
        }
        assert!(hanging.len() > PAGES_IN_FLIGHT_MAX / 2);
        let failure = pages.admit("greedy", SOON).await.expect_err("none is left");
        assert_eq!(failure.cause, Cause::Timeout);
        let expected = format!(
            "the account has {} pages in flight, its share",
            hanging.len()
        );
        assert!(failure.message.contains(&expected), "{failure}");
        for _ in 0..100 {
            let page = pages.admit("other", SOON).await;
            hanging.push(page.expect("admitted"));
        }
        assert_eq!(pages.usage().n_used, hanging.len());
        drop(hanging);
        assert_eq!(pages.usage().n_used, 0);
    }
}
