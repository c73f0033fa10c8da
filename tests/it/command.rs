//! `trawl crawl`: what it writes, what it refuses to replace, and what it says at its end. Request
//! parameters on the command line.

use std::fs;

use serde_json::Value;
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
        assert!(said.contains("`--resume` and a higher cap"), "{said}");
        assert_eq!(lines(), 3, "nothing is cut");
        let more = ["--depth", "1", "--overwrite"];
        let (is_good, said) = crawl(&world, &url, &[&target[..], &more].concat());
        assert!(is_good && said.contains("beyond depth 1 "), "{said}");
        assert_eq!(lines(), 2);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crawl_that_ended_at_a_cap_goes_on_with_a_higher_one() {
    let (world, site) = (world(), FakeSite::start().await);
    chain(&site, 6);
    let file = world.path("pages.jsonl");
    let (url, output) = (site.url("/chain/0"), ["--output", file.to_str().unwrap()]);
    let urls = || -> Vec<String> {
        let text = fs::read_to_string(&file).unwrap();
        let entries = text
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        entries
            .map(|entry| entry["url"].as_str().unwrap().to_owned())
            .collect()
    };
    let go = |arguments: &[&str]| crawl(&world, &url, &[&output[..], arguments].concat());
    let (is_good, said) = go(&["--limit", "2"]);
    assert!(
        is_good && said.contains("with a higher `--limit`"),
        "{said}"
    );
    let (is_good, said) = go(&["--resume"]);
    assert!(!is_good && said.contains("nothing to resume: "), "{said}");
    assert!(said.contains("a higher `--limit` continues it"), "{said}");
    assert_eq!(urls().len(), 2, "nothing is cut");
    let (is_good, said) = go(&["--resume", "--limit", "4"]);
    assert!(is_good && said.contains("page limit of 4"), "{said}");
    assert!(!said.contains("no effect"), "{said}");
    let (is_good, said) = go(&["--resume", "--limit", "9", "--depth", "5"]);
    assert!(is_good && said.contains("beyond depth 5"), "{said}");
    let (is_good, said) = go(&["--resume", "--depth", "9"]);
    assert!(is_good, "{said}");
    // The last link of the chain leads nowhere.
    assert!(
        said.trim_end().ends_with("6 of 7 pages were fetched"),
        "{said}"
    );
    let expected: Vec<String> = (0..7).map(|n| site.url(&format!("/chain/{n}"))).collect();
    assert_eq!(urls(), expected, "each page once");
    let (is_good, said) = go(&["--resume", "--limit", "99"]);
    assert!(!is_good && said.contains("nothing to resume"), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_map_is_printed_as_lines_and_fetches_one_page() {
    let (world, site) = (world(), FakeSite::start().await);
    let sitemap = format!(
        "<urlset><url><loc>{}</loc></url></urlset>",
        site.url("/about")
    );
    site.put("/sitemap.xml", "application/xml", sitemap);
    let start = site.put("/start", "text/html", "<a href=/install>Install it</a>");
    let plugins = world.plugins();
    let arguments = [
        "map",
        &start,
        "--query",
        "installing",
        "--allow-private",
        "127.0.0.1",
        "--plugins",
        plugins.to_str().unwrap(),
    ];
    let output = run_program(&world, &arguments, b"");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let text = String::from_utf8(output.stdout).unwrap();
    let lines = text.lines().map(serde_json::from_str::<Value>);
    let lines: Vec<Value> = lines.collect::<Result<_, _>>().unwrap();
    let urls: Vec<&str> = lines
        .iter()
        .filter_map(|line| line["url"].as_str())
        .collect();
    let expected = ["/install", "/start", "/about"].map(|path| site.url(path));
    assert_eq!(urls, expected);
    assert_eq!(lines[3]["sitemaps"][0]["n_urls"], 1);
    let asked = site.requests();
    assert!(
        !asked.iter().any(|head| head.starts_with("GET /install ")),
        "{asked:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_last_line_of_a_crawl_that_fetched_nothing_says_so() {
    let (world, site) = (world(), FakeSite::start().await);
    let (is_good, said) = crawl(&world, &site.url("/nowhere"), &[]);
    assert!(!is_good);
    assert!(said.contains("1 page (1 failed)"), "{said}");
    assert!(said.contains(": no page could be fetched"), "{said}");
    let last = said.lines().last().unwrap_or_default();
    let error = "the page could not be fetched: the site answered 404";
    assert!(last.contains(error), "{said}");
    assert!(!said.contains("all pages were fetched"), "{said}");
}

/// Runs a command of the program: whether it succeeded, its standard output, and its standard error
/// without the progress of the plugin compiler.
fn run(world: &World, arguments: &[&str], input: &str) -> (bool, String, String) {
    let output = run_program(world, arguments, input.as_bytes());
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let said = text(output.stderr);
    let is_compiling = |line: &&str| line.starts_with("compiling plugins");
    let said = said
        .split_inclusive('\n')
        .filter(|line| !is_compiling(line));
    let said = said.collect();
    (output.status.success(), text(output.stdout), said)
}

/// Runs `trawl scrape` on this URL.
fn scrape(world: &World, url: &str, arguments: &[&str]) -> (bool, String, String) {
    let plugins = world.plugins();
    let mut all = vec!["scrape", url, "--allow-private", "127.0.0.1", "--plugins"];
    all.push(plugins.to_str().unwrap());
    all.extend(arguments);
    run(world, &all, "")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_parameter_can_be_set_and_what_has_no_effect_is_named_beside_the_content() {
    let (world, site) = (world(), FakeSite::start().await);
    let words = "many words ".repeat(60);
    let url = site.put("/", "text/html", format!("<h1>A</h1><p id=b>{words}"));
    let plain = ["--request", "http"];
    let selected = [
        "--set",
        "root_selector=h1",
        "--data",
        r#"{"return_format": "text"}"#,
    ];
    let (is_good, content, said) = scrape(
        &world,
        &url,
        &[plain, ["--set", "root_selector=h1"]].concat(),
    );
    assert!(is_good && said.is_empty(), "{said}");
    assert_eq!(content.trim(), "# A");
    let (is_good, content, said) = scrape(&world, &url, &[&plain[..], &selected].concat());
    assert!(is_good && said.is_empty(), "{said}");
    assert_eq!(content.trim(), "A");

    let idle = [
        "--set",
        "limit=3",
        "--set",
        "viewport.width=390",
        "--set",
        "cache=false",
        "--data",
        r#"{"retrun_format": "text"}"#,
    ];
    let (is_good, content, said) =
        scrape(&world, &url, &[&plain[..], &idle, &selected[..2]].concat());
    assert!(is_good, "{said}");
    assert_eq!(content.trim(), "# A", "nothing but the content");
    for sentence in [
        "`limit` has no effect on this command: ",
        "`viewport` has no effect on this request; ",
        "`cache` has no effect here: ",
        "`retrun_format` is not a parameter and was ignored, did you mean `return_format`?",
    ] {
        let n = said
            .lines()
            .filter(|line| line.starts_with(sentence))
            .count();
        assert_eq!(n, 1, "{sentence}: {said}");
    }
    assert_eq!(said.lines().count(), 4, "{said}");

    // Which parameters need a browser is known when the page was served without one.
    let (is_good, _, said) = scrape(&world, &url, &["--set", "viewport.width=390"]);
    assert!(is_good, "{said}");
    assert!(
        said.starts_with("`viewport` had no effect on this page; "),
        "{said}"
    );
    assert_eq!(said.lines().count(), 1, "{said}");
}

#[test]
fn names_that_no_parameter_has_are_refused_with_the_right_one() {
    let world = world();
    let check = |arguments: &[&str], expected: &str| {
        let (is_good, content, said) = run(&world, arguments, "<p>");
        assert!(!is_good && content.is_empty(), "{arguments:?}: {content}");
        assert!(said.contains(expected), "{arguments:?}: {said}");
    };
    let url = "http://127.0.0.1:1/";
    check(&["crawl", url, "--set", "limt=3"], "did you mean `limit`?");
    check(
        &["scrape", url, "--set", "viewport.wdth=3"],
        "did you mean `viewport.width`?",
    );
    check(
        &["scrape", url, "--wait-for", "3"],
        "'--set wait_for=VALUE'",
    );
    check(
        &["transform", "-", "--data", "[]"],
        "`--data` is not an object",
    );
    check(
        &["crawl", url, "--concurrency", "11"],
        "11 is not in 1..=10",
    );
}

#[test]
fn the_help_lists_the_parameters() {
    let world = world();
    for (command, is_there, is_not) in [
        ("scrape", "\n  viewport.width  1 to ", "\n  limit  "),
        ("crawl", "\n  crawl_timeout  ", "\n  webhooks  "),
        ("map", "\n  sitemap_only  ", "\n  depth  "),
        (
            "transform",
            "\n  clean_html  true or false ",
            "\n  wait_for  ",
        ),
    ] {
        let (is_good, help, said) = run(&world, &[command, "--help"], "");
        assert!(is_good, "{said}");
        assert!(help.contains(is_there) && !help.contains(is_not), "{help}");
        let (_, short, _) = run(&world, &[command, "-h"], "");
        assert!(
            !short.contains(is_there) && short.contains("--set"),
            "{short}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crawl_names_what_had_no_effect_and_what_it_did_not_fetch() {
    let (world, site) = (world(), FakeSite::start().await);
    chain(&site, 3);
    site.put(
        "/robots.txt",
        "text/plain",
        "User-agent: *\nDisallow: /chain/2\n",
    );
    let arguments = [
        "--set",
        "viewport.width=390",
        "--set",
        "webhooks.url=https://b.example/",
    ];
    let (is_good, said) = crawl(&world, &site.url("/chain/0"), &arguments);
    assert!(is_good, "{said}");
    let begins = |begin: &str| said.lines().any(|line| line.starts_with(begin));
    assert!(
        begins("`viewport` has no effect on this request; "),
        "{said}"
    );
    assert!(begins("`webhooks` has no effect here: "), "{said}");
    assert!(
        begins("1 URLs were found but not fetched: robots 1"),
        "{said}"
    );
    assert!(
        said.trim_end().ends_with("all pages were fetched"),
        "{said}"
    );

    let data = format!(
        r#"{{"url": "{}", "limit": 1, "request": "http"}}"#,
        site.url("/chain/1")
    );
    let plugins = world.plugins();
    let plugins = plugins.to_str().unwrap();
    let arguments = [
        "crawl",
        "--data",
        &data,
        "--allow-private",
        "127.0.0.1",
        "--plugins",
        plugins,
    ];
    let (is_good, entries, said) = run(&world, &arguments, "");
    assert!(is_good && said.contains("page limit of 1 "), "{said}");
    assert_eq!(entries.lines().count(), 1, "{entries}");
}

#[test]
fn a_new_data_directory_of_an_account_is_named() {
    let world = world();
    let data = world.path("elsewhere");
    let data = data.to_str().unwrap();
    let create = |name: &str| run(&world, &["account", "create", name, "--data", data], "");
    let (is_good, shown, said) = create("alice");
    assert!(is_good && shown.contains("api key  tr_"), "{said}");
    let expected = format!("created the data directory `{data}`: ");
    assert!(
        said.starts_with(&expected) && said.contains("`--data`"),
        "{said}"
    );
    let (is_good, _, said) = create("bob");
    assert!(is_good && said.is_empty(), "{said}");
}
