//! The crawls that run or wait to run.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex};

use trawl_billing::AccountId;
use trawl_store::CrawlState;

use super::job::Job;
use super::limits::CrawlPlaces;
use super::lock;

/// The crawls of this process that have not ended, by id. Clones share them.
#[derive(Clone, Default)]
pub(super) struct Jobs(Arc<Mutex<HashMap<String, Arc<Job>>>>);

/// Membership of a crawl in [`Jobs`]. The crawl has ended when this is dropped, even by a panic.
pub(super) struct Membership {
    jobs: Jobs,
    job: Arc<Job>,
    /// Its place among the crawls of its account.
    places: Option<CrawlPlaces>,
}

impl Jobs {
    /// Adds a crawl. `None` if it is running already: of several calls for one crawl, one succeeds.
    pub(super) fn enter(&self, job: &Arc<Job>) -> Option<Membership> {
        match lock(&self.0).entry(job.id.clone()) {
            Entry::Occupied(_) => return None,
            Entry::Vacant(vacant) => {
                vacant.insert(Arc::clone(job));
            }
        }
        Some(Membership {
            jobs: self.clone(),
            job: Arc::clone(job),
            places: None,
        })
    }

    /// The crawl of this account with this id.
    pub(super) fn find(&self, account: &AccountId, id: &str) -> Option<Arc<Job>> {
        let jobs = lock(&self.0);
        jobs.get(id)
            .filter(|job| job.account == *account)
            .map(Arc::clone)
    }

    /// Number of crawls that run, and that wait for their turn.
    pub(super) fn running_and_queued(&self) -> (usize, usize) {
        let (mut running, mut queued) = (0, 0);
        for job in self.all() {
            match job.progress().state {
                CrawlState::Running => running += 1,
                CrawlState::Queued => queued += 1,
                CrawlState::Parked | CrawlState::Ended => {}
            }
        }
        (running, queued)
    }

    /// All crawls.
    pub(super) fn all(&self) -> Vec<Arc<Job>> {
        lock(&self.0).values().map(Arc::clone).collect()
    }
}

impl Membership {
    /// The same with these places, which the crawl has until it ends.
    pub(super) fn with(mut self, places: CrawlPlaces) -> Self {
        self.places = Some(places);
        self
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        lock(&self.jobs.0).remove(&self.job.id);
        // Before the end is announced, so that a task that waits for it finds the place free.
        drop(self.places.take());
        self.job.ended.cancel();
    }
}

#[cfg(test)]
mod tests {
    use trawl_store::CrawlRecord;
    use trawl_store::testing::running_crawl;

    use super::*;
    use crate::job::CrawlProgress;
    use crate::limits::{CrawlCounts, CrawlLimits};

    #[test]
    fn crawls_are_counted_by_their_state() {
        let jobs = Jobs::default();
        let enter = |id: &str, state: CrawlState| {
            let record = CrawlRecord {
                state,
                ..running_crawl(&AccountId::new("acc_1"), id)
            };
            let job = Arc::new(Job::new(&record, CrawlProgress::stored(&record)));
            let member = jobs.enter(&job).expect("it is the first");
            (job, member)
        };
        let first = enter("a", CrawlState::Running);
        let _second = enter("b", CrawlState::Queued);
        let (third, _member) = enter("c", CrawlState::Queued);
        let _parked = enter("d", CrawlState::Parked);
        assert_eq!(jobs.running_and_queued(), (1, 2));
        third.update(|progress| progress.state = CrawlState::Running);
        assert_eq!(jobs.running_and_queued(), (2, 1));
        drop(first);
        assert_eq!(jobs.running_and_queued(), (1, 1));
    }

    #[test]
    fn a_crawl_is_a_member_once_until_it_ends() {
        let account = AccountId::new("acc_1");
        let record = CrawlRecord {
            state: CrawlState::Parked,
            ..running_crawl(&account, "a")
        };
        let (jobs, places) = (Jobs::default(), Arc::<CrawlCounts>::default());
        let enter = || {
            let job = Arc::new(Job::new(&record, CrawlProgress::stored(&record)));
            let places = places.take(&account, true, 1, &CrawlLimits::default());
            let places = places.expect("a place");
            jobs.enter(&job).map(|membership| membership.with(places))
        };
        let n_used = || places.in_use(&account).background;
        let first = enter().expect("it is the first");
        assert!(enter().is_none());
        assert_eq!(n_used(), 1, "the second returned its place");
        let job = jobs.find(&account, "a").expect("it runs");
        assert!(jobs.find(&AccountId::new("acc_2"), "a").is_none());
        assert!(!job.ended.is_cancelled());
        drop(first);
        assert!(job.ended.is_cancelled() && jobs.find(&account, "a").is_none());
        assert_eq!(n_used(), 0);
        assert!(enter().is_some());
    }
}
