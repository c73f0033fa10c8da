//! A page's turn at its host, with the money for it.

use std::pin::pin;
use std::sync::Arc;
use std::time::Instant;

use futures_util::future::poll_immediate;
use tokio::time::timeout_at;

use trawl_model::{Nanodollars, PageFailure};
use trawl_net::politeness::{Permit, Politeness, RequestPace, Turn};

use crate::page_budget::{Loader, PageBudget, ReserveError};

/// Why a page has no permit.
#[derive(Debug)]
pub(super) enum NoPermit {
    /// The page cannot be paid, or not in time.
    Unpaid(PageFailure),
    /// The host could not be contacted in time.
    TimedOut,
}

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
/// for its host holds no money, and one that waits for money keeps no other page from the host.
///
/// # Errors
/// [`NoPermit`], at the latest at `deadline`.
pub(super) async fn paid_permit(
    politeness: &Arc<Politeness>,
    turn: PageTurn<'_>,
    deadline: Instant,
) -> Result<Permit, NoPermit> {
    let page_budget = turn.page_budget;
    let permit = async {
        loop {
            let permit = host_permit(politeness, turn).await;
            match page_budget
                .reserve_initial(turn.loader, turn.pool_price)
                .await
            {
                Ok(()) => return Ok(permit),
                Err(ReserveError::Refused(failure)) => return Err(NoPermit::Unpaid(failure)),
                Err(ReserveError::Wait) => permit.release_unused(),
            }
            page_budget.released().await;
        }
    };
    match timeout_at(deadline.into(), permit).await {
        Ok(permit) => permit,
        Err(_elapsed) => Err(match page_budget.funds_timeout().await {
            Some(failure) => NoPermit::Unpaid(failure),
            None => NoPermit::TimedOut,
        }),
    }
}

/// The turn of a page that a provider is to fetch; `None` at once without a delay. A page that
/// waits for it holds no money.
pub(super) async fn provider_turn(
    politeness: &Arc<Politeness>,
    host: &str,
    pace: RequestPace,
    page_budget: &PageBudget<'_>,
) -> Option<Turn> {
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
