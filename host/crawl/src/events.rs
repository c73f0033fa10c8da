//! What a crawl tells its webhook.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use serde_json::Value;

use super::job::Job;
use crate::webhooks::{Event, EventKind, FoundPage, Webhooks};
use trawl_billing::Billing;
use trawl_engine::page::PageOutcome;
use trawl_model::{Nanodollars, Terms};
use trawl_plan::crawl::WebhookPlan;

/// The teller of one crawl.
pub(super) struct Events {
    webhooks: Arc<Webhooks>,
    plan: WebhookPlan,
    job: Arc<Job>,
    billing: Billing,
    begun: Instant,
    /// What the account had when the crawl began.
    balance: Nanodollars,
    told_half: AtomicBool,
    told_all: AtomicBool,
}

impl Events {
    pub(super) fn new(
        webhooks: Arc<Webhooks>,
        plan: WebhookPlan,
        job: Arc<Job>,
        billing: Billing,
    ) -> Self {
        Self {
            balance: billing.balance(&job.account),
            webhooks,
            plan,
            job,
            billing,
            begun: Instant::now(),
            told_half: AtomicBool::new(false),
            told_all: AtomicBool::new(false),
        }
    }

    /// The events of a page that is ready to be delivered; `entry` is its JSON. They are pushed before the page is written
    /// down, so that a crash between the two tells it twice rather than never.
    pub(super) fn page(
        &self,
        n: u32,
        outcome: &PageOutcome,
        headers: &[(String, String)],
        entry: &[u8],
    ) -> Vec<Event> {
        let (account, hook) = (&self.job.account, &self.plan.destination);
        let page = FoundPage {
            crawl_id: &self.job.id,
            n: u64::from(n),
            url: &outcome.url,
            status: outcome.status,
        };
        let mut events = Vec::new();
        if self.plan.on_find {
            let entry: Value = serde_json::from_slice(entry).unwrap_or_default();
            let content = match entry {
                Value::Object(mut entry) => entry.remove("content").unwrap_or_default(),
                _ => Value::Null,
            };
            events.push(Event::find(account, hook, page, content));
        }
        if self.plan.on_find_metadata {
            events.push(Event::find_metadata(account, hook, page, headers));
        }
        events.extend(self.credits());
        events
    }

    /// Keeps events for delivery.
    pub(super) async fn push(&self, events: Vec<Event>) -> Result<(), trawl_store::StoreError> {
        self.webhooks.push(events).await
    }

    /// Tells that the crawl has ended for good.
    pub(super) async fn ended(&self, seed: &str) {
        let mut events: Vec<Event> = self.credits().collect();
        if self.plan.on_website_status {
            let millis = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
            events.push(Event::website_status(
                &self.job.account,
                &self.plan.destination,
                &self.job.id,
                seed,
                self.job.tally().n_pages,
                millis,
            ));
        }
        if let Err(error) = self.push(events).await {
            tracing::error!(crawl = self.job.id, error = %error, "the events of a crawl's end could not be kept");
        }
    }

    /// What is to be told of the account's money now, once each.
    fn credits(&self) -> impl Iterator<Item = Event> + use<> {
        let left = self.billing.balance(&self.job.account);
        // Less than a credit buys nothing that a caller would notice.
        let is_empty = left.whole_credits() <= 0;
        let is_half = left.0 <= self.balance.0 / 2;
        // Under the Unlimited plan a crawl uses no credits.
        let spends = self.job.terms == Terms::PayAsYouGo;
        let tell = |is_wanted: bool, is_so: bool, told: &AtomicBool, kind| {
            let is_due = spends && is_wanted && is_so && !told.swap(true, Ordering::Relaxed);
            is_due.then(|| {
                Event::credits(
                    kind,
                    &self.job.account,
                    &self.plan.destination,
                    &self.job.id,
                    left,
                )
            })
        };
        let plan = &self.plan;
        let half = tell(
            plan.on_credits_half_depleted,
            is_half,
            &self.told_half,
            EventKind::CreditsHalfDepleted,
        );
        let all = tell(
            plan.on_credits_depleted,
            is_empty,
            &self.told_all,
            EventKind::CreditsDepleted,
        );
        half.into_iter().chain(all)
    }
}
