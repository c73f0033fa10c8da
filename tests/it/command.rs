//! `trawl crawl`: what it writes, what it refuses to replace, and what it says at its end.

use std::fs;

use trawl_tests::{FakeSite, World, run_program};

/// A world whose commands keep the state of crawls to themselves.
fn world() -> World {
    let mut world = World::new();
    let state = world.path("state").to_string_lossy().into_owned();
    world.environment.push(("XDG_STATE_HOME".to_owned(), state));
    world
}

/// Runs `trawl crawl` on this URL. Gives whether it succeeded, and its standard error.
fn crawl(world: &World, url: &str, arguments: &[&str]) -> (bool, String) {
    let plugins = world.plugins();
    let mut all = vec!["crawl", url, "--request", "http"];
    all.extend(["--allow-private", "127.0.0.1", "--plugins"]);
    all.push(plugins.to_str().unwrap());
    all.extend(arguments);
    let output = run_program(world, &all, b"");
    let errors = String::from_utf8(output.stderr).unwrap();
    (output.status.success(), errors)
}

fn chain(site: &FakeSite, pages: usize) {
    for n in 0..pages {
        let next = format!("<title>{n}</title><p><a href=\"/chain/{}\">next</a>", n + 1);
        site.put(&format!("/chain/{n}"), "text/html", next);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_of_an_earlier_crawl_are_replaced_on_request_only() {
    let (world, site) = (world(), FakeSite::start().await);
    chain(&site, 4);
    let (dir, file) = (world.path("pages"), world.path("pages.jsonl"));
    let (dir, file) = (dir.to_str().unwrap(), file.to_str().unwrap());
    let url = site.url("/chain/0");
    let index = world.path("pages").join("pages.jsonl");
    for (target, written) in [
        (["--dir", dir], index),
        (["--output", file], world.path("pages.jsonl")),
    ] {
        let lines = || fs::read_to_string(&written).unwrap().lines().count();
        let (is_good, said) = crawl(&world, &url, &[&target[..], &["--limit", "3"]].concat());
        assert!(is_good && said.contains("page limit of 3"), "{said}");
        assert_eq!(lines(), 3);
        let (is_good, said) = crawl(&world, &url, &[&target[..], &["--limit", "1"]].concat());
        assert!(!is_good && said.contains("`--overwrite`"), "{said}");
        assert!(
            !said.contains("--resume"),
            "nothing was interrupted: {said}"
        );
        assert_eq!(lines(), 3, "nothing is cut");
        let more = ["--depth", "1", "--overwrite"];
        let (is_good, said) = crawl(&world, &url, &[&target[..], &more].concat());
        assert!(is_good && said.contains("beyond depth 1 "), "{said}");
        assert_eq!(lines(), 2);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_last_line_of_a_crawl_that_fetched_nothing_says_so() {
    let (world, site) = (world(), FakeSite::start().await);
    let (is_good, said) = crawl(&world, &site.url("/nowhere"), &[]);
    assert!(!is_good);
    assert!(said.contains("1 pages (1 failed)"), "{said}");
    assert!(said.contains(": no page could be fetched"), "{said}");
    assert!(!said.contains("all pages were fetched"), "{said}");
}
