//! Waiting for money that pages in flight hold.

use std::time::Duration;

use tokio::time::Instant;

use crate::allotment::Allotment;
use crate::funds::{Cap, FundsError};
use crate::key_wallet::KeyWallet;
use crate::reserved_pages::Growing;
use crate::wallet::Wallet;

/// How long a page without money waits at most before it looks again, in case that money was
/// released between its look and its wait.
const RECHECK_INTERVAL: Duration = Duration::from_millis(250);

/// Resolves when money of the account, or of the run, is released after this call.
pub(crate) fn released<'a>(
    wallet: &'a Wallet,
    allotment: Option<&'a Allotment>,
) -> impl Future<Output = ()> + 'a {
    // Created here and not when the future is first polled, so that no release is missed.
    let of_run = allotment.map(Allotment::released);
    let of_account = wallet.released();
    async move {
        match of_run {
            Some(of_run) => tokio::select! {
                () = of_run => {}
                () = of_account => {}
            },
            None => of_account.await,
        }
    }
}

/// Resolves when money of the account, or of the run, is released, at the latest after
/// [`RECHECK_INTERVAL`]. Until then runs return what none of their pages needs.
pub(crate) async fn released_soon(wallet: &Wallet, allotment: Option<&Allotment>) {
    let released = released(wallet, allotment);
    let _waiting = wallet.wait();
    let _elapsed = tokio::time::timeout(RECHECK_INTERVAL, released).await;
}

/// Waits for a release; looks again after [`RECHECK_INTERVAL`] without one. `false` if the deadline
/// has passed.
async fn wait_for(released: impl Future<Output = ()>, deadline: Instant) -> bool {
    let now = Instant::now();
    if now >= deadline {
        return false;
    }
    let until = deadline.min(now + RECHECK_INTERVAL);
    let _elapsed = tokio::time::timeout_at(until, released).await;
    true
}

/// As [`wait_for`] for a page of this run, if it is of one: `false`, too, once no page of the run
/// waits any more.
pub(crate) async fn wait_in_run(
    allotment: Option<&Allotment>,
    released: impl Future<Output = ()>,
    deadline: Instant,
) -> bool {
    let Some(allotment) = allotment else {
        return wait_for(released, deadline).await;
    };
    tokio::select! {
        biased;
        () = allotment.waits_end.cancelled() => false,
        is_released = wait_for(released, deadline) => is_released,
    }
}

/// Reserves by this function; waits until `deadline` while pages in flight hold what is missing.
///
/// # Errors
/// [`FundsError::AllHeld`] if they still do then, or the function's error.
pub(crate) async fn when_available<T>(
    wallet: &Wallet,
    allotment: Option<&Allotment>,
    deadline: Instant,
    reserve: impl Fn() -> Result<T, FundsError>,
) -> Result<T, FundsError> {
    let mut waiting = None;
    loop {
        // Created before the decision, so that no release in between is missed.
        let released = released(wallet, allotment);
        match reserve() {
            Err(FundsError::AllHeld) => {}
            decided => return decided,
        }
        if waiting.is_none() {
            // Retries once runs know that they must return unused money.
            waiting = Some(wallet.wait());
            continue;
        }
        if !wait_in_run(allotment, released, deadline).await {
            return Err(FundsError::AllHeld);
        }
    }
}

/// A page that waits for more because of this cap, among those of its run, of its key and of its
/// account.
pub(crate) struct Growth<'a> {
    cap: Cap,
    of_run: Option<Growing<'a>>,
    of_key: Growing<'a>,
    of_account: Growing<'a>,
}

impl<'a> Growth<'a> {
    /// The page begins to wait. New pages that would need the same money wait too.
    pub(crate) fn new(
        cap: Cap,
        allotment: Option<&'a Allotment>,
        key: &'a KeyWallet,
        wallet: &'a Wallet,
    ) -> Self {
        let (is_of_run, is_of_key) = (cap == Cap::Run, matches!(cap, Cap::Key(_)));
        Self {
            cap,
            of_run: allotment.map(|one| one.reserved_pages.grow(is_of_run)),
            of_key: key.reserved_pages.grow(is_of_key),
            of_account: wallet.reserved_pages.grow(!is_of_run && !is_of_key),
        }
    }

    /// Whether the page waits because of this cap.
    pub(crate) fn is_of(&self, cap: Cap) -> bool {
        self.cap == cap
    }

    /// The page if it may continue to wait: another one, which has a part of the missing money,
    /// does not wait. Else it stops waiting.
    pub(crate) fn may_wait(self) -> Option<Self> {
        let Self {
            cap,
            mut of_run,
            mut of_key,
            mut of_account,
        } = self;
        match cap {
            Cap::Run => of_run = Some(of_run.and_then(Growing::may_wait)?),
            Cap::Key(_) => of_key = of_key.may_wait()?,
            Cap::Balance | Cap::Page => of_account = of_account.may_wait()?,
        }
        Some(Self {
            cap,
            of_run,
            of_key,
            of_account,
        })
    }
}
