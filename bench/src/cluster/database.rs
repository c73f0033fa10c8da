//! The PostgreSQL server, and what it counts.

use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use trawl_test_cluster::postgres::{End, Programs, Server};

/// The extension that counts statements. It comes with PostgreSQL, in some systems as a package of
/// its own.
const STATISTICS: &str = "pg_stat_statements";
/// The database in which these questions are asked, so that they count in no other one.
const ASKED: &str = "postgres";

/// A running server, with its data on a disk and every commit flushed.
pub(super) struct Database {
    server: Server,
    /// Whether statements can be counted.
    counts_statements: bool,
}

impl Database {
    /// Starts a server with its data below this folder. `None`, after saying so, if there is no
    /// PostgreSQL.
    pub(super) fn start(place: &Path) -> anyhow::Result<Option<Self>> {
        let programs = match Programs::find(programs_folder()) {
            Ok(programs) => programs,
            Err(error) => {
                println!("ignored: {error:#}");
                return Ok(None);
            }
        };
        let folder = place.join("postgres");
        std::fs::create_dir(&folder)?;
        programs.own(&folder)?;
        // Its user may pass through.
        std::fs::set_permissions(place, PermissionsExt::from_mode(0o755))?;
        let mut server = Server::primary(&programs, &folder.join("data"))?;
        let available =
            format!("SELECT count(*) FROM pg_available_extensions WHERE name = '{STATISTICS}'");
        let counts_statements = server.query(ASKED, &available)? == "1";
        if counts_statements {
            let load = format!("ALTER SYSTEM SET shared_preload_libraries = '{STATISTICS}'");
            server.query(ASKED, &load)?;
            server.end(End::Immediate)?;
            server.start_again()?;
            server.query(ASKED, &format!("CREATE EXTENSION {STATISTICS}"))?;
        }
        Ok(Some(Self {
            server,
            counts_statements,
        }))
    }

    /// Creates an empty database with this name.
    pub(super) fn create(&self, name: &str) -> anyhow::Result<()> {
        self.server
            .query(ASKED, &format!("CREATE DATABASE {name}"))?;
        Ok(())
    }

    /// Where the server listens.
    pub(super) fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// The URL of a database.
    pub(super) fn url(&self, name: &str) -> String {
        url(self.address(), name)
    }

    /// Transactions that were committed in a database. Connections report theirs late.
    pub(super) fn commits(&self, name: &str) -> anyhow::Result<u64> {
        self.count(
            ASKED,
            &format!("SELECT xact_commit FROM pg_stat_database WHERE datname = '{name}'"),
        )
    }

    /// Statements that clients have executed in a database, `BEGIN` and `COMMIT` included; `None`
    /// if this server does not count them.
    pub(super) fn statements(&self, name: &str) -> anyhow::Result<Option<u64>> {
        if !self.counts_statements {
            return Ok(None);
        }
        let counted = self.count(
            ASKED,
            &format!(
                "SELECT COALESCE(sum(calls), 0) FROM {STATISTICS} \
                 JOIN pg_database ON oid = dbid WHERE datname = '{name}'"
            ),
        );
        counted.map(Some)
    }

    /// Pages that were charged in a database of Trawl.
    pub(super) fn charges(&self, name: &str) -> anyhow::Result<u64> {
        self.count(
            name,
            "SELECT count(*) FROM trawl.entries WHERE kind = 'post'",
        )
    }

    fn count(&self, database: &str, question: &str) -> anyhow::Result<u64> {
        let printed = self.server.query(database, question)?;
        let number = printed.parse::<u64>();
        number.with_context(|| format!("`{question}` printed `{printed}`"))
    }
}

/// The URL of a database of the server that is reached at this address.
pub(super) fn url(address: SocketAddr, name: &str) -> String {
    format!("postgres://trawl@{address}/{name}?sslmode=disable")
}

/// The folder of PostgreSQL's programs, when the shell names one.
#[expect(
    clippy::disallowed_methods,
    reason = "what the shell says is what the tests see"
)]
fn programs_folder() -> Option<PathBuf> {
    std::env::var_os("TRAWL_POSTGRES").map(PathBuf::from)
}
