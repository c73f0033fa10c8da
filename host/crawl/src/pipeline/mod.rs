//! The five deprecated pipelines: what they do on top of a crawl.
//!
//! An analyst reads each page while it is extracted, and its finding is part of the page's entry.
//! Here the findings of a whole crawl are gathered and joined by the same analyst, and contacts are
//! stored.

mod contacts;
mod findings;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;

use trawl_engine::extract::Analysis;
use trawl_engine::page::PageEngine;
use trawl_model::clock::Clock;
use trawl_plan::crawl::CrawlPlan;
use trawl_plan::{AnalystChoice, Pipeline};
use trawl_plugins::{Finding, Registry};
use trawl_store::{
    AccountId, Contact, ContactStore, CrawlStore, PageRange, Rows, Storage, StoreError,
};

pub use contacts::domain_of;
pub use findings::{FINDINGS_BYTES_MAX, Gathered, ModelUse};

/// How long a join of findings may take.
const JOIN_TIME_MAX: Duration = Duration::from_secs(60);

/// Joins findings and stores contacts. Clones share the engine and the store.
#[derive(Clone)]
pub struct Pipelines {
    engine: Arc<PageEngine>,
    store: Arc<dyn ContactStore>,
    clock: Clock,
}

/// A crawl whose pages are all stored.
pub(crate) struct FinishedCrawl {
    /// Its id.
    pub(crate) id: String,
    /// Its account.
    pub(crate) account: AccountId,
    /// `crawl`, `links` or the name of a pipeline.
    pub(crate) verb: String,
    /// Its plan.
    pub(crate) plan: Arc<CrawlPlan>,
    /// The plugins that it ran with.
    pub(crate) registry: Arc<Registry>,
}

impl Pipelines {
    /// Pipelines on this engine and store.
    pub fn new(engine: Arc<PageEngine>, store: Arc<dyn ContactStore>, clock: Clock) -> Self {
        Self {
            engine,
            store,
            clock,
        }
    }

    /// Joins the findings on the pages of an account's crawl. Uses no model: its answers are part
    /// of the findings.
    ///
    /// # Errors
    /// A text for the caller: the analyst failed.
    pub async fn join(
        &self,
        account: &AccountId,
        registry: Arc<Registry>,
        choice: &AnalystChoice,
        gathered: &mut Gathered,
    ) -> Result<Value, String> {
        self.join_findings(account, registry, choice, gathered.take())
            .await
    }

    async fn join_findings(
        &self,
        account: &AccountId,
        registry: Arc<Registry>,
        choice: &AnalystChoice,
        findings: Vec<Finding>,
    ) -> Result<Value, String> {
        let choice = AnalystChoice {
            model: None,
            ..choice.clone()
        };
        let turn = (account.as_str(), Instant::now() + JOIN_TIME_MAX);
        let joining = self.engine.workers.join(registry, choice, findings, turn);
        match joining.await.0 {
            Ok(Analysis::Done(value)) => Ok(value),
            // The plugin host refuses questions when there is no model.
            Ok(Analysis::Ask(_)) => {
                Err("the analyst has questions for a model, but joins use none".to_owned())
            }
            Err(failure) => Err(failure.message),
        }
    }

    /// A range of an account's contacts, of one domain or of all; the most recent first.
    ///
    /// # Errors
    /// The store failed.
    pub async fn contacts(
        &self,
        account: &AccountId,
        domain: Option<&str>,
        range: PageRange,
    ) -> Result<Rows<Contact>, StoreError> {
        self.store.contacts(account, domain, range).await
    }

    /// Stores the contacts of a finished crawl if it extracted them and the account may store more.
    /// `pages` and `data` have the entries of the crawl. Failures are logged: the caller has the
    /// contacts in the entries.
    pub(crate) async fn at_end(
        &self,
        pages: &dyn CrawlStore,
        data: &Path,
        storage: &Storage,
        crawl: FinishedCrawl,
    ) {
        if Pipeline::named(&crawl.verb) != Some(Pipeline::ExtractContacts) {
            return;
        }
        let Some(choice) = crawl.plan.seed.output.analyst.clone() else {
            return;
        };
        if let Err(reason) = self
            .store_contacts(pages, data, storage, &crawl, &choice)
            .await
        {
            tracing::error!(
                crawl = crawl.id,
                reason,
                "could not store the contacts of a crawl"
            );
        }
    }

    async fn store_contacts(
        &self,
        pages: &dyn CrawlStore,
        data: &Path,
        storage: &Storage,
        crawl: &FinishedCrawl,
        choice: &AnalystChoice,
    ) -> Result<(), String> {
        let mut gathered = Gathered::of_crawl(pages, data, &crawl.id)
            .await
            .map_err(|error| error.to_string())?;
        if gathered.is_empty() {
            return Ok(());
        }
        if gathered.n_left_out > 0 {
            let n_left_out = gathered.n_left_out;
            tracing::warn!(
                crawl = crawl.id,
                n_left_out,
                "the findings of a crawl are too large, contacts of some pages are not stored"
            );
        }
        // The store merges the parts.
        let (now, mut n_left_out, mut failure) = (self.clock.now(), 0, None);
        for part in gathered.take_parts() {
            let registry = Arc::clone(&crawl.registry);
            let joined = self.join_findings(&crawl.account, registry, choice, part);
            let joined = match joined.await {
                Ok(joined) => joined,
                // The other parts may succeed.
                Err(reason) => {
                    failure = Some(reason);
                    continue;
                }
            };
            let found = contacts::read(&joined, now);
            let room = storage.admit(&crawl.account).await;
            room.map_err(|refusal| refusal.to_string())?;
            let left_out = self.store.save_contacts(&crawl.account, &found).await;
            n_left_out += left_out.map_err(|error| error.to_string())?;
        }
        if let Some(reason) = failure {
            return Err(reason);
        }
        match n_left_out {
            0 => Ok(()),
            n => Err(format!(
                "{n} contacts were not stored, the account has the maximum number"
            )),
        }
    }
}
