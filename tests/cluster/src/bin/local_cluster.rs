//! Starts a cluster on loopback and keeps it until Enter is pressed: `cargo xtask cluster`.

#![expect(clippy::print_stdout, reason = "it is for people on a terminal")]

use std::path::PathBuf;

use anyhow::Context;
use trawl_test_cluster::cluster::Cluster;
use trawl_test_cluster::node::Programs;
use trawl_test_cluster::site::Site;

/// Pages of the site that comes along.
const PAGES: usize = 100;

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let usage = "usage: local_cluster SERVER PLUGINS COMPILED [POSTGRES]";
    let programs = Programs {
        server: arguments.next().context(usage)?,
        plugins: arguments.next().context(usage)?,
        compiled: arguments.next().context(usage)?,
    };
    let cluster = Cluster::start(&programs, arguments.next())?;
    let site = Site::start(PAGES)?;
    let objects = match cluster.has_s3() {
        true => "an S3 server",
        false => "a folder (for an S3 server: pip install 'moto[server]')",
    };
    println!("PostgreSQL with a standby, {objects}, and three nodes, which all answer:\n");
    for address in cluster.addresses() {
        println!(
            "curl http://{address}/scrape -H 'Authorization: Bearer {}' --json '{{\"url\": \"{}\"}}'",
            cluster.key,
            site.root(1)
        );
    }
    println!("\nEnter ends everything and removes it.");
    std::io::stdin().read_line(&mut String::new())?;
    Ok(())
}
