//! The budget of a run of many pages, such as a crawl.

#[cfg(test)]
mod tests;

use std::sync::{Arc, Weak};

use tokio::time::Instant;

use trawl_model::{Charge, Nanodollars};
use trawl_store::{StoreError, Written};

use crate::allotment::Allotment;
use crate::error::BillingError;
use crate::funds::{Cap, FundsError, Shortfall};
use crate::key_wallet::Spender;
use crate::queue::Payee;
use crate::reservation::Reservation;
use crate::{Billing, key, refund, waiting};

/// The budget of one run. Dropping it returns the money that is reserved for no page.
#[derive(Debug)]
pub struct RunBudget {
    allotment: Arc<Allotment>,
    /// The name that the ids of its posts begin with.
    posts: Arc<str>,
}

/// A page that a run was charged for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChargedPage {
    /// The id that identifies it within the run.
    pub id: String,
    /// Its URL, of which a very long one is cut off.
    pub url: Arc<str>,
}

impl Drop for RunBudget {
    fn drop(&mut self) {
        self.close();
    }
}

impl Billing {
    /// A budget for a run that may cost `ceiling` and was charged `spent` before.
    ///
    /// # Errors
    /// [`FundsError::UnknownAccount`], or [`FundsError::Busy`] if the operating system provides no
    /// random numbers.
    pub fn run_budget<'a>(
        &self,
        spender: impl Into<Spender<'a>>,
        run: &str,
        ceiling: Nanodollars,
        spent: Nanodollars,
    ) -> Result<RunBudget, FundsError> {
        self.payment_budget(spender, run, run, (ceiling, spent))
    }

    /// As [`Self::run_budget`], for a run whose pages are charged under another name than its own:
    /// the name of a [`Payment`](crate::Payment), which several runs may have.
    ///
    /// # Errors
    /// As [`Self::run_budget`].
    pub fn payment_budget<'a>(
        &self,
        spender: impl Into<Spender<'a>>,
        run: &str,
        payment: &str,
        (ceiling, spent): (Nanodollars, Nanodollars),
    ) -> Result<RunBudget, FundsError> {
        let wallets = self.wallets(spender.into())?;
        let wallet = Arc::clone(&wallets.account);
        let unique = key::unique().map_err(|_| FundsError::Busy)?;
        let allotment = Arc::new(Allotment::new(
            wallets,
            Arc::clone(&self.queue),
            self.clock.clone(),
            (run, unique.as_str()),
            (ceiling, spent),
        ));
        let reclaimable: Weak<Allotment> = Arc::downgrade(&allotment);
        wallet.add_allotment(reclaimable);
        Ok(RunBudget {
            allotment,
            posts: Arc::from(payment),
        })
    }

    /// What the pages of a run were charged according to the ledger: the `spent` of a budget for
    /// the rest of the run.
    ///
    /// # Errors
    /// The store failed.
    pub async fn spent_by_run(&self, run: &str) -> Result<Nanodollars, StoreError> {
        self.store.run_spent(run).await
    }

    /// What the pages of a run were charged, by component.
    ///
    /// # Errors
    /// The store failed.
    pub async fn run_charge(&self, run: &str) -> Result<Charge, StoreError> {
        self.store.run_charge(run).await
    }

    /// Whether a page was charged, for money or for nothing, under this name of a run or payment.
    ///
    /// # Errors
    /// The store failed.
    pub async fn has_charged(&self, name: &str) -> Result<bool, StoreError> {
        self.store.has_run_posts(name).await
    }

    /// The pages that a run was charged for, at most so many after the page with the id `after`, by
    /// id. Those that are refunded are among them.
    ///
    /// # Errors
    /// The store failed.
    pub async fn charged_pages(
        &self,
        run: &str,
        after: Option<&str>,
        count_max: u32,
    ) -> Result<Vec<ChargedPage>, StoreError> {
        let after = after.map(|page_id| page_post_id(run, page_id));
        let posts = self.store.run_posts(run, after.as_deref(), count_max);
        let name = page_post_id(run, "");
        let pages = posts.await?.into_iter().map(|post| ChargedPage {
            id: post.id.strip_prefix(&name).unwrap_or_default().to_owned(),
            url: post.url,
        });
        Ok(pages.collect())
    }

    /// What a page of a run was charged before, by this or an earlier process; nothing if that was
    /// refunded.
    ///
    /// # Errors
    /// The store failed.
    pub async fn charged(&self, run: &str, page_id: &str) -> Result<Option<Charge>, BillingError> {
        let post_id = page_post_id(run, page_id);
        Ok(refund::charge_of_post(self.store.as_ref(), &post_id).await?)
    }
}

impl RunBudget {
    /// Reserves what a page is likely to cost; less only if that is all there is and nothing of it
    /// is reserved for other pages. Waits while pages in flight hold what is missing, until
    /// [`Self::end_waits`].
    ///
    /// `page_id` identifies the page within the run, across restarts: a page is charged only once.
    ///
    /// # Errors
    /// [`FundsError::CeilingReached`] if the run has reached its ceiling, otherwise as
    /// [`Billing::reserve_when_available`].
    pub async fn reserve(
        &self,
        likely: Nanodollars,
        page_url: &str,
        page_id: &str,
        deadline: Instant,
    ) -> Result<Reservation, FundsError> {
        let allotment = &*self.allotment;
        let wallet = &allotment.wallet;
        let reserve = || self.reserve_now(likely, page_url, page_id);
        let reserved = waiting::when_available(wallet, Some(allotment), deadline, reserve).await;
        reserved.map_err(|error| error.or_short(|| self.shortfall(likely)))
    }

    /// As [`Self::reserve`], without waiting.
    ///
    /// # Errors
    /// [`FundsError::AllHeld`] while pages in flight hold what is missing, [`FundsError::Busy`]
    /// while the ledger has too many open reservations; any other is final.
    pub fn reserve_now(
        &self,
        likely: Nanodollars,
        page_url: &str,
        page_id: &str,
    ) -> Result<Reservation, FundsError> {
        let allotment = &self.allotment;
        let requested = likely.max(Nanodollars::ZERO);
        // Capacity first: without it nothing may change, or reserves would pile up in front of a
        // ledger that fails for long.
        let id = allotment.queue.acquire().ok_or(FundsError::Busy)?;
        if allotment.is_short_of(requested) {
            allotment.reclaim_elsewhere();
        }
        let now = allotment.clock.now();
        let reserve = |within| allotment.reserve(within);
        match allotment.key.reserve(requested, now, reserve) {
            Ok(portion) => Ok(Reservation::within(
                Arc::clone(allotment),
                id,
                portion,
                page_url,
                page_post_id(&self.posts, page_id),
            )),
            Err(error) => {
                allotment.queue.release();
                Err(error)
            }
        }
    }

    /// Takes back what a page of this URL and id was charged by an earlier process, because it has
    /// failed since. Returns once the refund is durable. A page is refunded once.
    ///
    /// # Errors
    /// [`BillingError::Unavailable`] if the ledger did not accept it: the page costs what it did.
    pub async fn refund(
        &self,
        (page_url, page_id): (&str, &str),
        charge: &Charge,
        reason: &str,
    ) -> Result<(), BillingError> {
        let allotment = &self.allotment;
        if charge.total() <= Nanodollars::ZERO {
            return Ok(());
        }
        let post_id = page_post_id(&self.posts, page_id);
        let refund = refund::entry(allotment, &post_id, (page_url, reason), charge);
        let payee = Arc::clone(allotment) as Arc<dyn Payee>;
        let written = allotment.queue.write(vec![refund], Some(payee)).await?;
        match written[..] {
            [Written::New | Written::AlreadyThere] => Ok(()),
            _ => Err(BillingError::Unavailable),
        }
    }

    /// Resolves when money of the run may have become available, at the latest after a short time.
    /// Until then other runs return what none of their pages needs.
    pub async fn released(&self) {
        waiting::released_soon(&self.allotment.wallet, Some(&*self.allotment)).await;
    }

    /// Ends all waits of [`Self::reserve`] and [`Reservation::grow`], also later ones, as their
    /// deadlines would: the run must end soon.
    pub fn end_waits(&self) {
        self.allotment.waits_end.cancel();
    }

    /// What keeps a page that needs this much from it now.
    pub fn shortfall(&self, wanted: Nanodollars) -> Shortfall {
        let (allotment, nothing) = (&self.allotment, Nanodollars::ZERO);
        let short = allotment.shortfall(wanted, nothing);
        if short.cap == Cap::Run {
            return short;
        }
        let now = allotment.clock.now();
        let of_key = allotment.key.shortfall(wanted, nothing, now);
        of_key.unwrap_or(short)
    }

    /// The most that the run may still be charged, pages in flight included.
    pub fn left(&self) -> Nanodollars {
        self.allotment.left()
    }

    /// The name under which its pages are charged.
    pub fn payment(&self) -> &str {
        &self.posts
    }

    /// What the run has been charged so far.
    pub fn spent(&self) -> Nanodollars {
        self.allotment.spent()
    }

    /// Returns the unused money and accepts no more pages. Pages in flight return theirs when they
    /// end.
    pub fn close(&self) {
        self.allotment.close();
    }
}

/// Id of the only post of a page of a run, by the name that its pages are charged under.
fn page_post_id(run: &str, page_id: &str) -> String {
    format!("c:{run}:{page_id}")
}
