//! Hosts, schemes and traps, case by case.

use super::*;

#[test]
fn a_page_that_one_scheme_did_not_serve_is_fetched_under_the_other() {
    // The links of two pages, and whether the page of the first link had failed before the second
    // page was completed.
    for failed_before in [false, true] {
        let mut frontier = with_seeds(plan("http://a.example/"));
        let seed = leased(&mut frontier);
        let one = "http://a.example/one";
        let links = found(&["https://a.example/x", "https://a.example/only", one]);
        frontier.complete(seed.n, &links, true);
        let pages = all_leased(&mut frontier);
        let [first, only, one] = &pages[..] else {
            panic!("three pages");
        };
        let again = found(&["http://a.example/x", "https://a.example/x"]);
        let fail = |frontier: &mut Frontier, page: &Leased| {
            frontier.complete(page.n, &Discovered::default(), true);
            frontier.is_unanswered(page.n);
        };
        if failed_before {
            fail(&mut frontier, first);
        }
        frontier.complete(one.n, &again, true);
        if !failed_before {
            assert!(all_leased(&mut frontier).is_empty());
            fail(&mut frontier, first);
        }
        fail(&mut frontier, only);
        let twin = leased(&mut frontier);
        assert_eq!(twin.url.as_str(), "http://a.example/x");
        assert_eq!(frontier.place(twin.n), frontier.place(first.n));
        // Neither is fetched once more, also after it failed.
        fail(&mut frontier, &twin);
        assert!(matches!(
            frontier.lease(),
            Lease::Done(StopReason::Completed)
        ));
        let rows = frontier.take_changes().into_iter();
        let mut restored = Frontier::restore(Arc::new(plan("http://a.example/")), rows);
        assert!(matches!(
            restored.lease(),
            Lease::Done(StopReason::Completed)
        ));
        assert_eq!(restored.counts().done, 5);
    }
}

#[test]
fn a_page_knows_the_link_that_gives_its_depth() {
    let mut frontier = with_seeds(plan("http://a.example/"));
    let mut urls = ["http://a.example/listed"].into_iter();
    frontier.add_sitemap(&mut urls, Screened::default());
    let seed = leased(&mut frontier);
    let mut links = found(&["http://a.example/listed", "http://a.example/one"]);
    links.set_anchor("One".to_owned());
    frontier.complete(seed.n, &links, true);
    let pages = all_leased(&mut frontier);
    let [listed, one] = &pages[..] else {
        panic!("two pages");
    };
    frontier.complete(one.n, &found(&["http://a.example/two"]), true);
    let two = leased(&mut frontier);
    let check = |frontier: &Frontier, restored: bool| {
        let place = |depth, referrer: Option<&str>, anchor: Option<&str>| CrawlPlace {
            depth,
            referrer: referrer.map(str::to_owned),
            anchor: anchor.map(str::to_owned),
        };
        assert_eq!(frontier.place(seed.n), place(0, None, None), "{restored}");
        assert_eq!(frontier.place(listed.n), place(1, None, None), "{restored}");
        let of_one = place(1, Some("http://a.example/"), Some("One"));
        assert_eq!(frontier.place(one.n), of_one, "{restored}");
        let of_two = place(2, Some("http://a.example/one"), None);
        assert_eq!(frontier.place(two.n), of_two, "{restored}");
    };
    check(&frontier, false);
    let mut rows = frontier.take_changes();
    rows.sort_by_key(|row| row.n);
    let plan = Arc::new(plan("http://a.example/"));
    check(&Frontier::restore(plan, rows.into_iter()), true);
}

#[test]
fn hosts_have_a_cap_of_their_own() {
    let plan = CrawlPlan {
        host_limit: Some(2),
        in_flight: 3,
        scope: ScopePlan {
            external: Hosts::all(),
            ..ScopePlan::default()
        },
        ..plan("http://a.example/")
    };
    let mut frontier = with_seeds(plan.clone());
    let seed = leased(&mut frontier);
    let links = [
        "http://a.example/1",
        "http://a.example:81/2",
        "http://a.example/3",
        "http://b.example/1",
        "http://b.example/2",
    ];
    frontier.complete(seed.n, &found(&links), true);
    let one = leased(&mut frontier);
    let b_pages = [leased(&mut frontier), leased(&mut frontier)];
    let urls = b_pages.iter().map(|page| page.url.as_str());
    assert_eq!(urls.collect::<Vec<_>>(), links[3..]);
    // A skipped page returns its place to one that waits.
    frontier.skip(one.n, SkipReason::Robots);
    let two = leased(&mut frontier);
    assert_eq!(two.url.as_str(), links[1]);
    assert_eq!(frontier.counts().waiting, 1);
    let rows = frontier.take_changes();
    for page in b_pages.iter().chain([&two]) {
        frontier.complete(page.n, &Discovered::default(), true);
    }
    assert!(matches!(
        frontier.lease(),
        Lease::Done(StopReason::HostLimit)
    ));
    let last = reason(&mut frontier, links[2]);
    assert_eq!(last, Some(UrlState::Skipped(SkipReason::HostLimit)));
    // After a restart the pages that were fetched count, and those in flight are fetched again.
    let mut rows: Vec<UrlRow> = rows.into_iter().chain(frontier.take_changes()).collect();
    rows.reverse();
    rows.sort_by_key(|row| row.n);
    rows.dedup_by_key(|row| row.n);
    let mut restored = Frontier::restore(Arc::new(plan), rows.into_iter());
    assert!(matches!(
        restored.lease(),
        Lease::Done(StopReason::HostLimit)
    ));
}

#[test]
fn urls_of_traps_are_skipped_unless_they_are_wanted() {
    let id = |n: u8| format!("{n:032x}");
    let session = |n| format!("http://a.example/x?PHPSESSID={}", id(n));
    let links = [
        session(1),
        session(2),
        "http://a.example/y".to_owned(),
        format!("http://a.example/y;jsessionid={}", id(3)),
        "http://a.example/list/list/list/".to_owned(),
    ];
    let links: Vec<&str> = links.iter().map(String::as_str).collect();
    for follows_traps in [false, true] {
        let mut frontier = with_seeds(CrawlPlan {
            follows_traps,
            ..plan("http://a.example/")
        });
        let seed = leased(&mut frontier);
        frontier.complete(seed.n, &found(&links), true);
        let states: Vec<_> = links
            .iter()
            .map(|url| reason(&mut frontier, url).expect("known"))
            .collect();
        let trap = match follows_traps {
            true => UrlState::Waiting,
            false => UrlState::Skipped(SkipReason::Trap),
        };
        let page = UrlState::Waiting;
        assert_eq!(states, [page, trap, page, trap, trap]);
        let mut rows = frontier.take_changes();
        rows.sort_by_key(|row| row.n);
        let plan = Arc::clone(&frontier.plan);
        let mut restored = Frontier::restore(plan, rows.into_iter());
        let page = leased(&mut restored);
        restored.complete(page.n, &found(&[&session(4)]), true);
        assert_eq!(reason(&mut restored, &session(4)), Some(trap));
    }
}

#[test]
fn a_host_with_a_delay_takes_no_places_from_another() {
    let paced = |delay| CrawlPlan {
        delay: Duration::from_millis(delay),
        in_flight: 4,
        scope: ScopePlan {
            external: Hosts::all(),
            ..ScopePlan::default()
        },
        ..plan("http://a.example/")
    };
    let urls: Vec<String> = ["a", "b"]
        .iter()
        .flat_map(|host| (0..6).map(move |n| format!("http://{host}.example/{n}")))
        .collect();
    let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
    let hosts = |pages: &[Leased]| -> String {
        let hosts = pages.iter().filter_map(|page| page.url.host_str());
        hosts.map(|host| &host[..1]).collect()
    };
    for (delay, expected) in [(0, "aaaa"), (1, "aabb")] {
        let mut frontier = with_seeds(paced(delay));
        let seed = leased(&mut frontier);
        frontier.complete(seed.n, &found(&urls), true);
        let pages = all_leased(&mut frontier);
        assert_eq!(hosts(&pages), expected);
        frontier.complete(pages[0].n, &Discovered::default(), true);
        frontier.skip(pages[1].n, SkipReason::Robots);
        assert_eq!(hosts(&all_leased(&mut frontier)), "aa");
        // It is not complete while URLs wait for their turn.
        assert!(frontier.stop_unless_complete(StopReason::Storage));
        assert_eq!(frontier.counts().waiting, 0);
    }
}

#[test]
fn a_host_whose_robots_txt_is_not_known_yet_takes_two_places() {
    for is_paced in [false, true] {
        let mut seed = page_plan("http://a.example/");
        seed.fetch = Arc::new(trawl_plan::FetchPlan {
            respect_robots: true,
            ..(*seed.fetch).clone()
        });
        let mut frontier = with_seeds(CrawlPlan {
            seed,
            in_flight: 4,
            ..plan("http://a.example/")
        });
        let seed = leased(&mut frontier);
        let urls: Vec<String> = (0..8).map(|n| format!("http://a.example/{n}")).collect();
        let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
        frontier.complete(seed.n, &found(&urls), true);
        let pages = all_leased(&mut frontier);
        assert_eq!(pages.len(), 2);
        assert_eq!(frontier.pace_host(pages[0].n, is_paced), !is_paced);
        assert!(!frontier.pace_host(pages[1].n, is_paced));
        let more = all_leased(&mut frontier);
        assert_eq!(more.len(), if is_paced { 0 } else { 2 });
        let mut n_pages = 3 + more.len();
        let mut open: Vec<Leased> = pages.into_iter().chain(more).collect();
        while let Some(page) = open.pop() {
            frontier.complete(page.n, &Discovered::default(), true);
            let next = all_leased(&mut frontier);
            n_pages += next.len();
            open.extend(next);
        }
        assert_eq!(n_pages, 9);
    }
}
