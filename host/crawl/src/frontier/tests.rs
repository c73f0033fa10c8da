//! The frontier on made-up sites, in any order of finishing.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use trawl_model::{Nanodollars, UrlState};
use trawl_plan::crawl::{Budget, Pattern, ScopePlan, SitemapPlan};
use trawl_plan::testing::page_plan;

fn plan(seed: &str) -> CrawlPlan {
    CrawlPlan {
        seed: page_plan(seed),
        named: None,
        limit: None,
        depth: 25,
        budget: Vec::new(),
        ceiling: Nanodollars::MAX,
        delay: Duration::ZERO,
        in_flight: 10,
        timeout: None,
        scope: ScopePlan::default(),
        sitemap: SitemapPlan::default(),
        webhook: None,
        in_background: false,
    }
}

fn found(links: &[&str]) -> Discovered {
    let mut found = Discovered::default();
    for link in links {
        found.push(link, false);
    }
    found
}

fn begun(plan: CrawlPlan) -> Frontier {
    let mut frontier = Frontier::new(Arc::new(plan));
    frontier.add_seed();
    frontier
}

#[test]
fn under_a_limit_no_more_seeds_are_taken_than_it_and_a_reserve() {
    let mut named = Discovered::default();
    for n in 0..5_000 {
        named.push(&format!("https://a.com/{n}"), false);
    }
    let named = Some(Arc::new(named));
    let unlimited = CrawlPlan {
        named: named.clone(),
        ..plan("https://a.com/0")
    };
    assert_eq!(begun(unlimited).counts().waiting, 5_000);
    let limited = CrawlPlan {
        named,
        limit: Some(7),
        ..plan("https://a.com/0")
    };
    assert_eq!(begun(limited).counts().known, 7 + seeds::RESERVE_MAX);
}

#[test]
fn a_seed_that_was_found_in_a_text_is_checked_as_the_others_are() {
    let of_text = |named: &[&str]| CrawlPlan {
        named: Some(Arc::new(found(named))),
        scope: ScopePlan {
            blacklist: vec![Pattern::Text("/private".to_owned())],
            ..ScopePlan::default()
        },
        ..plan("https://a.com/private/1")
    };
    let mut frontier = begun(of_text(&["https://a.com/private/1", "https://b.com/2"]));
    let page = leased(&mut frontier);
    assert_eq!(page.url.as_str(), "https://b.com/2");
    assert!(page.is_seed);
    let mut none = begun(of_text(&["https://a.com/private/1"]));
    assert!(matches!(none.lease(), Lease::Done(_)));
    // One that the caller named is taken.
    let mut frontier = begun(of_text(&["https://b.com/2"]));
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

fn reason(frontier: &mut Frontier, url: &str) -> Option<UrlState> {
    let mut rows = Vec::new();
    for n in 0..frontier.table.len() as u32 {
        rows.push((frontier.table.url(n).to_owned(), frontier.table.standing(n)));
    }
    let row = rows.iter().find(|(known, _)| known == url)?;
    Some(row.1.stored())
}

#[test]
fn reasons_are_told() {
    let mut frontier = begun(CrawlPlan {
        depth: 1,
        scope: ScopePlan {
            blacklist: vec![Pattern::Text("/private".to_owned())],
            ..ScopePlan::default()
        },
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
    assert_eq!((one.url.as_str(), one.depth), ("http://a.example/one", 1));
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
fn hosts_belong_by_the_plans_switches() {
    let check = |scope: ScopePlan, url: &str, belongs: bool| {
        let plan = CrawlPlan {
            scope,
            ..plan("http://docs.example.co.uk/")
        };
        let verdict = Scope::new(Arc::new(plan)).check(url);
        assert_eq!(verdict.is_ok(), belongs, "{url}");
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
    check(tld(), "http://example.co.uk.evil.com/", false);
    check(tld(), "http://exampl.com/", false);
    let external = |external| ScopePlan {
        external: vec![external],
        ..ScopePlan::default()
    };
    use trawl_plan::crawl::External;
    check(external(External::Any), "http://any.test/", true);
    let host = || External::Host("b.test".to_owned());
    check(external(host()), "http://b.test/", true);
    check(external(host()), "http://a.b.test/", false);
    let regex = regex::Regex::new("^(?:.*\\.b\\.test)$").expect("a regex");
    check(
        external(External::Matching(regex)),
        "http://a.b.test:81/",
        true,
    );
}

#[test]
fn redirects_claim_their_targets() {
    let mut frontier = begun(plan("http://a.example/"));
    let seed = leased(&mut frontier);
    let home = Url::parse("https://new.example/home").expect("an address");
    assert_eq!(frontier.redirect(seed.n, &home), Ok(()));
    assert_eq!(frontier.redirect(seed.n, &home), Ok(()), "asked again");
    let links = found(&[
        "https://new.example/home",
        "https://new.example/one",
        "https://new.example/two",
        "http://a.example/three",
    ]);
    frontier.complete(seed.n, &links, true);
    let one = leased(&mut frontier);
    let two = Url::parse("https://new.example/two").expect("an address");
    assert_eq!(frontier.redirect(one.n, &home), Err(SkipReason::Duplicate));
    assert_eq!(frontier.redirect(one.n, &two), Ok(()));
    let out = Url::parse("https://out.example/").expect("an address");
    assert_eq!(frontier.redirect(one.n, &out), Err(SkipReason::Scope));
    let three = leased(&mut frontier);
    assert_eq!(three.url.path(), "/three");
    assert_eq!(frontier.redirect(three.n, &two), Err(SkipReason::Duplicate));
    frontier.skip(three.n, SkipReason::Duplicate);
    // The page that took the second one over was none: it waits for its own turn again.
    frontier.skip(one.n, SkipReason::Robots);
    assert_eq!(leased(&mut frontier).url, two);
}

#[test]
fn budgets_count_by_prefix_and_come_back() {
    let budget = |prefix: &str, pages| Budget {
        prefix: prefix.to_owned(),
        pages,
    };
    let mut frontier = begun(CrawlPlan {
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
    let next = leased(&mut frontier);
    assert!(["/blog/2", "/3"].contains(&next.url.path()), "{next:?}");
}

#[test]
fn a_limit_ends_the_crawl_and_tells_what_was_left() {
    let mut frontier = begun(CrawlPlan {
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

/// A site: links of each page, by number.
type Site = Vec<Vec<usize>>;

fn sites() -> impl Strategy<Value = Site> {
    (2_usize..24).prop_flat_map(|n| prop::collection::vec(prop::collection::vec(0..n, 0..5), n))
}

fn address(page: usize) -> String {
    match page % 3 {
        0 => format!("http://a.example/x/{page}"),
        _ => format!("http://a.example/{page}"),
    }
}

fn page_of(url: &Url) -> usize {
    let number = url.path().rsplit('/').next().expect("a last part");
    number.parse().expect("a number")
}

fn distances(site: &Site) -> BTreeMap<usize, u16> {
    let mut known = BTreeMap::from([(0, 0)]);
    let mut queue = VecDeque::from([0]);
    while let Some(page) = queue.pop_front() {
        for &to in &site[page] {
            if !known.contains_key(&to) {
                known.insert(to, known[&page] + 1);
                queue.push_back(to);
            }
        }
    }
    known
}

proptest! {
    #[test]
    fn caps_hold_depths_are_shortest_and_everything_ends(
        site in sites(),
        in_flight in 1_usize..=10,
        limit in prop::option::of(1_u64..20),
        depth in 0_u16..6,
        x_pages in prop::option::of(0_u64..4),
        picks in prop::collection::vec((0_usize..10, 0_u8..8), 0..200),
        crash_at in prop::option::of(0_usize..30),
    ) {
        let plan = Arc::new(CrawlPlan {
            limit,
            depth,
            in_flight,
            budget: x_pages.map(|pages| Budget { prefix: "/x".to_owned(), pages }).into_iter().collect(),
            ..plan(&address(0))
        });
        let distances = distances(&site);
        let mut frontier = Frontier::new(Arc::clone(&plan));
        frontier.add_seed();
        let mut stored: BTreeMap<u32, UrlRow> = BTreeMap::new();
        let mut flying: Vec<Leased> = Vec::new();
        let mut done: HashMap<usize, u32> = HashMap::new();
        let mut given_back: BTreeSet<usize> = BTreeSet::new();
        let mut picks = picks.into_iter();
        let mut n_steps = 0;
        let stop = loop {
            n_steps += 1;
            prop_assert!(n_steps < 10_000, "the crawl does not end");
            match frontier.lease() {
                Lease::Page(page) => {
                    let number = page_of(&page.url);
                    prop_assert!(!done.contains_key(&number), "{number} is leased again");
                    prop_assert!(flying.iter().all(|other| other.n != page.n));
                    // A page that was left out hides its links, so what it links to is found later.
                    let is_whole = given_back.is_empty() && x_pages.is_none();
                    prop_assert!(page.depth >= distances[&number]);
                    prop_assert!(!is_whole || page.depth == distances[&number]);
                    prop_assert!(page.depth <= depth);
                    flying.push(page);
                    prop_assert!(flying.len() <= in_flight);
                    let taken = (done.len() + flying.len()) as u64;
                    prop_assert!(limit.is_none_or(|limit| taken <= limit));
                    let under_x = |number: &usize| number.is_multiple_of(3);
                    let of_x = done.keys().filter(|n| under_x(n)).count()
                        + flying.iter().filter(|page| under_x(&page_of(&page.url))).count();
                    prop_assert!(x_pages.is_none_or(|pages| of_x as u64 <= pages));
                    continue;
                }
                Lease::Done(stop) => break stop,
                Lease::Wait => prop_assert!(!flying.is_empty(), "waits for nothing"),
            }
            let (pick, fate) = picks.next().unwrap_or((0, 1));
            let page = flying.swap_remove(pick % flying.len());
            let number = page_of(&page.url);
            if fate == 0 && page.depth > 0 {
                frontier.skip(page.n, SkipReason::Robots);
                given_back.insert(number);
            } else {
                let links: Vec<String> = site[number].iter().map(|&to| address(to)).collect();
                let links: Vec<&str> = links.iter().map(String::as_str).collect();
                frontier.complete(page.n, &found(&links), true);
                done.insert(number, page.n);
            }
            for row in frontier.take_changes() {
                stored.insert(row.n, row);
            }
            if crash_at == Some(done.len()) && !flying.is_empty() {
                flying.clear();
                frontier = Frontier::restore(Arc::clone(&plan), stored.values().cloned());
            }
        };
        for row in frontier.take_changes() {
            stored.insert(row.n, row);
        }
        for row in stored.values() {
            prop_assert!(row.state != UrlState::Waiting, "{row:?} was forgotten, {stop:?}");
            let number = page_of(&Url::parse(&row.url).expect("an address"));
            prop_assert_eq!(row.state == UrlState::Done, done.contains_key(&number));
        }
        // Without caps in the way and no page lost, all that can be reached is fetched.
        if stop == StopReason::Completed && given_back.is_empty() {
            prop_assert_eq!(done.len(), distances.len());
        }
        let counts = frontier.counts();
        prop_assert_eq!(counts.done + counts.skipped, counts.known);
    }
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
    let mut frontier = begun(CrawlPlan {
        named: Some(named),
        depth: 0,
        limit: Some(2),
        scope: ScopePlan {
            blacklist: vec![Pattern::Text("/private".to_owned())],
            ..ScopePlan::default()
        },
        ..plan("https://a.example/")
    });
    assert_eq!((frontier.counts().known, frontier.counts().waiting), (4, 3));
    for expected in ["https://a.example/", "https://b.example/x"] {
        let page = leased(&mut frontier);
        assert_eq!(page.url.as_str(), expected);
        assert!(page.is_seed && page.depth == 0);
        // A seed's redirect leads where it leads, and to no host more.
        let elsewhere = Url::parse("https://elsewhere.example/").expect("an address");
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
fn seeds_that_were_not_stored_yet_are_added_on_the_way_back() {
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
    killed.add_seed();
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

    // With more than the seeds nothing is missing.
    let mut whole = Frontier::restore(Arc::clone(&plan), killed_rows(&plan));
    assert_eq!(whole.counts().known, 4);
    assert!(whole.take_changes().is_empty());
}

/// Three seeds and a page that they link to.
fn killed_rows(plan: &Arc<CrawlPlan>) -> impl Iterator<Item = UrlRow> + use<> {
    let mut frontier = Frontier::new(Arc::clone(plan));
    frontier.add_seed();
    let page = leased(&mut frontier);
    frontier.complete(page.n, &found(&["https://a.example/found"]), true);
    frontier.take_changes().into_iter()
}

#[test]
fn hosts_of_all_seeds_belong_to_a_crawl() {
    let mut frontier = begun(CrawlPlan {
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
