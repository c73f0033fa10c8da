//! Starting the crawls of a request: all of them, or none.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::mpsc;

use trawl_billing::{AccountId, KeyPrefix, Payment, Slot, Spender};
use trawl_model::secret::Secret;
use trawl_model::{RequestTrace, Terms};
use trawl_plan::crawl::CrawlPlan;
use trawl_plugins::Registry;
use trawl_store::{CrawlCounts, CrawlRecord};
use trawl_wire::Omitted;

use super::job::{Job, first_state};
use super::limits::CrawlPlaces;
use super::planning::{PlanSource, Ready, Stored};
use super::queued::QueuedBytes;
use super::service::{CrawlError, Crawls};
use super::start::CrawlTask;

/// Entries that are buffered for a slow reader of a streaming crawl.
const BUFFERED_ENTRIES_MAX: usize = 16;

/// A crawl to start.
pub struct NewCrawl {
    /// The account that pays.
    pub account: AccountId,
    /// The key that the request was sent with; empty if there was none.
    pub key: KeyPrefix,
    /// What to crawl.
    pub plan: CrawlPlan,
    /// The request object without the caller's secrets, to continue the crawl after a restart.
    pub request: String,
    /// Whether the request needs the caller's secrets.
    pub needs_secrets: bool,
    /// The secrets of a background crawl, which wait with it in memory.
    pub secrets: Option<Secret>,
    /// `crawl`, `links`, `batch` or the name of a pipeline.
    pub verb: &'static str,
    /// What its pages cost and what they may use.
    pub terms: Terms,
    /// The slot under the Unlimited plan. A background crawl holds it until it ends.
    pub slot: Option<Arc<Slot>>,
    /// The plugins that the plan was made with. A background crawl is planned again at its turn,
    /// with those in effect then.
    pub registry: Arc<Registry>,
    /// Under which name its pages are charged, for a request that may be repeated; by default its
    /// id. A background crawl has it as its id, so that a repetition finds it.
    pub payment: Option<Payment>,
    /// The trace that its request is part of; in memory only.
    pub trace: Option<RequestTrace>,
}

/// A crawl that was started.
pub struct CrawlHandle {
    /// Its id.
    pub id: String,
    /// The name under which its pages are charged.
    pub paid_as: String,
    /// The stream of entries of a streaming crawl. Dropping it stops the crawl.
    pub entries: Option<mpsc::Receiver<Bytes>>,
}

/// What a crawl that may start takes of the limits of its account; given back on drop.
struct Admitted {
    /// Its place among the crawls of the account.
    places: CrawlPlaces,
    /// The bytes of a background crawl's request.
    queued: Option<QueuedBytes>,
}

impl Crawls {
    /// Starts the crawls of a request of one account, all of them or none. Those that an earlier
    /// try of the request has started continue, and take nothing of the limits again. If the caller
    /// hangs up meanwhile, every crawl that is stored runs.
    ///
    /// # Errors
    /// [`CrawlError::TooMany`], [`CrawlError::TooManyBytes`], [`CrawlError::Storage`] or
    /// [`CrawlError::WebhooksFull`] name the limit that is reached, [`CrawlError::Funds`] says that
    /// the account cannot pay; or the store failed. None was started then.
    pub async fn begin(&self, crawls: Vec<NewCrawl>) -> Result<Vec<CrawlHandle>, CrawlError> {
        let mut known = Vec::with_capacity(crawls.len());
        let mut fresh = Vec::with_capacity(crawls.len());
        for crawl in crawls {
            let handle = self.repeated(&crawl).await?;
            if handle.is_none() {
                fresh.push(crawl);
            }
            known.push(handle);
        }
        let mut begun = self.begin_fresh(fresh).await?.into_iter();
        let in_order = known
            .into_iter()
            .filter_map(|known| known.or_else(|| begun.next()));
        Ok(in_order.collect())
    }

    /// Whether an earlier try of a request has started all background crawls that are charged under
    /// these names.
    ///
    /// # Errors
    /// The store failed.
    pub async fn have_begun(
        &self,
        account: &AccountId,
        payments: &[Payment],
    ) -> Result<bool, CrawlError> {
        for payment in payments {
            if self.begun_before(account, payment).await?.is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The crawl that an earlier try of the same request has started.
    async fn repeated(&self, new: &NewCrawl) -> Result<Option<CrawlHandle>, CrawlError> {
        match &new.payment {
            Some(payment) if new.plan.in_background => {
                self.begun_before(&new.account, payment).await
            }
            _ => Ok(None),
        }
    }

    /// The background crawl of this name, if the request is a repeated one.
    async fn begun_before(
        &self,
        account: &AccountId,
        payment: &Payment,
    ) -> Result<Option<CrawlHandle>, CrawlError> {
        if !payment.is_repeated {
            return Ok(None);
        }
        let id = payment.name.to_string();
        match self.record(account, &id).await {
            Ok(_) => Ok(Some(CrawlHandle {
                paid_as: id.clone(),
                id,
                entries: None,
            })),
            Err(CrawlError::Unknown) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn begin_fresh(&self, crawls: Vec<NewCrawl>) -> Result<Vec<CrawlHandle>, CrawlError> {
        let Some(first) = crawls.first() else {
            return Ok(Vec::new());
        };
        let (account, terms) = (first.account.clone(), first.terms);
        let spender = Spender {
            account: &account,
            key: first.key,
        };
        let admitted = self.admit(&account, &crawls).await?;
        self.parts.billing.admit(spender, terms)?;
        let this = self.clone();
        let creating = async move { this.create(crawls, admitted).await };
        self.parts.billing.to_its_end(creating).await
    }

    /// Checks that an account may start these crawls, all of them or none, and takes their places,
    /// in the order of the crawls.
    async fn admit(
        &self,
        account: &AccountId,
        crawls: &[NewCrawl],
    ) -> Result<Vec<Admitted>, CrawlError> {
        self.parts.storage.admit(account).await?;
        if crawls.iter().any(|crawl| crawl.plan.webhook.is_some()) {
            let full = self.parts.webhooks.full(account).await?;
            full.map_or(Ok(()), Err)?;
        }
        let take = |in_background: bool| {
            let of_kind = crawls
                .iter()
                .filter(|crawl| crawl.plan.in_background == in_background);
            let limits = &self.parts.limits;
            self.places
                .take(account, in_background, of_kind.count(), limits)
        };
        let (mut streaming, mut background) = (take(false)?, take(true)?);
        let admitted = crawls.iter().map(|crawl| {
            if !crawl.plan.in_background {
                return Ok::<_, CrawlError>(Admitted {
                    places: streaming.split(),
                    queued: None,
                });
            }
            let secrets = crawl.secrets.as_ref();
            let secrets = secrets.map_or(0, |secrets| secrets.expose().len());
            let queued = self.queued.take(account, crawl.request.len(), secrets)?;
            Ok(Admitted {
                places: background.split(),
                queued: Some(queued),
            })
        });
        admitted.collect()
    }

    /// Stores crawls in one transaction and runs them.
    async fn create(
        &self,
        mut crawls: Vec<NewCrawl>,
        admitted: Vec<Admitted>,
    ) -> Result<Vec<CrawlHandle>, CrawlError> {
        let records = crawls.iter_mut().map(|new| self.record_of(new));
        let records = records.collect::<Result<Vec<CrawlRecord>, CrawlError>>()?;
        self.parts.store.create_crawls(&records).await?;
        let started = crawls.into_iter().zip(admitted).zip(records);
        let started = started.map(|((new, admitted), record)| self.start(new, admitted, record));
        Ok(started.collect())
    }

    /// The record of a new crawl, which takes its request.
    fn record_of(&self, new: &mut NewCrawl) -> Result<CrawlRecord, CrawlError> {
        let in_background = new.plan.in_background;
        let id = match &new.payment {
            Some(payment) if in_background => payment.name.to_string(),
            _ => new_id()?,
        };
        let named = new.plan.named.as_ref();
        let left_out = Omitted::of_urls(named.map_or(0, |found| found.n_dropped.into()));
        Ok(CrawlRecord {
            id,
            account: new.account.clone(),
            key: new.key,
            request: std::mem::take(&mut new.request),
            verb: new.verb.to_owned(),
            terms: new.terms,
            needs_secrets: new.needs_secrets,
            in_background,
            state: first_state(in_background),
            stop: None,
            created: self.parts.clock.now(),
            ended: None,
            counts: CrawlCounts::default(),
            left_out: left_out.written(),
        })
    }

    /// Runs a crawl that is stored.
    fn start(&self, new: NewCrawl, admitted: Admitted, record: CrawlRecord) -> CrawlHandle {
        let job = Job::begun(&record, new.trace);
        let source = match admitted.queued {
            // Only the row is left of its request.
            Some(queued) => PlanSource::Stored(Stored {
                queued,
                secrets: new.secrets,
            }),
            None => {
                let n_bytes = record.request.len();
                let ready = Ready::new(&self.parts, &job, new.plan, new.registry, n_bytes);
                PlanSource::Planned(ready)
            }
        };
        let (listener, entries) = if record.in_background {
            (None, None)
        } else {
            let (listener, entries) = mpsc::channel(BUFFERED_ENTRIES_MAX);
            (Some(listener), Some(entries))
        };
        let name = new.payment.as_ref().map(|payment| payment.name.to_string());
        let task = CrawlTask {
            job,
            verb: record.verb,
            source,
            listener,
            // A streaming crawl's slot is part of its response body.
            slot: new.slot.filter(|_| record.in_background),
            payment: new.payment,
        };
        if let Some(membership) = self.jobs.enter(&task.job) {
            self.spawn(task, membership.with(admitted.places));
        }
        CrawlHandle {
            paid_as: name.unwrap_or_else(|| record.id.clone()),
            id: record.id,
            entries,
        }
    }
}

/// 128 random bits, so that ids cannot be guessed.
fn new_id() -> Result<String, CrawlError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|_| CrawlError::Random)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
