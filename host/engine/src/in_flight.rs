//! Pages in flight: how many there are at once, shared fairly among accounts. A page is admitted
//! before it reserves money, waits for its host, dials or takes a tab, and counts until its charge
//! is durable, so none of these is ever full because of one account. Decision D294.

use std::sync::Arc;
use std::time::Duration;

use trawl_model::fair::{FairPermit, FairSemaphore, PermitUse};
use trawl_model::{Cause, PageFailure};

/// Pages in flight at once: a quarter of the reservations that may be open, some of which are only
/// waiting for the ledger. A page that waits for its site holds some 50 KiB.
pub const PAGES_IN_FLIGHT_MAX: usize = 4_096;

/// The pages in flight. One for the whole server.
#[derive(Clone, Debug)]
pub struct PagesInFlight(Arc<FairSemaphore>);

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
        Self(FairSemaphore::sharing(pages_max.max(1)))
    }

    /// Admits a page of this account; waits at most this long.
    ///
    /// # Errors
    /// The page's failure: its account has as many pages in flight as it may have.
    pub async fn admit(&self, account: &str, wait_max: Duration) -> Result<InFlight, PageFailure> {
        match tokio::time::timeout(wait_max, self.0.acquire(account)).await {
            Ok(permit) => Ok(InFlight {
                _permit: Arc::new(permit),
            }),
            Err(_elapsed) => Err(PageFailure::new(
                Cause::Timeout,
                format!(
                    "the page waited {} s to be fetched: the account has too many pages in flight; ask for fewer at once",
                    wait_max.as_secs_f64()
                ),
            )),
        }
    }

    /// How many pages are in flight, and how many wait.
    pub fn usage(&self) -> PermitUse {
        self.0.usage()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    const SOON: Duration = Duration::from_millis(20);

    #[tokio::test]
    async fn an_account_with_all_its_pages_in_flight_keeps_no_other_waiting() {
        let pages = PagesInFlight::default();
        let mut hanging = Vec::new();
        while let Some(page) = pages.admit("greedy", SOON).now_or_never() {
            hanging.push(page.expect("admitted"));
        }
        assert!(hanging.len() > PAGES_IN_FLIGHT_MAX / 2);
        let failure = pages.admit("greedy", SOON).await.expect_err("none is left");
        assert_eq!(failure.cause, Cause::Timeout);
        assert!(failure.message.contains("too many pages"), "{failure}");
        for _ in 0..100 {
            let page = pages.admit("other", SOON).now_or_never();
            hanging.push(page.expect("at once").expect("admitted"));
        }
        assert_eq!(pages.usage().n_used, hanging.len());
        drop(hanging);
        assert_eq!(pages.usage().n_used, 0);
    }
}
