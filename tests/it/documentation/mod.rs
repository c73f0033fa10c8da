//! Every example of the guides, as a reader runs it: in `README.md`, `sdk/README.md` and `docs`.
//!
//! Each fenced block is run or checked by its language, in the order of its page. Above one that
//! cannot be run is why: `<!-- not run: REASON -->`. Parameters and commands in the text are
//! planned and parsed, and each example of the reference is sent to a server.

mod blocks;
mod outputs;
mod parameters;
mod rust;
mod spans;
mod stage;

use std::fs;

use trawl::config::Config;

use stage::Stage;

/// The pages with examples.
const PAGES: [&str; 13] = [
    "README.md",
    "docs/cluster.md",
    "docs/configuration.md",
    "docs/crawling.md",
    "docs/documents.md",
    "docs/extraction.md",
    "docs/mcp.md",
    "docs/operator.md",
    "docs/pipelines.md",
    "docs/providers.md",
    "docs/rendering.md",
    "docs/search.md",
    "sdk/README.md",
];
/// The start of the request that the page of the login sends after its steps.
const WELCOME: &str = "GET /welcome/ada ";

/// Runs all examples of a page. Returns the heads of the requests to the site that they name.
async fn run(page: &str) -> Vec<String> {
    assert!(PAGES.contains(&page), "{page} is not in the list");
    let mut stage = Stage::start(page).await;
    for block in blocks::of(page) {
        if block.not_run.is_none() {
            stage.check(block).await;
        }
    }
    stage.close().await
}

#[test]
fn all_pages_with_examples_are_listed() {
    let folder = fs::read_dir(blocks::root().join("docs")).unwrap();
    let pages = folder.map(|file| format!("docs/{}", file.unwrap().file_name().to_string_lossy()));
    for page in pages.filter(|page| page.ends_with(".md")) {
        let has_examples = !blocks::of(&page).is_empty();
        assert_eq!(has_examples, PAGES.contains(&page.as_str()), "{page}");
    }
    let all = PAGES.map(blocks::of);
    let n_run = all.iter().flatten().filter(|block| block.not_run.is_none());
    assert!(n_run.count() > 45, "most blocks are run");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn the_examples_of_the_readme_work() {
    let asked = run("README.md").await;
    assert!(asked.iter().any(|head| head.starts_with(WELCOME)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_examples_of_the_configuration_work() {
    run("docs/configuration.md").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_examples_of_crawling_work() {
    run("docs/crawling.md").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_examples_of_documents_work() {
    let asked = run("docs/documents.md").await;
    assert!(asked.iter().any(|head| head.starts_with("GET /ships.zip ")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_examples_of_extraction_work() {
    run("docs/extraction.md").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_examples_of_tools_for_agents_work() {
    run("docs/mcp.md").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_examples_of_the_operator_work() {
    run("docs/operator.md").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_examples_of_pipelines_work() {
    run("docs/pipelines.md").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_examples_of_providers_work() {
    run("docs/providers.md").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(no_browser, ignore = "no Chromium: install chromium-headless-shell")]
async fn the_examples_of_rendering_work() {
    let asked = run("docs/rendering.md").await;
    assert!(asked.iter().any(|head| head.starts_with(WELCOME)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_examples_of_search_work() {
    run("docs/search.md").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_examples_of_the_sdk_work() {
    run("sdk/README.md").await;
}

#[test]
fn documented_defaults_are_the_defaults() {
    let page = blocks::of("docs/configuration.md");
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(&file, &page[0].text).unwrap();
    let shown = Config::load(Some(file.path())).unwrap();
    let actual = Config::default();
    let check = |shown: &dyn std::fmt::Debug, actual: &dyn std::fmt::Debug| {
        assert_eq!(format!("{shown:#?}"), format!("{actual:#?}"));
    };
    check(&shown.store, &actual.store);
    check(&shown.prices, &actual.prices);
    check(&shown.unlimited, &actual.unlimited);
    check(&shown.providers, &actual.providers);
    check(&shown.search, &actual.search);
    check(&shown.bot, &actual.bot);
    check(&shown.trace, &actual.trace);
    check(&shown.limits, &actual.limits);
    check(&shown.http, &actual.http);
    check(&shown.cache, &actual.cache);
    check(&shown.browser, &actual.browser);
    check(&shown.egress.allow_private, &actual.egress.allow_private);
    assert!(shown.ai.is_none() && actual.ai.is_none());
}
