//! The five deprecated pipelines: what they do beside crawling. The crawl itself, its money and its pages are the crawl room's.
//!
//! An analyst looks at each page while it is made (`page`); what it found stands in the page's entry. Here findings of a whole crawl
//! are gathered and joined by the same analyst, and contacts are stored. `addresses` finds the seeds that a text names.

mod contacts;
mod findings;

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::{Crawls, Ending};
use trawl_engine::extract::Analysis;
use trawl_engine::page::PageEngine;
use trawl_model::Charge;
use trawl_model::clock::Clock;
use trawl_plan::{AnalystChoice, Pipeline};
use trawl_plugins::{Finding, Registry};
use trawl_store::{AccountId, Contact, PageRange, Rows, Store, StoreError};

pub use contacts::domain_of;
pub use findings::{FINDINGS_BYTES_MAX, Gathered, ModelUse};

/// How long findings may take to be joined.
const JOIN_TIME_MAX: Duration = Duration::from_secs(60);

/// What findings are joined with and kept in. Clones share it.
#[derive(Clone)]
pub struct Pipelines {
    rooms: Arc<PageEngine>,
    store: Arc<dyn Store>,
    clock: Clock,
}

impl Pipelines {
    /// On these rooms.
    pub fn new(rooms: Arc<PageEngine>, store: Arc<dyn Store>, clock: Clock) -> Self {
        Self {
            rooms,
            store,
            clock,
        }
    }

    /// Joins what an analyst found on the pages of a crawl. No model is asked: what it said is in the findings.
    ///
    /// # Errors
    /// A sentence for the caller: the analyst failed.
    pub async fn join(
        &self,
        registry: Arc<Registry>,
        choice: &AnalystChoice,
        gathered: &mut Gathered,
    ) -> Result<Value, String> {
        self.join_findings(registry, choice, gathered.take()).await
    }

    async fn join_findings(
        &self,
        registry: Arc<Registry>,
        choice: &AnalystChoice,
        findings: Vec<Finding>,
    ) -> Result<Value, String> {
        let choice = AnalystChoice {
            model: None,
            ..choice.clone()
        };
        let deadline = Instant::now() + JOIN_TIME_MAX;
        let joining = self
            .rooms
            .workers
            .join(registry, choice, findings, deadline);
        match joining.await.0 {
            Ok(Analysis::Done(value)) => Ok(value),
            // Without a model a question is refused by the plugins room.
            Ok(Analysis::Asks(_)) => Err("the analyst asks although there is no model".to_owned()),
            Err(failure) => Err(failure.message),
        }
    }

    /// What a crawl was charged, by its parts.
    ///
    /// # Errors
    /// The store failed.
    pub async fn charge(&self, crawl: &str) -> Result<Charge, StoreError> {
        self.store.run_charge(crawl).await
    }

    /// Part of an account's contacts, those of one domain alone when it is named; the last found first.
    ///
    /// # Errors
    /// The store failed.
    pub async fn contacts(
        &self,
        account: &AccountId,
        domain: Option<&str>,
        cut: PageRange,
    ) -> Result<Rows<Contact>, StoreError> {
        self.store.contacts(account, domain, cut).await
    }

    /// Stores the contacts of a crawl that is at its end, if it looked for any. Failures are in the log: the caller has the contacts in
    /// the entries.
    pub async fn at_end(&self, crawls: Crawls, ending: Ending) {
        if Pipeline::named(&ending.verb) != Some(Pipeline::ExtractContacts) {
            return;
        }
        let Some(choice) = ending.plan.seed.output.analyst.clone() else {
            return;
        };
        if let Err(reason) = self.store_contacts(&crawls, &ending, &choice).await {
            tracing::error!(
                crawl = ending.id,
                reason,
                "the contacts of a crawl could not be stored"
            );
        }
    }

    async fn store_contacts(
        &self,
        crawls: &Crawls,
        ending: &Ending,
        choice: &AnalystChoice,
    ) -> Result<(), String> {
        let mut gathered = Gathered::of_crawl(crawls, &ending.account, &ending.id)
            .await
            .map_err(|error| error.to_string())?;
        if gathered.is_empty() {
            return Ok(());
        }
        if gathered.n_left_out > 0 {
            let n_left_out = gathered.n_left_out;
            tracing::warn!(
                crawl = ending.id,
                n_left_out,
                "pages of a crawl found more contacts than are stored at once"
            );
        }
        // The store merges them.
        let (now, mut n_left_out, mut failure) = (self.clock.now(), 0, None);
        for part in gathered.take_parts() {
            let registry = Arc::clone(&ending.registry);
            let joined = match self.join_findings(registry, choice, part).await {
                Ok(joined) => joined,
                // The others may be good.
                Err(reason) => {
                    failure = Some(reason);
                    continue;
                }
            };
            let found = contacts::read(&joined, now);
            let left_out = self.store.save_contacts(&ending.account, &found).await;
            n_left_out += left_out.map_err(|error| error.to_string())?;
        }
        if let Some(reason) = failure {
            return Err(reason);
        }
        match n_left_out {
            0 => Ok(()),
            n => Err(format!(
                "{n} were left out, the account has as many as it may"
            )),
        }
    }
}
