//! The pages of a batch.

use super::*;
use crate::batch_pages::tests::batch;

const URLS: [&str; 4] = [
    "http://a.example/",
    "ftp:no page",
    "http://a.example/",
    "http://a.example/#part",
];

fn of_batch() -> CrawlPlan {
    CrawlPlan {
        batch: Some(batch(&URLS)),
        depth: 0,
        ..plan("http://a.example/")
    }
}

#[test]
fn every_page_of_a_batch_is_leased_once_also_where_urls_are_equal() {
    let mut frontier = with_seeds(of_batch());
    let pages = all_leased(&mut frontier);
    let numbers: Vec<(u32, bool)> = pages.iter().map(|page| (page.n, page.is_seed)).collect();
    assert_eq!(numbers, [(0, true), (1, true), (2, true), (3, true)]);
    assert_eq!(pages[3].url.as_str(), URLS[3]);
    for page in &pages {
        frontier.complete(page.n, &Discovered::default(), true);
        frontier.note_delivered(page.n);
    }
    let counts = frontier.counts();
    assert_eq!((counts.known, counts.done, counts.skipped), (4, 4, 0));
    assert!(matches!(
        frontier.lease(),
        Lease::Done(StopReason::Completed)
    ));
}

#[test]
fn a_batch_continues_with_the_pages_that_are_not_done() {
    let mut frontier = with_seeds(of_batch());
    let first = leased(&mut frontier);
    frontier.complete(first.n, &Discovered::default(), true);
    let mut rows = frontier.take_changes();
    // The last row was not stored.
    assert_eq!(rows.pop().map(|row| row.url), Some(URLS[3].to_owned()));
    let mut restored = Frontier::restore(Arc::new(of_batch()), rows.into_iter());
    let left = all_leased(&mut restored);
    let left: Vec<u32> = left.iter().map(|page| page.n).collect();
    assert_eq!(left, [1, 2, 3]);
    assert_eq!(restored.counts().known, 4);
}

#[test]
fn a_stopped_batch_skips_the_rest() {
    let mut frontier = with_seeds(of_batch());
    let first = leased(&mut frontier);
    frontier.stop(StopReason::Cancelled);
    frontier.complete(first.n, &Discovered::default(), true);
    let counts = frontier.counts();
    assert_eq!((counts.done, counts.skipped), (1, 3));
    assert!(matches!(
        frontier.lease(),
        Lease::Done(StopReason::Cancelled)
    ));
}

#[test]
fn a_page_that_is_listed_again_is_skipped_also_after_a_restart() {
    let of_batch = || {
        let mut listed = (*batch(&URLS)).clone();
        listed.pages[0].duplicates = vec![2];
        listed.pages[2].original = Some(0);
        CrawlPlan {
            batch: Some(Arc::new(listed)),
            ..of_batch()
        }
    };
    let mut frontier = with_seeds(of_batch());
    let pages = all_leased(&mut frontier);
    let numbers: Vec<u32> = pages.iter().map(|page| page.n).collect();
    assert_eq!(numbers, [0, 1, 3]);
    frontier.complete(0, &Discovered::default(), true);
    let rows = frontier.take_changes();
    assert_eq!(rows[2].state, UrlState::Skipped(SkipReason::Duplicate));
    let mut restored = Frontier::restore(Arc::new(of_batch()), rows.into_iter());
    let left: Vec<u32> = all_leased(&mut restored)
        .iter()
        .map(|page| page.n)
        .collect();
    assert_eq!(left, [1, 3]);
    assert_eq!(restored.counts().skipped, 1);
}
