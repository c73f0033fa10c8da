//! Pages that an earlier try of their request was charged for.

use trawl_billing::RunBudget;
use trawl_model::{Charge, PageFailure};

/// What an earlier try of a request was charged for a page, which costs nothing more.
#[derive(Clone, Copy, Debug)]
pub struct PaidBefore<'a> {
    /// The charge.
    pub charge: Charge,
    /// The budget of the request.
    pub budget: &'a RunBudget,
    /// Identifies the page within the request, whichever try it is.
    pub page_id: &'a str,
}

impl PaidBefore<'_> {
    /// What the page of this URL costs after it has failed: nothing, once its charge is refunded;
    /// what it was charged, if the ledger does not accept that. Decision D305.
    pub(super) async fn refund(&self, url: &str, failure: &PageFailure) -> Charge {
        let page = (url, self.page_id);
        let refunding = self.budget.refund(page, &self.charge, &failure.message);
        match refunding.await {
            Ok(()) => Charge::default(),
            Err(error) => {
                tracing::error!(error = %error, "a page that was charged and has failed is not refunded");
                self.charge
            }
        }
    }
}
