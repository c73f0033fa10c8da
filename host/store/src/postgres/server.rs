//! Databases for the tests, on a PostgreSQL server that all tests of a process share. It ends with
//! the last test that uses it.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _};

use super::PostgresUrl;

/// The folder of PostgreSQL's programs; empty if there are none, and all tests that need them are
/// ignored.
const PROGRAMS: &str = env!("TRAWL_TEST_POSTGRES");

static RUNNING: Mutex<Weak<Server>> = Mutex::new(Weak::new());

/// A running server.
#[derive(Debug)]
pub(crate) struct Server {
    n_databases: AtomicU32,
    server: trawl_test_postgres::Server,
}

impl Server {
    /// The server of this process; it is started if there is none.
    pub(crate) fn shared() -> Arc<Self> {
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(server) = running.upgrade() {
            return server;
        }
        let server = Arc::new(Self {
            n_databases: AtomicU32::new(0),
            server: trawl_test_postgres::Server::start(Path::new(PROGRAMS)),
        });
        *running = Arc::downgrade(&server);
        server
    }

    /// An empty database.
    pub(crate) async fn database(&self) -> PostgresUrl {
        let n = self.n_databases.fetch_add(1, Ordering::Relaxed);
        let name = format!("test_{n}");
        let mut connection = self.connect("postgres").await;
        sqlx::query(AssertSqlSafe(format!("CREATE DATABASE {name}")))
            .execute(&mut connection)
            .await
            .expect("a database");
        connection.close().await.expect("closed");
        self.url(&name)
    }

    /// A connection that no store knows of.
    pub(crate) async fn connect(&self, database: &str) -> PgConnection {
        let connected = self.url(database).options().connect().await;
        connected.expect("a connection")
    }

    fn url(&self, database: &str) -> PostgresUrl {
        self.server.url(database).parse().expect("a URL")
    }
}
