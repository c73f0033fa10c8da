//! What a batch means: the pages that its caller lists, each with a plan of its own.

use super::{PagePlan, RefusedPage};

/// The pages of a batch, as its request lists them. The number of a page is its index in the list:
/// it is the same whenever the request is planned again.
#[derive(Clone, Debug, Default)]
pub struct BatchPlan {
    /// The pages.
    pub pages: Vec<BatchPage>,
}

/// One page of a batch.
#[derive(Clone, Debug)]
pub struct BatchPage {
    /// How it is served, or why its URL can never be fetched.
    pub plan: Result<PagePlan, RefusedPage>,
    /// The further indices at which the request asks for the same page, in order. It is fetched
    /// once for all of them. Decision D510.
    pub duplicates: Vec<u32>,
    /// The first index of the same page, if it is listed before: then it is not fetched again.
    pub original: Option<u32>,
}

impl BatchPage {
    /// Its URL as it is fetched, or as the caller wrote it if it never is.
    pub fn url(&self) -> &str {
        match &self.plan {
            Ok(plan) => plan.url.as_str(),
            Err(refused) => &refused.requested,
        }
    }
}

impl BatchPlan {
    /// The page at this index.
    pub fn page(&self, n: u32) -> Option<&BatchPage> {
        self.pages.get(n as usize)
    }
}
