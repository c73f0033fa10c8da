//! Two servers on one database, of which one waits: how long the service is away when the other one
//! dies, and how much faster a crawl is with the one that waits.

use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use serde_json::json;
use trawl_test_cluster::http::{self, Request};
use trawl_test_cluster::node::{Node, Programs};
use trawl_test_cluster::site::Site;
use trawl_tests::program;

use super::Stage;
use super::quota::Quota;
use super::report::{Goal, Report};
use crate::corpus;
use crate::crawl::{self, Cache};

/// How long a server may take to start: it compiles the plugins if no cache has them.
const START_MAX: Duration = Duration::from_secs(240);
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(50);
/// Deaths, of servers of their own.
const DEATHS: usize = 3;
/// Pages of the crawl's site: at the crawl's pace, more than it reaches.
const SITE_PAGES: usize = 200_000;
/// Time between two pages of the crawl, in milliseconds.
const DELAY_MS: u64 = 10;
/// Pages that are charged before the death.
const CHARGED: u64 = 100;
/// When everything that the dead one has sent is in the database or not. No other one has it so
/// early: a lease is longer.
const SENT: Duration = Duration::from_secs(1);
/// Goal: a lease, and three seconds.
const AWAY_MAX: f64 = 13.0;
/// When nothing more is to be expected.
const AWAY_END: Duration = Duration::from_secs(120);
/// Pages of a crawl, which half a core needs ten seconds for.
const PAGES: u64 = 1_000;
const ROUNDS: usize = 3;
/// How long two servers may take to know each other, and to know that one has gone: a lease, and as
/// much again as it takes to notice.
const ACQUAINTED: Duration = Duration::from_secs(15);

/// Prints how long no page is charged after the server that has the database was killed.
pub(super) fn fail_over(stage: &Stage<'_>, report: &mut Report) -> anyhow::Result<()> {
    let site = Site::start(SITE_PAGES)?;
    let mut times = Vec::new();
    for n in 0..DEATHS {
        let mut pair = Pair::start(stage, &format!("death_{n}"))?;
        pair.stand_by()?;
        times.push(death(stage, &mut pair, &site.root(1))?.as_secs_f64());
    }
    let name = "kill -9 to the first page that is charged after it, s";
    report.figure(name, times, Goal::AtMost(AWAY_MAX));
    Ok(())
}

/// Begins a background crawl and kills the server that has it. The time until the next charge.
fn death(stage: &Stage<'_>, pair: &mut Pair, url: &str) -> anyhow::Result<Duration> {
    let charges = || stage.database.charges(&pair.database);
    let body = json!({
        "url": url, "return_format": "empty", "request": "http", "cache": false,
        "run_in_background": true, "delay": DELAY_MS,
    });
    let request = Request {
        body: Some(&body),
        ..Request::new("POST", "/crawl")
    };
    let answer = http::send(pair.first.address(), &pair.key, &request)?;
    let status = answer.status;
    ensure!((200..300).contains(&status), "the crawl: status {status}");
    until("pages are charged", || Ok(charges()? >= CHARGED))?;
    let died = Instant::now();
    pair.first.kill()?;
    std::thread::sleep(SENT);
    let before = charges()?;
    while charges()? == before {
        ensure!(
            died.elapsed() < AWAY_END,
            "no page is charged {} s after the death",
            AWAY_END.as_secs()
        );
        std::thread::sleep(PAUSE);
    }
    Ok(died.elapsed())
}

/// Prints pages/s of a server with half a core, alone and with a second one that has half a core,
/// too. Everything else runs on what is left.
pub(super) fn help(stage: &Stage<'_>, report: &mut Report) -> anyhow::Result<()> {
    let quotas = ["first", "second"].map(Quota::half_a_core);
    let [Some(first), Some(second)] = &quotas else {
        let why = "no control group with a share of a core can be made, and all share two cores";
        report.note(format!(
            "a server beside a standby cannot be measured: {why}"
        ));
        return Ok(());
    };
    let mut pair = Pair::start(stage, "help")?;
    first.hold(pair.first.id().context("the server has no process")?)?;
    let url = format!("http://{}", pair.first.address());
    let key = pair.key.clone();
    let rate = |n_pages| {
        let body = crawl::body(stage.pages, "markdown", n_pages, Cache::Off);
        let crawled = crawl::stream(&url, &key, &body)?;
        let n_failed = crawled.n_failed;
        ensure!(n_failed == 0, "{n_failed} pages of a crawl failed");
        anyhow::Ok(crawled.per_second())
    };
    rate(PAGES / 10)?;
    let mut rates = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        rates[0].push(rate(PAGES)?);
        pair.stand_by()?;
        second.hold(pair.second.id().context("the standby has no process")?)?;
        std::thread::sleep(ACQUAINTED);
        rates[1].push(rate(PAGES)?);
        pair.second.kill()?;
        std::thread::sleep(ACQUAINTED);
    }
    let name = "crawl, markdown, half a core each, pages/s: alone, standby";
    report.compare(name, rates, Goal::None);
    Ok(())
}

/// A server that has a database of its own, and a second one, not started, that may wait for it.
struct Pair {
    first: Node,
    second: Node,
    key: String,
    database: String,
}

impl Pair {
    fn start(stage: &Stage<'_>, database: &str) -> anyhow::Result<Self> {
        stage.database.create(database)?;
        let place = stage.place.join(database);
        let objects = place.join("objects");
        std::fs::create_dir_all(&objects)?;
        let programs = programs();
        let node = |name: &str| {
            let environment = vec![
                ("TRAWL_STORE", stage.database.url(database)),
                ("TRAWL_OBJECTS", format!("file://{}", objects.display())),
            ];
            Node::new(&programs, &place.join(name), environment)
        };
        let (mut first, second) = (node("first")?, node("second")?);
        let created = first.account(&["create", "caller", "--top-up", "1000"])?;
        let key = created["api_key"].as_str().context("no key")?.to_owned();
        first.start()?;
        until("the server serves", || Ok(first.serves(&key)))?;
        // Both are one service.
        let admin = "admin.key";
        std::fs::copy(first.data().join(admin), second.data().join(admin))?;
        Ok(Self {
            first,
            second,
            key,
            database: database.to_owned(),
        })
    }

    /// Starts the second one, and waits until it has requests answered by the first one.
    fn stand_by(&mut self) -> anyhow::Result<()> {
        self.second.start()?;
        until("the standby waits", || Ok(self.second.waits(&self.key)))
    }
}

/// The server's program with the plugins of the checkout.
fn programs() -> Programs {
    let root = corpus::checkout();
    Programs {
        server: program(),
        plugins: root.join("plugins.toml"),
        compiled: root.join("target/tmp/compiled-plugins"),
    }
}

/// Waits until something is so.
fn until(what: &str, mut is_so: impl FnMut() -> anyhow::Result<bool>) -> anyhow::Result<()> {
    let began = Instant::now();
    while !is_so()? {
        let seconds = START_MAX.as_secs();
        ensure!(
            began.elapsed() < START_MAX,
            "not within {seconds} s: {what}"
        );
        std::thread::sleep(PAUSE);
    }
    Ok(())
}
