//! The plans of a batch's pages, one for each. They are made once, before its first page.

use std::collections::HashMap;
use std::sync::Arc;

use trawl_model::outcome::BatchPlace;
use trawl_plan::{BatchPlan, FetchPlan, OutputPlan, Pace, PagePlan, RefusedPage};

/// The plans of a batch's pages by their indices.
pub(super) struct BatchPages {
    /// As the caller wants them.
    batch: Arc<BatchPlan>,
    /// As they are served: at the batch's pace, and with the headers that its webhook sends.
    pages: Vec<Result<PagePlan, RefusedPage>>,
}

impl BatchPages {
    /// The plans of these pages. `sends_headers`: whether events have the headers of pages.
    pub(super) fn new(batch: &Arc<BatchPlan>, pace: Pace, sends_headers: bool) -> Self {
        // Pages of equal parameters share their plans before and afterwards.
        let mut fetches: HashMap<*const FetchPlan, Arc<FetchPlan>> = HashMap::new();
        let mut outputs: HashMap<*const OutputPlan, Arc<OutputPlan>> = HashMap::new();
        let mut pages = Vec::with_capacity(batch.pages.len());
        for page in &batch.pages {
            pages.push(page.plan.clone().map(|plan| {
                let fetch = fetches.entry(Arc::as_ptr(&plan.fetch)).or_insert_with(|| {
                    Arc::new(FetchPlan {
                        pace,
                        ..FetchPlan::clone(&plan.fetch)
                    })
                });
                let output = outputs.entry(Arc::as_ptr(&plan.output)).or_insert_with(|| {
                    Arc::new(OutputPlan {
                        headers: plan.output.headers || sends_headers,
                        ..OutputPlan::clone(&plan.output)
                    })
                });
                let (fetch, output) = (Arc::clone(fetch), Arc::clone(output));
                PagePlan {
                    fetch,
                    output,
                    ..plan
                }
            }));
        }
        Self {
            batch: Arc::clone(batch),
            pages,
        }
    }

    /// The plan of a page, or why its URL can never be fetched.
    pub(super) fn of(&self, n: u32) -> Option<&Result<PagePlan, RefusedPage>> {
        self.pages.get(n as usize)
    }

    /// Whether the caller wants the headers of a page.
    pub(super) fn shows_headers(&self, n: u32) -> bool {
        let page = self.batch.page(n);
        let plan = page.and_then(|page| page.plan.as_ref().ok());
        plan.is_some_and(|plan| plan.output.headers)
    }

    /// Where the request names a page.
    pub(super) fn place(&self, n: u32) -> Option<BatchPlace> {
        let page = self.batch.page(n)?;
        Some(BatchPlace {
            index: n,
            duplicates: page.duplicates.clone(),
        })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::time::Duration;

    use trawl_model::{Cause, PageFailure};
    use trawl_plan::BatchPage;
    use trawl_plan::testing::page_plan;

    use super::*;

    /// A batch of these URLs, of which those with another scheme than `http` are refused.
    pub(crate) fn batch(urls: &[&str]) -> Arc<BatchPlan> {
        let page = |url: &&str| BatchPage {
            plan: match url.starts_with("http://") {
                true => Ok(page_plan(url)),
                false => Err(RefusedPage {
                    requested: (*url).to_owned(),
                    failure: PageFailure::new(Cause::BadUrl, "refused"),
                }),
            },
            duplicates: Vec::new(),
            original: None,
        };
        Arc::new(BatchPlan {
            pages: urls.iter().map(page).collect(),
            copied_bytes: 0,
        })
    }

    #[test]
    fn each_page_keeps_its_plan_at_the_pace_of_the_batch() {
        let mut plan = BatchPlan::clone(&batch(&["http://a.test/", "http://b.test/", "ftp:c"]));
        if let Ok(first) = &mut plan.pages[0].plan {
            let output = OutputPlan::clone(&first.output);
            first.output = Arc::new(OutputPlan {
                headers: true,
                ..output
            });
        }
        plan.pages[1].duplicates = vec![7];
        let pace = Pace {
            delay: Duration::from_millis(20),
            patience: Duration::from_secs(1),
        };
        let pages = BatchPages::new(&Arc::new(plan), pace, true);
        for n in [0, 1] {
            let page = pages.of(n).and_then(|page| page.as_ref().ok());
            let page = page.expect("a plan");
            assert!(page.fetch.pace == pace && page.output.headers, "{n}");
            assert_eq!(pages.shows_headers(n), n == 0);
        }
        assert!(pages.of(2).is_some_and(|page| page.is_err()));
        assert!(pages.of(3).is_none());
        let place = pages.place(1).expect("a place");
        assert_eq!((place.index, place.duplicates), (1, vec![7]));
    }
}
