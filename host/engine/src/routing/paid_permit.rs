//! A page's turn at its host, with the money for it.

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::poll_immediate;
use tokio::time::timeout_at;

use trawl_model::Nanodollars;
use trawl_net::fetch::FetchError;
use trawl_net::politeness::{Permit, Politeness, ProviderTurn, RequestPace};

use super::clock::PageClock;
use crate::page_budget::{Loader, PageBudget, ReserveError};

/// What a page needs before it may contact its host.
#[derive(Clone, Copy)]
pub(super) struct PageTurn<'a> {
    /// The host.
    pub(super) host: &'a str,
    /// How fast it may be contacted.
    pub(super) pace: RequestPace,
    /// The money of the page.
    pub(super) page_budget: &'a PageBudget<'a>,
    /// What will load the page: its likely cost is reserved.
    pub(super) loader: Loader,
    /// What a gigabyte costs on top of the ordinary price.
    pub(super) pool_price: Nanodollars,
}

/// Waits until the host may be contacted and the page's likely cost is reserved. A page that waits
/// for its host holds no money, and one that waits for money keeps no other page from the host. The
/// wait is added to `clock`.
///
/// # Errors
/// The page cannot be paid, or its host could not be contacted in time.
pub(super) async fn paid_permit(
    politeness: &Arc<Politeness>,
    turn: PageTurn<'_>,
    clock: &mut PageClock,
) -> Result<Permit, FetchError> {
    let (page_budget, since) = (turn.page_budget, Instant::now());
    let permit = async {
        loop {
            let permit = host_permit(politeness, turn).await;
            match page_budget
                .reserve_initial(turn.loader, turn.pool_price)
                .await
            {
                Ok(()) => return Ok(permit),
                Err(ReserveError::Refused(failure)) => return Err(FetchError::Refused(failure)),
                Err(ReserveError::Wait) => permit.release_unused(),
            }
            page_budget.released().await;
        }
    };
    let permit = timeout_at(clock.latest().into(), permit).await;
    clock.add_wait_since(since);
    match permit {
        Ok(permit) => permit,
        Err(_elapsed) => Err(timed_out(page_budget, clock.time()).await),
    }
}

/// Why a page failed whose time ended: it waited for money, or it took longer than this.
pub(super) async fn timed_out(page_budget: &PageBudget<'_>, time: Duration) -> FetchError {
    match page_budget.funds_timeout().await {
        Some(failure) => FetchError::Refused(failure),
        None => FetchError::TimedOut(time),
    }
}

/// The turn of a page that a provider is to fetch; `None` at once without a delay. A page that
/// waits for it holds no money.
pub(super) async fn provider_turn(
    politeness: &Arc<Politeness>,
    host: &str,
    pace: RequestPace,
    page_budget: &PageBudget<'_>,
) -> Option<ProviderTurn> {
    let mut turn = pin!(politeness.turn_with(host, pace));
    if let Some(turn) = poll_immediate(turn.as_mut()).await {
        return turn;
    }
    page_budget.unreserve().await;
    turn.await
}

/// The page's turn at its host. If it does not come at once, the page gives back what it had
/// reserved for an earlier try.
async fn host_permit(politeness: &Arc<Politeness>, turn: PageTurn<'_>) -> Permit {
    let mut permit = pin!(politeness.permit_with(turn.host, turn.pace));
    if let Some(permit) = poll_immediate(permit.as_mut()).await {
        return permit;
    }
    turn.page_budget.unreserve().await;
    permit.await
}
