//! Tells of balances that run low: from billing, which sees it, to the webhooks, which deliver it.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use url::Url;

use trawl_billing::{Billing, Crossing, Threshold};
use trawl_crawl::webhooks::{Event, EventKind, Webhooks};

/// Times that a crossing is tried to be kept when the store fails, and the pause before the next. It is told at the next start then.
const TRIES: u32 = 10;
const RETRY_PAUSE: Duration = Duration::from_millis(500);

/// Tells every crossing until `closed`, those included that happened before it.
pub(super) async fn tell(billing: Billing, webhooks: Arc<Webhooks>, closed: CancellationToken) {
    let Some(mut crossings) = billing.crossings() else {
        return;
    };
    while let Some(Some(crossing)) = closed.run_until_cancelled(crossings.recv()).await {
        tell_one(&billing, &webhooks, &crossing).await;
    }
    while let Ok(crossing) = crossings.try_recv() {
        tell_one(&billing, &webhooks, &crossing).await;
    }
}

/// The event is kept before it is noted as told, so that a crash between the two keeps it twice under one id rather than never.
async fn tell_one(billing: &Billing, webhooks: &Webhooks, crossing: &Crossing) {
    let told = async || -> anyhow::Result<()> {
        webhooks.push(event(crossing).into_iter().collect()).await?;
        Ok(billing.note_told(crossing).await?)
    };
    for _ in 0..TRIES {
        match told().await {
            Ok(()) => return,
            Err(error) => {
                let account = &crossing.account;
                tracing::error!(account = %account, error = %error, "a balance that runs low could not be told");
            }
        }
        tokio::time::sleep(RETRY_PAUSE).await;
    }
}

/// What is told; a balance that is above again is only noted.
fn event(crossing: &Crossing) -> Option<Event> {
    let kind = match crossing.threshold {
        Threshold::Low => EventKind::LowBalance,
        Threshold::Empty => EventKind::EmptyBalance,
    };
    // It was an address when it was set.
    let destination = Url::parse(&crossing.destination).ok()?;
    let (account, left) = (&crossing.account, crossing.left);
    let event = || Event::balance(kind, account, &destination, crossing.number, left);
    crossing.is_below.then(event)
}
