//! The events of a crawl for its webhook.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use serde_json::Value;

use trawl_billing::Billing;
use trawl_model::outcome::PageOutcome;
use trawl_model::{Nanodollars, RequestTrace, StopReason, Terms};
use trawl_plan::crawl::WebhookPlan;

use super::job::Job;
use super::webhooks::{EndedCrawl, Event, EventKind, FoundPage, Webhooks};

/// Builds the events of one crawl.
pub(super) struct Events {
    webhooks: Arc<Webhooks>,
    plan: WebhookPlan,
    job: Arc<Job>,
    billing: Billing,
    started: Instant,
    /// The balance of the account when the crawl started. Like every balance here it includes what
    /// is reserved: crawls reserve ahead, and a reservation spends nothing.
    balance: Nanodollars,
    half_sent: AtomicBool,
    all_sent: AtomicBool,
}

impl Events {
    pub(super) fn new(
        webhooks: Arc<Webhooks>,
        plan: WebhookPlan,
        job: Arc<Job>,
        billing: Billing,
    ) -> Self {
        if let Some(trace) = job.trace.and_then(RequestTrace::for_webhooks) {
            webhooks.note_trace(&job.id, trace);
        }
        Self {
            balance: billing.funds(&job.account).balance,
            webhooks,
            plan,
            job,
            billing,
            started: Instant::now(),
            half_sent: AtomicBool::new(false),
            all_sent: AtomicBool::new(false),
        }
    }

    /// The events of a page that is ready to be delivered; `entry` is its JSON. They are stored
    /// before the page, so that a crash in between sends them twice rather than never.
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
            cause: outcome.error.as_ref().map(|failure| failure.cause),
            place: outcome.batch.as_ref(),
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

    /// Stores the events of the crawl's end.
    pub(super) async fn ended(&self, seed: &str, stop: StopReason) {
        let mut events: Vec<Event> = self.credits().collect();
        if self.plan.on_website_status {
            let millis = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
            let (account, hook) = (&self.job.account, &self.plan.destination);
            let crawl = EndedCrawl {
                id: &self.job.id,
                seed,
                stop,
                n_pages: self.job.progress().n_pages,
                duration_ms: millis,
            };
            events.push(Event::website_status(account, hook, crawl));
        }
        if let Err(error) = self.webhooks.push(events).await {
            tracing::error!(crawl = self.job.id, error = %error, "could not store the events of a crawl's end");
        }
    }

    /// The events about the account's balance that are due now, each at most once.
    fn credits(&self) -> impl Iterator<Item = Event> + use<> {
        let left = self.billing.funds(&self.job.account).balance;
        // Callers see whole credits, so less than one counts as none.
        let is_empty = left.whole_credits() <= 0;
        let is_half = left.0 <= self.balance.0 / 2;
        // Under the Unlimited plan a crawl uses no credits.
        let spends = self.job.terms == Terms::PayAsYouGo;
        let due = |is_enabled: bool, is_reached: bool, sent: &AtomicBool, kind| {
            let is_due = spends && is_enabled && is_reached && !sent.swap(true, Ordering::Relaxed);
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
        let half = due(
            plan.on_credits_half_depleted,
            is_half,
            &self.half_sent,
            EventKind::CreditsHalfDepleted,
        );
        let all = due(
            plan.on_credits_depleted,
            is_empty,
            &self.all_sent,
            EventKind::CreditsDepleted,
        );
        half.into_iter().chain(all)
    }
}
