//! The frontier case by case.

use std::sync::Arc;
use std::time::Duration;

use url::Url;

use trawl_model::outcome::CrawlPlace;
use trawl_model::{Discovered, Nanodollars, SkipReason, StopReason, UrlRow, UrlState};
use trawl_plan::crawl::{Budget, CrawlPlan, Fold, SitemapPlan};
use trawl_plan::scope::{Hosts, Patterns, ScopePlan};
use trawl_plan::testing::page_plan;
use trawl_plan::{Allowance, Prefer};

use super::scope::{Scope, Screened};
use super::{Frontier, Lease, Leased, seeds};

mod batches;
mod folding;
mod hosts;
mod preferred;

pub(crate) fn plan(seed: &str) -> CrawlPlan {
    CrawlPlan {
        seed: page_plan(seed),
        roots: Vec::new(),
        named: None,
        batch: None,
        limit: None,
        depth: 25,
        budget: Vec::new(),
        host_limit: None,
        prefer: Prefer::default(),
        follows_traps: false,
        anchors: false,
        fold: Fold::default(),
        ceiling: Nanodollars::MAX,
        delay: Duration::ZERO,
        in_flight: 10,
        timeout: None,
        scope: ScopePlan::default(),
        sitemap: SitemapPlan::default(),
        webhook: None,
        has_final_entry: false,
        in_background: false,
    }
}

pub(crate) fn found(links: &[&str]) -> Discovered {
    let mut found = Discovered::default();
    for link in links {
        found.push(link, false);
    }
    found
}

fn without_private() -> ScopePlan {
    let entries = ["/private".to_owned()];
    let blacklist = Patterns::read("blacklist", &entries, &mut Allowance::default());
    ScopePlan {
        blacklist: blacklist.expect("a list"),
        ..ScopePlan::default()
    }
}

fn with_seeds(plan: CrawlPlan) -> Frontier {
    let mut frontier = Frontier::new(Arc::new(plan));
    frontier.add_seeds();
    frontier
}

#[test]
fn a_limit_bounds_the_seeds_with_a_reserve() {
    let mut named = Discovered::default();
    for n in 0..5_000 {
        named.push(&format!("https://a.com/{n}"), false);
    }
    let named = Some(Arc::new(named));
    let unlimited = CrawlPlan {
        named: named.clone(),
        ..plan("https://a.com/0")
    };
    assert_eq!(with_seeds(unlimited).counts().waiting, 5_000);
    let limited = CrawlPlan {
        named,
        limit: Some(7),
        ..plan("https://a.com/0")
    };
    assert_eq!(
        with_seeds(limited).counts().known,
        7 + seeds::SPARE_SEEDS_MAX
    );
}

#[test]
fn a_seed_from_a_text_is_checked_like_the_others() {
    let of_text = |named: &[&str]| CrawlPlan {
        named: Some(Arc::new(found(named))),
        scope: without_private(),
        ..plan("https://a.com/private/1")
    };
    let mut frontier = with_seeds(of_text(&["https://a.com/private/1", "https://b.com/2"]));
    let page = leased(&mut frontier);
    assert_eq!(page.url.as_str(), "https://b.com/2");
    assert!(page.is_seed);
    let mut none = with_seeds(of_text(&["https://a.com/private/1"]));
    assert!(matches!(none.lease(), Lease::Done(_)));
    // A seed that the caller named is always added.
    let mut frontier = with_seeds(of_text(&["https://b.com/2"]));
    assert_eq!(
        leased(&mut frontier).url.as_str(),
        "https://a.com/private/1"
    );
}

fn leased(frontier: &mut Frontier) -> Leased {
    match frontier.lease() {
        Lease::Page(page) => page,
        other => panic!("no page but {other:?}"),
    }
}

/// The URLs that are leased now.
fn all_leased(frontier: &mut Frontier) -> Vec<Leased> {
    let mut pages = Vec::new();
    while let Lease::Page(page) = frontier.lease() {
        pages.push(page);
    }
    pages
}

fn reason(frontier: &mut Frontier, url: &str) -> Option<UrlState> {
    let mut rows = Vec::new();
    for n in 0..frontier.table.len() as u32 {
        rows.push((frontier.table.url(n).to_owned(), frontier.table.status(n)));
    }
    let row = rows.iter().find(|(known, _)| known == url)?;
    Some(row.1.stored())
}

#[test]
fn skipped_urls_have_reasons() {
    let mut frontier = with_seeds(CrawlPlan {
        depth: 1,
        scope: without_private(),
        ..plan("http://a.example/")
    });
    let seed = leased(&mut frontier);
    let mut links = found(&[
        "https://a.example/",
        "http://a.example/one",
        "http://b.example/",
        "ftp://a.example/",
        "http://a.example/private/x",
        "http://www.a.example/two",
    ]);
    links.push("http://a.example/hidden", true);
    frontier.complete(seed.n, &links, true);
    let one = leased(&mut frontier);
    assert_eq!(
        (one.url.as_str(), frontier.table.depth(one.n)),
        ("http://a.example/one", 1)
    );
    let two = leased(&mut frontier);
    frontier.complete(two.n, &Discovered::default(), true);
    frontier.complete(one.n, &found(&["http://a.example/deep"]), true);
    assert!(matches!(frontier.lease(), Lease::Done(StopReason::Depth)));
    let expected = [
        ("http://b.example/", SkipReason::Scope),
        ("ftp://a.example/", SkipReason::Scheme),
        ("http://a.example/private/x", SkipReason::Blacklist),
        ("http://a.example/hidden", SkipReason::Nofollow),
        ("http://a.example/deep", SkipReason::Depth),
    ];
    for (url, skip) in expected {
        assert_eq!(
            reason(&mut frontier, url),
            Some(UrlState::Skipped(skip)),
            "{url}"
        );
    }
}

#[test]
fn scope_follows_the_plan() {
    let check = |scope: ScopePlan, url: &str, is_in_scope: bool| {
        let plan = CrawlPlan {
            scope,
            ..plan("http://docs.example.co.uk/")
        };
        let verdict = Scope::new(Arc::new(plan)).check(url);
        assert_eq!(verdict.is_ok(), is_in_scope, "{url}");
    };
    let subdomains = || ScopePlan {
        subdomains: true,
        ..ScopePlan::default()
    };
    let tld = || ScopePlan {
        tld: true,
        ..ScopePlan::default()
    };
    check(
        ScopePlan::default(),
        "http://www.docs.example.co.uk/x",
        true,
    );
    check(ScopePlan::default(), "http://example.co.uk/", false);
    check(subdomains(), "http://example.co.uk/", true);
    check(subdomains(), "http://a.b.example.co.uk/", true);
    check(subdomains(), "http://other.co.uk/", false);
    check(tld(), "http://example.com/", true);
    check(tld(), "http://a.example.co.uk/", false);
    check(tld(), "http://example.co.uk.evil.com/", false);
    check(tld(), "http://exampl.com/", false);
    let external = |entry: &str| ScopePlan {
        external: Hosts::read(&[entry.to_owned()], &mut Allowance::default()).expect("hosts"),
        ..ScopePlan::default()
    };
    check(external("*"), "http://any.test/", true);
    check(external("b.test"), "http://b.test/", true);
    check(external("b.test"), "http://a.b.test/", false);
    check(external(".*\\.b\\.test"), "http://a.b.test:81/", true);
}

#[test]
fn redirects_claim_their_targets() {
    let mut frontier = with_seeds(plan("http://a.example/"));
    let seed = leased(&mut frontier);
    let home = Url::parse("https://new.example/home").expect("a URL");
    assert_eq!(frontier.redirect(seed.n, &home), Ok(()));
    assert_eq!(frontier.redirect(seed.n, &home), Ok(()), "a second time");
    let links = found(&[
        "https://new.example/home",
        "https://new.example/one",
        "https://new.example/two",
        "http://a.example/three",
    ]);
    frontier.complete(seed.n, &links, true);
    let one = leased(&mut frontier);
    let two = Url::parse("https://new.example/two").expect("a URL");
    assert_eq!(frontier.redirect(one.n, &home), Err(SkipReason::Duplicate));
    assert_eq!(frontier.redirect(one.n, &two), Ok(()));
    let out = Url::parse("https://out.example/").expect("a URL");
    assert_eq!(frontier.redirect(one.n, &out), Err(SkipReason::Scope));
    let three = leased(&mut frontier);
    assert_eq!(three.url.path(), "/three");
    assert_eq!(frontier.redirect(three.n, &two), Err(SkipReason::Duplicate));
    frontier.skip(three.n, SkipReason::Duplicate);
    // The page that was redirected to `two` is skipped: `two` is a page of its own again.
    frontier.skip(one.n, SkipReason::Robots);
    assert_eq!(leased(&mut frontier).url, two);
    // Where they redirect to is stored with them.
    let targets = frontier.take_changes().into_iter();
    let targets = targets.filter_map(|row| Some((row.n, row.target?)));
    let expected = [(one.n, out.to_string()), (three.n, two.to_string())];
    assert_eq!(targets.collect::<Vec<_>>(), expected);
}

#[test]
fn a_page_that_is_put_back_waits_again_until_the_crawl_stops() {
    let mut frontier = with_seeds(CrawlPlan {
        limit: Some(1),
        host_limit: Some(1),
        budget: vec![Budget {
            prefix: "/".to_owned(),
            pages: 1,
        }],
        ..plan("http://a.example/")
    });
    let states = |frontier: &mut Frontier| {
        let changes = frontier.take_changes().into_iter();
        changes.map(|row| row.state).collect::<Vec<_>>()
    };
    let seed = leased(&mut frontier);
    frontier.put_back(seed.n);
    let counts = frontier.counts();
    assert_eq!((counts.waiting, counts.in_flight), (1, 0));
    assert_eq!(states(&mut frontier), [UrlState::Waiting]);
    assert_eq!(leased(&mut frontier).n, seed.n, "no cap counts it");
    frontier.put_back(seed.n);
    frontier.stop(StopReason::Cancelled);
    let stopped = UrlState::Skipped(SkipReason::Stopped);
    assert_eq!(states(&mut frontier), [stopped]);
    assert!(matches!(
        frontier.lease(),
        Lease::Done(StopReason::Cancelled)
    ));

    let mut frontier = with_seeds(plan("http://a.example/"));
    let seed = leased(&mut frontier);
    frontier.stop(StopReason::Cancelled);
    frontier.put_back(seed.n);
    assert_eq!(states(&mut frontier), [stopped]);
    let counts = frontier.counts();
    assert_eq!((counts.waiting, counts.skipped), (0, 1));
}

#[test]
fn the_target_of_a_redirect_waits_in_the_store_until_its_page_is_delivered() {
    let mut frontier = with_seeds(plan("http://a.example/"));
    let seed = leased(&mut frontier);
    let home = Url::parse("http://a.example/home").expect("a URL");
    assert_eq!(frontier.redirect(seed.n, &home), Ok(()));
    let rows = frontier.take_changes().into_iter();
    let mut restored = Frontier::restore(Arc::clone(&frontier.plan), rows);
    let again = leased(&mut restored);
    assert_eq!(again.url, seed.url);
    assert_eq!(restored.redirect(again.n, &home), Ok(()), "as before");
    frontier.complete(seed.n, &Discovered::default(), true);
    assert!(matches!(
        frontier.lease(),
        Lease::Done(StopReason::Completed)
    ));
    let is_home = |row: &UrlRow| row.url == home.as_str();
    assert!(!frontier.take_changes().iter().any(is_home));
    frontier.note_delivered(seed.n);
    let rows = frontier.take_changes();
    let states: Vec<UrlState> = rows.iter().map(|row| row.state).collect();
    assert_eq!(states, [UrlState::Skipped(SkipReason::Duplicate)]);
    assert!(rows.iter().all(is_home));
}

#[test]
fn a_restored_crawl_has_the_hosts_that_redirects_of_seeds_added() {
    let mut frontier = with_seeds(plan("http://a.example/"));
    let seed = leased(&mut frontier);
    let home = Url::parse("https://new.example/home").expect("a URL");
    assert_eq!(frontier.redirect(seed.n, &home), Ok(()));
    let links = found(&["https://new.example/one", "https://out.example/"]);
    frontier.complete(seed.n, &links, true);
    frontier.note_delivered(seed.n);
    let rows = frontier.take_changes().into_iter();
    let mut restored = Frontier::restore(Arc::clone(&frontier.plan), rows);
    let one = leased(&mut restored);
    let links = found(&["https://new.example/two", "https://out.example/two"]);
    restored.complete(one.n, &links, true);
    assert_eq!(leased(&mut restored).url.path(), "/two");
    let out = reason(&mut restored, "https://out.example/two");
    assert_eq!(out, Some(UrlState::Skipped(SkipReason::Scope)));
}

#[test]
fn budgets_count_by_prefix_and_skipped_pages_do_not_count() {
    let budget = |prefix: &str, pages| Budget {
        prefix: prefix.to_owned(),
        pages,
    };
    let mut frontier = with_seeds(CrawlPlan {
        budget: vec![budget("/blog", 1), budget("*", 4)],
        ..plan("http://a.example/")
    });
    let seed = leased(&mut frontier);
    let links = [
        "http://a.example/Blog/1",
        "http://a.example/blog/2",
        "http://a.example/1",
        "http://a.example/2",
        "http://a.example/3",
    ];
    frontier.complete(seed.n, &found(&links), true);
    let blog = leased(&mut frontier);
    assert_eq!(blog.url.path(), "/Blog/1");
    assert_eq!(leased(&mut frontier).url.path(), "/1");
    assert_eq!(leased(&mut frontier).url.path(), "/2");
    assert!(matches!(frontier.lease(), Lease::Wait));
    frontier.skip(blog.n, SkipReason::Robots);
    // Its place in `/blog` is free, and its place in the whole crawl.
    let next = leased(&mut frontier);
    assert_eq!(next.url.path(), "/blog/2");
    assert!(matches!(frontier.lease(), Lease::Wait));
    assert_eq!(frontier.counts().waiting, 1);
}

#[test]
fn what_a_budget_holds_back_is_skipped_when_the_crawl_ends_and_stored_once() {
    let mut frontier = with_seeds(CrawlPlan {
        budget: vec![Budget {
            prefix: "/blog".to_owned(),
            pages: 2,
        }],
        ..plan("http://a.example/")
    });
    let seed = leased(&mut frontier);
    let links: Vec<String> = (0..1_000)
        .map(|n| format!("http://a.example/blog/{n}"))
        .collect();
    let links: Vec<&str> = links.iter().map(String::as_str).collect();
    frontier.complete(seed.n, &found(&links), true);
    assert_eq!(frontier.take_changes().len(), 1_001);
    let kept = leased(&mut frontier);
    for _ in 0..100 {
        let page = leased(&mut frontier);
        assert!(matches!(frontier.lease(), Lease::Wait));
        frontier.skip(page.n, SkipReason::Robots);
        let changed: Vec<u32> = frontier.take_changes().iter().map(|row| row.n).collect();
        assert!(changed.len() <= 2, "{changed:?}");
    }
    frontier.complete(kept.n, &Discovered::default(), true);
    let last = leased(&mut frontier);
    frontier.complete(last.n, &Discovered::default(), true);
    assert!(matches!(frontier.lease(), Lease::Done(StopReason::Budget)));
    let rows = frontier.take_changes();
    let held = rows
        .iter()
        .filter(|row| row.state == UrlState::Skipped(SkipReason::Budget));
    assert_eq!(held.count(), 1_000 - 102);
    assert_eq!(frontier.counts().waiting, 0);
}

/// Steps of one lease, of its end and of a skip, with so many budgets and queued URLs.
fn steps(n_budgets: usize, n_urls: usize) -> u64 {
    let budget = (0..n_budgets).map(|n| Budget {
        prefix: format!("/{n:04}/"),
        pages: 1 + n as u64 % 3,
    });
    let mut frontier = with_seeds(CrawlPlan {
        budget: budget.collect(),
        ..plan("http://a.example/")
    });
    let seed = leased(&mut frontier);
    let links = (0..n_urls).map(|n| format!("http://a.example/{:04}/{n}", n % n_budgets));
    let links: Vec<String> = links.collect();
    let links: Vec<&str> = links.iter().map(String::as_str).collect();
    frontier.complete(seed.n, &found(&links), true);
    let mut most = 0;
    for round in 0..8 {
        let before = frontier.queues.n_steps;
        // Every URL may be held back: then this is the cost of finding none.
        if let Lease::Page(page) = frontier.lease() {
            match round % 2 {
                0 => frontier.skip(page.n, SkipReason::Robots),
                _ => frontier.complete(page.n, &Discovered::default(), true),
            }
        }
        most = most.max(frontier.queues.n_steps - before);
    }
    most
}

#[test]
fn a_lease_costs_the_same_with_any_number_of_budgets_and_urls() {
    for (n_budgets, n_urls) in [(1, 10), (1_000, 10), (1, 200_000), (1_000, 200_000)] {
        let steps = steps(n_budgets, n_urls);
        assert!(
            steps <= 24,
            "{steps} steps with {n_budgets} budgets and {n_urls} URLs"
        );
    }
}

#[test]
fn a_limit_ends_the_crawl_and_skips_the_rest() {
    let mut frontier = with_seeds(CrawlPlan {
        limit: Some(2),
        ..plan("http://a.example/")
    });
    let seed = leased(&mut frontier);
    frontier.complete(
        seed.n,
        &found(&["http://a.example/1", "http://a.example/2"]),
        true,
    );
    let one = leased(&mut frontier);
    assert!(matches!(frontier.lease(), Lease::Wait));
    frontier.complete(one.n, &Discovered::default(), true);
    assert!(matches!(frontier.lease(), Lease::Done(StopReason::Limit)));
    let left = reason(&mut frontier, "http://a.example/2");
    assert_eq!(left, Some(UrlState::Skipped(SkipReason::Limit)));
}

#[test]
fn many_seeds_are_one_crawl_under_one_limit() {
    let named = Arc::new(found(&[
        "https://a.example/",
        "http://a.example/",
        "https://b.example/x",
        "https://c.example/private",
        "https://d.example/y",
    ]));
    let mut frontier = with_seeds(CrawlPlan {
        named: Some(named),
        depth: 0,
        limit: Some(2),
        scope: without_private(),
        ..plan("https://a.example/")
    });
    assert_eq!((frontier.counts().known, frontier.counts().waiting), (4, 3));
    for expected in ["https://a.example/", "https://b.example/x"] {
        let page = leased(&mut frontier);
        assert_eq!(page.url.as_str(), expected);
        assert!(page.is_seed && frontier.table.depth(page.n) == 0);
        // A redirect of a seed is followed, but does not widen the scope.
        let elsewhere = Url::parse("https://elsewhere.example/").expect("a URL");
        if page.n == 0 {
            assert_eq!(frontier.redirect(page.n, &elsewhere), Ok(()));
        } else {
            assert_eq!(
                frontier.redirect(page.n, &elsewhere),
                Err(SkipReason::Duplicate)
            );
        }
        frontier.complete(
            page.n,
            &found(&["https://b.example/z", "https://elsewhere.example/2"]),
            true,
        );
    }
    assert!(matches!(frontier.lease(), Lease::Done(StopReason::Limit)));
}

#[test]
fn roots_are_seeds_of_one_crawl_wherever_they_are() {
    let roots = [
        "https://b.example/private#top",
        "http://a.example/",
        "https://b.example/2",
    ];
    let plan = CrawlPlan {
        roots: roots.map(page_plan).into(),
        limit: Some(3),
        scope: without_private(),
        ..plan("https://a.example/")
    };
    let mut frontier = with_seeds(plan);
    assert_eq!(frontier.counts().known, 3, "http and https are one page");
    // A root's redirect widens the scope like the first seed's.
    let first = leased(&mut frontier);
    let second = leased(&mut frontier);
    assert_eq!(second.url.as_str(), "https://b.example/private");
    let elsewhere = Url::parse("https://c.example/home").expect("a URL");
    assert_eq!(frontier.redirect(second.n, &elsewhere), Ok(()));
    let links = ["https://b.example/3", "https://c.example/4"];
    frontier.complete(second.n, &found(&links), true);
    frontier.complete(first.n, &Discovered::default(), true);
    assert!(leased(&mut frontier).is_seed);
    assert_eq!(frontier.counts().waiting, 2);
    assert!(matches!(frontier.lease(), Lease::Wait));
    frontier.complete(2, &Discovered::default(), true);
    assert!(matches!(frontier.lease(), Lease::Done(StopReason::Limit)));
}

#[test]
fn missing_seeds_are_added_when_a_crawl_is_restored() {
    let named = [
        "https://a.example/",
        "https://b.example/",
        "https://c.example/",
    ];
    let plan = Arc::new(CrawlPlan {
        named: Some(Arc::new(found(&named))),
        depth: 1,
        ..plan(named[0])
    });
    let mut killed = Frontier::new(Arc::clone(&plan));
    killed.add_seeds();
    let mut rows = killed.take_changes();
    rows.truncate(2);
    rows[0].state = UrlState::Done;
    let mut frontier = Frontier::restore(Arc::clone(&plan), rows.into_iter());
    assert_eq!((frontier.counts().known, frontier.counts().done), (3, 1));
    let added: Vec<_> = frontier.take_changes();
    assert_eq!(
        (added.len(), added[0].n, added[0].url.as_str()),
        (1, 2, named[2])
    );
    for n in 1..3 {
        let page = leased(&mut frontier);
        assert_eq!((page.n, page.is_seed), (n, true));
        frontier.complete(page.n, &found(&["https://a.example/found"]), true);
    }
    let page = leased(&mut frontier);
    assert_eq!((page.n, page.is_seed), (3, false));

    // With more rows than seeds nothing is missing.
    let mut whole = Frontier::restore(Arc::clone(&plan), stored_rows(&plan));
    assert_eq!(whole.counts().known, 4);
    assert!(whole.take_changes().is_empty());
}

#[test]
fn higher_caps_continue_a_crawl_that_ended_at_its_own() {
    let capped = |limit: u64, depth: u16| {
        Arc::new(CrawlPlan {
            limit: Some(limit),
            depth,
            ..plan("https://a.example/")
        })
    };
    let mut frontier = Frontier::new(capped(2, 1));
    frontier.add_seeds();
    let seed = leased(&mut frontier);
    frontier.complete(
        seed.n,
        &found(&["https://a.example/1", "https://a.example/2"]),
        true,
    );
    let one = leased(&mut frontier);
    frontier.complete(one.n, &found(&["https://a.example/deep"]), true);
    assert!(matches!(frontier.lease(), Lease::Done(StopReason::Limit)));
    let rows = frontier.take_changes();

    let mut same = Frontier::restore(capped(2, 1), rows.clone().into_iter());
    assert!(matches!(same.lease(), Lease::Done(StopReason::Limit)));
    let mut wider = Frontier::restore(capped(9, 1), rows.clone().into_iter());
    let two = leased(&mut wider);
    assert_eq!(two.url.as_str(), "https://a.example/2");
    wider.complete(two.n, &Discovered::default(), true);
    assert!(matches!(wider.lease(), Lease::Done(StopReason::Depth)));
    let mut deeper = Frontier::restore(capped(9, 2), rows.into_iter());
    let two = leased(&mut deeper);
    deeper.complete(two.n, &Discovered::default(), true);
    let deep = leased(&mut deeper);
    assert_eq!(deep.url.as_str(), "https://a.example/deep");
    deeper.complete(deep.n, &Discovered::default(), true);
    assert!(matches!(deeper.lease(), Lease::Done(StopReason::Completed)));
    assert_eq!(deeper.counts().done, 4);
}

/// While the server stops, or after that, a crawl may have no room left for its pages. It does not
/// end then, and what it has left out is fetched when it continues.
#[test]
fn a_crawl_that_was_paused_while_it_stopped_continues_with_what_was_left() {
    let plan = Arc::new(plan("https://a.example/"));
    let mut frontier = Frontier::new(Arc::clone(&plan));
    frontier.add_seeds();
    let seed = leased(&mut frontier);
    let links = ["https://a.example/1", "https://a.example/2"];
    frontier.complete(seed.n, &found(&links), true);
    let one = leased(&mut frontier);
    assert!(frontier.stop_unless_complete(StopReason::Storage));
    frontier.complete(one.n, &found(&["https://a.example/3"]), true);
    let rows = frontier.take_changes();
    let stopped = UrlState::Skipped(SkipReason::Stopped);
    let n_stopped = rows.iter().filter(|row| row.state == stopped).count();
    assert_eq!(
        n_stopped, 2,
        "one that waited, and one that was found later"
    );
    let mut restored = Frontier::restore(plan, rows.into_iter());
    for url in ["https://a.example/2", "https://a.example/3"] {
        let page = leased(&mut restored);
        assert_eq!(page.url.as_str(), url);
        restored.complete(page.n, &Discovered::default(), true);
    }
    assert!(matches!(
        restored.lease(),
        Lease::Done(StopReason::Completed)
    ));
}

/// Three seeds and a page that they link to.
fn stored_rows(plan: &Arc<CrawlPlan>) -> impl Iterator<Item = UrlRow> + use<> {
    let mut frontier = Frontier::new(Arc::clone(plan));
    frontier.add_seeds();
    let page = leased(&mut frontier);
    frontier.complete(page.n, &found(&["https://a.example/found"]), true);
    frontier.take_changes().into_iter()
}

#[test]
fn a_crawl_below_its_seeds_stays_in_their_directories() {
    let below = |external: &str| ScopePlan {
        below_seed: true,
        external: Hosts::read(&[external.to_owned()], &mut Allowance::default()).expect("hosts"),
        ..ScopePlan::default()
    };
    let mut scope = Scope::new(Arc::new(CrawlPlan {
        scope: below("b.example"),
        ..plan("http://a.example/docs/intro?page=/x/y")
    }));
    let check = |scope: &mut Scope, url: &str, is_in_scope: bool| {
        assert_eq!(scope.check(url).is_ok(), is_in_scope, "{url}");
    };
    for (path, is_in_scope) in [
        ("/docs/intro", true),
        ("/docs/", true),
        ("/docs/a/b?c=/", true),
        ("/docs", false),
        ("/docs2/", false),
        ("/", false),
        ("/blog/?from=/docs/", false),
    ] {
        check(&mut scope, &format!("http://a.example{path}"), is_in_scope);
        check(
            &mut scope,
            &format!("https://www.a.example{path}"),
            is_in_scope,
        );
        check(&mut scope, &format!("http://b.example{path}"), true);
    }
    // The target of a seed's redirect is like a seed.
    scope.widen(&Url::parse("http://a.example/docs2/en/").expect("a URL"));
    check(&mut scope, "http://a.example/docs2/en/one", true);
    check(&mut scope, "http://a.example/docs2/one", false);
    scope.widen(&Url::parse("http://a.example/docs2/").expect("a URL"));
    check(&mut scope, "http://a.example/docs2/one", true);
    check(&mut scope, "http://a.example/docs/one", true);
    check(&mut scope, "http://a.example/other", false);
}

#[test]
fn hosts_of_all_seeds_are_in_scope() {
    let mut frontier = with_seeds(CrawlPlan {
        named: Some(Arc::new(found(&["https://www.b.com/"]))),
        scope: ScopePlan {
            subdomains: true,
            ..ScopePlan::default()
        },
        ..plan("https://a.com/")
    });
    let first = leased(&mut frontier);
    let links = ["https://b.com/1", "https://docs.b.com/2", "https://c.com/3"];
    frontier.complete(first.n, &found(&links), true);
    assert_eq!((frontier.counts().known, frontier.counts().skipped), (5, 1));
}

#[test]
fn a_complete_crawl_has_its_own_reason() {
    let crawled = |plan: CrawlPlan, links: &[&str]| {
        let mut frontier = with_seeds(plan);
        let page = leased(&mut frontier);
        frontier.complete(page.n, &found(links), true);
        let is_stopped = frontier.stop_unless_complete(StopReason::Storage);
        match frontier.lease() {
            Lease::Done(stop) => (is_stopped, stop),
            other => panic!("it goes on: {other:?}"),
        }
    };
    let (seed, links) = ("https://a.com/", ["https://a.com/1"]);
    let complete = crawled(plan(seed), &[]);
    assert_eq!(complete, (false, StopReason::Completed));
    assert_eq!(crawled(plan(seed), &links), (true, StopReason::Storage));
    let limited = CrawlPlan {
        limit: Some(1),
        ..plan(seed)
    };
    assert_eq!(crawled(limited, &links), (false, StopReason::Limit));
    let budgeted = CrawlPlan {
        budget: vec![Budget {
            prefix: "/1".to_owned(),
            pages: 0,
        }],
        ..plan(seed)
    };
    assert_eq!(crawled(budgeted, &links), (false, StopReason::Budget));
}
