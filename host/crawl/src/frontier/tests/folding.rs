//! Folding, case by case.

use super::*;

use trawl_model::ContentHash;

fn url(url: &str) -> Url {
    Url::parse(url).expect("a URL")
}

fn content(text: &str) -> ContentHash {
    ContentHash::of_body(text.as_bytes())
}

/// A crawl whose seed is completed, and the pages `/1`, `/2` and so on, which are leased.
fn with_pages(n_pages: usize, plan: CrawlPlan) -> (Frontier, Vec<Leased>) {
    let mut frontier = with_seeds(plan);
    let seed = leased(&mut frontier);
    let urls = (1..=n_pages).map(|n| format!("http://a.example/{n}"));
    let urls: Vec<String> = urls.collect();
    let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
    frontier.complete(seed.n, &found(&urls), true);
    frontier.note_delivered(seed.n);
    let pages = all_leased(&mut frontier);
    assert_eq!(pages.len(), n_pages);
    (frontier, pages)
}

/// What is to be stored of a page that has changed.
fn changed(frontier: &mut Frontier, page: &Leased) -> UrlState {
    let mut rows = frontier.take_changes().into_iter();
    rows.find(|row| row.n == page.n).expect("a change").state
}

const DUPLICATE: UrlState = UrlState::Skipped(SkipReason::Duplicate);

/// Folds the second page into the first, by its canonical URL or by its content.
fn fold(frontier: &mut Frontier, pages: &[Leased], by_content: bool) {
    let (nothing, same) = (Discovered::default(), content("same"));
    if by_content {
        assert!(frontier.is_new_content(pages[0].n, same));
    }
    frontier.complete(pages[0].n, &nothing, true);
    let is_folded = match by_content {
        true => !frontier.is_new_content(pages[1].n, same),
        false => frontier.folds_into(pages[1].n, &pages[0].url),
    };
    assert!(is_folded);
    frontier.complete_folded(pages[1].n, &nothing, true);
}

#[test]
fn pages_that_were_folded_into_one_that_fails_are_fetched_after_all() {
    for by_content in [false, true] {
        let (mut frontier, pages) = with_pages(2, plan("http://a.example/"));
        fold(&mut frontier, &pages, by_content);
        assert_eq!(frontier.counts().waiting, 0);
        // The crawl does not end before the page is delivered.
        assert!(matches!(frontier.lease(), Lease::Wait));
        frontier.has_failed(pages[0].n);
        frontier.note_delivered(pages[0].n);
        let again = leased(&mut frontier);
        assert_eq!(again.url, pages[1].url);
        assert!(!frontier.folds_into(again.n, &pages[0].url), "it failed");
        assert!(frontier.is_new_content(again.n, content("same")));
        frontier.complete(again.n, &Discovered::default(), true);
        assert!(matches!(
            frontier.lease(),
            Lease::Done(StopReason::Completed)
        ));
    }
}

#[test]
fn pages_that_were_folded_into_one_that_is_delivered_stay_folded() {
    for by_content in [false, true] {
        let (mut frontier, pages) = with_pages(2, plan("http://a.example/"));
        fold(&mut frontier, &pages, by_content);
        // If this process is killed, the next one compares it again.
        assert_eq!(changed(&mut frontier, &pages[1]), UrlState::Waiting);
        frontier.note_delivered(pages[0].n);
        assert_eq!(changed(&mut frontier, &pages[1]), DUPLICATE);
        assert!(matches!(
            frontier.lease(),
            Lease::Done(StopReason::Completed)
        ));
    }
}

#[test]
fn the_canonical_url_of_a_page_that_fails_is_fetched_after_all() {
    let (mut frontier, pages) = with_pages(2, plan("http://a.example/"));
    let canonical = url("http://a.example/canonical");
    assert!(!frontier.folds_into(pages[0].n, &canonical));
    frontier.complete(pages[0].n, &Discovered::default(), true);
    assert!(frontier.folds_into(pages[1].n, &canonical));
    frontier.complete_folded(pages[1].n, &Discovered::default(), true);
    // Its task was aborted, for example.
    frontier.has_failed(pages[0].n);
    let again = all_leased(&mut frontier);
    let mut urls: Vec<Url> = again.iter().map(|page| page.url.clone()).collect();
    urls.sort();
    assert_eq!(urls, [pages[1].url.clone(), canonical]);
    // It is completed and not delivered, so it stands for no page that is completed later.
    assert!(!frontier.folds_into(again[0].n, &pages[0].url));
}

#[test]
fn what_a_stopped_crawl_does_not_fetch_again_is_no_duplicate() {
    let (mut frontier, pages) = with_pages(2, plan("http://a.example/"));
    fold(&mut frontier, &pages, true);
    frontier.stop(StopReason::Balance);
    frontier.has_failed(pages[0].n);
    let unpaid = UrlState::Skipped(SkipReason::Spend);
    assert_eq!(changed(&mut frontier, &pages[1]), unpaid);
}

#[test]
fn no_page_folds_into_the_target_of_a_redirect_that_fails() {
    let (mut frontier, pages) = with_pages(3, plan("http://a.example/"));
    let target = url("http://a.example/target");
    assert_eq!(frontier.redirect(pages[0].n, &target), Ok(()));
    assert!(!frontier.folds_into(pages[1].n, &target), "in flight");
    frontier.complete(pages[1].n, &Discovered::default(), true);
    frontier.has_failed(pages[0].n);
    frontier.complete(pages[0].n, &Discovered::default(), true);
    frontier.note_delivered(pages[0].n);
    assert!(!frontier.folds_into(pages[2].n, &target));
}

#[test]
fn a_page_that_is_paid_already_may_redirect_to_another_page() {
    let (mut frontier, pages) = with_pages(2, plan("http://a.example/"));
    let duplicate = Err(SkipReason::Duplicate);
    assert_eq!(frontier.redirect(pages[0].n, &pages[1].url), duplicate);
    assert_eq!(frontier.redirect_paid(pages[0].n, &pages[1].url), Ok(()));
    frontier.complete(pages[1].n, &Discovered::default(), true);
    assert_eq!(frontier.redirect_paid(pages[0].n, &pages[1].url), Ok(()));
    let out = url("http://out.example/");
    let scope = Err(SkipReason::Scope);
    assert_eq!(frontier.redirect_paid(pages[0].n, &out), scope);
}

#[test]
fn pages_fold_into_the_page_with_their_canonical_url() {
    let mut frontier = with_seeds(plan("http://a.example/"));
    let seed = leased(&mut frontier);
    let one = "http://a.example/one";
    let links = found(&[one, "http://a.example/two", "http://a.example/bad"]);
    frontier.complete(seed.n, &links, true);
    let pages = all_leased(&mut frontier);
    let [one, two, bad] = &pages[..] else {
        panic!("three pages");
    };
    // The two name each other: the one that is completed first stays.
    assert!(!frontier.folds_into(one.n, &two.url));
    frontier.complete(one.n, &Discovered::default(), true);
    assert!(frontier.folds_into(two.n, &one.url));
    let more = "http://a.example/more";
    frontier.complete_folded(two.n, &found(&[more]), true);
    let folded = reason(&mut frontier, two.url.as_str());
    assert_eq!(folded, Some(UrlState::Skipped(SkipReason::Duplicate)));
    // Its links are followed. What a page names as itself, or elsewhere, folds nothing.
    let more = leased(&mut frontier);
    assert!(!frontier.folds_into(more.n, &more.url));
    assert!(!frontier.folds_into(more.n, &url("http://b.example/")));
    // It stands for a canonical URL that was not fetched, and the next page folds into it.
    let canonical = url("http://a.example/canonical");
    assert!(!frontier.folds_into(more.n, &canonical));
    frontier.complete(more.n, &found(&[canonical.as_str()]), true);
    assert!(frontier.folds_into(bad.n, &canonical));
    // A page that failed stands for none.
    frontier.has_failed(bad.n);
    frontier.complete(bad.n, &found(&["http://a.example/last"]), true);
    let last = leased(&mut frontier);
    assert!(!frontier.folds_into(last.n, &bad.url));
}

#[test]
fn pages_fold_into_those_of_an_earlier_process() {
    let mut frontier = with_seeds(plan("http://a.example/"));
    let seed = leased(&mut frontier);
    let links = [
        "http://a.example/good",
        "http://a.example/bad",
        "http://a.example/next",
    ];
    frontier.complete(seed.n, &found(&links), true);
    let pages = all_leased(&mut frontier);
    let [good, bad, next] = &pages[..] else {
        panic!("three pages");
    };
    for page in [good, bad] {
        frontier.complete(page.n, &Discovered::default(), true);
    }
    let rows = frontier.take_changes().into_iter();
    let mut restored = Frontier::restore(Arc::new(plan("http://a.example/")), rows);
    restored.restore_page(good.n, false, Some(content("good")));
    restored.restore_page(bad.n, true, None);
    let again = leased(&mut restored);
    assert_eq!(again.url, next.url);
    assert!(!restored.is_new_content(again.n, content("good")));
    assert!(restored.is_new_content(again.n, content("new")));
    assert!(restored.is_new_content(again.n, content("new")), "its own");
    assert!(!restored.folds_into(again.n, &bad.url), "it failed");
    assert!(restored.folds_into(again.n, &good.url));
}
