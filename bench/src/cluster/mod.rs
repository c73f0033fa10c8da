//! The service on PostgreSQL beside the one on SQLite, with the database on the same machine and
//! 5 ms away, when the server that has it dies, and with a second server beside it.
//!
//! Whatever is compared is measured in turn, round by round. The servers, the database, the site
//! and the load share the machine: a ratio says what a page costs, not what a cell carries.

mod crawls;
mod database;
mod distance;
mod nodes;
mod quota;
mod report;

use std::path::Path;

use trawl_tests::World;

use self::database::Database;
use self::report::Report;
use crate::corpus;
use crate::servers::{Nginx, Trawl};

/// Where every user may go, as the one who runs PostgreSQL must, and on a disk in most systems.
/// SQLite's file is there, too.
const PLACE: &str = "/tmp";
/// All hosts of loopback.
const LOOPBACK: &[&str] = &["127.0.0.0/8"];

/// Prints the table, or that there is no PostgreSQL.
pub(crate) fn run() -> anyhow::Result<()> {
    let folder = tempfile::tempdir_in(PLACE)?;
    let place = folder.path();
    let Some(database) = Database::start(place)? else {
        return Ok(());
    };
    let pages = Nginx::start(place, &corpus::root()?)?;
    let mut report = Report::begin();
    let stage = Stage {
        place,
        database: &database,
        pages: &pages,
    };
    let mut n_failed = 0;
    for part in PARTS {
        // The others take long, and do not depend on it.
        if let Err(error) = part(&stage, &mut report) {
            report.note(format!("not measured: {error:#}"));
            n_failed += 1;
        }
    }
    report.end();
    anyhow::ensure!(n_failed == 0, "{n_failed} parts were not measured");
    Ok(())
}

/// A part of the table. What it starts ends with it.
type Part = fn(&Stage<'_>, &mut Report) -> anyhow::Result<()>;

const PARTS: [Part; 4] = [
    crawls::measure,
    distance::measure,
    nodes::fail_over,
    nodes::help,
];

/// What all measurements use.
struct Stage<'a> {
    /// The folder of everything that is started.
    place: &'a Path,
    database: &'a Database,
    /// The toolchain's documentation.
    pages: &'a Nginx,
}

impl Stage<'_> {
    /// A server with its accounts in the database at this URL, or in its data directory.
    fn server(&self, store: Option<String>) -> anyhow::Result<Trawl> {
        let mut world = World::new_in(self.place);
        world.allow_private = LOOPBACK;
        let variable = store.map(|url| ("TRAWL_STORE".to_owned(), url));
        world.environment.extend(variable);
        Trawl::of(world, "")
    }
}
