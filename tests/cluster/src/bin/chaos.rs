//! Lets faults happen to a cluster that crawls, and checks pages and bills after each: `cargo xtask
//! chaos`.

#![expect(clippy::print_stdout, reason = "it is for people on a terminal")]

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use trawl_test_cluster::check::{self, Findings};
use trawl_test_cluster::cluster::Cluster;
use trawl_test_cluster::draw::Draw;
use trawl_test_cluster::faults::Fault;
use trawl_test_cluster::node::Programs;
use trawl_test_cluster::site::Site;

/// Pages of each crawl: a few seconds of work.
const PAGES: usize = 2_000;
/// How long a node may need to take over: a lease, and three seconds.
const TAKES_OVER: Duration = Duration::from_secs(13);
/// How long a node may take to serve when everything has been down.
const SERVES: Duration = Duration::from_secs(120);

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args_os().skip(1);
    let usage = "usage: chaos SERVER PLUGINS COMPILED MINUTES SEED [POSTGRES]";
    let programs = Programs {
        server: arguments.next().map(PathBuf::from).context(usage)?,
        plugins: arguments.next().map(PathBuf::from).context(usage)?,
        compiled: arguments.next().map(PathBuf::from).context(usage)?,
    };
    let mut number = || -> anyhow::Result<u64> {
        let argument = arguments.next().context(usage)?;
        argument.to_string_lossy().parse().context(usage)
    };
    let (minutes, seed) = (number()?, number()?);
    let postgres = arguments.next().map(PathBuf::from);
    println!("chaos: seed {seed}; the same with --seed {seed}");
    let mut cluster = Cluster::start(&programs, postgres)?;
    let site = Site::start(PAGES)?;
    let mut run = Run {
        draw: Draw::new(seed),
        found: Findings::default(),
        n_faults: 0,
        slowest: Duration::ZERO,
        n_slow: 0,
    };
    let until = Instant::now() + Duration::from_secs(60 * minutes);
    let mut tree = 0;
    let mut ended = Ok(());
    while ended.is_ok() && Instant::now() < until {
        tree += 1;
        ended = run.round(&mut cluster, &site, tree);
    }
    println!(
        "chaos: {} faults in {tree} crawls of {PAGES} pages; {}; slowest node to serve again \
         {:.1} s, {} over {} s; seed {seed}",
        run.n_faults,
        run.found,
        run.slowest.as_secs_f64(),
        run.n_slow,
        TAKES_OVER.as_secs()
    );
    ended?;
    if !run.found.are_none() {
        bail!("the cluster was wrong; seed {seed}");
    }
    Ok(())
}

/// What has happened so far.
struct Run {
    draw: Draw,
    found: Findings,
    n_faults: usize,
    slowest: Duration,
    n_slow: usize,
}

impl Run {
    /// A crawl, one to three faults while it goes on, and a look at what became of it.
    fn round(&mut self, cluster: &mut Cluster, site: &Site, tree: u64) -> anyhow::Result<()> {
        let id = check::begin(cluster, site, tree)?;
        for _ in 0..self.draw.between(1, 4) {
            let pause = Duration::from_millis(self.draw.between(0, 1_500));
            std::thread::sleep(pause);
            let fault = Fault::draw(&mut self.draw);
            let at = cluster.serving(SERVES)?;
            let begun = Instant::now();
            fault.happen(cluster, at)?;
            self.n_faults += 1;
            let over = Instant::now();
            cluster.heal()?;
            cluster.serving(SERVES)?;
            let took = over.elapsed();
            self.slowest = self.slowest.max(took);
            self.n_slow += usize::from(took > TAKES_OVER);
            println!(
                "crawl {tree}, {:>6} ms in: {fault}; took {:.1} s, served again after {:.1} s",
                pause.as_millis(),
                (over - begun).as_secs_f64(),
                took.as_secs_f64()
            );
        }
        let found = check::check(cluster, site, tree, &id)?;
        if !found.are_none() {
            println!("crawl {tree} ({id}): {found}");
            for node in &cluster.nodes {
                println!("  log of {}: {}", node.address(), node.log().display());
            }
        }
        self.found = self.found.and(found);
        Ok(())
    }
}
