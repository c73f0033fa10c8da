//! Waiting for money that pages in flight hold.

use tokio::time::Instant;

use crate::RECHECK_INTERVAL;
use crate::allotment::Allotment;
use crate::funds::FundsError;
use crate::wallet::Wallet;

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
pub(crate) async fn wait_for(released: impl Future<Output = ()>, deadline: Instant) -> bool {
    let now = Instant::now();
    if now >= deadline {
        return false;
    }
    let until = deadline.min(now + RECHECK_INTERVAL);
    let _elapsed = tokio::time::timeout_at(until, released).await;
    true
}

/// Reserves by this function; waits until `deadline` while pages in flight hold what is missing.
///
/// # Errors
/// [`FundsError::AllHeld`] if they still do then, or that of the function.
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
        if !wait_for(released, deadline).await {
            return Err(FundsError::AllHeld);
        }
    }
}
