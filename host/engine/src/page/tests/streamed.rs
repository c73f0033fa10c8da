//! Pages of a request whose reader is slow, or hangs up.

use futures_util::StreamExt;
use tokio_util::task::TaskTracker;

use trawl_model::outcome::PageOutcome;
use trawl_net::fetch::loopback::Answer;

use super::*;
use crate::scrape::{Order, Outcomes, ScrapeRun};

/// How long the pages may take; they are on the same machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// The outcomes of these pages, two at a time, and their tasks.
fn begin(
    payer: Payer,
    site: &LoopbackSite,
    paths: &[&str],
    order: Order,
) -> (Outcomes, TaskTracker) {
    let tasks = TaskTracker::new();
    let run = ScrapeRun {
        context: run_context(),
        payer,
        payment: None,
        in_flight: 2,
        tasks: tasks.clone(),
    };
    let plans = paths
        .iter()
        .map(|path| Ok(page_plan(site.url(path).as_str())));
    let outcomes = Arc::new(run).scrape(plans.collect(), order);
    (outcomes.expect("money"), tasks)
}

/// Waits until no page is in flight.
async fn all_ended(tasks: &TaskTracker) {
    tasks.close();
    let ended = tokio::time::timeout(PATIENCE, tasks.wait()).await;
    ended.expect("the pages end");
}

#[tokio::test]
async fn pages_end_while_their_outcomes_are_not_read() {
    let answer = |text| vec![loopback::page(200, "", text)];
    let site = LoopbackSite::start(&[
        ("/1", answer("one")),
        ("/2", answer("two")),
        ("/3", answer("three")),
    ])
    .await;
    for order in [Order::Input, Order::Finish] {
        let n_before = site.asked().len();
        let (payer, _directory) = payer(1_000_000_000).await;
        let paths = ["/1", "/2", "/3"];
        let (mut outcomes, tasks) = begin(payer.clone(), &site, &paths, order);
        assert!(outcomes.next().now_or_never().is_none(), "they have begun");
        all_ended(&tasks).await;
        assert_eq!(payer.billing.funds(&payer.account).held, Nanodollars::ZERO);
        assert_eq!(site.asked().len(), n_before + 2, "no more are in flight");
        let outcomes: Vec<PageOutcome> = outcomes.collect().await;
        assert!(outcomes.iter().all(|outcome| outcome.error.is_none()));
        let mut urls: Vec<&str> = outcomes.iter().map(|outcome| &*outcome.url).collect();
        if order == Order::Finish {
            urls.sort_unstable();
        }
        let expected = paths.map(|path| site.url(path).to_string());
        assert_eq!(urls, expected);
    }
}

#[tokio::test]
async fn pages_end_without_a_charge_when_their_reader_hangs_up() {
    let stalled = Answer::Stalled(String::new(), b"text".to_vec());
    let site = LoopbackSite::start(&[("/", vec![stalled])]).await;
    let (payer, _directory) = payer(1_000_000_000).await;
    let (mut outcomes, tasks) = begin(payer.clone(), &site, &["/", "/"], Order::Input);
    let begun = async {
        while site.asked().is_empty() {
            assert!(outcomes.next().now_or_never().is_none(), "it never ends");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let begun = tokio::time::timeout(PATIENCE, begun).await;
    begun.expect("the site is asked");
    drop(outcomes);
    all_ended(&tasks).await;
    let funds = payer.billing.funds(&payer.account);
    assert_eq!(
        (funds.balance, funds.held),
        (Nanodollars(1_000_000_000), Nanodollars::ZERO)
    );
}
