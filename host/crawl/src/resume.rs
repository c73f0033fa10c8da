//! Resuming parked crawls.

use trawl_billing::{AccountId, Spender};
use trawl_model::Terms;
use trawl_model::memory::Held;
use trawl_store::{CrawlState, StoreError};

use super::job::Job;
use super::jobs::Membership;
use super::planning::{PlanSource, Stored};
use super::service::{CrawlError, CrawlView, Crawls};
use super::start::CrawlTask;

impl Crawls {
    /// Resumes a parked crawl. `request` is the stored request object with the secrets that it
    /// lacks.
    ///
    /// # Errors
    /// [`CrawlError::NotParked`], [`CrawlError::Plan`], [`CrawlError::Unknown`], or the store
    /// failed.
    pub async fn resume(
        &self,
        account: &AccountId,
        id: &str,
        request: Held<String>,
    ) -> Result<CrawlView, CrawlError> {
        let found = self.found(account, id).await?;
        let record = found.record;
        if record.state != CrawlState::Parked || self.jobs.find(account, id).is_some() {
            return Err(CrawlError::NotParked(record.state));
        }
        let spender = Spender {
            account,
            key: record.key,
        };
        self.parts.billing.admit(spender, record.terms)?;
        if record.terms == Terms::Unlimited {
            self.parts.billing.unlimited(account).await?;
        }
        let places = self.places.take(account, true, 1, &self.parts.limits)?;
        let job = Job::begun(&record, None);
        // So that wrong secrets are refused now, and not at the crawl's turn.
        let registry = (self.parts.snapshot)();
        let secrets = trawl_wire::kept_secrets(&request);
        let n_bytes = usize::try_from(found.request_bytes).unwrap_or(usize::MAX);
        let queued = self.queued.take(account, n_bytes, secrets.expose().len())?;
        let complete = (request, None);
        let planned = self
            .planner
            .replan(&self.parts, &job, &record.verb, complete, &registry);
        drop(planned.await.map_err(CrawlError::Plan)?);
        let task = CrawlTask {
            job,
            verb: record.verb,
            source: PlanSource::Stored(Stored {
                queued,
                secrets: Some(secrets),
            }),
            listener: None,
            slot: None,
            payment: None,
        };
        // It may have been resumed or cancelled since it was looked up.
        let is_parked = match self.jobs.enter(&task.job) {
            Some(membership) => self.unpark(task, membership.with(places)).await?,
            None => false,
        };
        let view = self.show(account, id).await?;
        match is_parked {
            true => Ok(view),
            false => Err(CrawlError::NotParked(view.progress.state)),
        }
    }

    /// Changes the request of a crawl that no process runs, and queues it if it has ended:
    /// [`Self::interrupt`] and [`Self::recover`], called afterwards, continue it. `request` is the
    /// stored request object with the changes, such as higher caps.
    ///
    /// # Errors
    /// [`CrawlError::Unknown`], or the store failed.
    pub async fn reopen(&self, id: &str, request: &str) -> Result<(), CrawlError> {
        match self.parts.store.reopen_crawl(id, request).await? {
            true => Ok(()),
            false => Err(CrawlError::Unknown),
        }
    }

    /// Queues a parked crawl and runs it; `false` if it is not parked.
    async fn unpark(&self, task: CrawlTask, membership: Membership) -> Result<bool, StoreError> {
        let crawls = self.clone();
        let unparking = async move {
            let is_parked = crawls.parts.store.unpark_crawl(&task.job.id).await?;
            if is_parked {
                crawls.spawn(task, membership);
            }
            Ok::<_, StoreError>(is_parked)
        };
        self.parts.billing.to_its_end(unparking).await
    }
}
