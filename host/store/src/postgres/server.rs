//! A PostgreSQL server for the tests: a cluster of its own in a temporary folder, run by an
//! unprivileged user, reached by a socket alone. It ends with the last test that uses it, and with
//! this process however that ends.

use std::fs::File;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _};

use super::PostgresUrl;

/// The folder of PostgreSQL's programs; empty if there are none, and all tests that need them are
/// ignored.
const PROGRAMS: &str = env!("TRAWL_TEST_POSTGRES");
/// How long a server may take to start.
const START_MAX: Duration = Duration::from_secs(60);
/// Runs the server until the standard input ends, which it does when this process does.
const SCRIPT: &str = r#""$@" </dev/null & read -r _; kill -QUIT $!; wait $!"#;
/// Users who may run a server when the tests are run by root, who may not.
const USERS: [&str; 2] = ["postgres", "nobody"];

static RUNNING: Mutex<Weak<Server>> = Mutex::new(Weak::new());

/// A running server.
#[derive(Debug)]
pub(crate) struct Server {
    process: Child,
    n_databases: AtomicU32,
    folder: tempfile::TempDir,
}

impl Server {
    /// The server of this process; it is started if there is none.
    pub(crate) fn shared() -> Arc<Self> {
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(server) = running.upgrade() {
            return server;
        }
        let server = Arc::new(Self::start());
        *running = Arc::downgrade(&server);
        server
    }

    fn start() -> Self {
        // Where every user may go, and the path of a socket is short enough.
        let folder = tempfile::tempdir_in("/tmp").expect("a temporary folder");
        let user = unprivileged();
        if let Some((user, group)) = user {
            chown(folder.path(), Some(user), Some(group)).expect("given to the user");
        }
        let data = folder.path().join("data");
        let mut create = command(Path::new(PROGRAMS).join("initdb"), user);
        let options = ["--no-sync", "--auth=trust", "--encoding=UTF8", "--locale=C"];
        create.args(options).args(["--username=trawl", "-D"]);
        let created = create.arg(&data).current_dir(folder.path()).output();
        let created = created.expect("initdb runs");
        let said = String::from_utf8_lossy(&created.stderr);
        assert!(created.status.success(), "initdb: {said}");
        let log = File::create(folder.path().join("log")).expect("a log");
        let mut serve = command(PathBuf::from("/bin/sh"), user);
        serve.args(["-c", SCRIPT, "sh"]);
        serve.arg(Path::new(PROGRAMS).join("postgres"));
        serve.arg("-D").arg(&data);
        let socket = format!("unix_socket_directories={}", folder.path().display());
        for setting in [
            socket.as_str(),
            "listen_addresses=",
            "max_connections=200",
            "shared_buffers=16MB",
            // What is tested is not whether it survives a power failure.
            "fsync=off",
        ] {
            serve.args(["-c", setting]);
        }
        let process = serve
            .current_dir(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .expect("a shell");
        Self {
            process,
            n_databases: AtomicU32::new(0),
            folder,
        }
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
        let url = self.url(database);
        let deadline = Instant::now() + START_MAX;
        loop {
            match url.options().connect().await {
                Ok(connection) => return connection,
                // It starts.
                Err(_) if Instant::now() < deadline => {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                Err(error) => {
                    let log = std::fs::read_to_string(self.folder.path().join("log"));
                    panic!("no server: {error}; {}", log.unwrap_or_default());
                }
            }
        }
    }

    fn url(&self, database: &str) -> PostgresUrl {
        let folder = self.folder.path().display();
        let url = format!("postgres:///{database}?host={folder}&port=5432&user=trawl");
        url.parse().expect("a URL")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let ended = self.process.wait();
        ended.expect("the shell has ended");
    }
}

fn command(program: PathBuf, user: Option<(u32, u32)>) -> Command {
    let mut command = Command::new(program);
    if let Some((user, group)) = user {
        command.uid(user).gid(group);
    }
    command.env_clear().env("LC_ALL", "C");
    command
}

/// User and group of an unprivileged user, if this process is root's.
fn unprivileged() -> Option<(u32, u32)> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let users = std::fs::read_to_string("/etc/passwd").expect("a list of users");
    let find = |name: &str| {
        let mut fields = users.lines().map(|line| line.split(':'));
        let mut user =
            fields.find_map(|mut fields| (fields.next() == Some(name)).then_some(fields))?;
        // After the password.
        let id: u32 = user.nth(1)?.parse().ok()?;
        let group: u32 = user.next()?.parse().ok()?;
        Some((id, group))
    };
    let found = USERS.iter().find_map(|name| find(name));
    Some(found.expect("an unprivileged user"))
}
