//! The five deprecated pipelines: what they do on top of a crawl.
//!
//! An analyst reads each page while it is extracted, and its finding is part of the page's entry.
//! Here the findings of a whole crawl are gathered and joined by the same analyst, and contacts are
//! stored.

mod contacts;
mod findings;

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;

use trawl_engine::extract::Analysis;
use trawl_engine::page::PageEngine;
use trawl_model::clock::Clock;
use trawl_model::{Cause, PageFailure};
use trawl_plan::crawl::CrawlPlan;
use trawl_plan::{AnalystChoice, Pipeline};
use trawl_plugins::{Finding, Registry};
use trawl_store::{
    AccountId, Contact, ContactStore, CrawlStore, PageLogs, PageRange, Rows, Storage, StoreError,
};
use trawl_wire::Omitted;

use crate::stored_pages::StoredPages;

pub use contacts::domain_of;
pub use findings::{FINDINGS_BYTES_MAX, FirstFailure, Gathered, ModelUse};

/// How long a join of findings may take.
const JOIN_TIME_MAX: Duration = Duration::from_secs(60);
/// Why contacts are not stored, for the status of their crawl.
const TOO_LARGE: &str = "the pages of a crawl have more than 8 MiB of contacts";
const ACCOUNT_FULL: &str = "the account has stored as many contacts as it may";
const INTERNAL_ERROR: &str = "internal error, see the server's log";

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
    /// The analyst failed.
    pub async fn join(
        &self,
        account: &AccountId,
        registry: Arc<Registry>,
        choice: &AnalystChoice,
        gathered: &mut Gathered,
    ) -> Result<Value, PageFailure> {
        self.join_findings(account, registry, choice, gathered.take())
            .await
    }

    async fn join_findings(
        &self,
        account: &AccountId,
        registry: Arc<Registry>,
        choice: &AnalystChoice,
        findings: Vec<Finding>,
    ) -> Result<Value, PageFailure> {
        let choice = AnalystChoice {
            model: None,
            ..choice.clone()
        };
        let turn = (account.as_str(), Instant::now() + JOIN_TIME_MAX);
        let joining = self.engine.workers.join(registry, choice, findings, turn);
        match joining.await.0 {
            Ok(Analysis::Done(value)) => Ok(value),
            // The plugin host refuses questions when there is no model.
            Ok(Analysis::Ask(_)) => Err(PageFailure::new(
                Cause::PluginFailed,
                "the analyst has questions for a model, but joins use none",
            )),
            Err(failure) => Err(failure),
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

    /// Stores the contacts of a finished crawl if it extracted them, and what could not be stored
    /// for its status. `pages` and `logs` have the entries of the crawl, and those have all
    /// contacts.
    pub(crate) async fn at_end(
        &self,
        pages: &Arc<dyn CrawlStore>,
        logs: &PageLogs,
        storage: &Storage,
        crawl: FinishedCrawl,
    ) {
        if Pipeline::named(&crawl.verb) != Some(Pipeline::ExtractContacts) {
            return;
        }
        let Some(choice) = crawl.plan.seed.output.analyst.clone() else {
            return;
        };
        let left_out = self
            .store_contacts(pages, logs, storage, &crawl, &choice)
            .await;
        if left_out.is_empty() {
            return;
        }
        tracing::warn!(
            crawl = crawl.id,
            n_pages = left_out.pages,
            n_contacts = left_out.contacts,
            reasons = left_out.reasons.join("; "),
            "contacts of a crawl are not stored"
        );
        if let Some(written) = left_out.written()
            && let Err(error) = pages.set_crawl_left_out(&crawl.id, &written).await
        {
            tracing::error!(crawl = crawl.id, error = %error, "could not store what a crawl left out");
        }
    }

    /// Stores the contacts of a crawl, and returns what is not stored.
    async fn store_contacts(
        &self,
        pages: &Arc<dyn CrawlStore>,
        logs: &PageLogs,
        storage: &Storage,
        crawl: &FinishedCrawl,
        choice: &AnalystChoice,
    ) -> Omitted {
        let mut left_out = Omitted::default();
        let share = self.engine.memory.share(crawl.account.as_str());
        let pages = StoredPages::new(Arc::clone(pages), logs, &crawl.id, share, 0);
        let mut gathered = match Gathered::of_crawl(pages).await {
            Ok(gathered) => gathered,
            Err(error) => {
                tracing::error!(crawl = crawl.id, error = %error, "could not read the pages of a crawl");
                left_out.add_reason(INTERNAL_ERROR);
                return left_out;
            }
        };
        left_out.add_pages(gathered.n_left_out, TOO_LARGE);
        let now = self.clock.now();
        // The store merges the parts. If one fails, the others may succeed.
        for part in gathered.take_parts() {
            let n_pages = part.len() as u64;
            let registry = Arc::clone(&crawl.registry);
            let joined = self.join_findings(&crawl.account, registry, choice, part);
            let joined = match joined.await {
                Ok(joined) => joined,
                Err(failure) => {
                    left_out.add_pages(n_pages, &failure.message);
                    continue;
                }
            };
            let found = contacts::read(&joined, now, &mut left_out);
            let n_found = found.len() as u64;
            if let Err(refusal) = storage.admit(&crawl.account).await {
                left_out.add_contacts(n_found, &refusal.to_string());
                continue;
            }
            match self.store.save_contacts(&crawl.account, &found).await {
                Ok(n_dropped) => left_out.add_contacts(n_dropped, ACCOUNT_FULL),
                Err(error) => {
                    tracing::error!(crawl = crawl.id, error = %error, "could not store contacts");
                    left_out.add_contacts(n_found, INTERNAL_ERROR);
                }
            }
        }
        left_out
    }
}
