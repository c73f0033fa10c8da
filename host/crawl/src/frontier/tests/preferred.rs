//! Crawls that prefer some URLs, case by case.

use super::*;

fn preferring(entries: &[&str]) -> CrawlPlan {
    let entries: Vec<String> = entries.iter().map(|&entry| entry.to_owned()).collect();
    CrawlPlan {
        prefer: Prefer::read(&entries).expect("entries"),
        ..plan("http://a.example/")
    }
}

/// Links on `http://a.example` with their texts.
fn links(links: &[(&str, &str)]) -> Discovered {
    let mut found = Discovered::default();
    for (path, text) in links {
        found.push(&format!("http://a.example{path}"), false);
        if !text.is_empty() {
            found.set_anchor((*text).to_owned());
        }
    }
    found
}

/// Leases and completes pages one after the other; returns their paths.
fn order(frontier: &mut Frontier) -> Vec<String> {
    let mut paths = Vec::new();
    while let Lease::Page(page) = frontier.lease() {
        paths.push(page.url.path().to_owned());
        frontier.complete(page.n, &Discovered::default(), true);
    }
    paths
}

#[test]
fn pages_with_more_matches_go_first_then_those_of_less_depth() {
    let mut frontier = with_seeds(preferring(&["/docs", "install"]));
    let seed = leased(&mut frontier);
    let found = links(&[
        ("/blog", "Blog"),
        ("/docs/a", "A"),
        ("/x", "Installation"),
        ("/docs/install", "How to install it"),
    ]);
    frontier.complete(seed.n, &found, true);
    let first = leased(&mut frontier);
    assert_eq!(first.url.path(), "/docs/install");
    // Deeper, and still before what matches less.
    let deeper = links(&[("/deep", ""), ("/docs/b", "Install b")]);
    frontier.complete(first.n, &deeper, true);
    let expected = ["/docs/b", "/docs/a", "/x", "/blog", "/deep"];
    assert_eq!(order(&mut frontier), expected);
    assert_eq!(frontier.counts().done, 7);
    // The texts are known and were not asked for.
    assert_eq!(frontier.place(first.n).anchor, None);
}

#[test]
fn a_better_link_moves_a_page_that_waits() {
    let mut frontier = with_seeds(preferring(&["install"]));
    let seed = leased(&mut frontier);
    let found = links(&[("/a", "A"), ("/b", "B"), ("/c", "C"), ("/c", "Install")]);
    frontier.complete(seed.n, &found, true);
    assert_eq!(frontier.counts().waiting, 3);
    let rows = frontier.take_changes();
    assert_eq!(order(&mut frontier), ["/c", "/a", "/b"]);
    assert_eq!(frontier.counts().waiting, 0);
    // A crawl that continues has the same order.
    let mut restored = Frontier::restore(Arc::new(preferring(&["install"])), rows.into_iter());
    assert_eq!(order(&mut restored), ["/c", "/a", "/b"]);
}

#[test]
fn pages_that_wait_for_their_host_keep_their_order() {
    let mut frontier = with_seeds(CrawlPlan {
        delay: Duration::from_millis(1),
        ..preferring(&["/docs"])
    });
    let seed = leased(&mut frontier);
    let found = links(&[
        ("/a", ""),
        ("/b", ""),
        ("/c", ""),
        ("/docs/1", ""),
        ("/docs/2", ""),
    ]);
    frontier.complete(seed.n, &found, true);
    // Two are leased at a time, the others are held.
    let (one, two) = (leased(&mut frontier), leased(&mut frontier));
    assert!(matches!(frontier.lease(), Lease::Wait));
    assert_eq!((one.url.path(), two.url.path()), ("/docs/1", "/docs/2"));
    frontier.complete(one.n, &links(&[("/docs/3", "")]), true);
    assert_eq!(leased(&mut frontier).url.path(), "/docs/3");
}
