//! Crawls of a server on PostgreSQL beside the same crawls of one on SQLite: of one host, and of a
//! thousand.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::Stage;
use super::report::{Goal, Report, in_turn};
use crate::crawl::{self, Cache};
use crate::servers::{Nginx, ONE_HOST, Trawl};

/// Formats, pages of a crawl of one host, which take some seconds, and the goal of the ratio.
const CRAWLS: [(&str, usize, f64); 2] = [("empty", 6_000, 0.75), ("markdown", 3_000, 0.95)];
/// A part of the pages that makes everything warm.
const WARM_UP: usize = 10;
const ROUNDS: usize = 5;
/// Hosts of the broad crawl, each an address of loopback that the site listens at. Each has two
/// pages, and is asked for its robots.txt.
const HOSTS: usize = 1_000;
/// All its pages and its seed.
const BROAD_PAGES: usize = 2 * HOSTS + 1;
const BROAD_ROUNDS: usize = 3;
/// Sentences of a page, which are 4 KB.
const SENTENCES: usize = 60;

/// Prints a line for each format and kind of crawl.
pub(super) fn measure(stage: &Stage<'_>, report: &mut Report) -> anyhow::Result<()> {
    stage.database.create("near")?;
    let servers = [
        stage.server(None)?,
        stage.server(Some(stage.database.url("near")))?,
    ];
    let hosts = Hosts::start(stage)?;
    for (format, n_pages, goal) in CRAWLS {
        let body = |limit: usize| crawl::body(stage.pages, format, limit as u64, Cache::Off);
        for server in &servers {
            crawl::stream(&server.base, &server.key, &body(n_pages / WARM_UP))?;
        }
        let what = format!("crawl of one host, {format}, pages/s: SQLite, PostgreSQL");
        let compared = Compared {
            what: &what,
            n_rounds: ROUNDS,
            n_pages,
            goal,
        };
        compared.print(&servers, &body(n_pages), report)?;
    }
    for (format, _, goal) in CRAWLS {
        let what = format!("crawl of {HOSTS} hosts, {format}, pages/s: SQLite, PostgreSQL");
        let compared = Compared {
            what: &what,
            n_rounds: BROAD_ROUNDS,
            n_pages: BROAD_PAGES,
            goal,
        };
        compared.print(&servers, &hosts.body(format), report)?;
    }
    report.note(format!(
        "the {HOSTS} hosts are addresses of loopback: {BROAD_PAGES} pages of 4 KB in all"
    ));
    Ok(())
}

/// A comparison of crawls.
struct Compared<'a> {
    what: &'a str,
    n_rounds: usize,
    /// Pages that each crawl has. Otherwise the ratio says little.
    n_pages: usize,
    goal: f64,
}

impl Compared<'_> {
    fn print(&self, servers: &[Trawl; 2], body: &Value, report: &mut Report) -> anyhow::Result<()> {
        let (mut n_least, mut n_failed) = (self.n_pages, 0);
        let rates = in_turn(self.n_rounds, |which| {
            let server = &servers[which];
            let crawled = crawl::stream(&server.base, &server.key, body)?;
            n_least = n_least.min(crawled.times.len());
            n_failed += crawled.n_failed;
            Ok(crawled.per_second())
        })?;
        report.compare(self.what, rates, Goal::AtLeast(self.goal));
        if n_failed > 0 || n_least < self.n_pages {
            report.note(format!(
                "{}: at least {n_least} of {} pages a crawl, {n_failed} failed in all crawls",
                self.what, self.n_pages
            ));
        }
        Ok(())
    }
}

/// A site on many hosts: a seed with links to all of them.
struct Hosts(Nginx);

impl Hosts {
    fn start(stage: &Stage<'_>) -> anyhow::Result<Self> {
        let root = stage.place.join("hosts");
        std::fs::create_dir(&root)?;
        let text = "<p>This page says what pages say. ".repeat(SENTENCES);
        std::fs::write(
            root.join("index.html"),
            format!("<title>First</title><a href=\"/second.html\">more</a>{text}{text}"),
        )?;
        std::fs::write(
            root.join("second.html"),
            format!("<title>Second</title>{text}{text}"),
        )?;
        // The other one's configuration is in the folder of all.
        let settings = stage.place.join("hosts-nginx");
        std::fs::create_dir(&settings)?;
        let hosts = (0..HOSTS).map(|n| format!("127.1.{}.{}", 1 + n / 200, 1 + n % 200));
        let hosts: Vec<String> = std::iter::once(ONE_HOST.to_owned()).chain(hosts).collect();
        let nginx = Nginx::listening(&hosts, &settings, &root)?;
        let mut links = String::new();
        for (n, host) in hosts[1..].iter().enumerate() {
            let base = nginx.base.replace(ONE_HOST, host);
            writeln!(links, "<a href=\"{base}/\">{n}</a>")?;
        }
        std::fs::write(root.join("seed.html"), links)?;
        Ok(Self(nginx))
    }

    /// A request for a crawl of all hosts.
    fn body(&self, format: &str) -> Value {
        json!({
            "url": format!("{}/seed.html", self.0.base),
            "request": "http",
            "return_format": format,
            "limit": 0,
            "external_domains": true,
            "concurrency_limit": 10,
            "respect_robots": true,
            "cache": false,
        })
    }
}
