//! What a page asks of the database, and what it costs when the database is far away.

use std::time::Duration;

use trawl_test_cluster::proxy::{Proxy, Weather};

use super::Stage;
use super::database::url;
use super::report::{Goal, Report, in_turn};
use crate::crawl::{self, Cache};
use crate::scrape::{wrk, wrk_at, wrk_script};
use crate::servers::Trawl;

/// The database of this server.
const NAME: &str = "far";
/// How far the database is away: each way takes this long.
const AWAY: Duration = Duration::from_millis(5);
/// Connections of the load: few, so that a page waits for the database and not for a core, and as
/// many as `bench scrape` has.
const CONNECTIONS: [u32; 2] = [4, 64];
/// Time of a load, in seconds.
const SECONDS: u32 = 10;
/// Time of the load before the first one, in seconds.
const WARM_UP_SECONDS: u32 = 3;
/// Goal of the ratio of the latencies.
const LATENCY_RATIO: f64 = 1.2;
const ROUNDS: usize = 3;
/// Pages of a crawl whose work is counted.
const PAGES: u64 = 6_000;
/// Goals for a page.
const ROUND_TRIPS: f64 = 0.05;
const STATEMENTS: f64 = 0.5;
/// PostgreSQL counts the commits of a connection that is idle after at most ten seconds.
const SETTLED: Duration = Duration::from_secs(12);

/// Prints what is counted and the latencies, both of one server that reaches its database through
/// a proxy.
pub(super) fn measure(stage: &Stage<'_>, report: &mut Report) -> anyhow::Result<()> {
    stage.database.create(NAME)?;
    let proxy = Proxy::start(stage.database.address())?;
    let trawl = stage.server(Some(url(proxy.address(), NAME)))?;
    count(stage, &trawl, &proxy, report)?;
    latency(stage, &trawl, &proxy, report)
}

/// Counts what crawls ask of the database. What the server does for itself during a crawl counts
/// for its pages; what it does while commits settle does not.
fn count(
    stage: &Stage<'_>,
    trawl: &Trawl,
    proxy: &Proxy,
    report: &mut Report,
) -> anyhow::Result<()> {
    let database = stage.database;
    let mut per_page = [Vec::new(), Vec::new(), Vec::new()];
    std::thread::sleep(SETTLED);
    for _ in 0..ROUNDS {
        let idle = database.commits(NAME)?;
        std::thread::sleep(SETTLED);
        let before = database.commits(NAME)?;
        let (n_trips, n_statements) = (proxy.round_trips(), database.statements(NAME)?);
        let body = crawl::body(stage.pages, "empty", PAGES, Cache::Off);
        let crawled = crawl::stream(&trawl.base, &trawl.key, &body)?;
        let pages = crawled.times.len() as f64;
        let more = |after: u64, before: u64| after.saturating_sub(before) as f64;
        per_page[0].push(more(proxy.round_trips(), n_trips) / pages);
        if let (Some(before), Some(after)) = (n_statements, database.statements(NAME)?) {
            per_page[1].push(more(after, before) / pages);
        }
        std::thread::sleep(SETTLED);
        let after = database.commits(NAME)?;
        per_page[2].push((more(after, before) - more(before, idle)) / pages);
    }
    let [trips, statements, commits] = per_page;
    let of = "of a crawled page, empty";
    report.figure(
        &format!("round trips {of}"),
        trips,
        Goal::AtMost(ROUND_TRIPS),
    );
    if statements.is_empty() {
        let missing = "statements are not counted: PostgreSQL lacks `pg_stat_statements`";
        report.note(missing.to_owned());
    } else {
        let name = format!("statements {of}");
        report.figure(&name, statements, Goal::AtMost(STATEMENTS));
    }
    report.figure(&format!("commits {of}"), commits, Goal::None);
    Ok(())
}

/// Measures `/scrape` under load, with the proxy between server and database both times.
fn latency(
    stage: &Stage<'_>,
    trawl: &Trawl,
    proxy: &Proxy,
    report: &mut Report,
) -> anyhow::Result<()> {
    let script = wrk_script(stage.place, &trawl.key, &stage.pages.base, "http")?;
    wrk(&script, &trawl.base, WARM_UP_SECONDS)?;
    let weathers = [Weather::Fair, Weather::Delayed(AWAY)];
    for connections in CONNECTIONS {
        let mut n_failed = 0;
        let times = in_turn(ROUNDS, |which| {
            proxy.set(weathers[which]);
            let load = wrk_at(&script, &trawl.base, SECONDS, connections)?;
            n_failed += load.failed;
            Ok(load.p99_ms)
        })?;
        let away = AWAY.as_millis();
        let name = format!("/scrape p99, {connections} connections, ms: local, {away} ms away");
        report.compare(&name, times, Goal::AtMost(LATENCY_RATIO));
        if n_failed > 0 {
            report.note(format!("{name}: {n_failed} failed in all rounds"));
        }
    }
    report.note("5 ms away: each way takes as long, so a round trip 10 ms".to_owned());
    Ok(())
}
