//! What a batch means: the pages that its caller lists, each with a plan of its own.

use std::collections::HashSet;
use std::sync::Arc;

use super::{FetchPlan, OutputPlan, PagePlan, RefusedPage, RenderPlan, RouterPlan};

/// Bytes of what pages with the same parameters share, without what the caller sent of it: that is
/// part of the request, and else of the copies.
const SHARED_BYTES: usize = size_of::<FetchPlan>()
    + size_of::<OutputPlan>()
    + size_of::<RenderPlan>()
    + size_of::<RouterPlan>();

/// The pages of a batch, as its request lists them. The number of a page is its index in the list:
/// it is the same whenever the request is planned again.
#[derive(Clone, Debug, Default)]
pub struct BatchPlan {
    /// The pages.
    pub pages: Vec<BatchPage>,
    /// Bytes of the common parameters in all their copies: pages with parameters of their own have
    /// one.
    pub copied_bytes: usize,
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

    /// Bytes of the plans, about: those of a short request may be a hundred times as large.
    pub fn bytes(&self) -> usize {
        let mut shared = HashSet::new();
        let bytes_of = |page: &BatchPage| {
            let is_first = |plan: &PagePlan| shared.insert(Arc::as_ptr(&plan.output));
            let of_parameters = match page.plan.as_ref().is_ok_and(is_first) {
                true => SHARED_BYTES,
                false => 0,
            };
            // As it was sent, and as it is fetched.
            size_of::<BatchPage>() + 2 * page.url().len() + of_parameters
        };
        self.copied_bytes + self.pages.iter().map(bytes_of).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::page_plan;

    #[test]
    fn a_batch_takes_memory_for_each_page_and_once_for_what_pages_share() {
        let page = |plan: &PagePlan| BatchPage {
            plan: Ok(plan.clone()),
            duplicates: Vec::new(),
            original: None,
        };
        let plan = |pages: Vec<BatchPage>, copied_bytes| BatchPlan {
            pages,
            copied_bytes,
        };
        let bytes = |pages: Vec<BatchPage>| plan(pages, 0).bytes();
        let (one, other) = (page_plan("http://a/"), page_plan("http://a/"));
        let alone = bytes(vec![page(&one)]);
        let of_page = alone - SHARED_BYTES;
        assert!(of_page > size_of::<BatchPage>());
        assert_eq!(bytes(vec![page(&one), page(&one)]), alone + of_page);
        assert_eq!(bytes(vec![page(&one), page(&other)]), 2 * alone);
        assert_eq!(plan(vec![page(&one)], 7).bytes(), alone + 7);
    }
}
