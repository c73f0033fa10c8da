//! Forwards balance events from billing, which detects them, to the webhooks, which deliver them.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use url::Url;

use trawl_billing::{Billing, Crossing, Threshold};
use trawl_crawl::webhooks::{Event, EventKind, Webhooks};
use trawl_plan::address::Receiver;

/// How often an event is retried when the store fails. If all attempts fail, it is sent after the
/// next start.
const ATTEMPTS_MAX: u32 = 10;
const RETRY_PAUSE: Duration = Duration::from_millis(500);

/// Forwards every crossing until `closed`, including those that happened before it.
pub(super) async fn forward(billing: Billing, webhooks: Arc<Webhooks>, closed: CancellationToken) {
    let Some(mut crossings) = billing.crossings() else {
        return;
    };
    while let Some(Some(crossing)) = closed.run_until_cancelled(crossings.recv()).await {
        forward_one(&billing, &webhooks, &crossing).await;
    }
    while let Ok(crossing) = crossings.try_recv() {
        forward_one(&billing, &webhooks, &crossing).await;
    }
}

/// Stores the event before it marks the crossing as reported: after a crash between the two steps
/// the event is stored twice under the same id rather than lost.
async fn forward_one(billing: &Billing, webhooks: &Webhooks, crossing: &Crossing) {
    let forward = async || -> anyhow::Result<()> {
        webhooks.push(event(crossing).into_iter().collect()).await?;
        Ok(billing.record_notice(crossing).await?)
    };
    for _ in 0..ATTEMPTS_MAX {
        match forward().await {
            Ok(()) => return,
            Err(error) => {
                let account = &crossing.account;
                tracing::error!(account = %account, error = %error, "cannot store a balance event");
            }
        }
        tokio::time::sleep(RETRY_PAUSE).await;
    }
}

/// The webhook event of a crossing; `None` if the balance rose above the threshold.
fn event(crossing: &Crossing) -> Option<Event> {
    let kind = match crossing.threshold {
        Threshold::Low => EventKind::LowBalance,
        Threshold::Empty => EventKind::EmptyBalance,
    };
    // It was validated when it was set.
    let destination = Receiver::from(Url::parse(&crossing.destination).ok()?);
    let (account, left) = (&crossing.account, crossing.left);
    let event = || Event::balance(kind, account, &destination, crossing.number, left);
    crossing.is_below.then(event)
}
