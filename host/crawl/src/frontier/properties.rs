//! The frontier on generated sites, with pages that finish in any order.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use proptest::prelude::*;
use url::Url;

use trawl_model::{SkipReason, StopReason, UrlRow, UrlState};
use trawl_plan::crawl::{Budget, CrawlPlan};

use super::scope::path_of;
use super::table::UrlStatus;
use super::tests::{found, plan};
use super::{Frontier, Lease, Leased};

/// A site: links of each page, by number.
type Site = Vec<Vec<usize>>;

fn sites() -> impl Strategy<Value = Site> {
    (2_usize..24).prop_flat_map(|n| prop::collection::vec(prop::collection::vec(0..n, 0..5), n))
}

fn url(page: usize) -> String {
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
    fn limits_hold_depths_are_shortest_and_every_crawl_ends(
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
            ..plan(&url(0))
        });
        let distances = distances(&site);
        let mut frontier = Frontier::new(Arc::clone(&plan));
        frontier.add_seeds();
        let mut stored: BTreeMap<u32, UrlRow> = BTreeMap::new();
        let mut in_flight_pages: Vec<Leased> = Vec::new();
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
                    prop_assert!(in_flight_pages.iter().all(|other| other.n != page.n));
                    // The links of a skipped page are unknown, so its targets may be found later.
                    let is_complete = given_back.is_empty() && x_pages.is_none();
                    let page_depth = frontier.table.depth(page.n);
                    prop_assert!(page_depth >= distances[&number]);
                    prop_assert!(!is_complete || page_depth == distances[&number]);
                    prop_assert!(page_depth <= depth);
                    in_flight_pages.push(page);
                    prop_assert!(in_flight_pages.len() <= in_flight);
                    let taken = (done.len() + in_flight_pages.len()) as u64;
                    prop_assert!(limit.is_none_or(|limit| taken <= limit));
                    let under_x = |number: &usize| number.is_multiple_of(3);
                    let of_x = done.keys().filter(|n| under_x(n)).count()
                        + in_flight_pages.iter().filter(|page| under_x(&page_of(&page.url))).count();
                    prop_assert!(x_pages.is_none_or(|pages| of_x as u64 <= pages));
                    continue;
                }
                Lease::Done(stop) => break stop,
                Lease::Wait => prop_assert!(!in_flight_pages.is_empty(), "waits without a page in flight"),
            }
            let (pick, fate) = picks.next().unwrap_or((0, 1));
            let page = in_flight_pages.swap_remove(pick % in_flight_pages.len());
            let number = page_of(&page.url);
            if fate == 0 && frontier.table.depth(page.n) > 0 {
                frontier.skip(page.n, SkipReason::Robots);
                given_back.insert(number);
            } else {
                let links: Vec<String> = site[number].iter().map(|&to| url(to)).collect();
                let links: Vec<&str> = links.iter().map(String::as_str).collect();
                frontier.complete(page.n, &found(&links), true);
                done.insert(number, page.n);
            }
            for row in frontier.take_changes() {
                stored.insert(row.n, row);
            }
            if crash_at == Some(done.len()) && !in_flight_pages.is_empty() {
                in_flight_pages.clear();
                frontier = Frontier::restore(Arc::clone(&plan), stored.values().cloned());
            }
        };
        for row in frontier.take_changes() {
            stored.insert(row.n, row);
        }
        for row in stored.values() {
            prop_assert!(row.state != UrlState::Waiting, "{row:?} still waits after {stop:?}");
            let number = page_of(&Url::parse(&row.url).expect("a URL"));
            prop_assert_eq!(row.state == UrlState::Done, done.contains_key(&number));
        }
        // Without limits and skipped pages, every reachable page is fetched.
        if stop == StopReason::Completed && given_back.is_empty() {
            prop_assert_eq!(done.len(), distances.len());
        }
        let counts = frontier.counts();
        prop_assert_eq!(counts.done + counts.skipped, counts.known);
    }
}

/// Whether a key of `budget` applies to a URL, as decision D39 has it.
fn is_under(url: &str, prefix: &str) -> bool {
    let path = path_of(url).to_ascii_lowercase();
    prefix == "*" || path.starts_with(prefix)
}

/// The URLs that may be leased by the definition of `budget`, with the depth of each: those that
/// wait, and have no key whose pages are used up. Every URL and every key is looked at.
fn allowed(frontier: &Frontier, budgets: &[Budget]) -> Vec<(u16, u32)> {
    let (table, all) = (&frontier.table, 0..frontier.table.len() as u32);
    let is_taken = |n: &u32| matches!(table.status(*n), UrlStatus::Leased | UrlStatus::Done);
    let taken: Vec<&str> = all.clone().filter(is_taken).map(|n| table.url(n)).collect();
    let has_room = |url: &str, budget: &Budget| {
        let of_key = taken.iter().filter(|taken| is_under(taken, &budget.prefix));
        !is_under(url, &budget.prefix) || (of_key.count() as u64) < budget.pages
    };
    let waiting = all.filter(|n| table.status(*n) == UrlStatus::Waiting);
    let allowed = waiting.filter(|n| budgets.iter().all(|budget| has_room(table.url(*n), budget)));
    allowed.map(|n| (table.depth(n), n)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn a_lease_is_the_first_url_that_every_budget_allows(
        paths in prop::collection::vec("(/[abA]{1,2}){1,4}", 1..60),
        budgets in prop::collection::btree_map("(/[ab]{1,2}){0,3}/?", 0_u64..4, 0..8),
        whole in prop::option::of(1_u64..12),
        steps in prop::collection::vec((0_usize..10, 0_u8..6, 0_usize..60), 1..120),
    ) {
        let keys = budgets.into_iter().chain(whole.map(|pages| ("*".to_owned(), pages)));
        let budget = budgets_of(keys);
        let mut frontier = Frontier::new(Arc::new(CrawlPlan {
            budget: budget.clone(),
            in_flight: 3,
            ..plan("http://a.example/")
        }));
        frontier.add_seeds();
        let links: Vec<String> =
            paths.iter().map(|path| format!("http://a.example{path}")).collect();
        let mut in_flight: Vec<Leased> = Vec::new();
        for (pick, fate, more) in steps.into_iter().cycle().take(2_000) {
            let mut allowed = allowed(&frontier, &budget);
            allowed.sort_unstable();
            let first = allowed.first().map(|(depth, _)| *depth);
            let is_blocked = first.is_some_and(|depth| {
                in_flight.iter().any(|page| frontier.table.depth(page.n) + 1 < depth)
            });
            match frontier.lease() {
                Lease::Page(page) => {
                    let depth = frontier.table.depth(page.n);
                    prop_assert!(allowed.contains(&(depth, page.n)), "{page:?} {allowed:?}");
                    prop_assert_eq!(Some(depth), first);
                    prop_assert!(!is_blocked);
                    in_flight.push(page);
                }
                Lease::Wait => {
                    prop_assert!(!in_flight.is_empty());
                    let waits = allowed.is_empty() || is_blocked || in_flight.len() == 3;
                    prop_assert!(waits, "{allowed:?}");
                }
                Lease::Done(_) => {
                    prop_assert!(allowed.is_empty() && in_flight.is_empty());
                    prop_assert_eq!(frontier.counts().waiting, 0);
                    break;
                }
            }
            // Sometimes several pages are in flight, sometimes none.
            if in_flight.len() == 3 || (fate < 3 && !in_flight.is_empty()) {
                let page = in_flight.swap_remove(pick % in_flight.len());
                if fate % 2 == 0 && frontier.table.depth(page.n) > 0 {
                    frontier.skip(page.n, SkipReason::Robots);
                } else {
                    let some = links.iter().cycle().skip(more).take(1 + more % 7);
                    let some: Vec<&str> = some.map(String::as_str).collect();
                    frontier.complete(page.n, &found(&some), true);
                }
            }
        }
    }
}

fn budgets_of(keys: impl Iterator<Item = (String, u64)>) -> Vec<Budget> {
    trawl_plan::crawl::budgets(&keys.collect()).expect("few keys")
}
